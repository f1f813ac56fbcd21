//! The guest's kernel: Debian's, unpacked from its package and prepared to boot quickly.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::packages;
use crate::arguments::GuestKernel;
use crate::repository;

/// What a kernel is unpacked for: the modules that 9p over virtio needs, each after its own
/// dependencies. What is not listed is built into that kernel (`modules.builtin`).
struct Release {
    /// The metapackage that depends on the newest kernel of a suite.
    package: &'static str,
    /// The directory below `kernels`; none for the kernel of the distribution itself.
    directory: &'static str,
    /// The part of Debian's archive, if this machine need not have configured it.
    part: Option<packages::Part>,
    modules: &'static [&'static str],
    /// What is unpacked, each a directory of modules.
    patterns: &'static [&'static str],
}

/// Debian 12 has Linux 6.1.
const STABLE: Release = Release {
    package: "linux-image-amd64",
    directory: "",
    part: None,
    modules: &[
        "drivers/virtio/virtio_ring",
        "drivers/virtio/virtio",
        "drivers/virtio/virtio_pci_modern_dev",
        "drivers/virtio/virtio_pci_legacy_dev",
        "drivers/virtio/virtio_pci",
        "net/9p/9pnet",
        "fs/netfs/netfs",
        "fs/fscache/fscache",
        "net/9p/9pnet_virtio",
        "fs/9p/9p",
    ],
    patterns: &[
        "./boot/vmlinuz-*",
        "./lib/modules/*/kernel/drivers/virtio/*",
        "./lib/modules/*/kernel/net/9p/*",
        "./lib/modules/*/kernel/fs/netfs/*",
        "./lib/modules/*/kernel/fs/fscache/*",
        "./lib/modules/*/kernel/fs/9p/*",
    ],
};

/// Its backports have Linux 6.12, which has virtio built in, and fscache in netfs.
const BACKPORTS: Release = Release {
    package: "linux-image-amd64",
    directory: "backports",
    part: Some(packages::Part {
        suite: packages::Suite::Running("-backports"),
        section: "main",
    }),
    modules: &[
        "fs/netfs/netfs",
        "net/9p/9pnet",
        "net/9p/9pnet_virtio",
        "fs/9p/9p",
    ],
    patterns: &[
        "./boot/vmlinuz-*",
        "./lib/modules/*/kernel/net/9p/*",
        "./lib/modules/*/kernel/fs/netfs/*",
        "./lib/modules/*/kernel/fs/9p/*",
    ],
};

/// The same for arm64, with base pages of 4 KiB and of 16 KiB.
const ARM64: Release = Release {
    package: "linux-image-arm64:arm64",
    directory: "arm64",
    ..BACKPORTS
};
const ARM64_IN_16K: Release = Release {
    package: "linux-image-arm64-16k:arm64",
    directory: "arm64-16k",
    ..BACKPORTS
};

/// Debian 11 has Linux 5.10: no `MPOL_F_NUMA_BALANCING` (5.12), no `memory.numa_stat` of later
/// kernels, virtio in fewer modules.
const OLDSTABLE: Release = Release {
    package: "linux-image-amd64",
    directory: "oldstable",
    part: Some(packages::Part {
        suite: packages::Suite::Named("bullseye"),
        section: "main",
    }),
    modules: &[
        "drivers/virtio/virtio_ring",
        "drivers/virtio/virtio",
        "drivers/virtio/virtio_pci",
        "net/9p/9pnet",
        "fs/fscache/fscache",
        "net/9p/9pnet_virtio",
        "fs/9p/9p",
    ],
    patterns: &[
        "./boot/vmlinuz-*",
        "./lib/modules/*/kernel/drivers/virtio/*",
        "./lib/modules/*/kernel/net/9p/*",
        "./lib/modules/*/kernel/fs/fscache/*",
        "./lib/modules/*/kernel/fs/9p/*",
    ],
};

