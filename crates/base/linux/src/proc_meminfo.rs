//! `/proc/meminfo` and `/sys/devices/system/node/nodeN/meminfo` (`proc_meminfo(5)`; kernel,
//! `Documentation/filesystems/proc.rst`): only what the topology needs.

use crate::{Error, TextFile};

/// The figures of one meminfo file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meminfo {
    /// `MemTotal`.
    pub total_bytes: Option<u64>,
    /// `MemFree`.
    pub free_bytes: Option<u64>,
    /// `Active(file)` and `Inactive(file)`: page cache that is reclaimable under memory pressure.
    pub file_cache_bytes: Option<u64>,
    /// `FilePages` of a node, `Cached` of the machine: page cache with `Shmem`.
    pub file_pages_bytes: Option<u64>,
    /// `AnonPages`.
    pub anonymous_bytes: Option<u64>,
    /// `Shmem` (since 2.6.32): shared memory and tmpfs in pages of the usual size.
    pub shared_bytes: Option<u64>,
    /// `HugePages_Total`: pages of the default size in the pool.
    pub huge_pages_total: Option<u64>,
    /// `HugePages_Free`.
    pub huge_pages_free: Option<u64>,
    /// `HugePages_Rsvd`; only in /proc/meminfo.
    pub huge_pages_reserved: Option<u64>,
    /// `HugePages_Surp`.
    pub huge_pages_surplus: Option<u64>,
    /// `Hugepagesize`: the default size; only in /proc/meminfo.
    pub huge_page_bytes: Option<u64>,
}

impl Meminfo {
    /// Reads the known lines and ignores the others.
    ///
    /// # Errors
    /// When a known line is malformed.
    pub fn parse(file: &TextFile) -> Result<Self, Error> {
        let mut meminfo = Self::default();
        for (number, line) in file.lines() {
            // MemTotal:       24684084 kB
            // Node 0 HugePages_Total:     0
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            let name = name.rsplit(' ').next().unwrap_or(name);
            let bytes = || in_bytes(file, number, name, value);
            let pages = || in_pages(file, number, name, value);
            match name {
                "MemTotal" => meminfo.total_bytes = Some(bytes()?),
                "MemFree" => meminfo.free_bytes = Some(bytes()?),
                "Active(file)" | "Inactive(file)" => {
                    let so_far = meminfo.file_cache_bytes.unwrap_or(0);
                    meminfo.file_cache_bytes = Some(so_far.saturating_add(bytes()?));
                }
                "FilePages" | "Cached" => meminfo.file_pages_bytes = Some(bytes()?),
                "AnonPages" => meminfo.anonymous_bytes = Some(bytes()?),
                "Shmem" => meminfo.shared_bytes = Some(bytes()?),
                "HugePages_Total" => meminfo.huge_pages_total = pages()?,
                "HugePages_Free" => meminfo.huge_pages_free = pages()?,
                "HugePages_Rsvd" => meminfo.huge_pages_reserved = pages()?,
                "HugePages_Surp" => meminfo.huge_pages_surplus = pages()?,
                "Hugepagesize" => meminfo.huge_page_bytes = Some(bytes()?),
                _ => {}
            }
        }
        Ok(meminfo)
    }
}

fn in_bytes(file: &TextFile, line: usize, name: &str, value: &str) -> Result<u64, Error> {
    let kib = value
        .trim()
        .strip_suffix("kB")
        .and_then(|number| number.trim_end().parse().ok());
    kib.and_then(|kib: u64| kib.checked_mul(1024))
        .ok_or_else(|| file.malformed(line, format!("{name} in kB"), value.trim()))
}

/// A number of pages. Hand-made files give a size here, which is not a page count.
fn in_pages(file: &TextFile, line: usize, name: &str, value: &str) -> Result<Option<u64>, Error> {
    let value = value.trim();
    if value.ends_with("kB") {
        return Ok(None);
    }
    let expected = || format!("{name} as a number of pages");
    let pages = value.parse().map(Some);
    pages.map_err(|_| file.malformed(line, expected(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Meminfo, Error> {
        Meminfo::parse(&TextFile::new("/meminfo", text))
    }

    #[test]
    fn the_file_of_the_machine_is_read() {
        let text = "MemTotal:       24684084 kB\nMemFree:        24306472 kB\n\
                    Cached: 9 kB\nAnonPages: 7 kB\nShmem: 5 kB\n\
                    Active(file):       8 kB\nInactive(file):    16 kB\n\
                    HugePages_Total:       4\nHugePages_Free:        3\nHugePages_Rsvd:        2\n\
                    HugePages_Surp:        1\nHugepagesize:       2048 kB\nNew: (thing)\n";
        let expected = Meminfo {
            total_bytes: Some(24_684_084 * 1024),
            free_bytes: Some(24_306_472 * 1024),
            file_cache_bytes: Some(24 * 1024),
            file_pages_bytes: Some(9 * 1024),
            anonymous_bytes: Some(7 * 1024),
            shared_bytes: Some(5 * 1024),
            huge_pages_total: Some(4),
            huge_pages_free: Some(3),
            huge_pages_reserved: Some(2),
            huge_pages_surplus: Some(1),
            huge_page_bytes: Some(2 << 20),
        };
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn the_file_of_a_node_is_read() {
        let text = "Node 7 MemTotal:        0 kB\nNode 7 MemFree:         0 kB\n\
                    Node 7 HugePages_Total: 39302\nNode 7 HugePages_Free:  23557\n";
        let meminfo = parse(text).unwrap();
        assert_eq!(
            (meminfo.total_bytes, meminfo.free_bytes),
            (Some(0), Some(0))
        );
        assert_eq!(meminfo.huge_pages_free, Some(23557));
        assert_eq!(meminfo.huge_pages_reserved, None);
    }

    #[test]
    fn lines_may_be_missing() {
        let meminfo = parse("\nNode 0 MemTotal: 12 kB\n").unwrap();
        assert_eq!(
            (meminfo.total_bytes, meminfo.free_bytes),
            (Some(12 * 1024), None)
        );
        assert_eq!(parse("MemTotal: 1 kB\nMemF").unwrap().free_bytes, None);
        assert_eq!(parse("").unwrap(), Meminfo::default());
        let pages = parse("Node 0 HugePages_Free: 1024 kB\n").unwrap();
        assert_eq!(pages.huge_pages_free, None);
    }

    #[test]
    fn malformed_files_are_named_with_the_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        };
        check(
            "MemTotal: 44",
            "/meminfo, line 1: expected MemTotal in kB, found \"44\"",
        );
        check(
            "MemTotal: -1 kB",
            "/meminfo, line 1: expected MemTotal in kB, found \"-1 kB\"",
        );
        check(
            "MemTotal: 18446744073709551615 kB",
            "/meminfo, line 1: expected MemTotal in kB, found \"18446744073709551615 kB\"",
        );
        check(
            "MemTotal: 1 kB\nHugePages_Free: x\n",
            "/meminfo, line 2: expected HugePages_Free as a number of pages, found \"x\"",
        );
    }

    proptest! {

        #[test]
        fn no_text_like_meminfo_panics(
            lines in prop::collection::vec(
                "(Node [0-9]{1,3} )?(MemTotal|MemFree|HugePages_(Total|Free)|Hugepagesize):? \
                 *-?[0-9]{0,22}( kB)?",
                0..8,
            )
        ) {
            let _ = parse(&lines.join("\n"));
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let _ = parse(text);
        });
    }
}
