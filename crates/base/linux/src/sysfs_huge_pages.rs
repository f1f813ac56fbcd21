//! `hugepages-<size>kB` directories, of the machine and of each node (kernel,
//! `Documentation/admin-guide/mm/hugetlbpage.rst`).

use std::path::{Path, PathBuf};

use model::NodeId;

use crate::{Error, Root};

/// The pool of one page size. A node's pool has no `reserved` and no `overcommit`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HugePagePool {
    /// Size of one page.
    pub page_bytes: u64,
    /// `nr_hugepages`.
    pub total: Option<u64>,
    /// `free_hugepages`.
    pub free: Option<u64>,
    /// `resv_hugepages`.
    pub reserved: Option<u64>,
    /// `surplus_hugepages`.
    pub surplus: Option<u64>,
    /// `nr_overcommit_hugepages`.
    pub overcommit: Option<u64>,
}

/// The pools of the whole machine.
const MACHINE: &str = "sys/kernel/mm/hugepages";

/// The pools of the whole machine, by ascending page size; `None` when the kernel has none.
///
/// # Errors
/// When one of their files is malformed.
pub fn machine(root: &Root) -> Result<Option<Vec<HugePagePool>>, Error> {
    read(root, MACHINE)
}

/// Whether any pool of the machine has a free page; `false` when the kernel has no pools.
///
/// # Errors
/// When one of their files is malformed.
pub fn any_free(root: &Root) -> Result<bool, Error> {
    let entries = root.entries(MACHINE)?.unwrap_or_default();
    for entry in entries {
        let file = root.read_optional(&format!("{MACHINE}/{entry}/free_hugepages"))?;
        let free: Option<u64> = file.map(|file| file.number()).transpose()?;
        if free.is_some_and(|free| free > 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The pools in `directory`, by ascending page size; `None` when there is no such directory.
pub(crate) fn read(root: &Root, directory: &str) -> Result<Option<Vec<HugePagePool>>, Error> {
    let Some(entries) = root.entries(directory)? else {
        return Ok(None);
    };
    let mut pools = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.starts_with("hugepages-"))
    {
        pools.push(read_pool(root, directory, entry)?);
    }
    pools.sort_by_key(|pool| pool.page_bytes);
    Ok(Some(pools))
}

/// The file that reads as, and sets, the number of pages of one size in a node's pool.
pub fn count_file(node: NodeId, page_bytes: u64) -> PathBuf {
    pool_directory(node, page_bytes).join("nr_hugepages")
}

/// Whether a path is that of such a file.
pub fn is_count_file(path: &Path) -> bool {
    // /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
    let number = |text: Option<&str>, prefix: &str, suffix: &str| -> Option<u64> {
        let text = text?.strip_prefix(prefix)?.strip_suffix(suffix)?;
        text.parse().ok()
    };
    let mut parts = path.to_str().unwrap_or_default().rsplit('/').skip(1);
    let kib = number(parts.next(), "hugepages-", "kB");
    let node = number(parts.nth(1), "node", "").and_then(|node| u32::try_from(node).ok());
    let bytes = kib.and_then(|kib| kib.checked_mul(1024));
    node.zip(bytes)
        .is_some_and(|(node, bytes)| path == count_file(NodeId(node), bytes))
}

fn pool_directory(node: NodeId, page_bytes: u64) -> PathBuf {
    let kib = page_bytes / 1024;
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB").into()
}

fn read_pool(root: &Root, directory: &str, entry: &str) -> Result<HugePagePool, Error> {
    let optional = |name: &str| -> Result<Option<u64>, Error> {
        let file = root.read_optional(&format!("{directory}/{entry}/{name}"))?;
        file.map(|file| file.number()).transpose()
    };
    Ok(HugePagePool {
        page_bytes: page_bytes(entry).ok_or_else(|| Error::MalformedName {
            path: root.path(directory).join(entry),
            expected: "a name such as hugepages-2048kB".to_owned(),
        })?,
        total: optional("nr_hugepages")?,
        free: optional("free_hugepages")?,
        reserved: optional("resv_hugepages")?,
        surplus: optional("surplus_hugepages")?,
        overcommit: optional("nr_overcommit_hugepages")?,
    })
}

/// The size in `hugepages-2048kB`.
fn page_bytes(entry: &str) -> Option<u64> {
    let kib: u64 = entry
        .strip_prefix("hugepages-")?
        .strip_suffix("kB")?
        .parse()
        .ok()?;
    kib.checked_mul(1024).filter(|bytes| *bytes > 0)
}

/// The size of a transparent huge page that one entry of the page middle directory maps: 2 MiB on
/// x86-64. `None` when the kernel has none.
///
/// # Errors
/// When the file is malformed.
pub fn transparent_page_bytes(root: &Root) -> Result<Option<u64>, Error> {
    let path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let Some(file) = root.read_optional(path)? else {
        return Ok(None);
    };
    let bytes: u64 = file.number()?;
    if !bytes.is_power_of_two() {
        return Err(file.malformed(1, "a power of two", file.word()));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_in_the_name() {
        assert_eq!(page_bytes("hugepages-2048kB"), Some(2 << 20));
        assert_eq!(page_bytes("hugepages-1048576kB"), Some(1 << 30));
        assert_eq!(page_bytes("hugepages-0kB"), None);
        assert_eq!(page_bytes("hugepages-2048"), None);
        assert_eq!(page_bytes("hugepages-99999999999999999999kB"), None);
        assert_eq!(page_bytes("hugepages-18446744073709551615kB"), None);
    }
}
