//! The archive in which the kernel looks for tables: uncompressed cpio in the format `newc`, before
//! everything else in the initial RAM disk (kernel,
//! `Documentation/admin-guide/acpi/initrd_table_override.rst`).

use std::io::Write;

use cpio::newc::{self, Builder};

/// Directories of the archive, then the file.
const DIRECTORIES: [&str; 3] = ["kernel", "kernel/firmware", "kernel/firmware/acpi"];
const FILE: &str = "kernel/firmware/acpi/slit.aml";

/// The archive with one table.
pub(crate) fn archive(table: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (number, directory) in (1..).zip(DIRECTORIES) {
        let entry = Builder::new(directory).ino(number).mode(0o040_755);
        bytes = entry.nlink(2).write(bytes, 0).finish()?;
    }
    let size = u32::try_from(table.len()).map_err(std::io::Error::other)?;
    let mut file = Builder::new(FILE).ino(4).mode(0o100_644).write(bytes, size);
    file.write_all(table)?;
    newc::trailer(file.finish()?)
}

#[cfg(test)]
mod tests {
    use super::archive;

    #[test]
    fn the_kernel_finds_the_table_at_its_path() {
        let bytes = archive(b"table").unwrap();
        let reader = &mut bytes.as_slice();
        let mut found = Vec::new();
        loop {
            let mut entry = cpio::newc::Reader::new(&mut *reader).unwrap();
            if entry.entry().is_trailer() {
                break;
            }
            let name = entry.entry().name().to_owned();
            let mut content = Vec::new();
            std::io::copy(&mut entry, &mut content).unwrap();
            found.push((name, content));
            entry.finish().unwrap();
        }
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..3], super::DIRECTORIES);
        assert_eq!(found[3], (super::FILE.to_owned(), b"table".to_vec()));
        assert_eq!(&bytes[..6], b"070701");
    }
}
