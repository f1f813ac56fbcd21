//! The guest's kernel: Debian's, unpacked from its package and prepared to boot quickly.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::packages;
use crate::repository;

/// The metapackage that depends on the newest kernel of the distribution.
const PACKAGE: &str = "linux-image-amd64";

/// The modules that 9p over virtio needs, each after its own dependencies.
const MODULES: &[&str] = &[
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
];

/// The files of one kernel.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The kernel itself, as QEMU loads it.
    pub image: PathBuf,
    /// The modules that the initial RAM disk loads, in this order.
    pub modules: Vec<PathBuf>,
}

/// Returns the kernel; fetches it if it is missing.
pub(super) fn fetch() -> Result<Kernel> {
    let parent = repository::guest().join("kernels");
    let directory = match newest_in(&parent) {
        Some(directory) => directory,
        None => {
            let package = packages::dependency(PACKAGE, "linux-image-")?;
            let directory = parent.join(&package);
            packages::unpack(&package, &patterns(), &directory)?;
            directory
        }
    };
    let compressed = only_file(&directory.join("boot"), "vmlinuz-")?;
    let version = compressed
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let version = version.trim_start_matches("vmlinuz-");
    let modules = directory.join("lib/modules").join(version).join("kernel");
    let modules = MODULES
        .iter()
        .map(|name| {
            let path = modules.join(format!("{name}.ko"));
            if !path.is_file() {
                bail!(
                    "{} is missing: guests need the kernel of Debian 12",
                    path.display()
                );
            }
            Ok(path)
        })
        .collect::<Result<_>>()?;
    let image = uncompressed(&compressed, &directory.join("vmlinux"))?;
    Ok(Kernel { image, modules })
}

fn patterns() -> Vec<&'static str> {
    vec![
        "./boot/vmlinuz-*",
        "./lib/modules/*/kernel/drivers/virtio/*",
        "./lib/modules/*/kernel/net/9p/*",
        "./lib/modules/*/kernel/fs/netfs/*",
        "./lib/modules/*/kernel/fs/fscache/*",
        "./lib/modules/*/kernel/fs/9p/*",
    ]
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
/// Debian 12 is booted as it is.
fn uncompressed(compressed: &Path, cached: &Path) -> Result<PathBuf> {
    if cached.is_file() {
        return Ok(cached.to_path_buf());
    }
    let bytes =
        fs::read(compressed).with_context(|| format!("cannot read {}", compressed.display()))?;
    let Some(payload) = xz_payload(&bytes) else {
        return Ok(compressed.to_path_buf());
    };
    let xz = match packages::require_program("xz", "xz-utils") {
        Ok(xz) => xz,
        Err(error) => {
            eprintln!("guest: the kernel stays packed, which only costs time: {error:#}");
            return Ok(compressed.to_path_buf());
        }
    };
    let scratch = cached.with_extension(std::process::id().to_string());
    let outcome = decompress(&xz, payload, &scratch)
        .and_then(|()| Ok(fs::rename(&scratch, cached)?))
        .with_context(|| format!("cannot decompress {}", compressed.display()));
    let _ = fs::remove_file(&scratch);
    outcome.map(|()| cached.to_path_buf())
}

/// Finds the compressed kernel inside a bzImage, by the fields of the x86 boot protocol: the number
/// of 512-byte setup sectors at 0x1f1, payload offset and length at 0x248 and 0x24c. The last four
/// bytes of the payload are the uncompressed size, not part of the xz stream.
fn xz_payload(image: &[u8]) -> Option<&[u8]> {
    const XZ_MAGIC: &[u8] = b"\xfd7zXZ\0";
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = (usize::from(*image.get(0x1f1)?) + 1) * 512 + number(0x248)?;
    let length = number(0x24c)?.checked_sub(4)?;
    let payload = image.get(start..start.checked_add(length)?)?;
    payload.starts_with(XZ_MAGIC).then_some(payload)
}

fn decompress(xz: &Path, payload: &[u8], to: &Path) -> Result<()> {
    let file = File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let mut child = Command::new(xz)
        .args(["--decompress", "--stdout", "--format=xz"])
        .stdin(Stdio::piped())
        .stdout(file)
        .spawn()
        .context("cannot start xz")?;
    let mut input = child.stdin.take().context("xz was started without stdin")?;
    let written = input.write_all(payload);
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
        let mut image = vec![0_u8; 4096];
        image[0x1f1] = 1;
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&14_u32.to_le_bytes());
        image[1040..1050].copy_from_slice(b"\xfd7zXZ\0abcd");
        assert_eq!(xz_payload(&image), Some(&b"\xfd7zXZ\0abcd"[..]));
    }

    #[test]
    fn other_images_are_booted_as_they_are() {
        assert_eq!(xz_payload(&[0; 4096]), None);
        assert_eq!(xz_payload(b"short"), None);
    }
}
