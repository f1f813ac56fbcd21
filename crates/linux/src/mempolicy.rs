//! Memory policies: set_mempolicy(2), get_mempolicy(2), mbind(2), and move_pages(2) as a query.
//!
//! No crate wraps these; `libc` has the numbers of the calls and the older modes. The newer modes
//! are those of include/uapi/linux/mempolicy.h.

use std::ffi::{c_int, c_ulong, c_void};
use std::ops::Range;

use model::{NodeId, NodeSet};

use crate::{SystemCallError, bit_mask, shared_memory::Mapping};

/// A memory policy, with the kernel's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// `MPOL_DEFAULT`: fall back to the surrounding policy; for a task, local allocation.
    Default,
    /// `MPOL_BIND`: these nodes only.
    Bind(NodeSet),
    /// `MPOL_INTERLEAVE`: page by page over these nodes.
    Interleave(NodeSet),
    /// `MPOL_WEIGHTED_INTERLEAVE`: over these nodes, by their weights (Linux 6.9).
    WeightedInterleave(NodeSet),
    /// `MPOL_PREFERRED`: this node first.
    Preferred(NodeId),
}

/// Not in `libc` 0.2.
const MPOL_WEIGHTED_INTERLEAVE: c_int = 6;

impl Policy {
    fn mode(&self) -> c_int {
        match self {
            Policy::Default => libc::MPOL_DEFAULT,
            Policy::Bind(_) => libc::MPOL_BIND,
            Policy::Interleave(_) => libc::MPOL_INTERLEAVE,
            Policy::WeightedInterleave(_) => MPOL_WEIGHTED_INTERLEAVE,
            Policy::Preferred(_) => libc::MPOL_PREFERRED,
        }
    }

    fn mask(&self) -> Vec<u64> {
        match self {
            Policy::Default => Vec::new(),
            Policy::Bind(nodes) | Policy::Interleave(nodes) | Policy::WeightedInterleave(nodes) => {
                bit_mask::from_set(nodes, 1)
            }
            Policy::Preferred(node) => bit_mask::from_set(&[*node].into_iter().collect(), 1),
        }
    }
}

/// Bits to announce for a mask of `words` words. The kernel takes `maxnode` for the number of bits
/// plus one (mm/mempolicy.c, `get_nodes` begins with `--maxnode`), against its manual page.
fn maxnode(words: usize) -> c_ulong {
    if words == 0 {
        0
    } else {
        (words * 64 + 1) as c_ulong
    }
}

/// Sets the policy of the calling thread; children inherit it through fork and exec.
///
/// # Errors
/// `EINVAL` when no node of the policy exists or is allowed by the cpuset; `EPERM` under a
/// seccomp filter, as in many containers.
pub fn set_task_policy(policy: &Policy) -> Result<(), SystemCallError> {
    let mask = policy.mask();
    // SAFETY: the pointer and the number of bits describe `mask`, which outlives the call; the
    // kernel reads no bit when the number is 0.
    let answer = unsafe {
        let maxnode = maxnode(mask.len());
        libc::syscall(
            libc::SYS_set_mempolicy,
            policy.mode(),
            mask.as_ptr(),
            maxnode,
        )
    };
    if answer < 0 {
        return Err(SystemCallError::last(
            "set_mempolicy",
            format!("{policy:?}"),
        ));
    }
    Ok(())
}

/// The policy of the calling thread as a mode number and its nodes.
///
/// # Errors
/// `EPERM` under a seccomp filter; `EINVAL` on a kernel with more than 4096 nodes.
pub fn task_policy() -> Result<(i32, NodeSet), SystemCallError> {
    let mut mode: c_int = 0;
    let mut mask = [0u64; 64];
    // SAFETY: the kernel writes one int and at most the stated number of bits.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            (mask.len() * 64) as c_ulong,
            std::ptr::null::<c_void>(),
            0 as c_ulong,
        )
    };
    if answer < 0 {
        return Err(SystemCallError::last("get_mempolicy", "this thread"));
    }
    Ok((mode, bit_mask::to_set(&mask)))
}

/// The words numa_maps uses for a mode number (mm/mempolicy.c, `policy_modes`), flags left out.
pub fn mode_name(mode: i32) -> &'static str {
    const MODE_FLAGS: i32 = (1 << 15) | (1 << 14) | (1 << 13);
    match mode & !MODE_FLAGS {
        0 => "default",
        1 => "prefer",
        2 => "bind",
        3 => "interleave",
        4 => "local",
        5 => "prefer (many)",
        6 => "weighted interleave",
        _ => "unknown",
    }
}

