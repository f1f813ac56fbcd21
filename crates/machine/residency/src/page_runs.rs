//! Reads page maps: on several threads where there is much to read, and without what holds nothing
//! where the kernel can tell that.

use std::ops::Range;

use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::Mapping;
use linux::{Error, on_threads};

use super::page_set::CHUNK_PAGES;

/// Pages of a process, at most [`CHUNK_PAGES`], numbered as in its address space.
pub(super) type Stretch = Range<u64>;

/// The entries of consecutive pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The first page.
    pub first: u64,
    /// The entries; fewer than there are pages when the process has ended.
    pub entries: Vec<PagemapEntry>,
}

/// Stretches of which the entries are in memory at once, 16 MiB.
const BATCH: usize = 64;

/// Stretches that a thread reads at once: that takes a millisecond.
const AT_ONCE: usize = 4;

/// Of sparse memory, the kernel is asked first what there is: if less than one page in so many is.
/// Asking takes a third of the time of reading.
const SPARSE: u64 = 4;

/// Reading so many entries of pages that are not there takes about as long as a call.
pub(super) const GAP: u64 = 512;

/// Reads the entries of stretches of one process that hold something, and passes them on in order,
/// each run with the index of its stretch.
///
/// # Errors
/// When the kernel refuses; what was passed on before is right.
pub(super) fn each_run(
    pagemap: &Pagemap,
    stretches: &[Stretch],
    mut found: impl FnMut(usize, &Run),
) -> Result<(), Error> {
    // The first shows whether the others are worth a question.
    let (first, others) = stretches.split_at(stretches.len().min(1));
    let (mut index, mut is_sparse) = (0, false);
    for batch in std::iter::once(first).chain(others.chunks(BATCH)) {
        let read = on_threads::map(batch, AT_ONCE, |stretch| runs(pagemap, stretch, is_sparse));
        let (mut pages, mut populated) = (0, 0);
        for (stretch, read) in batch.iter().zip(read) {
            let (runs, of_stretch) = read?;
            runs.iter().for_each(|run| found(index, run));
            index += 1;
            pages += stretch.end - stretch.start;
            populated += of_stretch;
        }
        is_sparse = populated < pages / SPARSE;
    }
    Ok(())
}

/// The runs of a stretch, and how many of its pages are present or swapped out.
fn runs(pagemap: &Pagemap, stretch: &Stretch, is_sparse: bool) -> Result<(Vec<Run>, u64), Error> {
    let ranges = match is_sparse {
        true => pagemap.populated(stretch.clone(), GAP)?,
        false => None,
    };
    let (mut runs, mut populated) = (Vec::new(), 0);
    for range in ranges.unwrap_or_else(|| vec![stretch.clone()]) {
        let mut run = Run {
            first: range.start,
            ..Run::default()
        };
        pagemap.read(
            range.start,
            (range.end - range.start) as usize,
            &mut run.entries,
        )?;
        let is_there = |entry: &&PagemapEntry| entry.is_present() || entry.is_swapped();
        populated += run.entries.iter().filter(is_there).count() as u64;
        runs.push(run);
    }
    Ok((runs, populated))
}

/// The pages of mappings in ascending order; mappings that lie close together, as those of a
/// program and its libraries do, are one stretch.
pub(super) fn stretches<'a>(
    mappings: impl Iterator<Item = &'a Mapping>,
    page_bytes: u64,
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for mapping in mappings {
        let mut pages = mapping.start / page_bytes..mapping.end / page_bytes;
        if let Some(last) = stretches.last_mut()
            && (last.end..last.end + GAP).contains(&pages.start)
            && pages.end - last.start <= CHUNK_PAGES
        {
            last.end = pages.end;
            continue;
        }
        while pages.start < pages.end {
            let end = pages.end.min(pages.start + CHUNK_PAGES);
            stretches.push(pages.start..end);
            pages.start = end;
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use linux::anonymous_memory::{AnonymousMemory, Pages};
    use linux::pagemap::Pagemap;
    use linux::proc_maps::Mapping;

    use super::{GAP, Stretch, each_run, stretches};
    use crate::page_set::CHUNK_PAGES;

    fn of(spans: &[(u64, u64)]) -> Vec<Stretch> {
        let mapping = |(start, end): &(u64, u64)| {
            let text = format!(
                "{:x}-{:x} rw-p 00000000 00:00 0 \n",
                start * 4096,
                end * 4096
            );
            linux::proc_maps::parse(&linux::TextFile::new("maps", text)).list
        };
        let mappings: Vec<Mapping> = spans.iter().flat_map(mapping).collect();
        stretches(mappings.iter(), 4096)
    }

    #[test]
    fn mappings_close_together_are_one_stretch_and_long_ones_several() {
        assert_eq!(
            of(&[(10, 12), (12, 15), (100, 101), (2000, 2001)]),
            [10..101, 2000..2001]
        );
        assert_eq!(of(&[(10, 12), (12 + GAP, 700)]), [10..12, 12 + GAP..700]);
        let long = (5, 5 + 2 * CHUNK_PAGES + 1);
        let second = 5 + CHUNK_PAGES;
        let third = second + CHUNK_PAGES;
        assert_eq!(
            of(&[(1, 2), long]),
            [1..2, 5..second, second..third, third..long.1]
        );
        assert_eq!(of(&[]), Vec::<Stretch>::new());
    }

    #[test]
    fn every_page_that_is_there_is_read_however_few_there_are() {
        let page_bytes = linux::process::page_bytes();
        let chunks = 12;
        let bytes = (chunks * CHUNK_PAGES * page_bytes) as usize;
        let mut memory = AnonymousMemory::map(bytes, Pages::small()).unwrap();
        let first = memory.address() as u64 / page_bytes;
        // Many pages of the first chunk, and few of the others.
        let dense = (0..CHUNK_PAGES).step_by(3);
        let written: Vec<u64> = dense
            .chain((CHUNK_PAGES..chunks * CHUNK_PAGES).step_by(9001))
            .collect();
        for page in &written {
            memory.words_mut()[(page * page_bytes / 8) as usize] = 1;
        }
        let pagemap = Pagemap::open_own().unwrap();
        let chunk = |number: u64| first + number * CHUNK_PAGES..first + (number + 1) * CHUNK_PAGES;
        for order in [
            vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            (0..12).rev().collect(),
        ] {
            let stretches: Vec<Stretch> = order.into_iter().map(chunk).collect();
            let mut found = Vec::new();
            each_run(&pagemap, &stretches, |index, run| {
                for (page, entry) in (run.first..).zip(&run.entries) {
                    assert!(stretches[index].contains(&page));
                    if entry.is_present() {
                        found.push(page - first);
                    }
                }
            })
            .unwrap();
            found.sort_unstable();
            assert_eq!(found, written);
        }
    }
}
