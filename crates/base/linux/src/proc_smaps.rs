//! One mapping of this process in `/proc/self/smaps` (`proc_pid_smaps(5)`): only the fields that
//! show how large its pages really are. Also the sums over a whole process in `smaps_rollup`.

use crate::{Error, Root, TextFile};

/// The smaps entry of one mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmapsEntry {
    /// `KernelPageSize`: for transparent huge pages, the base size.
    pub kernel_page_bytes: u64,
    /// `Rss`; does not include huge pages of a pool.
    pub resident_bytes: u64,
    /// `AnonHugePages`: bytes in transparent huge pages that one entry of the page middle directory
    /// maps.
    pub transparent_huge_bytes: u64,
}

/// The entry of the mapping that begins at `address`.
///
/// # Errors
/// When there is no such mapping, or its lines are malformed.
pub fn entry_at(root: &Root, address: usize) -> Result<SmapsEntry, Error> {
    parse(&root.read("proc/self/smaps")?, address)
}

/// Figures of a process that smaps_rollup has and numa_maps does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmapsRollup {
    /// `SwapPss`: private memory that is swapped out; memory shared through fork(2) is divided
    /// among its processes. Does not include shared memory that is swapped out.
    pub swapped_bytes: u64,
    /// `AnonHugePages`, `ShmemPmdMapped` and `FilePmdMapped`: memory mapped as transparent huge
    /// pages.
    pub transparent_huge_bytes: u64,
}

/// The sums of process `pid`; `None` on a kernel before 4.14. The kernel walks all its pages.
///
/// # Errors
/// When the process is gone or a line is malformed.
pub fn rollup(root: &Root, pid: u32) -> Result<Option<SmapsRollup>, Error> {
    let file = root.read_optional(&format!("proc/{pid}/smaps_rollup"))?;
    file.map(|file| parse_rollup(&file)).transpose()
}

/// One real line: `AnonHugePages:      2048 kB`. The set of lines depends on the kernel.
fn parse_rollup(file: &TextFile) -> Result<SmapsRollup, Error> {
    let mut sums = SmapsRollup::default();
    for (number, line) in file.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let sum = match name {
            "SwapPss" => &mut sums.swapped_bytes,
            "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => {
                &mut sums.transparent_huge_bytes
            }
            _ => continue,
        };
        *sum = sum.saturating_add(in_bytes(file, number, value)?);
    }
    Ok(sums)
}

fn parse(file: &TextFile, address: usize) -> Result<SmapsEntry, Error> {
    // 7f1c40000000-7f1c50000000 rw-p 00000000 00:00 0
    let first = format!("{address:x}-");
    let mut lines = file
        .lines()
        .skip_while(|(_, line)| !line.starts_with(&first));
    let (number, _) = lines
        .next()
        .ok_or_else(|| file.ended(format!("a mapping at {address:x}")))?;
    let mut entry = SmapsEntry::default();
    for (number, line) in lines {
        // AnonHugePages:    262144 kB
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        if is_next_mapping(name) {
            break;
        }
        let bytes = || in_bytes(file, number, value);
        match name {
            "KernelPageSize" => entry.kernel_page_bytes = bytes()?,
            "Rss" => entry.resident_bytes = bytes()?,
            "AnonHugePages" => entry.transparent_huge_bytes = bytes()?,
            _ => {}
        }
    }
    if entry.kernel_page_bytes == 0 {
        return Err(file.unexpected(number, "a mapping with its page size", "none"));
    }
    Ok(entry)
}

/// Whether the text before the first colon of a line belongs to the head of a mapping:
/// `55a27d056000-55a27d058000 r--p 00000000 fe`.
fn is_next_mapping(name: &str) -> bool {
    name.contains(' ')
}

fn in_bytes(file: &TextFile, line: usize, value: &str) -> Result<u64, Error> {
    let kib = value.trim().strip_suffix(" kB").map(str::trim_start);
    kib.and_then(|kib| kib.parse().ok())
        .and_then(|kib: u64| kib.checked_mul(1024))
        .ok_or_else(|| file.malformed(line, "a size in kB", value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
1000-2000 r--p 00000000 fe:00 247026 /usr/bin/cat
Size:                  4 kB
KernelPageSize:        4 kB
Rss:                   4 kB
200000-600000 rw-p 00000000 00:00 0
Size:               4096 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd hg
600000-601000 ---p 00000000 00:00 0
KernelPageSize:        64 kB
Rss:                   0 kB
";

    fn file(text: &str) -> TextFile {
        TextFile::new("/smaps", text)
    }

    #[test]
    fn the_mapping_at_an_address_is_read_and_no_other() {
        let expected = SmapsEntry {
            kernel_page_bytes: 4096,
            resident_bytes: 4 << 20,
            transparent_huge_bytes: 2 << 20,
        };
        assert_eq!(parse(&file(TEXT), 0x200000).unwrap(), expected);
        assert_eq!(
            parse(&file(TEXT), 0x1000).unwrap().transparent_huge_bytes,
            0
        );
        assert_eq!(
            parse(&file(TEXT), 0x600000).unwrap().kernel_page_bytes,
            65536
        );
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        let check = |text: &str, expected: &str| {
            let error = parse(&file(text), 0x1000).unwrap_err().to_string();
            assert_eq!(error, format!("/smaps, line {expected}"));
        };
        check(
            "",
            "1: expected a mapping at 1000, found the end of the file",
        );
        check(
            "1000-2000 rw-p 00000000 00:00 0\nRss: 4 kB\n",
            "1: expected a mapping with its page size, found none",
        );
        check(
            "1000-2000 rw-p 00000000 00:00 0\nRss: 4 MB\n",
            "2: expected a size in kB, found \"4 MB\"",
        );
    }

    #[test]
    fn the_sums_of_a_process_are_read() {
        let text = "55e0-7ffd ---p 00000000 00:00 0    [rollup]\nRss:     900 kB\n\
                    AnonHugePages:      2048 kB\nShmemPmdMapped:     4096 kB\n\
                    Swap:      8 kB\nSwapPss:      4 kB\n";
        let expected = SmapsRollup {
            swapped_bytes: 4096,
            transparent_huge_bytes: 6 << 20,
        };
        assert_eq!(parse_rollup(&file(text)).unwrap(), expected);
        assert!(parse_rollup(&file("SwapPss: 4\n")).is_err());
        let own = rollup(&Root::live(), std::process::id()).unwrap();
        let is_there = std::path::Path::new("/proc/self/smaps_rollup").exists();
        assert_eq!(own.is_some(), is_there);
    }

    proptest! {

        #[test]
        fn no_text_panics(
            head in "(1000-[0-9a-f]{0,5} rw-p\n)?",
            lines in "(([A-Za-z]{1,8}|Rss):? *[0-9]{0,21}( kB)?\n){0,5}",
        ) {
            let _ = parse(&file(&format!("{head}{lines}")), 0x1000);
        }
    }

    #[test]
    fn no_rollup_panics() {
        testing::any_text(
            "((SwapPss|AnonHugePages|[a-z]{0,4}):? *[0-9]{0,21}( kB)?\n){0,5}",
            &|text| {
                let _ = parse_rollup(&file(text));
            },
        );
    }
}
