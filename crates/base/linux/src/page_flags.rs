//! `/proc/kpageflags`: whether a page frame is the zero page, which untouched memory shares and no
//! process owns, and which frames make up one larger page (kernel,
//! `Documentation/admin-guide/mm/pagemap.rst`).

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::anonymous_memory::{AnonymousMemory, Pages, base_page_bytes};
use crate::pagemap::Pagemap;
use crate::{Root, sysfs_huge_pages};

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

/// Which frames are a zero page: the one that stands for untouched base pages, or part of the one
/// that stands for untouched transparent huge pages. Asks the kernel once for each huge page's
/// worth of frames at most, since the frames of a process are mostly near one another.
#[derive(Debug)]
pub struct ZeroPages {
    flags: PageFlags,
    /// The frame of the small zero page; `None` where there may be several of it.
    small: Option<u64>,
    /// Frames of a transparent huge page; 1 where each frame is asked for.
    frames_of_huge: u64,
    /// What was last asked for: the first frame of a huge page's worth, and whether it is a zero
    /// page.
    last: Option<(u64, bool)>,
}

impl ZeroPages {
    /// Opens /proc/kpageflags and finds the frame of the small zero page by a page that is read
    /// without ever being written.
    pub fn open() -> Self {
        let flags = PageFlags::open();
        let is_zero_page = |frame: &u64| flags.of(*frame, 1)[0].is_zero_page();
        let small = own_zero_frame().filter(is_zero_page);
        let huge_bytes = sysfs_huge_pages::transparent_page_bytes(&Root::live());
        let huge_bytes = huge_bytes.ok().flatten().filter(|_| small.is_some());
        let frames_of_huge = huge_bytes.map_or(1, |bytes| bytes / base_page_bytes());
        ZeroPages {
            flags,
            small,
            frames_of_huge: frames_of_huge.max(1),
            last: None,
        }
    }

    /// Whether the frame is a zero page; false when the kernel does not show it.
    pub fn has(&mut self, frame: u64) -> bool {
        if self.small == Some(frame) {
            return true;
        }
        let first = frame - frame % self.frames_of_huge;
        match self.last {
            Some((last, is_zero_page)) if last == first => is_zero_page,
            _ => {
                // Frames after the small zero page are not of a huge one.
                let is_zero_page =
                    self.small != Some(first) && self.flags.of(first, 1)[0].is_zero_page();
                self.last = Some((first, is_zero_page));
                is_zero_page
            }
        }
    }
}

/// The frame behind an own page that was read and never written; `None` where zero pages differ by
/// their addresses (MIPS and s390, `HAVE_COLOR_ZERO_PAGE`), or where frames are hidden.
fn own_zero_frame() -> Option<u64> {
    let is_one = !cfg!(any(target_arch = "s390x", target_arch = "mips64"));
    let page_bytes = base_page_bytes();
    let mut memory =
        AnonymousMemory::map(usize::try_from(page_bytes).ok()?, Pages::small()).ok()?;
    std::hint::black_box(memory.words_mut()[0]);
    let pagemap = Pagemap::open_own().ok()?;
    let entry = pagemap.entry(memory.address() as u64 / page_bytes).ok()??;
    entry.frame().filter(|_| is_one)
}

#[cfg(test)]
mod tests {
    use super::{PageFlags, ZeroPages, own_zero_frame};

    #[test]
    fn a_frame_is_a_zero_page_whatever_was_asked_before() {
        let (mut zero_pages, flags) = (ZeroPages::open(), PageFlags::open());
        let small = own_zero_frame().unwrap_or(77);
        // On a machine with one small zero page, all others are the parts of a huge one.
        let others = [5, 31, 512, 4001, 1 << 50, (1 << 50) + 40];
        let around = [small, small + 1, small.wrapping_sub(1), small];
        for frame in others.into_iter().chain(around).chain(others) {
            let alone = flags.of(frame, 1)[0].is_zero_page();
            assert_eq!(zero_pages.has(frame), alone, "{frame}");
        }
    }
}
