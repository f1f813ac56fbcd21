//! Some pages of an object, mapped into this process to query the kernel about them.

use model::counted;
use std::fs::File;
use std::os::fd::AsRawFd;

use crate::SystemCallError;

/// `MADV_POPULATE_READ` (include/uapi/asm-generic/mman-common.h): Linux 5.14.
const POPULATE_READ: i32 = 22;

/// The most pages that one call reads from (`IOV_MAX`).
const AT_ONCE: usize = 1024;

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
        if unsafe { libc::madvise(start, bytes, POPULATE_READ) } == 0 {
            return Ok(());
        }
        let arguments = format!("{bytes} bytes, MADV_POPULATE_READ");
        let error = SystemCallError::last("madvise", arguments);
        match error.errno() {
            Some(libc::EINVAL) => self.read_bytes_of(page, pages),
            _ => Err(error),
        }
    }

    /// The same on a kernel before 5.14: has the kernel copy a byte of each page, which fails
    /// where touching a page would kill this process (process_vm_readv(2)).
    fn read_bytes_of(&self, page: usize, pages: usize) -> Result<(), SystemCallError> {
        let mut bytes = [0_u8; AT_ONCE];
        let of_page = |page| libc::iovec {
            iov_base: self.address.wrapping_byte_add(page * self.page_bytes),
            iov_len: 1,
        };
        let all: Vec<libc::iovec> = (page..page + pages).map(of_page).collect();
        for some in all.chunks(AT_ONCE) {
            let local = libc::iovec {
                iov_base: bytes.as_mut_ptr().cast(),
                iov_len: some.len(),
            };
            let count = some.len() as libc::c_ulong;
            // SAFETY: the local vector is `bytes`, which has that many; the kernel checks the
            // others.
            let read = unsafe {
                libc::process_vm_readv(libc::getpid(), &local, 1, some.as_ptr(), count, 0)
            };
            if usize::try_from(read) != Ok(some.len()) {
                let arguments = format!("{} of this process", counted(some.len(), "page"));
                return Err(SystemCallError::last("process_vm_readv", arguments));
            }
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::pagemap::Pagemap;

    #[test]
    fn pages_become_present_without_the_newer_advice_and_nothing_kills() {
        let page_bytes = crate::process::page_bytes();
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(2500 * page_bytes).unwrap();
        for page in 0..2000 {
            file.write_all_at(&[1], page * page_bytes).unwrap();
        }
        let window = Window::map(&file, 0, 2500, libc::PROT_READ).unwrap();
        let present = || {
            let mut entries = Vec::new();
            let pagemap = Pagemap::open_own().unwrap();
            let first = window.address_of(0) / page_bytes;
            pagemap.read(first, 2500, &mut entries).unwrap();
            let present = entries.iter().map(|entry| entry.is_present());
            present.collect::<Vec<bool>>()
        };
        assert!(present().iter().all(|it| !it));
        window.read_bytes_of(0, 2000).unwrap();
        let found = present();
        assert!(
            found[..2000].iter().all(|it| *it),
            "all that were asked for"
        );
        assert!(found[2000..].iter().all(|it| !it), "and no others");
        file.set_len(0).unwrap();
        let error = window.read_bytes_of(0, 2000).unwrap_err();
        assert!(error.to_string().contains("process_vm_readv"), "{error}");
    }
}
