//! move_pages(2): querying the nodes of a process's pages, and moving the pages.

use std::ffi::{c_int, c_ulong, c_void};

use model::{NodeId, counted};

use crate::SystemCallError;

/// `MPOL_MF_MOVE`: pages that only this process maps (include/uapi/linux/mempolicy.h).
const MOVE: c_int = 1 << 1;
/// `MPOL_MF_MOVE_ALL`: also pages that other processes map; needs `CAP_SYS_NICE`.
const MOVE_ALL: c_int = 1 << 2;

/// The kernel's status of one page: its node, or an error number.
pub(crate) type PageStatus = Result<NodeId, i32>;

/// A status that no page has: the kernel did not reach this page.
const NOT_SAID: c_int = c_int::MIN;

/// The node of the page at each of `addresses` of process `pid` (0: this one), or the error number
/// (`ENOENT`: not present in this process). Touches no page.
///
/// # Errors
/// `ESRCH` when the process is gone, `EPERM` when it may not be queried.
pub fn nodes_of(pid: u32, addresses: &[u64]) -> Result<Vec<PageStatus>, SystemCallError> {
    let mut statuses = vec![NOT_SAID; addresses.len()];
    call(pid, addresses, None, 0, &mut statuses)?;
    Ok(statuses.into_iter().map(read).collect())
}

/// What the kernel says of a huge page of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HugePage {
    /// The process has it, on this node.
    On(NodeId),
    /// The process does not have it.
    Absent,
    /// Nothing that can be relied on: its entry in the page map shows it.
    NotSaid,
}

/// What the kernel says of the huge pages of `page_bytes` at `addresses` of process `pid`. Touches
/// no page. That a page is absent can be relied on if an entry of a page middle directory maps it,
/// or a smaller one; of larger pages, some kernels say that of pages that are there (of 1 GiB
/// before Linux 6.2, mm/hugetlb.c, `follow_huge_pud`).
pub fn huge_pages_of(pid: u32, addresses: &[u64], page_bytes: u64) -> Vec<HugePage> {
    // A table fills a base page with entries of 8 bytes: 2 MiB for base pages of 4 KiB, 32 MiB for
    // 16 KiB, 512 MiB for 64 KiB.
    let base = crate::process::page_bytes();
    let middle_bytes = base / 8 * base;
    let said = |status: PageStatus| match status {
        Ok(node) => HugePage::On(node),
        Err(libc::ENOENT) if page_bytes <= middle_bytes => HugePage::Absent,
        Err(_) => HugePage::NotSaid,
    };
    match nodes_of(pid, addresses) {
        Ok(statuses) => statuses.into_iter().map(said).collect(),
        Err(_) => vec![HugePage::NotSaid; addresses.len()],
    }
}

/// The result of one call that moves pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Pages that the kernel gave up on or did not reach; 0: every page has a status.
    pub left: u64,
    /// The status of each page; `None` where the kernel did not set it.
    pub statuses: Vec<Option<PageStatus>>,
}

/// Has the kernel move the pages at `addresses` of process `pid` (0: this one) to `node`; with
/// `of_others`, also pages that other processes map. If [`Moved::left`] is not 0, query the pages
/// without a status with [`nodes_of`] (move_pages(2), "positive value").
///
/// # Errors
/// `ESRCH` when the process is gone, `EPERM` when it may not be modified or `of_others` lacks
/// `CAP_SYS_NICE`, `EACCES` when the process' cpuset forbids the node, `ENODEV` when it is offline.
pub fn move_to(
    pid: u32,
    addresses: &[u64],
    node: NodeId,
    of_others: bool,
) -> Result<Moved, SystemCallError> {
    let flags = if of_others { MOVE_ALL } else { MOVE };
    let mut statuses = vec![NOT_SAID; addresses.len()];
    let left = call(pid, addresses, Some(node), flags, &mut statuses)?;
    let statuses = statuses
        .into_iter()
        .map(|status| (status != NOT_SAID).then(|| read(status)));
    Ok(Moved {
        left,
        statuses: statuses.collect(),
    })
}

fn read(status: c_int) -> PageStatus {
    u32::try_from(status).map(NodeId).map_err(|_| -status)
}

fn call(
    pid: u32,
    addresses: &[u64],
    node: Option<NodeId>,
    flags: c_int,
    statuses: &mut [c_int],
) -> Result<u64, SystemCallError> {
    assert_eq!(addresses.len(), statuses.len(), "a status for each page");
    let nodes = node.map(|node| vec![node.0 as c_int; addresses.len()]);
    let nodes_pointer = nodes
        .as_ref()
        .map_or(std::ptr::null(), |nodes| nodes.as_ptr());
    let pages: Vec<*const c_void> = addresses
        .iter()
        .map(|address| std::ptr::without_provenance(*address as usize))
        .collect();
    // SAFETY: the arrays hold `addresses.len()` entries each; the kernel treats the addresses as
    // numbers of process `pid`, and moving a page changes nothing that a program can observe.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid as c_int,
            addresses.len() as c_ulong,
            pages.as_ptr(),
            nodes_pointer,
            statuses.as_mut_ptr(),
            flags,
        )
    };
    let Ok(left) = u64::try_from(answer) else {
        let what = node.map_or("query".to_owned(), |node| format!("to node {node}"));
        let arguments = format!(
            "process {pid}, {}, {what}",
            counted(addresses.len(), "page")
        );
        return Err(SystemCallError::last("move_pages", arguments));
    };
    Ok(left)
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::{HugePage, huge_pages_of, move_to, nodes_of};
    use crate::anonymous_memory::{AnonymousMemory, Pages};

    #[test]
    fn a_written_page_has_a_node_and_can_be_sent_where_it_is() {
        let mut memory = AnonymousMemory::map(8192, Pages::small()).unwrap();
        memory.words_mut()[0] = 1;
        let first = memory.address() as u64;
        let addresses = [first, first + crate::process::page_bytes()];
        let nodes = nodes_of(0, &addresses).unwrap();
        assert_eq!(nodes[1], Err(libc::ENOENT));
        let node = nodes[0].unwrap();
        let moved = move_to(0, &addresses[..1], node, false).unwrap();
        assert_eq!(
            (moved.left, &moved.statuses[..]),
            (0, &[Some(Ok(node))][..])
        );
    }

    #[test]
    fn the_absence_of_a_page_is_relied_on_only_where_every_kernel_is_right() {
        let memory = AnonymousMemory::map(4096, Pages::small()).unwrap();
        let addresses = [memory.address() as u64];
        let check = |page_bytes, expected| {
            assert_eq!(huge_pages_of(0, &addresses, page_bytes), [expected]);
        };
        let base = crate::process::page_bytes();
        check(base / 8 * base, HugePage::Absent);
        check(base * base, HugePage::NotSaid);
        let gone = huge_pages_of(i32::MAX as u32, &addresses, 2 << 20);
        assert_eq!(gone, [HugePage::NotSaid]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let gone = nodes_of(i32::MAX as u32, &[4096]).unwrap_err();
        assert!(gone.errno() == Some(libc::ESRCH), "{gone}");
        let nowhere = move_to(0, &[4096], NodeId(1000), false).unwrap_err();
        assert!(nowhere.to_string().contains("to node 1000"), "{nowhere}");
    }
}
