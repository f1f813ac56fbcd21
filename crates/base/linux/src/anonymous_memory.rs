//! Private anonymous memory with pages of a chosen kind, on chosen nodes. No other process maps it;
//! measurements in this process run on it.

use std::ffi::{c_int, c_void};

use model::{NodeId, NodeSet, PageKind};

use crate::{SystemCallError, policy_calls};

/// Bits that carry the logarithm of a huge page's size in `MAP_` flags
/// (include/uapi/asm-generic/hugetlb_encode.h).
const HUGE_SHIFT: u32 = 26;

/// Pages of one kind and size, as requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// Where they come from.
    pub kind: PageKind,
    /// Size of one: a power of two.
    pub page_bytes: u64,
}

impl Pages {
    /// Pages of the kernel's base size, and never a huge page in their place.
    pub fn small() -> Self {
        Pages {
            kind: PageKind::Small,
            page_bytes: base_page_bytes(),
        }
    }
}

/// The base page size of this kernel: 4096 on x86-64, up to 65536 on arm64.
pub fn base_page_bytes() -> u64 {
    // SAFETY: sysconf takes a number and accesses no memory of ours.
    let answer = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(answer).expect("POSIX requires a page size of at least 1")
}

/// A private mapping of zeroes, until dropped.
///
/// It has inaccessible pages on both sides, so that the kernel never merges it with a neighbour and
/// its lines in numa_maps and smaps describe it alone.
#[derive(Debug)]
pub struct AnonymousMemory {
    reservation: *mut c_void,
    reserved_bytes: usize,
    address: *mut c_void,
    bytes: usize,
    pages: Pages,
}

// SAFETY: the mapping belongs to the value, not to a thread; access follows the borrow rules.
unsafe impl Send for AnonymousMemory {}
// SAFETY: a shared borrow only reads.
unsafe impl Sync for AnonymousMemory {}

impl AnonymousMemory {
    /// Maps `bytes`, rounded up to whole pages and aligned to a page. No page exists yet.
    ///
    /// # Errors
    /// `ENOMEM` when the address space or, for huge pages, the pool is too small; `EINVAL` when the
    /// kernel has no huge pages of that size, or no transparent huge pages at all.
    pub fn map(bytes: usize, pages: Pages) -> Result<Self, SystemCallError> {
        assert!(bytes > 0, "an empty mapping has no address");
        assert!(
            pages.page_bytes.is_power_of_two() && pages.page_bytes >= base_page_bytes(),
            "pages have sizes of powers of two, from the base size up"
        );
        let page_bytes = pages.page_bytes as usize;
        let arguments = || format!("{bytes} bytes in pages of {page_bytes}");
        let too_large = || {
            let cause = std::io::Error::from_raw_os_error(libc::ENOMEM);
            SystemCallError::with("mmap", arguments(), cause)
        };
        let bytes = bytes
            .checked_next_multiple_of(page_bytes)
            .ok_or_else(too_large)?;
        let reserved_bytes = bytes.checked_add(2 * page_bytes).ok_or_else(too_large)?;
        let reservation = map_somewhere(reserved_bytes).map_err(|cause| {
            SystemCallError::with("mmap", format!("{reserved_bytes} bytes, no access"), cause)
        })?;
        let after_guard = reservation.addr() + base_page_bytes() as usize;
        let address = reservation.with_addr(after_guard.next_multiple_of(page_bytes));
        // From here on, dropping it undoes the reservation.
        let memory = AnonymousMemory {
            reservation,
            reserved_bytes,
            address,
            bytes,
            pages,
        };
        memory
            .map_inside()
            .map_err(|cause| SystemCallError::with("mmap", arguments(), cause))?;
        match pages.kind {
            PageKind::Small => memory.forbid_transparent(),
            PageKind::Transparent => memory.advise(libc::MADV_HUGEPAGE, "MADV_HUGEPAGE")?,
            PageKind::Huge => {}
        }
        Ok(memory)
    }

    fn map_inside(&self) -> Result<(), std::io::Error> {
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        if self.pages.kind == PageKind::Huge {
            flags |= libc::MAP_HUGETLB;
            flags |= (self.pages.page_bytes.trailing_zeros() as i32) << HUGE_SHIFT;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range lies within the reservation, which nothing else uses.
        let address = unsafe { libc::mmap(self.address, self.bytes, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(())
    }

    /// The pages as requested.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// First address, a multiple of the page size.
    pub fn address(&self) -> usize {
        self.address.addr()
    }

    /// Length in bytes, whole pages.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a mapping is never empty: mmap refuses it"
    )]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The content as words. The first write to a page allocates it.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: the range is mapped, readable, writable and zeroed; the borrow of `self` is
        // exclusive, and every pattern of bits is a `u64`.
        unsafe {
            std::slice::from_raw_parts_mut(self.address.cast(), self.bytes / size_of::<u64>())
        }
    }

