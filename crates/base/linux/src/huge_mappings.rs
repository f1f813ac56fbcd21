//! The mappings of huge pages from a pool in `/proc/PID/smaps` (`proc_pid_smaps(5)`), and how much
//! of each the process has touched. The kernel walks all pages of the process, so only those that
//! may have such mappings are asked.

use crate::proc_maps::{self, Mapping};
use crate::{Error, Root, TextFile};

/// Names of huge pages of a pool, and of memory that may have them.
const NAMES: [&str; 3] = ["/anon_hugepage", "/memfd:", "/SYSV"];

/// A mapping of huge pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HugeMapping {
    /// The mapping.
    pub mapping: Mapping,
    /// Size of its pages.
    pub page_bytes: u64,
    /// What the process has of it in its page tables.
    pub present_bytes: u64,
    /// Whether pages were reserved for it (no `MAP_NORESERVE`).
    pub has_reserved: bool,
}

/// Reads the mappings of huge pages of process `pid`. `mounts` are the paths where hugetlbfs is
/// mounted.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn of_process(root: &Root, pid: u32, mounts: &[String]) -> Result<Vec<HugeMapping>, Error> {
    let may_be = |mapping: &Mapping| {
        let on_mount = |mount: &String| {
            let below = mapping.name.strip_prefix(mount.as_str());
            below.is_some_and(|below| below.starts_with('/'))
        };
        NAMES.iter().any(|name| mapping.name.starts_with(name)) || mounts.iter().any(on_mount)
    };
    if !proc_maps::read(root, pid)?.list.iter().any(may_be) {
        return Ok(Vec::new());
    }
    Ok(parse(&root.read_lossy(&format!("proc/{pid}/smaps"))?))
}

/// The paths where hugetlbfs is mounted.
///
/// # Errors
/// When /proc/mounts cannot be read.
pub fn mounts(root: &Root) -> Result<Vec<String>, Error> {
    let file = root.read_lossy("proc/mounts")?;
    // hugetlbfs /dev/hugepages hugetlbfs rw,relatime,pagesize=2M 0 0
    let mount = |(_, line): (usize, &str)| {
        let mut words = line.split(' ').skip(1);
        let path = words.next()?;
        (words.next()? == "hugetlbfs").then(|| path.to_owned())
    };
    Ok(file.lines().filter_map(mount).collect())
}

/// ```text
/// 7f1e00000000-7f1e00800000 rw-s 00000000 00:0f 1234   /anon_hugepage (deleted)
/// KernelPageSize:     2048 kB
/// Shared_Hugetlb:        0 kB
/// Private_Hugetlb:    4096 kB
/// VmFlags: rd wr sh mr mw me ms de ht sd
/// ```
fn parse(file: &TextFile) -> Vec<HugeMapping> {
    let mut found: Vec<(HugeMapping, bool)> = Vec::new();
    for (_, line) in file.lines() {
        let Some((name, value)) = line
            .split_once(": ")
            .filter(|(name, _)| !name.contains('-'))
        else {
            let head = proc_maps::parse(&TextFile::new("smaps", line));
            found.extend(head.list.into_iter().map(|mapping| {
                let none = HugeMapping {
                    mapping,
                    page_bytes: 0,
                    present_bytes: 0,
                    has_reserved: true,
                };
                (none, false)
            }));
            continue;
        };
        let Some((mapping, is_huge)) = found.last_mut() else {
            continue;
        };
        let kib = value.trim().strip_suffix(" kB");
        let bytes = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
        let bytes = bytes.unwrap_or(0).saturating_mul(1024);
        match name {
            "KernelPageSize" => mapping.page_bytes = bytes,
            "Shared_Hugetlb" | "Private_Hugetlb" => {
                mapping.present_bytes = mapping.present_bytes.saturating_add(bytes);
            }
            "VmFlags" => {
                let has = |flag: &str| value.split_ascii_whitespace().any(|it| it == flag);
                *is_huge = has("ht");
                mapping.has_reserved = !has("nr");
            }
            _ => {}
        }
    }
    let huge = found.into_iter().filter(|(_, is_huge)| *is_huge);
    huge.map(|(mapping, _)| mapping).collect()
}

#[cfg(test)]
mod tests {

    use super::*;

    const SMAPS: &str = "\
5581c000-5581d000 rw-p 00000000 00:00 0    [heap]
KernelPageSize:        4 kB
VmFlags: rd wr mr mw me ac sd
7f1e00000000-7f1e00800000 rw-s 00000000 00:0f 1234       /anon_hugepage (deleted)
Size:               8192 kB
KernelPageSize:     2048 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr sh mr mw me ms de ht sd
7f1e01000000-7f1e01200000 rw-p 00000000 00:0f 1235       /anon_hugepage (deleted)
KernelPageSize:     2048 kB
VmFlags: rd wr mr mw me nr ht sd
";

    #[test]
    fn huge_mappings_say_what_they_have_and_whether_pages_are_reserved() {
        let found = parse(&TextFile::new("smaps", SMAPS));
        let figures: Vec<_> = found
            .iter()
            .map(|it| {
                let bytes = (it.mapping.bytes() >> 20, it.present_bytes >> 20);
                (bytes, it.page_bytes >> 20, it.has_reserved)
            })
            .collect();
        assert_eq!(figures, [((8, 4), 2, true), ((2, 0), 2, false)]);
        assert!(found[0].mapping.is_shared);
    }

    #[test]
    fn a_process_without_such_mappings_has_none() {
        let root = Root::live();
        assert!(mounts(&root).is_ok());
        let own = of_process(&root, std::process::id(), &[]).unwrap();
        assert_eq!(own, []);
    }

    #[test]
    fn no_text_panics() {
        testing::any_text(
            "(1-2 rw-s 0 0:0 1 |[0-9a-f]{1,4}-|[A-Z_]{0,9}: |[0-9]{0,20} kB|ht|\n){0,30}",
            &|text| {
                let _ = parse(&TextFile::new("smaps", text));
            },
        );
    }
}
