//! Memory policies of threads and mappings, and the node of each page of a mapping.
//!
//! `libc` defines the older modes; the newer ones are from include/uapi/linux/mempolicy.h.

use std::ffi::c_int;
use std::ops::Range;

use model::{NodeId, NodeSet};

use crate::shared_memory::{Mapping, ObjectKind, SharedMemory};
use crate::{SystemCallError, move_pages, policy_calls};

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
pub(crate) const MPOL_WEIGHTED_INTERLEAVE: c_int = 6;
pub(crate) const MPOL_F_NUMA_BALANCING: c_int = 1 << 13;

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

    /// The policy in the notation of numa_maps.
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
}

/// Sets the policy of the calling thread; children inherit it through fork and exec.
///
/// # Errors
/// `EINVAL` when no node of the policy exists or is allowed by the cpuset; `EPERM` under a
/// seccomp filter, as in many containers.
pub fn set_task_policy(policy: &Policy) -> Result<(), SystemCallError> {
    policy_calls::set_mempolicy(policy.mode(), policy.nodes().as_ref())
        .map_err(|cause| SystemCallError::with("set_mempolicy", format!("{policy:?}"), cause))
}

/// The policy of the calling thread as a mode number and its nodes.
///
/// # Errors
/// `EPERM` under a seccomp filter; `EINVAL` on a kernel with more than 4096 nodes.
pub fn task_policy() -> Result<(i32, NodeSet), SystemCallError> {
    policy_calls::get_mempolicy(None)
        .map_err(|cause| SystemCallError::with("get_mempolicy", "this thread", cause))
}

/// Flags in a mode number: static, relative, balancing.
const MODE_FLAGS: c_int = (1 << 15) | (1 << 14) | MPOL_F_NUMA_BALANCING;

/// A policy of these nodes in the notation of numa_maps: `bind:0-3`, `bind=balancing:0`, `local`
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

/// The name numa_maps uses for a mode number (mm/mempolicy.c, `policy_modes`), without flags.
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
/// For shared memory of small pages the policy belongs to the object and applies to every process.
/// For huge pages it belongs to the caller's mapping alone, so the caller must be the process that
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
    let address = (mapping.address().addr() + range.start) as u64;
    policy_calls::mbind(address, range.len(), policy.mode(), policy.nodes().as_ref()).map_err(
        |cause| {
            let arguments = format!("{} bytes, {policy:?}", range.len());
            SystemCallError::with("mbind", arguments, cause)
        },
    )
}

/// Checks whether this process may set memory policies: sets the default policy on a short-lived
/// thread and on a page of its own.
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

/// Checks whether this process may query page nodes with move_pages(2): queries an absent page.
///
/// # Errors
/// `EPERM` under a seccomp filter; `ENOSYS` where the kernel has no such call.
pub fn try_question() -> Result<(), SystemCallError> {
    nodes_of_process_pages(0, 0, crate::process::page_bytes(), 1).map(|_| ())
}

/// Pages queried by one move_pages(2): bounds the arrays and the time under the mmap lock.
const QUERY_PAGES: usize = 4096;

/// The node of every page of a mapping: `Ok(node)`, or the kernel's error number as move_pages(2)
/// reports it (`ENOENT`: not present in this process). Touches no page.
///
/// # Errors
/// When the call as a whole is refused, most often with `EPERM` under a seccomp filter.
pub fn nodes_of_pages(
    mapping: &Mapping,
    page_bytes: usize,
) -> Result<Vec<Result<NodeId, i32>>, SystemCallError> {
    assert!(page_bytes > 0, "a page has a size");
    let pages = mapping.len().div_ceil(page_bytes);
    nodes_of_process_pages(0, mapping.address().addr() as u64, page_bytes as u64, pages)
}

/// The same for `pages` pages of process `pid` (0: this one) from address `start` on. Only pages
/// that this process has mapped are present.
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
    for first in (0..pages).step_by(QUERY_PAGES) {
        let count = QUERY_PAGES.min(pages - first);
        let address = |page: usize| start.wrapping_add(page as u64 * page_bytes);
        let addresses: Vec<u64> = (first..first + count).map(address).collect();
        answers.extend(move_pages::nodes_of(pid, &addresses)?);
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
    use crate::process::page_bytes;
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
        // The flag tells whether a supported kernel may be older than the policy.
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
        let memory =
            SharedMemory::create(ObjectKind::Memfd, 16 * page_bytes() as usize, page_bytes())
                .unwrap();
        let mapping = memory.map().unwrap();
        bind_mapping(&mapping, &Policy::Bind(node_zero())).unwrap();
        let before = nodes_of_pages(&mapping, page_bytes() as usize).unwrap();
        assert_eq!(before, vec![Err(libc::ENOENT); 16]);
        mapping.populate_for_writing().unwrap();
        let after = nodes_of_pages(&mapping, page_bytes() as usize).unwrap();
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