/// The files of one kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The kernel itself, as QEMU loads it.
    pub image: PathBuf,
    /// The modules that the initial RAM disk loads, in this order.
    pub modules: Vec<PathBuf>,
}

/// Returns a kernel; fetches it if it is missing.
pub(super) fn fetch(kernel: GuestKernel) -> Result<Kernel> {
    let release = match kernel {
        GuestKernel::Stable => STABLE,
        GuestKernel::Backports => BACKPORTS,
        GuestKernel::Oldstable => OLDSTABLE,
        GuestKernel::Arm64 => ARM64,
        GuestKernel::Arm64In16k => ARM64_IN_16K,
    };
    let parent = repository::guest().join("kernels").join(release.directory);
    let directory = match newest_in(&parent) {
        Some(directory) => directory,
        None => unpack(&release, &parent)?,
    };
    let compressed = only_file(&directory.join("boot"), "vmlinuz-")?;
    let version = compressed
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let version = version.trim_start_matches("vmlinuz-");
    let modules = directory.join("lib/modules").join(version).join("kernel");
    let modules = release
        .modules
        .iter()
        .map(|name| module(&modules.join(format!("{name}.ko"))))
        .collect::<Result<_>>()?;
    let image = uncompressed_image(&compressed, &directory.join("vmlinux"))?;
    Ok(Kernel { image, modules })
}

/// Unpacks the newest kernel of a release and returns its directory.
fn unpack(release: &Release, parent: &Path) -> Result<PathBuf> {
    let prefix = "linux-image-";
    let Some(part) = release.part else {
        let package = packages::dependency(release.package, prefix)?;
        let directory = parent.join(&package);
        packages::unpack(&package, release.patterns, &directory)?;
        return Ok(directory);
    };
    let package = packages::dependency_from(part, release.package, prefix, &parent.join("index"))?;
    let directory = parent.join(&package);
    packages::unpack_from(part, &[&package], release.patterns, &directory)?;
    Ok(directory)
}

/// Returns a module; decompresses it beside its package's file if that is `….ko.xz`.
fn module(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let compressed = path.with_extension("ko.xz");
    if !compressed.is_file() {
        bail!(
            "{} is missing: guests need a kernel of Debian 11, of Debian 12 or of its backports",
            path.display()
        );
    }
    let bytes =
        fs::read(&compressed).with_context(|| format!("cannot read {}", compressed.display()))?;
    decompress(Compression::Xz, &bytes, path)
        .with_context(|| format!("cannot decompress {}", compressed.display()))?;
    Ok(path.to_path_buf())
}

fn newest_in(parent: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(parent)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| path.join("boot").is_dir();
    entries.filter(is_kernel).max()
}

fn only_file(directory: &Path, prefix: &str) -> Result<PathBuf> {
    fs::read_dir(directory)
        .with_context(|| format!("cannot list {}", directory.display()))?
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .with_context(|| format!("{} has no {prefix}… file", directory.display()))
}

/// Returns the kernel as an ELF file, which QEMU starts directly (PVH). A compressed kernel takes
/// several seconds at each boot to unpack itself in emulation. A kernel that is not packed as in
/// Debian 12 or its backports is booted as it is.
fn uncompressed_image(compressed: &Path, cached: &Path) -> Result<PathBuf> {
    if cached.is_file() {
        return Ok(cached.to_path_buf());
    }
    let bytes =
        fs::read(compressed).with_context(|| format!("cannot read {}", compressed.display()))?;
    let Some((compression, payload)) = payload(&bytes) else {
        return Ok(compressed.to_path_buf());
    };
    if compression == Compression::Xz
        && let Err(error) = xz()
    {
        eprintln!("guest: the kernel stays packed, which only costs time: {error:#}");
        return Ok(compressed.to_path_buf());
    }
    decompress(compression, payload, cached)
        .with_context(|| format!("cannot decompress {}", compressed.display()))?;
    Ok(cached.to_path_buf())
}

/// How a file of a kernel's package is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Xz,
    Zstandard,
}