/// Sets the policy of a mapping before its pages exist; moves nothing.
///
/// For shared memory of small pages the policy belongs to the object and holds for every process;
/// for huge pages it belongs to the caller's mapping alone, so the caller must be the one who
/// faults the pages in (mbind(2), `SHM_HUGETLB`).
///
/// # Errors
/// As for [`set_task_policy`].
pub fn bind_mapping(mapping: &Mapping, policy: &Policy) -> Result<(), SystemCallError> {
    bind_range(mapping, 0..mapping.len(), policy)
}

/// As [`bind_mapping`], for the bytes of `range` only, which must be whole pages.
///
/// # Errors
/// As for [`set_task_policy`]; `EINVAL` also when the range is not whole pages.
pub fn bind_range(
    mapping: &Mapping,
    range: Range<usize>,
    policy: &Policy,
) -> Result<(), SystemCallError> {
    assert!(
        range.start <= range.end && range.end <= mapping.len(),
        "the range lies in the mapping"
    );
    let mask = policy.mask();
    // SAFETY: the range is part of a live mapping of this process and `mask` outlives the call; a
    // policy changes where future pages come from, never their content.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            mapping.address().wrapping_byte_add(range.start),
            range.len(),
            policy.mode() as c_ulong,
            mask.as_ptr(),
            maxnode(mask.len()),
            0 as c_ulong,
        )
    };
    if answer < 0 {
        return Err(SystemCallError::last(
            "mbind",
            format!("{} bytes, {policy:?}", range.len()),
        ));
    }
    Ok(())
}

/// Pages asked about in one move_pages(2): bounds the arrays, and keeps the time under the mmap
/// lock short.
const QUERY_PAGES: usize = 4096;

/// The node of every page of a mapping, page by page: `Ok(node)`, or the kernel's error number as
/// move_pages(2) reports it (`ENOENT`: not present in this process). Touches no page.
///
/// # Errors
/// When the call as a whole is refused, `EPERM` under a seccomp filter above all.
pub fn nodes_of_pages(
    mapping: &Mapping,
    page_bytes: usize,
) -> Result<Vec<Result<NodeId, i32>>, SystemCallError> {
    assert!(page_bytes > 0, "a page has a size");
    let pages = mapping.len().div_ceil(page_bytes);
    let mut answers = Vec::with_capacity(pages);
    let mut addresses: Vec<*const c_void> = Vec::with_capacity(QUERY_PAGES);
    let mut statuses = vec![0 as c_int; QUERY_PAGES];
    for first in (0..pages).step_by(QUERY_PAGES) {
        let count = QUERY_PAGES.min(pages - first);
        addresses.clear();
        let page_address = |page: usize| mapping.address().wrapping_byte_add(page * page_bytes);
        addresses.extend((first..first + count).map(|page| page_address(page).cast_const()));
        // SAFETY: both arrays hold `count` entries; without a node array the call only reports.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                count as c_ulong,
                addresses.as_ptr(),
                std::ptr::null::<c_int>(),
                statuses.as_mut_ptr(),
                0 as c_int,
            )
        };
        if answer < 0 {
            return Err(SystemCallError::last(
                "move_pages",
                format!("query of {count} pages"),
            ));
        }
        answers.extend(
            statuses[..count]
                .iter()
                .map(|&status| match u32::try_from(status) {
                    Ok(node) => Ok(NodeId(node)),
                    Err(_) => Err(-status),
                }),
        );
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use model::{NodeId, NodeSet};

    use super::{Policy, bind_mapping, mode_name, nodes_of_pages, set_task_policy, task_policy};
    use crate::shared_memory::{ObjectKind, SharedMemory};

    fn node_zero() -> NodeSet {
        [NodeId(0)].into_iter().collect()
    }

    #[test]
    fn a_task_policy_is_read_back() {
        std::thread::spawn(|| {
            set_task_policy(&Policy::Interleave(node_zero())).unwrap();
            let (mode, nodes) = task_policy().unwrap();
            assert_eq!((mode_name(mode), nodes), ("interleave", node_zero()));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn pages_are_absent_until_populated_and_then_on_their_node() {
        let memory = SharedMemory::create(ObjectKind::Memfd, 16 * 4096, 4096).unwrap();
        let mapping = memory.map().unwrap();
        bind_mapping(&mapping, &Policy::Bind(node_zero())).unwrap();
        let before = nodes_of_pages(&mapping, 4096).unwrap();
        assert_eq!(before, vec![Err(libc::ENOENT); 16]);
        mapping.populate_for_writing().unwrap();
        let after = nodes_of_pages(&mapping, 4096).unwrap();
        assert_eq!(after, vec![Ok(NodeId(0)); 16]);
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused_by_name() {
        let far: NodeSet = [NodeId(1000)].into_iter().collect();
        let error = set_task_policy(&Policy::Bind(far)).unwrap_err();
        assert!(error.to_string().contains("1000"), "{error}");
    }
}
