//! Memory policies: set_mempolicy(2), get_mempolicy(2), mbind(2), and move_pages(2) as a query.
//!
//! No crate wraps these; `libc` has the numbers of the calls and the older modes. The newer modes
//! are those of include/uapi/linux/mempolicy.h.

use std::ffi::{c_int, c_ulong, c_void};
use std::ops::Range;

use model::{NodeId, NodeSet};

use crate::shared_memory::{Mapping, ObjectKind, SharedMemory};
use crate::{SystemCallError, bit_mask};

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
    /// `MPOL_PREFERRED_MANY`: these nodes first (Linux 5.15).
    PreferredMany(NodeSet),
    /// `MPOL_LOCAL`: the node of the CPU that touches the page first.
    Local,
    /// `MPOL_BIND` with `MPOL_F_NUMA_BALANCING`: these nodes only, and the kernel may move pages
    /// among them (Linux 5.12).
    BindBalancing(NodeSet),
}

/// Not in `libc` 0.2.
const MPOL_PREFERRED_MANY: c_int = 5;
const MPOL_WEIGHTED_INTERLEAVE: c_int = 6;
const MPOL_F_NUMA_BALANCING: c_int = 1 << 13;

impl Policy {
    /// The nodes it names; `None` when it names none.
    pub fn nodes(&self) -> Option<NodeSet> {
        match self {
            Policy::Default | Policy::Local => None,
            Policy::Bind(nodes)
            | Policy::BindBalancing(nodes)
            | Policy::Interleave(nodes)
            | Policy::WeightedInterleave(nodes)
            | Policy::PreferredMany(nodes) => Some(nodes.clone()),
            Policy::Preferred(node) => Some(NodeSet::of(*node)),
        }
    }

    /// What numa_maps calls it.
    pub fn words(&self) -> String {
        policy_words(self.mode(), &self.nodes().unwrap_or_default())
    }

    fn mode(&self) -> c_int {
        match self {
            Policy::Default => libc::MPOL_DEFAULT,
            Policy::Bind(_) => libc::MPOL_BIND,
            Policy::Interleave(_) => libc::MPOL_INTERLEAVE,
            Policy::WeightedInterleave(_) => MPOL_WEIGHTED_INTERLEAVE,
            Policy::Preferred(_) => libc::MPOL_PREFERRED,
            Policy::PreferredMany(_) => MPOL_PREFERRED_MANY,
            Policy::Local => libc::MPOL_LOCAL,
            Policy::BindBalancing(_) => libc::MPOL_BIND | MPOL_F_NUMA_BALANCING,
        }
    }

