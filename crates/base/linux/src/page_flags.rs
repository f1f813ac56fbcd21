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
            // Frames that could not be read stay 0: no flag is known. The last of a machine may
            // have fewer neighbours.
            let _ = file.read_at(&mut bytes, first.saturating_mul(8));
        }
        let words = bytes.chunks_exact(8);
        let word = |word: &[u8]| word.try_into().map_or(0, u64::from_ne_bytes);
        words.map(|bytes| FrameFlags(word(bytes))).collect()
    }
}

/// Which frames are a zero page. Remembers what it last read of some neighbouring frames: those of
/// a process are mostly near one another.
#[derive(Debug)]
pub struct ZeroPages {
    flags: PageFlags,
    first: u64,
    last_read: Vec<FrameFlags>,
}

impl ZeroPages {
    /// Frames that are read at once. To show the flags of so many takes the kernel as long as the
    /// call does.
    const NEIGHBOURS: u64 = 32;

    /// Opens /proc/kpageflags.
    pub fn open() -> Self {
        ZeroPages {
            flags: PageFlags::open(),
            first: 0,
            last_read: Vec::new(),
        }
    }

    /// Whether the frame is a zero page; false when the kernel does not show it.
    pub fn has(&mut self, frame: u64) -> bool {
        let first = frame - frame % Self::NEIGHBOURS;
        if first != self.first || self.last_read.is_empty() {
            self.first = first;
            self.last_read = self.flags.of(first, Self::NEIGHBOURS as usize);
        }
        self.last_read[(frame - first) as usize].is_zero_page()
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameFlags, PageFlags, ZERO_PAGE, ZeroPages};

    #[test]
    fn a_frame_is_a_zero_page_whatever_was_read_before() {
        let (mut zero_pages, flags) = (ZeroPages::open(), PageFlags::open());
        for frame in [5, 31, 32, 4000, 4001, 3999, 5, 1 << 50, (1 << 50) + 40] {
            let alone = flags.of(frame, 1)[0].is_zero_page();
            assert_eq!(zero_pages.has(frame), alone, "{frame}");
        }
        zero_pages.first = 64;
        zero_pages.last_read = vec![FrameFlags::default(); 32];
        zero_pages.last_read[3] = FrameFlags(1 << ZERO_PAGE);
        let found = [66, 67, 68].map(|frame| zero_pages.has(frame));
        assert_eq!(found, [false, true, false]);
    }
}
