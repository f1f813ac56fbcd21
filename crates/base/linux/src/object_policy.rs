//! The memory policy of a shared object of small pages, which belongs to the object and applies to
//! every process. It is read and set through a mapping in this process, without touching a page
//! (mm/shmem.c, `shmem_set_policy`). Objects of huge pages have none: there, mbind(2) affects only
//! the caller's mapping.

use model::NodeSet;

use crate::mempolicy::MPOL_WEIGHTED_INTERLEAVE;
use crate::object_window::Window;
use crate::{SystemCallError, policy_calls};

/// A policy in the kernel's numbers: any mode, with its flags, and the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPolicy {
    /// `MPOL_…` with `MPOL_F_…` (0: no policy).
    pub mode: i32,
    /// The nodes.
    pub nodes: NodeSet,
}

impl RawPolicy {
    /// Allocates pages on the node of the requesting CPU, as without a policy.
    pub fn local() -> Self {
        let nodes = NodeSet::default();
        RawPolicy {
            mode: libc::MPOL_LOCAL,
            nodes,
        }
    }

    /// Interleaves pages over these nodes by their weights (Linux 6.9).
    pub fn weighted_over(nodes: &NodeSet) -> Self {
        RawPolicy {
            mode: MPOL_WEIGHTED_INTERLEAVE,
            nodes: nodes.clone(),
        }
    }

    /// Interleaves pages over these nodes; prefers the node if there is only one.
    pub fn over(nodes: &NodeSet) -> Self {
        let mode = match nodes.len() {
            1 => libc::MPOL_PREFERRED,
            _ => libc::MPOL_INTERLEAVE,
        };
        let nodes = nodes.clone();
        RawPolicy { mode, nodes }
    }

    /// `MPOL_BIND`: allocates pages on these nodes only, and moves none.
    pub fn bind(nodes: &NodeSet) -> Self {
        let (mode, nodes) = (libc::MPOL_BIND, nodes.clone());
        RawPolicy { mode, nodes }
    }

    /// `MPOL_BIND` with `MPOL_F_NUMA_BALANCING`: the same, and NUMA balancing moves pages among
    /// these nodes to the CPUs that use them. The flag is one of Linux 5.12; whether mbind(2) takes
    /// it depends on the kernel (mm/mempolicy.c, `sanitize_mpol_flags`; docs/balance.md).
    pub fn balancing(nodes: &NodeSet) -> Self {
        let mode = libc::MPOL_BIND | crate::mempolicy::MPOL_F_NUMA_BALANCING;
        let nodes = nodes.clone();
        RawPolicy { mode, nodes }
    }

    /// The same policy, under which NUMA balancing moves nothing.
    pub fn without_balancing(&self) -> Self {
        let mode = self.mode & !crate::mempolicy::MPOL_F_NUMA_BALANCING;
        let nodes = self.nodes.clone();
        RawPolicy { mode, nodes }
    }
}

impl std::fmt::Display for RawPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = crate::mempolicy::policy_words(self.mode, &self.nodes);
        write!(f, "{words}")
    }
}

/// The policy of the object at page `page` of the window.
///
/// # Errors
/// `EPERM` under a seccomp filter.
pub fn at(window: &Window, page: usize) -> Result<RawPolicy, SystemCallError> {
    match policy_calls::get_mempolicy(Some(window.address_of(page))) {
        Ok((mode, nodes)) => Ok(RawPolicy { mode, nodes }),
        Err(cause) => {
            let arguments = format!("page {page} of an object");
            Err(SystemCallError::with("get_mempolicy", arguments, cause))
        }
    }
}

/// Sets the policy of `pages` pages of the object from page `page` of the window on. Moves nothing:
/// it only affects pages that do not exist yet.
///
/// A policy is cleared in two steps, [`RawPolicy::local`] first: kernels before 6.7 compare the new
/// policy with that of this mapping, not with the object's, and do nothing when both are empty
/// (mm/mempolicy.c, `mbind_range`).
///
/// # Errors
/// `EINVAL` when a node does not exist or this process may not use it.
pub fn set(
    window: &Window,
    page: usize,
    pages: usize,
    policy: &RawPolicy,
) -> Result<(), SystemCallError> {
    if *policy == RawPolicy::default() {
        bind(window, page, pages, &RawPolicy::local())?;
    }
    bind(window, page, pages, policy)
}

fn bind(
    window: &Window,
    page: usize,
    pages: usize,
    policy: &RawPolicy,
) -> Result<(), SystemCallError> {
    assert!(page + pages <= window.pages(), "a range of the window");
    let bytes = pages * crate::process::page_bytes() as usize;
    let nodes = Some(&policy.nodes).filter(|nodes| !nodes.is_empty());
    policy_calls::mbind(window.address_of(page), bytes, policy.mode, nodes).map_err(|cause| {
        let arguments = format!("{bytes} bytes of an object, {policy}");
        SystemCallError::with("mbind", arguments, cause)
    })
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::{RawPolicy, at, set};
    use crate::map_files::MappedObject;
    use crate::process::page_bytes;
    use crate::shared_memory::{ObjectKind, SharedMemory};
    use crate::{Root, proc_maps};

    #[test]
    fn a_policy_is_set_for_some_pages_read_back_and_taken_away() {
        let memory =
            SharedMemory::create(ObjectKind::Memfd, 16 * page_bytes() as usize, page_bytes())
                .unwrap();
        let mapping = memory.map().unwrap();
        let start = mapping.address().addr() as u64;
        let maps = proc_maps::read(&Root::live(), std::process::id())
            .unwrap()
            .list;
        let line = maps.iter().find(|line| line.start == start).unwrap();
        let object = match MappedObject::open(&Root::live(), std::process::id(), line) {
            Ok(object) => object,
            Err(error) => {
                let test = "a_policy_is_set_for_some_pages_read_back_and_taken_away";
                let need = Need::root_or_kernel(crate::process::is_root());
                return not_run(test, need, &error.to_string());
            }
        };
        let window = object.window(0, 16).unwrap();
        let over_zero = RawPolicy::over(&"0".parse().unwrap());
        set(&window, 4, 8, &over_zero).unwrap();
        let policies: Vec<RawPolicy> = (0..16).map(|page| at(&window, page).unwrap()).collect();
        assert_eq!(policies[3], RawPolicy::default());
        assert_eq!((&policies[4], &policies[11]), (&over_zero, &over_zero));
        assert_eq!(
            (over_zero.to_string().as_str(), &policies[12]),
            ("prefer:0", &policies[3])
        );
        set(&window, 0, 16, &RawPolicy::default()).unwrap();
        assert_eq!(at(&window, 4).unwrap(), RawPolicy::default());
        assert_eq!(object.allocated_bytes, 0);
    }
}