    fn mask(&self) -> Vec<u64> {
        self.nodes()
            .map(|nodes| bit_mask::from_set(&nodes, 1))
            .unwrap_or_default()
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
    // Without bits there must be no mask: a length of 0 is taken for the largest of all.
    let address = if mask.is_empty() {
        std::ptr::null()
    } else {
        mask.as_ptr()
    };
    // SAFETY: the pointer and the number of bits describe `mask`, which outlives the call, or it is
    // null.
    let answer = unsafe {
        let maxnode = maxnode(mask.len());
        libc::syscall(libc::SYS_set_mempolicy, policy.mode(), address, maxnode)
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

/// Flags in a mode number: static, relative, balancing.
const MODE_FLAGS: c_int = (1 << 15) | (1 << 14) | MPOL_F_NUMA_BALANCING;

/// What numa_maps calls a policy of these nodes: `bind:0-3`, `bind=balancing:0`, `local`
/// (mm/mempolicy.c, `mpol_to_str`).
pub fn policy_words(mode: i32, nodes: &NodeSet) -> String {
    let mut words = mode_name(mode).to_owned();
    let flags = [
        (1 << 15, "static"),
        (1 << 14, "relative"),
        (MPOL_F_NUMA_BALANCING, "balancing"),
    ];
    let named: Vec<_> = flags.iter().filter(|(bit, _)| mode & bit != 0).collect();
    for (index, (_, name)) in named.iter().enumerate() {
        words.push(if index == 0 { '=' } else { '|' });
        words.push_str(name);
    }
    if !nodes.is_empty() {
        words.push_str(&format!(":{nodes}"));
    }
    words
}

/// The words numa_maps uses for a mode number (mm/mempolicy.c, `policy_modes`), flags left out.
pub fn mode_name(mode: i32) -> &'static str {
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
            if mask.is_empty() {
                std::ptr::null()
            } else {
                mask.as_ptr()
            },
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

/// Whether this process may set memory policies: tries the one that changes nothing, for a thread
/// that ends at once and for a page of its own.
///
/// # Errors
/// `EPERM` under a seccomp filter; `ENOSYS` where the kernel has no policies.
pub fn try_policies() -> Result<(), SystemCallError> {
    let page_bytes = crate::process::page_bytes();
    let tried = std::thread::spawn(move || {
        set_task_policy(&Policy::Default)?;
        let memory = SharedMemory::create(ObjectKind::Memfd, page_bytes as usize, page_bytes)?;
        bind_mapping(&memory.map()?, &Policy::Default)
    });
    tried
        .join()
        .expect("a thread that makes three system calls does not panic")
}

/// Whether this process may ask where pages are with move_pages(2): asks about one that is absent.
///
/// # Errors
/// `EPERM` under a seccomp filter; `ENOSYS` where the kernel has no such call.
pub fn try_question() -> Result<(), SystemCallError> {
    nodes_of_process_pages(0, 0, crate::process::page_bytes(), 1).map(|_| ())
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
    nodes_of_process_pages(0, mapping.address().addr() as u64, page_bytes as u64, pages)
}

/// The same for `pages` pages of process `pid` (0: this one) from address `start` on. Only what
/// that process has mapped is present.
///
/// # Errors
/// When the call as a whole is refused: `EPERM` for a process that may not be traced, or under a
/// seccomp filter; `ESRCH` when it is gone.
pub fn nodes_of_process_pages(
    pid: u32,
    start: u64,
    page_bytes: u64,
    pages: usize,
) -> Result<Vec<Result<NodeId, i32>>, SystemCallError> {
    let mut answers = Vec::with_capacity(pages);
    let mut addresses: Vec<*const c_void> = Vec::with_capacity(QUERY_PAGES);
    let mut statuses = vec![0 as c_int; QUERY_PAGES];
    for first in (0..pages).step_by(QUERY_PAGES) {
        let count = QUERY_PAGES.min(pages - first);
        addresses.clear();
        // An address of another process is a number here, and never followed.
        let address = |page: usize| start.wrapping_add(page as u64 * page_bytes) as usize;
        addresses
            .extend((first..first + count).map(|page| std::ptr::without_provenance(address(page))));
        // SAFETY: both arrays hold `count` entries; without a node array the call only reports.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                pid,
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
                format!("query of {count} pages of process {pid}"),
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
    use testing::{Need, not_run};

    use super::{
        Policy, bind_mapping, mode_name, nodes_of_pages, policy_words, set_task_policy,
        task_policy, try_policies, try_question,
    };
    use crate::shared_memory::{ObjectKind, SharedMemory};

    #[test]
    fn trying_changes_nothing() {
        set_task_policy(&Policy::Preferred(NodeId(0))).unwrap();
        try_policies().unwrap();
        try_question().unwrap();
        let (mode, nodes) = task_policy().unwrap();
        assert_eq!(policy_words(mode, &nodes), "prefer:0");
    }

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
    fn every_policy_is_read_back_in_the_words_of_numa_maps() {
        let node = node_zero;
        // With whether a kernel that numalab runs on may be older than the policy.
        let policies = [
            (Policy::Bind(node()), "bind:0", false),
            (Policy::BindBalancing(node()), "bind=balancing:0", false),
            (Policy::Preferred(NodeId(0)), "prefer:0", false),
            (Policy::PreferredMany(node()), "prefer (many):0", true),
            (
                Policy::WeightedInterleave(node()),
                "weighted interleave:0",
                true,
            ),
            (Policy::Local, "local", false),
            (Policy::Default, "default", false),
        ];
        for (policy, expected, is_young) in policies {
            let found = std::thread::spawn(move || match set_task_policy(&policy) {
                Err(error) if is_young && error.errno() == Some(libc::EINVAL) => None,
                result => {
                    result.unwrap();
                    Some(task_policy().unwrap())
                }
            });
            match found.join().unwrap() {
                Some((mode, nodes)) => assert_eq!(policy_words(mode, &nodes), expected),
                None => {
                    let test = "every_policy_is_read_back_in_the_words_of_numa_maps";
                    let why = format!("in part: the kernel has no policy {expected}");
                    not_run(test, Need::Kernel, &why);
                }
            }
        }
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
    fn a_policy_has_the_words_of_numa_maps() {
        let check = |mode, nodes: &str, expected| {
            assert_eq!(policy_words(mode, &nodes.parse().unwrap()), expected);
        };
        check(0, "", "default");
        check(4, "", "local");
        check(1, "25", "prefer:25");
        check(5, "0-1", "prefer (many):0-1");
        check(3 | 1 << 14, "0-3,8", "interleave=relative:0-3,8");
        check(2 | 1 << 15 | 1 << 13, "0", "bind=static|balancing:0");
        check(6, "0,2", "weighted interleave:0,2");
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused_by_name() {
        let far: NodeSet = [NodeId(1000)].into_iter().collect();
        let error = set_task_policy(&Policy::Bind(far)).unwrap_err();
        assert!(error.to_string().contains("1000"), "{error}");
    }
}
