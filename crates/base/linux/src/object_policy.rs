//! The memory policy of a shared object of small pages, which belongs to the object and holds for
//! every process: read and set through a mapping of our own, without touching a page
//! (mm/shmem.c, `shmem_set_policy`). Objects of huge pages have none: there, mbind(2) speaks of the
//! caller's mapping alone.

use std::ffi::{c_int, c_ulong};

use model::NodeSet;

use crate::map_files::Window;
use crate::{SystemCallError, bit_mask};

/// `MPOL_F_ADDR`: the policy at an address (include/uapi/linux/mempolicy.h).
const AT_ADDRESS: c_ulong = 1 << 1;

/// A policy as the kernel counts them: any mode, with its flags, and the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPolicy {
    /// `MPOL_…` with `MPOL_F_…` (0: none of its own).
    pub mode: i32,
    /// The nodes.
    pub nodes: NodeSet,
}

impl RawPolicy {
    /// Pages come from the node of the CPU that asks for them, as where there is no policy.
    pub fn local() -> Self {
        let nodes = NodeSet::default();
        RawPolicy {
            mode: libc::MPOL_LOCAL,
            nodes,
        }
    }

    /// Pages come from these nodes in turn, or from the only one first.
    pub fn over(nodes: &NodeSet) -> Self {
        let mode = match nodes.len() {
            1 => libc::MPOL_PREFERRED,
            _ => libc::MPOL_INTERLEAVE,
        };
        let nodes = nodes.clone();
        RawPolicy { mode, nodes }
    }
}

impl std::fmt::Display for RawPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", crate::mempolicy::mode_name(self.mode))?;
        if self.nodes.is_empty() {
            return Ok(());
        }
        write!(f, ":{}", self.nodes)
    }
}

/// The policy of the object at page `page` of the window.
///
/// # Errors
/// `EPERM` under a seccomp filter.
pub fn at(window: &Window, page: usize) -> Result<RawPolicy, SystemCallError> {
    let (mut mode, mut mask): (c_int, _) = (0, [0_u64; 64]);
    // SAFETY: the address lies in a mapping of ours; the kernel writes one int and at most the
    // stated number of bits.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            (mask.len() * 64) as c_ulong,
            window.address_of(page),
            AT_ADDRESS,
        )
    };
    if answer < 0 {
        let arguments = format!("page {page} of an object");
        return Err(SystemCallError::last("get_mempolicy", arguments));
    }
    let nodes = bit_mask::to_set(&mask);
    Ok(RawPolicy { mode, nodes })
}

/// Sets the policy of `pages` pages of the object from page `page` of the window on. It moves
/// nothing: it says where pages come from that do not exist yet.
///
/// A policy is taken away in two steps, [`RawPolicy::local`] first: kernels before 6.7 compare what
/// is to be set with what this mapping was given, not with what the object has, and do nothing when
/// both are nothing (mm/mempolicy.c, `mbind_range`).
///
/// # Errors
/// `EINVAL` when a node is not there or not allowed to this process.
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
    let mask: Vec<u64> = bit_mask::from_set(&policy.nodes, 0);
    // The kernel takes the number for that of bits plus one (mm/mempolicy.c, `get_nodes`).
    let (pointer, bits) = match mask.is_empty() {
        true => (std::ptr::null(), 0),
        false => (mask.as_ptr(), mask.len() * 64 + 1),
    };
    let bytes = pages as u64 * crate::process::page_bytes();
    // SAFETY: the range lies in a mapping of ours (asserted), and a policy changes no content.
    let answer = unsafe {
        assert!(page + pages <= window.pages(), "a range of the window");
        libc::syscall(
            libc::SYS_mbind,
            window.address_of(page),
            bytes,
            policy.mode as c_ulong,
            pointer,
            bits as c_ulong,
            0 as c_ulong,
        )
    };
    if answer < 0 {
        let arguments = format!("{bytes} bytes of an object, {policy}");
        return Err(SystemCallError::last("mbind", arguments));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::{RawPolicy, at, set};
    use crate::map_files::MappedObject;
    use crate::shared_memory::{ObjectKind, SharedMemory};
    use crate::{Root, proc_maps};

    #[test]
    fn a_policy_is_set_for_some_pages_read_back_and_taken_away() {
        let memory = SharedMemory::create(ObjectKind::Memfd, 16 * 4096, 4096).unwrap();
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
