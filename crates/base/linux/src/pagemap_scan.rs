//! `PAGEMAP_SCAN` (Linux 6.7; kernel, `Documentation/admin-guide/mm/pagemap.rst`): which pages of a
//! process are there, without an entry for each that is not.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const REQUEST: libc::c_ulong = 0xc060_6610;

/// `PAGE_IS_PRESENT`, `PAGE_IS_SWAPPED`.
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;

/// Regions that one call returns at most.
const REGIONS_AT_ONCE: usize = 1024;

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Question {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

const _: () = assert!(size_of::<Question>() == 96);

/// `struct page_region`, addresses.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const _: () = assert!(size_of::<Region>() == 24);

/// The pages of `pages` that are present or swapped out, as ranges of page numbers, ascending;
/// those with fewer than `gap` other pages between them are one range. `None` when the kernel does
/// not know the call.
///
/// # Errors
/// When the process is gone.
pub(crate) fn populated(
    pagemap: &File,
    pages: Range<u64>,
    gap: u64,
) -> std::io::Result<Option<Vec<Range<u64>>>> {
    let page_bytes = crate::process::page_bytes();
    let mut regions = vec![Region::default(); REGIONS_AT_ONCE];
    let mut found: Vec<Range<u64>> = Vec::new();
    let end = pages.end.saturating_mul(page_bytes);
    let mut at = pages.start.saturating_mul(page_bytes);
    while at < end {
        let mut question = Question {
            size: size_of::<Question>() as u64,
            start: at,
            end,
            vec: regions.as_mut_ptr().addr() as u64,
            vec_len: REGIONS_AT_ONCE as u64,
            category_anyof_mask: PRESENT | SWAPPED,
            return_mask: PRESENT,
            ..Question::default()
        };
        // SAFETY: the kernel reads and writes one struct of the size stated in it, and at most
        // `vec_len` regions at `vec`, which `regions` has.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), REQUEST, &raw mut question) };
        if count < 0 {
            let error = std::io::Error::last_os_error();
            return match error.raw_os_error() {
                // Older kernels, and seccomp filters of containers.
                Some(libc::ENOTTY | libc::EINVAL | libc::EPERM | libc::ENOSYS) => Ok(None),
                _ => Err(error),
            };
        }
        for region in &regions[..count as usize] {
            let (start, end) = (region.start / page_bytes, region.end / page_bytes);
            match found.last_mut() {
                Some(last) if start < last.end.saturating_add(gap) => last.end = end,
                _ => found.push(start..end),
            }
            at = region.end;
        }
        // Only a full vector ends a walk early. `walk_end` does not tell: Linux 6.18 leaves it
        // where a buffer of the kernel was full (fs/proc/task_mmu.c, `do_pagemap_scan`).
        if (count as usize) < REGIONS_AT_ONCE {
            break;
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use testing::{Need, not_run};

    use super::populated;
    use crate::anonymous_memory::{AnonymousMemory, Pages};

    #[test]
    fn pages_that_are_there_are_found_and_near_ones_are_one_range() {
        const TEST: &str = "pages_that_are_there_are_found_and_near_ones_are_one_range";
        let page_bytes = crate::process::page_bytes();
        let mut memory = AnonymousMemory::map(6000 * page_bytes as usize, Pages::small()).unwrap();
        let first = memory.address() as u64 / page_bytes;
        let words = page_bytes as usize / 8;
        // More ranges than one call returns.
        let written = (0..2000).map(|page| page * 2).chain([4500, 4501, 5999]);
        for page in written {
            memory.words_mut()[page * words] = 1;
        }
        let file = File::open("/proc/self/pagemap").unwrap();
        let Some(each) = populated(&file, first..first + 6000, 1).unwrap() else {
            let why = "the kernel does not know PAGEMAP_SCAN (Linux 6.7)";
            return not_run(TEST, Need::Kernel, why);
        };
        assert_eq!(each.len(), 2002);
        assert_eq!(each[1], first + 2..first + 3);
        assert_eq!(each[2000], first + 4500..first + 4502);
        let near = populated(&file, first..first + 6000, 100).unwrap().unwrap();
        let expected = [(0, 3999), (4500, 4502), (5999, 6000)];
        assert_eq!(
            near,
            expected.map(|(start, end)| first + start..first + end)
        );
        let part = populated(&file, first + 4501..first + 5999, 1)
            .unwrap()
            .unwrap();
        assert_eq!(part[0], first + 4501..first + 4502);
        assert_eq!(part.len(), 1);
    }
}