impl Compression {
    const ALL: [Self; 2] = [Self::Xz, Self::Zstandard];

    /// Returns the bytes with which a compressed stream begins.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Xz => b"\xfd7zXZ\0",
            Self::Zstandard => b"\x28\xb5\x2f\xfd",
        }
    }
}

/// Returns the program that decompresses [`Compression::Xz`].
fn xz() -> Result<PathBuf> {
    packages::require_program("xz", "xz-utils")
}

/// Finds the compressed kernel inside a bzImage, by the fields of the x86 boot protocol: the number
/// of 512-byte setup sectors at 0x1f1, payload offset and length at 0x248 and 0x24c. The last four
/// bytes of the payload are the uncompressed size, not part of the stream.
fn payload(image: &[u8]) -> Option<(Compression, &[u8])> {
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = (usize::from(*image.get(0x1f1)?) + 1) * 512 + number(0x248)?;
    let length = number(0x24c)?.checked_sub(4)?;
    let payload = image.get(start..start.checked_add(length)?)?;
    let is_packed = |compression: &Compression| payload.starts_with(compression.magic());
    let compression = Compression::ALL.into_iter().find(is_packed)?;
    Some((compression, payload))
}

/// Writes what a stream holds to a file, which exists only if it is complete.
fn decompress(compression: Compression, stream: &[u8], to: &Path) -> Result<()> {
    let scratch = to.with_extension(std::process::id().to_string());
    let file =
        File::create(&scratch).with_context(|| format!("cannot write {}", scratch.display()))?;
    let outcome = match compression {
        Compression::Xz => decompress_xz(stream, file),
        Compression::Zstandard => zstd::stream::copy_decode(stream, file).map_err(Into::into),
    };
    let outcome = outcome.and_then(|()| {
        fs::rename(&scratch, to).with_context(|| format!("cannot create {}", to.display()))
    });
    let _ = fs::remove_file(&scratch);
    outcome
}

fn decompress_xz(stream: &[u8], to: File) -> Result<()> {
    let mut child = Command::new(xz()?)
        .args(["--decompress", "--stdout", "--format=xz"])
        .stdin(Stdio::piped())
        .stdout(to)
        .spawn()
        .context("cannot start xz")?;
    let mut input = child.stdin.take().context("xz was started without stdin")?;
    let written = input.write_all(stream);
    drop(input);
    let status = child.wait().context("cannot wait for xz")?;
    if !status.success() {
        bail!("xz failed with {status}");
    }
    written.context("xz did not read everything")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_found_by_the_boot_protocol() {
        let check = |packed: &[u8], compression| {
            let mut image = vec![0_u8; 4096];
            let length = u32::try_from(packed.len() + 4).unwrap();
            image[0x1f1] = 1;
            image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
            image[0x24c..0x250].copy_from_slice(&length.to_le_bytes());
            image[1040..1040 + packed.len()].copy_from_slice(packed);
            assert_eq!(payload(&image), Some((compression, packed)));
        };
        check(b"\xfd7zXZ\0abcd", Compression::Xz);
        check(b"\x28\xb5\x2f\xfdabcd", Compression::Zstandard);
    }

    #[test]
    fn other_images_are_booted_as_they_are() {
        assert_eq!(payload(&[0; 4096]), None);
        assert_eq!(payload(b"short"), None);
    }

    #[test]
    fn kernels_of_two_releases_lie_beside_each_other() {
        let old = "linux-image-6.1.0-56-amd64";
        let new = "backports/linux-image-6.12.95+deb12-amd64";
        let files = format!("==> {old}/boot/vmlinuz <==\n==> {new}/boot/vmlinuz <==\n");
        let kernels = testing::Tree::parse(&files).unwrap().expand().unwrap();
        let newest = |release: Release| newest_in(&kernels.path().join(release.directory));
        assert_eq!(newest(STABLE), Some(kernels.path().join(old)));
        assert_eq!(newest(BACKPORTS), Some(kernels.path().join(new)));
    }
}
