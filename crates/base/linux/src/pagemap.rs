//! `/proc/PID/pagemap`: the page frame behind each page of a process. Reading it touches no page
//! and allocates no page table (kernel, `Documentation/admin-guide/mm/pagemap.rst`).

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::{Error, Root, pagemap_scan};

/// Bytes of one entry.
const ENTRY_BYTES: u64 = 8;

/// One entry, bit by bit: 0-54 the frame number (0 without `CAP_SYS_ADMIN`), 56 mapped exclusively,
/// 61 page of a file or of shared memory, 62 swapped out, 63 present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct PagemapEntry(pub u64);

impl PagemapEntry {
    /// Whether the page is in memory and mapped by this process.
    pub fn is_present(self) -> bool {
        self.0 >> 63 & 1 == 1
    }

    /// Whether the page is swapped out. Pages of shared memory that are swapped out have no entry.
    pub fn is_swapped(self) -> bool {
        self.0 >> 62 & 1 == 1
    }

    /// Whether the page belongs to a file or to shared memory, rather than to the process.
    pub fn is_of_object(self) -> bool {
        self.0 >> 61 & 1 == 1
    }

    /// Whether no other process maps the page (kernel 4.2 and later).
    pub fn is_exclusive(self) -> bool {
        self.0 >> 56 & 1 == 1
    }

    /// The frame number; `None` when the page is not present or the kernel hides the number.
    pub fn frame(self) -> Option<u64> {
        let frame = self.0 & ((1 << 55) - 1);
        (self.is_present() && frame != 0).then_some(frame)
    }
}

/// An open pagemap.
#[derive(Debug)]
pub struct Pagemap {
    file: File,
    path: PathBuf,
}

impl Pagemap {
    /// Opens the pagemap of process `pid`.
    ///
    /// # Errors
    /// When the process is gone or may not be read.
    pub fn open(root: &Root, pid: u32) -> Result<Self, Error> {
        Self::open_path(root.path(&format!("proc/{pid}/pagemap")))
    }

    /// Opens the pagemap of this process.
    ///
    /// # Errors
    /// When the kernel has none (`CONFIG_PROC_PAGE_MONITOR`).
    pub fn open_own() -> Result<Self, Error> {
        Self::open_path(PathBuf::from("/proc/self/pagemap"))
    }

    fn open_path(path: PathBuf) -> Result<Self, Error> {
        match File::open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(cause) => Err(Error::Read { path, cause }),
        }
    }

    /// Reads the entries of `count` pages from page number `first` (address divided by the page
    /// size) on. Returns fewer when the process has exited in the meantime.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn read(
        &self,
        first: u64,
        count: usize,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), Error> {
        entries.clear();
        entries.resize(count, PagemapEntry::default());
        let bytes = bytes_of(entries);
        let mut filled = 0;
        while filled < bytes.len() {
            let at = first.saturating_mul(ENTRY_BYTES) + filled as u64;
            let read = self.file.read_at(&mut bytes[filled..], at);
            match read.map_err(|cause| self.not_read(cause))? {
                0 => break,
                read => filled += read,
            }
        }
        entries.truncate(filled / ENTRY_BYTES as usize);
        Ok(())
    }

    /// Reads the entry of one page, numbered as by [`Pagemap::read`]; `None` when the process has
    /// exited in the meantime.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn entry(&self, page: u64) -> Result<Option<PagemapEntry>, Error> {
        let mut bytes = [0; ENTRY_BYTES as usize];
        let at = page.saturating_mul(ENTRY_BYTES);
        let read = self.file.read_at(&mut bytes, at);
        // The kernel writes whole entries.
        let is_there = read.map_err(|cause| self.not_read(cause))? == bytes.len();
        Ok(is_there.then(|| PagemapEntry(u64::from_ne_bytes(bytes))))
    }

    /// The pages of `pages`, numbered as by [`Pagemap::read`], that are present or swapped out:
    /// ranges in ascending order, of which those with fewer than `gap` other pages between them are
    /// one. `None` when the kernel cannot tell without an entry for each page (before Linux 6.7).
    ///
    /// # Errors
    /// When the process is gone.
    pub fn populated(&self, pages: Range<u64>, gap: u64) -> Result<Option<Vec<Range<u64>>>, Error> {
        let found = pagemap_scan::populated(&self.file, pages, gap);
        found.map_err(|cause| self.not_read(cause))
    }

    fn not_read(&self, cause: std::io::Error) -> Error {
        let path = self.path.clone();
        Error::Read { path, cause }
    }
}

fn bytes_of(entries: &mut [PagemapEntry]) -> &mut [u8] {
    let bytes = size_of_val(entries);
    // SAFETY: an entry is a number of 8 bytes without padding, any bytes are one, and nothing else
    // refers to the entries while the bytes are borrowed.
    unsafe { std::slice::from_raw_parts_mut(entries.as_mut_ptr().cast::<u8>(), bytes) }
}

/// Whether the kernel shows frame numbers to this process: tests a page of its own stack, which is
/// certainly present.
pub fn frames_are_shown() -> bool {
    let witness = 0_u8;
    let address = std::ptr::from_ref(std::hint::black_box(&witness)).addr() as u64;
    let mut entries = Vec::new();
    let read = Pagemap::open_own()
        .and_then(|pagemap| pagemap.read(address / crate::process::page_bytes(), 1, &mut entries));
    read.is_ok() && entries.first().is_some_and(|entry| entry.frame().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_told_apart() {
        // As read on a 6.18 kernel: a page of shared memory, mapped only here.
        let entry = PagemapEntry(0xa100_0000_002b_52d5);
        assert!(entry.is_present() && entry.is_of_object() && entry.is_exclusive());
        assert!(!entry.is_swapped());
        assert_eq!(entry.frame(), Some(0x2b_52d5));
        let swapped = PagemapEntry(1 << 62 | 77);
        assert!(swapped.is_swapped() && !swapped.is_present() && swapped.frame().is_none());
        assert_eq!(PagemapEntry(1 << 63).frame(), None);
    }

    #[test]
    fn a_written_page_is_present_and_an_untouched_one_is_not() {
        let memory = crate::anonymous_memory::AnonymousMemory::map(
            8192,
            crate::anonymous_memory::Pages::small(),
        );
        let mut memory = memory.unwrap();
        memory.words_mut()[0] = 1;
        let page = memory.address() as u64 / crate::process::page_bytes();
        let mut entries = Vec::new();
        Pagemap::open_own()
            .unwrap()
            .read(page, 2, &mut entries)
            .unwrap();
        assert!(entries[0].is_present() && !entries[0].is_of_object());
        assert!(!entries[1].is_present());
        // Frame numbers require CAP_SYS_ADMIN in the initial user namespace.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let held = status.lines().find_map(|it| it.strip_prefix("CapEff:\t"));
        let held = u64::from_str_radix(held.unwrap(), 16).unwrap();
        let users = std::fs::read_to_string("/proc/self/uid_map").unwrap();
        let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
        let may_see = held >> 21 & 1 == 1 && is_first;
        assert_eq!(entries[0].frame().is_some(), may_see);
        assert_eq!(frames_are_shown(), may_see);
    }
}
