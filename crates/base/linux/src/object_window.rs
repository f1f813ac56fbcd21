//! Some pages of an object, mapped into this process to query the kernel about them.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::SystemCallError;

/// `MADV_POPULATE_READ` (include/uapi/asm-generic/mman-common.h): Linux 5.14.
const POPULATE_READ: i32 = 22;

/// This process's mapping of some pages of an object, for reading, until dropped.
#[derive(Debug)]
pub struct Window {
    pub(crate) address: *mut libc::c_void,
    pages: usize,
    page_bytes: usize,
}

impl Window {
    /// Address of page `page` of the window.
    pub fn address_of(&self, page: usize) -> u64 {
        (self.address.addr() + page * self.page_bytes) as u64
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.pages
    }

    pub(crate) fn map(
        file: &File,
        offset: u64,
        pages: usize,
        protection: libc::c_int,
    ) -> Result<Self, SystemCallError> {
        let page_bytes = crate::process::page_bytes() as usize;
        let bytes = pages * page_bytes;
        let arguments = || format!("{bytes} bytes at offset {offset}");
        let Ok(at) = libc::off_t::try_from(offset) else {
            let cause = std::io::Error::from_raw_os_error(libc::EOVERFLOW);
            return Err(SystemCallError::with("mmap", arguments(), cause));
        };
        // SAFETY: the kernel chooses an unused address; the descriptor is open.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                at,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(SystemCallError::last("mmap", arguments()));
        }
        Ok(Self {
            address,
            pages,
            page_bytes,
        })
    }

    /// Makes the pages present in this process that mincore(2) reports in memory, and no others:
    /// none is allocated, swapped in or read ahead. Not for huge pages of a pool.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls.
    pub fn look_at_resident(&self) -> Result<(), SystemCallError> {
        // Mapping a cached page that is marked for read-ahead triggers that, unless the access is
        // random (mm/filemap.c, `do_async_mmap_readahead`).
        self.advise(libc::MADV_RANDOM)?;
        let outcome = self.look_at_those_in_memory();
        // With this advice, unmapping a page does not count as an access and so does not delay its
        // eviction (mm/memory.c, `zap_pte_range`).
        self.advise(libc::MADV_SEQUENTIAL)?;
        outcome
    }

    fn advise(&self, advice: libc::c_int) -> Result<(), SystemCallError> {
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the range is our own mapping, and the advice changes no content.
        if unsafe { libc::madvise(self.address, bytes, advice) } != 0 {
            let arguments = format!("{bytes} bytes, advice {advice}");
            return Err(SystemCallError::last("madvise", arguments));
        }
        Ok(())
    }

    fn look_at_those_in_memory(&self) -> Result<(), SystemCallError> {
        let mut resident = vec![0_u8; self.pages];
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the range is our own mapping, and the vector has a byte for each of its pages.
        if unsafe { libc::mincore(self.address, bytes, resident.as_mut_ptr()) } != 0 {
            return Err(SystemCallError::last("mincore", format!("{bytes} bytes")));
        }
        let mut page = 0;
        for run in resident.chunk_by(|one, next| one & 1 == next & 1) {
            if run[0] & 1 == 1 {
                self.look_at(page, run.len())?;
            }
            page += run.len();
        }
        Ok(())
    }

    fn look_at(&self, page: usize, pages: usize) -> Result<(), SystemCallError> {
        let start = self.address.wrapping_byte_add(page * self.page_bytes);
        let bytes = pages * self.page_bytes;
        // SAFETY: the range lies in our own mapping, which is only read.
        if unsafe { libc::madvise(start, bytes, POPULATE_READ) } != 0 {
            let arguments = format!("{bytes} bytes, MADV_POPULATE_READ");
            return Err(SystemCallError::last("madvise", arguments));
        }
        Ok(())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.address, self.pages * self.page_bytes) };
    }
}
