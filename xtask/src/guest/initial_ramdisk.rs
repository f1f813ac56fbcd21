//! The first root file system of the guest's kernel: busybox, the modules that 9p needs and a
//! script, as a cpio archive in the `newc` format that the kernel unpacks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::kernel::Kernel;

const SCRIPT: &str = include_str!("scripts/initial.sh");
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// Writes the archive for a kernel, after another one that the kernel is to find first.
pub(super) fn write(
    to: &Path,
    kernel: &Kernel,
    busybox: &Path,
    early: Option<&Path>,
) -> Result<()> {
    let mut archive = Archive {
        bytes: early.map(read).transpose()?.unwrap_or_default(),
        entries: 0,
    };
    archive.pad();
    for directory in ["bin", "dev", "modules", "new-root", "proc", "sys"] {
        archive.add(directory, DIRECTORY, &[]);
    }
    archive.add_console();
    archive.add("bin/busybox", PROGRAM, &read(busybox)?);
    let mut names = Vec::new();
    for module in &kernel.modules {
        let name = module
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        archive.add(&format!("modules/{name}.ko"), PROGRAM, &read(module)?);
        names.push(name);
    }
    archive.add(
        "init",
        PROGRAM,
        SCRIPT.replace("MODULES", &names.join(" ")).as_bytes(),
    );
    let bytes = archive.finish();
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A cpio archive under construction. Each entry is a header of `070701` and 13 numbers of 8
/// hexadecimal digits, the name, and the content, the last two padded to 4 bytes:
/// inode, mode, uid, gid, links, mtime, size, major, minor, rmajor, rminor, name length, check.
#[derive(Debug, Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: usize,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.add_entry(name, mode, (0, 0), content);
    }

    /// Adds /dev/console (device 5:1), which the kernel opens for the first process before /dev is
    /// mounted.
    fn add_console(&mut self) {
        self.add_entry("dev/console", CHARACTER_DEVICE, (5, 1), &[]);
    }

    fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn add_entry(&mut self, name: &str, mode: u32, device: (usize, usize), content: &[u8]) {
        self.entries += 1;
        let mode = mode as usize;
        let (major, minor) = device;
        let (inode, size, name_size) = (self.entries, content.len(), name.len() + 1);
        let fields = [
            inode, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_header_name_and_content_padded_to_four_bytes() {
        let mut archive = Archive::default();
        archive.add("abc", PROGRAM, b"hello");
        let bytes = archive.bytes;
        assert_eq!(&bytes[..14], b"07070100000001");
        assert_eq!(&bytes[14..22], b"000081ED");
        assert_eq!(&bytes[6 + 6 * 8..6 + 7 * 8], b"00000005");
        assert_eq!(&bytes[110..], b"abc\0\0\0hello\0\0\0");
    }
}