    /// Allocates further pages on these nodes only (`MPOL_BIND`).
    ///
    /// # Errors
    /// `EINVAL` when no node of the set exists or is allowed by the cpuset; `EPERM` under a seccomp
    /// filter, as in many containers.
    pub fn bind_to(&self, nodes: &NodeSet) -> Result<(), SystemCallError> {
        self.set_policy(libc::MPOL_BIND, "MPOL_BIND", nodes)
    }

    /// Interleaves further pages over these nodes (`MPOL_INTERLEAVE`).
    ///
    /// # Errors
    /// As for [`AnonymousMemory::bind_to`].
    pub fn interleave_over(&self, nodes: &NodeSet) -> Result<(), SystemCallError> {
        self.set_policy(libc::MPOL_INTERLEAVE, "MPOL_INTERLEAVE", nodes)
    }

    /// Allocates further pages on this node while it has free memory (`MPOL_PREFERRED`).
    ///
    /// # Errors
    /// As for [`AnonymousMemory::bind_to`].
    pub fn prefer(&self, node: NodeId) -> Result<(), SystemCallError> {
        self.set_policy(libc::MPOL_PREFERRED, "MPOL_PREFERRED", &NodeSet::of(node))
    }

    fn set_policy(
        &self,
        mode: c_int,
        name: &'static str,
        nodes: &NodeSet,
    ) -> Result<(), SystemCallError> {
        let address = self.address.addr() as u64;
        policy_calls::mbind(address, self.bytes, mode, Some(nodes)).map_err(|cause| {
            let arguments = format!("{} bytes, {name}, nodes {nodes}", self.bytes);
            SystemCallError::with("mbind", arguments, cause)
        })
    }

