//! set_mempolicy(2), get_mempolicy(2) and mbind(2), each once. No crate wraps them; `libc` defines
//! their numbers.
//!
//! A policy decides where new pages are allocated and changes no content, so none of these calls
//! can invalidate what the compiler assumes about memory. For an address that this process has not
//! mapped they fail with `EFAULT`.

use std::ffi::{c_int, c_ulong, c_void};
use std::io;

use model::NodeSet;

use crate::bit_mask;

/// `MPOL_F_ADDR`: the policy at an address (include/uapi/linux/mempolicy.h).
const AT_ADDRESS: c_ulong = 1 << 1;

/// Words of the mask that the kernel fills: nodes 0 to 4095, more than any kernel can have.
const MASK_WORDS: usize = 64;

/// Nodes in the kernel's form: a mask, and a number that the kernel takes as that of its bits plus
/// one (mm/mempolicy.c, `get_nodes` begins with `--maxnode`), contrary to its manual page.
struct Nodes(Vec<u64>);

impl Nodes {
    fn of(nodes: Option<&NodeSet>) -> Self {
        Nodes(nodes.map_or(Vec::new(), |nodes| bit_mask::from_set(nodes, 1)))
    }

    /// Null without nodes: the kernel takes a length of 0 for the maximum.
    fn pointer(&self) -> *const u64 {
        match self.0.is_empty() {
            true => std::ptr::null(),
            false => self.0.as_ptr(),
        }
    }

    fn maxnode(&self) -> c_ulong {
        match self.0.len() {
            0 => 0,
            words => (words * 64 + 1) as c_ulong,
        }
    }
}

/// Sets the policy of the calling thread; `None` for a mode that names no nodes.
pub(crate) fn set_mempolicy(mode: c_int, nodes: Option<&NodeSet>) -> io::Result<()> {
    let nodes = Nodes::of(nodes);
    // SAFETY: pointer and number describe the mask, which outlives the call, or are null and 0.
    let answer = unsafe {
        let (pointer, maxnode) = (nodes.pointer(), nodes.maxnode());
        libc::syscall(libc::SYS_set_mempolicy, mode, pointer, maxnode)
    };
    outcome(answer)
}

/// The policy at an address of this process; without one, that of the calling thread.
pub(crate) fn get_mempolicy(address: Option<u64>) -> io::Result<(c_int, NodeSet)> {
    let (mut mode, mut mask): (c_int, _) = (0, [0_u64; MASK_WORDS]);
    let flags = address.map_or(0, |_| AT_ADDRESS);
    // SAFETY: the kernel writes one int and at most the stated number of bits.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            (mask.len() * 64) as c_ulong,
            pointer(address.unwrap_or(0)),
            flags,
        )
    };
    outcome(answer).map(|()| (mode, bit_mask::to_set(&mask)))
}

/// Sets the policy of a range of this process; `None` for a mode that names no nodes.
pub(crate) fn mbind(
    address: u64,
    bytes: usize,
    mode: c_int,
    nodes: Option<&NodeSet>,
) -> io::Result<()> {
    let nodes = Nodes::of(nodes);
    // SAFETY: pointer and number describe the mask, which outlives the call, or are null and 0; the
    // range is only a number here (see above).
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            pointer(address),
            bytes,
            mode as c_ulong,
            nodes.pointer(),
            nodes.maxnode(),
            0 as c_ulong,
        )
    };
    outcome(answer)
}

fn pointer(address: u64) -> *const c_void {
    std::ptr::without_provenance(address as usize)
}

fn outcome(answer: libc::c_long) -> io::Result<()> {
    match answer < 0 {
        true => Err(io::Error::last_os_error()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_not_mapped_is_refused() {
        let error = mbind(1 << 12, 4096, libc::MPOL_DEFAULT, None).unwrap_err();
        let errno = error.raw_os_error().unwrap();
        // Under a container's seccomp filter the call fails with EPERM.
        assert!([libc::EFAULT, libc::EPERM].contains(&errno), "{error}");
    }

    #[test]
    fn a_set_without_nodes_is_not_taken_for_all_of_them() {
        let none = NodeSet::default();
        assert_eq!(
            (Nodes::of(Some(&none)).0.len(), Nodes::of(None).maxnode()),
            (1, 0)
        );
        assert_eq!(Nodes::of(Some(&none)).maxnode(), 65);
    }
}
