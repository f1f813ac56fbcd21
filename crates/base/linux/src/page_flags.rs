//! `/proc/kpageflags`: whether a page frame is the zero page, which untouched memory shares and no
//! process owns, and which frames make up one larger page (kernel,
//! `Documentation/admin-guide/mm/pagemap.rst`).

use std::fs::File;
use std::os::unix::fs::FileExt;

/// `KPF_ZERO_PAGE`.
const ZERO_PAGE: u64 = 24;

/// `KPF_COMPOUND_TAIL`: a frame of a larger page other than its first.
const COMPOUND_TAIL: u64 = 16;

/// The kernel's flags of one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameFlags(u64);

impl FrameFlags {
    /// Whether it is a zero page.
    pub fn is_zero_page(self) -> bool {
        self.0 >> ZERO_PAGE & 1 == 1
    }

    /// Whether it belongs to a larger page that begins before it.
    pub fn is_tail(self) -> bool {
        self.0 >> COMPOUND_TAIL & 1 == 1
    }
}

/// The file, if this process may read it.
#[derive(Debug)]
pub struct PageFlags(Option<File>);

impl PageFlags {
    /// Opens it.
    pub fn open() -> Self {
        PageFlags(File::open("/proc/kpageflags").ok())
    }

    /// The flags of `count` frames from `first` on; none set where the kernel does not show them.
    pub fn of(&self, first: u64, count: usize) -> Vec<FrameFlags> {
        let mut bytes = vec![0; count * 8];
        if let Some(file) = &self.0 {
            // Frames that could not be read stay 0: no flag is known.
            let _ = file.read_exact_at(&mut bytes, first.saturating_mul(8));
        }
        let words = bytes.chunks_exact(8);
        let word = |word: &[u8]| word.try_into().map_or(0, u64::from_ne_bytes);
        words.map(|bytes| FrameFlags(word(bytes))).collect()
    }

    /// Whether the frame is a zero page; false when the kernel does not show it.
    pub fn is_zero_page(&self, frame: u64) -> bool {
        self.of(frame, 1).iter().any(|flags| flags.is_zero_page())
    }
}