    /// Allocates every page, on the nodes of the policy or, without one, near the calling thread
    /// (`MADV_POPULATE_WRITE`; on a kernel before 5.14, by writing to each page).
    ///
    /// # Errors
    /// `ENOMEM`, or `EFAULT` for huge pages, when the nodes allowed have too few free pages.
    pub fn populate(&mut self) -> Result<(), SystemCallError> {
        let populated = self.advise(libc::MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE");
        match populated {
            Err(error) if error.errno() == Some(libc::EINVAL) => {
                let words_per_page = base_page_bytes() as usize / size_of::<u64>();
                for word in self.words_mut().iter_mut().step_by(words_per_page) {
                    *word = 0;
                }
                Ok(())
            }
            other => other,
        }
    }

    /// Asks the kernel to replace small pages by transparent huge pages now (`MADV_COLLAPSE`, Linux
    /// 6.1).
    ///
    /// # Errors
    /// `EINVAL` on an older kernel; `ENOMEM` or `EAGAIN` when no huge page is available.
    pub fn collapse(&self) -> Result<(), SystemCallError> {
        /// include/uapi/asm-generic/mman-common.h; the libc crate has it for some targets only.
        const MADV_COLLAPSE: c_int = 25;
        self.advise(MADV_COLLAPSE, "MADV_COLLAPSE")
    }

    /// A kernel without transparent huge pages rejects the advice, and then does not need it.
    fn forbid_transparent(&self) {
        let _unneeded = self.advise(libc::MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE");
    }

    fn advise(&self, advice: c_int, name: &str) -> Result<(), SystemCallError> {
        // SAFETY: the range is this mapping; the advice values used in this file allocate pages or
        // change their size, never their content.
        if unsafe { libc::madvise(self.address, self.bytes, advice) } < 0 {
            let arguments = format!("{} bytes, {name}", self.bytes);
            return Err(SystemCallError::last("madvise", arguments));
        }
        Ok(())
    }
}

/// Reserves address space without access, at an address the kernel chooses.
fn map_somewhere(bytes: usize) -> Result<*mut c_void, std::io::Error> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping at an address the kernel chooses aliases nothing.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    Ok(address)
}

impl Drop for AnonymousMemory {
    fn drop(&mut self) {
        // A failure would mean that the range is not mapped: there is nothing to undo.
        // SAFETY: the range was mapped by us, and a borrow of it cannot outlive `self`.
        unsafe { libc::munmap(self.reservation, self.reserved_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use model::{NodeId, NodeSet, PageKind};
    use testing::{Need, not_run};

    use super::{AnonymousMemory, Pages, base_page_bytes};
    use crate::{Root, proc_smaps, sysfs_huge_pages};

    #[test]
    fn small_pages_are_small_and_stand_alone() {
        let mut memory = AnonymousMemory::map(8 << 20, Pages::small()).unwrap();
        memory.populate().unwrap();
        let entry = proc_smaps::entry_at(&Root::live(), memory.address()).unwrap();
        assert_eq!(entry.kernel_page_bytes, base_page_bytes());
        assert_eq!(entry.resident_bytes, 8 << 20);
        assert_eq!(entry.transparent_huge_bytes, 0);
        assert!(memory.words_mut().iter().all(|word| *word == 0));
    }

    #[test]
    fn lengths_are_rounded_up_to_aligned_pages() {
        let mut memory = AnonymousMemory::map(1, Pages::small()).unwrap();
        assert_eq!(memory.len() as u64, base_page_bytes());
        assert!((memory.address() as u64).is_multiple_of(base_page_bytes()));
        let words = memory.words_mut();
        words[words.len() - 1] = 1;
    }

    #[test]
    fn transparent_huge_pages_are_aligned_and_found_where_the_kernel_gives_them() {
        const TEST: &str =
            "transparent_huge_pages_are_aligned_and_found_where_the_kernel_gives_them";
        let root = Root::live();
        let Some(page_bytes) = sysfs_huge_pages::transparent_page_bytes(&root).unwrap() else {
            let why = "the kernel has no transparent huge pages";
            return not_run(TEST, Need::Kernel, why);
        };
        let kind = PageKind::Transparent;
        let pages = Pages { kind, page_bytes };
        let mut memory = AnonymousMemory::map(page_bytes as usize, pages).unwrap();
        assert!((memory.address() as u64).is_multiple_of(page_bytes));
        memory.populate().unwrap();
        // Whether populating yields a huge page depends on a setting; `MADV_COLLAPSE` does not.
        if let Err(error) = memory.collapse() {
            let kernel = crate::process::host_and_kernel().1;
            let version = kernel.split('.').map_while(|part| part.parse::<u32>().ok());
            let has_collapse = version.ge([6, 1]);
            let is_for_want_of_room = [libc::EAGAIN, libc::ENOMEM, libc::EBUSY].map(Some);
            let is_need = is_for_want_of_room.contains(&error.errno()) || !has_collapse;
            assert!(is_need, "{error}");
            return not_run(TEST, Need::Kernel, &format!("in part: {error}"));
        }
        let entry = proc_smaps::entry_at(&root, memory.address()).unwrap();
        assert_eq!(entry.transparent_huge_bytes, page_bytes);
    }

    /// Free 2 MiB pages that are not reserved, plus those that can be allocated on demand.
    fn huge_pages_available() -> i64 {
        let number = |file: &str| -> i64 {
            let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
            let text = std::fs::read_to_string(format!("{pool}/{file}"));
            text.map_or(0, |text| text.trim().parse().unwrap())
        };
        let on_demand = number("nr_overcommit_hugepages") - number("surplus_hugepages");
        number("free_hugepages") - number("resv_hugepages") + on_demand
    }

    #[test]
    fn a_huge_page_is_huge_where_the_pool_has_one_and_else_refused() {
        let kind = PageKind::Huge;
        let page_bytes = 2 << 20;
        let available = huge_pages_available();
        match AnonymousMemory::map(1, Pages { kind, page_bytes }) {
            Ok(memory) => {
                assert!(available > 0, "none of {available} was taken");
                let entry = proc_smaps::entry_at(&Root::live(), memory.address()).unwrap();
                assert_eq!(
                    (memory.len() as u64, entry.kernel_page_bytes),
                    (2 << 20, 2 << 20)
                );
            }
            Err(error) => {
                assert!(available <= 0, "{available} are available: {error}");
                assert!(error.to_string().contains("1 bytes in pages of 2097152"));
            }
        }
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused_by_name() {
        let memory = AnonymousMemory::map(4096, Pages::small()).unwrap();
        memory.bind_to(&NodeSet::of(NodeId(0))).unwrap();
        memory.interleave_over(&NodeSet::of(NodeId(0))).unwrap();
        let error = memory.bind_to(&NodeSet::of(NodeId(1000))).unwrap_err();
        assert!(error.to_string().contains("nodes 1000"), "{error}");
    }

    #[test]
    fn more_than_there_is_address_space_is_refused() {
        assert!(AnonymousMemory::map(usize::MAX, Pages::small()).is_err());
        assert!(AnonymousMemory::map(1 << 60, Pages::small()).is_err());
    }
}
