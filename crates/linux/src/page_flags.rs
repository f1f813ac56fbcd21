//! `/proc/kpageflags`: whether a page frame is the zero page, which untouched memory shares and
//! nobody owns (kernel, `Documentation/admin-guide/mm/pagemap.rst`).

use std::fs::File;
use std::os::unix::fs::FileExt;

/// `KPF_ZERO_PAGE`.
const ZERO_PAGE: u64 = 24;

/// The file, if this process may read it.
#[derive(Debug)]
pub struct PageFlags(Option<File>);

impl PageFlags {
    /// Opens it.
    pub fn open() -> Self {
        PageFlags(File::open("/proc/kpageflags").ok())
    }

    /// Whether the frame is a zero page; false when the kernel does not tell.
    pub fn is_zero_page(&self, frame: u64) -> bool {
        let mut word = [0; 8];
        let Some(file) = &self.0 else {
            return false;
        };
        let read = file.read_exact_at(&mut word, frame.saturating_mul(8));
        read.is_ok() && u64::from_ne_bytes(word) >> ZERO_PAGE & 1 == 1
    }
}
