//! Huge pages of a pool that exist although no process maps them, made visible to this process
//! without allocating any: `UFFDIO_CONTINUE` of userfaultfd(2) maps a page that the object already
//! has, and returns `EFAULT` for a hole (Linux 5.13; mm/hugetlb.c, `hugetlb_mfill_atomic_pte`).
//! Nothing is allocated or reserved from a pool, and no page is read or written.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::SystemCallError;
use crate::pagemap::{Pagemap, PagemapEntry};

/// `_IOWR(0xAA, 0x3F, struct uffdio_api)`, `_IOWR(0xAA, 0x00, struct uffdio_register)` and
/// `_IOWR(0xAA, 0x07, struct uffdio_continue)` (include/uapi/linux/userfaultfd.h).
const API: libc::c_ulong = 0xc018_aa3f;
const REGISTER: libc::c_ulong = 0xc020_aa00;
const CONTINUE: libc::c_ulong = 0xc020_aa07;

/// `UFFD_API`, `UFFD_FEATURE_MINOR_HUGETLBFS`, `UFFDIO_REGISTER_MODE_MINOR`,
/// `UFFDIO_CONTINUE_MODE_DONTWAKE`.
const VERSION: u64 = 0xaa;
const MINOR_OF_HUGE_PAGES: u64 = 1 << 9;
const MODE_MINOR: u64 = 1 << 2;
const WAKE_NOBODY: u64 = 1;

/// `UFFD_USER_MODE_ONLY`: with it no privilege is required (Linux 5.11).
const USER_MODE_ONLY: libc::c_int = 1;

/// `struct uffdio_api`.
#[repr(C)]
struct Version {
    api: u64,
    features: u64,
    ioctls: u64,
}

/// `struct uffdio_register` and `struct uffdio_continue`, which have the same layout.
#[repr(C)]
struct Range {
    start: u64,
    bytes: u64,
    mode: u64,
    /// What was mapped, or a negative error; for a registration, the allowed ioctls.
    answer: i64,
}

const _: () = assert!(size_of::<Version>() == 24 && size_of::<Range>() == 32);

/// This process's mapping of huge pages of an object, until dropped. None of it is ever accessed.
#[derive(Debug)]
pub struct HugeWindow {
    address: *mut libc::c_void,
    bytes: usize,
    page_bytes: u64,
    faults: OwnedFd,
}

impl HugeWindow {
    /// Maps `pages` pages of `page_bytes` from `offset` on; none of them is present yet. The file
    /// must be open for writing, as the kernel requires to register a shared mapping. The mapping
    /// itself is read-only, since a writable one can extend the file.
    ///
    /// # Errors
    /// When the kernel is older, or a seccomp filter or a seal on the object forbids a call.
    pub(crate) fn map(
        file: &File,
        offset: u64,
        pages: usize,
        page_bytes: u64,
    ) -> Result<Self, SystemCallError> {
        let faults = userfaultfd()?;
        let bytes = pages * page_bytes as usize;
        let arguments = || format!("{bytes} bytes of huge pages at offset {offset}");
        let Ok(at) = libc::off_t::try_from(offset) else {
            let cause = io::Error::from_raw_os_error(libc::EOVERFLOW);
            return Err(SystemCallError::with("mmap", arguments(), cause));
        };
        // SAFETY: the kernel chooses an unused address; the descriptor is open.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                at,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(SystemCallError::last("mmap", arguments()));
        }
        let window = HugeWindow {
            address,
            bytes,
            page_bytes,
            faults,
        };
        let mut range = window.range(0);
        range.mode = MODE_MINOR;
        // SAFETY: the kernel reads and writes one struct of this size; the range is our mapping.
        let answer = unsafe { libc::ioctl(window.faults.as_raw_fd(), REGISTER, &raw mut range) };
        match answer {
            0 => Ok(window),
            _ => Err(SystemCallError::last("UFFDIO_REGISTER", arguments())),
        }
    }

    /// Address of page `page` of the window.
    pub fn address_of(&self, page: usize) -> u64 {
        self.address.addr() as u64 + page as u64 * self.page_bytes
    }

    /// Makes the existing pages present in this process, and no others.
    ///
    /// # Errors
    /// When the kernel refuses, except because a page does not exist or is lost.
    pub fn show_existing(&self) -> Result<(), SystemCallError> {
        let mut at = 0;
        while at < self.bytes as u64 {
            let mut range = self.range(at);
            range.mode = WAKE_NOBODY;
            // SAFETY: the kernel reads and writes one struct of this size; the range is in our
            // mapping, into which this process has no references.
            let answer = unsafe { libc::ioctl(self.faults.as_raw_fd(), CONTINUE, &raw mut range) };
            let error = io::Error::last_os_error();
            at += match (answer, error.raw_os_error()) {
                (0, _) => range.bytes,
                // The pages up to the first gap were mapped.
                (_, Some(libc::EAGAIN)) if range.answer > 0 => range.answer.unsigned_abs(),
                // A hole; a page with a hardware error; a page that is already mapped.
                (_, Some(libc::EFAULT | libc::EIO | libc::EHWPOISON | libc::EEXIST)) => {
                    self.page_bytes
                }
                _ => {
                    let arguments = format!("{} bytes of huge pages", range.bytes);
                    return Err(SystemCallError::with("UFFDIO_CONTINUE", arguments, error));
                }
            };
        }
        Ok(())
    }

    /// The entry of the first base page of each huge page, as this process maps it.
    ///
    /// # Errors
    /// When the pagemap cannot be read.
    pub(crate) fn entries(
        &self,
        pagemap: &Pagemap,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), crate::Error> {
        let base = crate::process::page_bytes();
        let mut one = Vec::new();
        entries.clear();
        for at in (0..self.bytes as u64).step_by(self.page_bytes as usize) {
            pagemap.read((self.address.addr() as u64 + at) / base, 1, &mut one)?;
            entries.push(one.first().copied().unwrap_or_default());
        }
        Ok(())
    }

    /// The range from `at` on.
    fn range(&self, at: u64) -> Range {
        Range {
            start: self.address.addr() as u64 + at,
            bytes: self.bytes as u64 - at,
            mode: 0,
            answer: 0,
        }
    }
}

impl Drop for HugeWindow {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

/// A descriptor for minor faults on huge pages.
fn userfaultfd() -> Result<OwnedFd, SystemCallError> {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
    let Ok(fd) = i32::try_from(fd).and_then(|fd| u32::try_from(fd).map(|_| fd)) else {
        return Err(SystemCallError::last("userfaultfd", String::new()));
    };
    // SAFETY: the descriptor was just created and has no other owner.
    let faults = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut version = Version {
        api: VERSION,
        features: MINOR_OF_HUGE_PAGES,
        ioctls: 0,
    };
    // SAFETY: the kernel reads and writes one struct of this size.
    let answer = unsafe { libc::ioctl(faults.as_raw_fd(), API, &raw mut version) };
    match answer {
        0 => Ok(faults),
        _ => {
            let arguments = "minor faults of huge pages";
            Err(SystemCallError::last("UFFDIO_API", arguments))
        }
    }
}
