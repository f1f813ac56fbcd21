//! The order in which a chase visits memory: one random cycle through every cache line. Module
//! `chase` follows it.
//!
//! Four measures keep prefetchers and caches from helping (the first three follow
//! google/multichase, whose comments explain why; the code is our own):
//!
//! - The cycle visits pages in groups ([`TLB_GROUP_PAGES`]): more pages than a stream prefetcher
//!   tracks, few enough for the TLB. The order of groups and the order within a group are random.
//! - Each pass visits one random line of each stride of [`STRIDE_LINES`] lines ("mixing"). The
//!   neighbour that an adjacent-line prefetcher fetches is not accessed before the next pass, and
//!   no cache set or memory bank is favoured.
//! - The link is at a random word of its line, so that no word that arrives first is favoured.
//! - The cycle has as many passes as a stride has lines. It visits every line exactly once, and a
//!   working set of N bytes fills N bytes of cache.
//!
//! ```text
//! memory  | stride 0          | stride 1          | stride 2          | …
//! lines   | 0    1    2    3  | 4    5    6    7  | 8    9    10   11 |
//! pass 0          x                            x    x
//! pass 1               x        x                             x
//! ```

use std::marker::PhantomData;

use stats::Generator;

use crate::cache_line::{self, LINE_BYTES};

/// Lines in a stride. At 256 bytes, neither the next-line prefetcher nor the pair prefetcher (128
/// bytes) fetches the next line to be visited (multichase's default, for the same reason).
pub(crate) const STRIDE_LINES: usize = 4;

/// Bytes of a stride.
pub(crate) const STRIDE_BYTES: usize = STRIDE_LINES * LINE_BYTES;

/// Pages in a group: more than the 32 streams that prefetchers have been observed to track, and no
/// more than the entries of a first-level data TLB (64 on Skylake, 72 on Zen 4).
pub(crate) const TLB_GROUP_PAGES: u32 = 64;

/// Words in a line.
const LINE_WORDS: usize = LINE_BYTES / size_of::<u64>();

/// Words in a stride.
const STRIDE_WORDS: usize = STRIDE_BYTES / size_of::<u64>();

/// A link of the cycle in memory: the address of the next link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Link(pub(crate) *const Link);

/// How a cycle is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CycleOrder {
    /// Bytes visited at random before moving on to others; `None`: all of the memory.
    pub group_bytes: Option<usize>,
    /// Seed of the order.
    pub seed: u64,
    /// Stream of the seed. Every repetition uses a different one, because some processors learn an
    /// order they have seen (multichase, "longer chase to get around CMC prefetcher").
    pub stream: u64,
    /// Number of equidistant places at which chases can begin.
    pub chains: usize,
}

/// One cycle through every line of a block of memory, which it borrows.
#[derive(Debug)]
pub(crate) struct Cycle<'m> {
    /// Links at equal distances, one for each chain.
    starts: Vec<*const Link>,
    base: *const Link,
    lines: usize,
    memory: PhantomData<&'m mut [u64]>,
}

// SAFETY: the links lie in memory that the cycle borrows exclusively, whichever thread reads them.
unsafe impl Send for Cycle<'_> {}
// SAFETY: a cycle is only read once it is built.
unsafe impl Sync for Cycle<'_> {}

impl<'m> Cycle<'m> {
    /// Lays a cycle through all of `memory`, which must be whole strides and aligned to a cache
    /// line.
    pub(crate) fn build(memory: &'m mut [u64], order: CycleOrder) -> Self {
        assert!(
            !memory.is_empty() && memory.len().is_multiple_of(STRIDE_WORDS),
            "a cycle is made of whole strides"
        );
        assert!(
            memory.as_ptr().addr().is_multiple_of(LINE_BYTES),
            "a line begins where the processor's begins"
        );
        assert!(order.chains > 0, "a chase has a place to begin");
        let strides = memory.len() / STRIDE_WORDS;
        let lines = strides * STRIDE_LINES;
        let mut writer = LinkWriter::new(memory, order.chains.min(lines));
        let mut generator = Generator::new(order.seed, order.stream);
        let mixing =
            u64::from(generator.below(u32::MAX)) | u64::from(generator.below(u32::MAX)) << 32;
        let group_strides = order
            .group_bytes
            .map_or(strides, |bytes| (bytes / STRIDE_BYTES).clamp(1, strides));
        let mut groups: Vec<usize> = (0..strides.div_ceil(group_strides)).collect();
        let mut within: Vec<u32> = Vec::with_capacity(group_strides);
        for pass in 0..STRIDE_LINES {
            generator.shuffle(&mut groups);
            for group in &groups {
                let first = group * group_strides;
                let count = group_strides.min(strides - first);
                within.clear();
                within.extend(0..u32::try_from(count).expect("a group is below 1 TiB"));
                generator.shuffle(&mut within);
                for stride in &within {
                    writer.visit(place(first + *stride as usize, pass, mixing));
                }
            }
        }
        let (starts, base) = writer.close();
        Cycle {
            starts,
            base,
            lines,
            memory: PhantomData,
        }
    }

    /// Returns the number of lines, each visited once per lap.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// Returns where chases begin.
    pub(crate) fn starts(&self) -> &[*const Link] {
        &self.starts
    }

    /// Returns how many of these places are in the first pass; at least one.
    pub(crate) fn chains_of_a_pass(&self) -> usize {
        (self.starts.len() / STRIDE_LINES).max(1)
    }

    /// Returns the distance of a link from the first byte of the memory.
    pub(crate) fn offset_bytes(&self, link: *const Link) -> usize {
        link.addr() - self.base.addr()
    }

    /// Flushes every line from all caches.
    pub(crate) fn flush(&self) {
        // SAFETY: the memory is borrowed and therefore mapped.
        unsafe { cache_line::flush(self.base.cast(), self.lines * LINE_BYTES) };
    }
}

/// Returns the word that a pass visits in a stride, counted from the start of the memory.
fn place(stride: usize, pass: usize, mixing: u64) -> usize {
    let mixed = mixed(stride as u64 ^ mixing);
    // XOR with a fixed number permutes the lines of the stride.
    let line = pass ^ (mixed as usize % STRIDE_LINES);
    let word = (mixed >> (8 + 8 * line)) as usize % LINE_WORDS;
    stride * STRIDE_WORDS + line * LINE_WORDS + word
}

/// Returns a number each of whose bits depends on all bits of `number` (the finaliser of
/// SplitMix64: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators",
/// OOPSLA).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Writes the links in the order of the visits.
struct LinkWriter {
    base: *mut Link,
    words: usize,
    chain_lines: usize,
    chains: usize,
    starts: Vec<*const Link>,
    visited: usize,
    last: *mut Link,
}

impl LinkWriter {
    fn new(memory: &mut [u64], chains: usize) -> Self {
        const {
            assert!(
                size_of::<Link>() == size_of::<u64>(),
                "numalab needs 64-bit pointers"
            )
        };
        LinkWriter {
            base: memory.as_mut_ptr().cast(),
            words: memory.len(),
            chain_lines: memory.len() / LINE_WORDS / chains,
            chains,
            starts: Vec::with_capacity(chains),
            visited: 0,
            last: std::ptr::null_mut(),
        }
    }

    fn visit(&mut self, word: usize) {
        assert!(word < self.words, "a place lies within the memory");
        // SAFETY: the word is within the memory, by the assertion above.
        let link = unsafe { self.base.add(word) };
        if self.visited.is_multiple_of(self.chain_lines) && self.starts.len() < self.chains {
            self.starts.push(link);
        }
        if !self.last.is_null() {
            // SAFETY: `last` was checked in the same way, and is aligned like the memory's words.
            unsafe { self.last.write(Link(link)) };
        }
        self.last = link;
        self.visited += 1;
    }

    fn close(self) -> (Vec<*const Link>, *const Link) {
        // SAFETY: as in `visit`; at least one stride has been visited.
        unsafe { self.last.write(Link(self.starts[0])) };
        (self.starts, self.base)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cycle, CycleOrder, LINE_BYTES, STRIDE_BYTES, STRIDE_LINES};
    use crate::cache_line::tests::AlignedWords;

    fn order(group_bytes: Option<usize>, seed: u64, chains: usize) -> CycleOrder {
        CycleOrder {
            group_bytes,
            seed,
            stream: 0,
            chains,
        }
    }

    /// Returns the lines of one lap, in order.
    fn lap(cycle: &Cycle<'_>) -> Vec<usize> {
        let mut at = cycle.starts()[0];
        let step = |_| {
            let line = cycle.offset_bytes(at) / LINE_BYTES;
            // SAFETY: links point to links of the cycle.
            at = unsafe { *at }.0;
            line
        };
        (0..cycle.lines()).map(step).collect()
    }

    /// Returns whether a lap visits every line exactly once and ends where it began.
    fn visits_every_line_once(cycle: &Cycle<'_>) -> bool {
        let mut is_visited = vec![false; cycle.lines];
        let mut at = cycle.starts[0];
        for _ in 0..cycle.lines {
            let visited = &mut is_visited[cycle.offset_bytes(at) / LINE_BYTES];
            if std::mem::replace(visited, true) {
                return false;
            }
            // SAFETY: links point to links of this cycle, whose memory is borrowed.
            at = unsafe { *at }.0;
        }
        at == cycle.starts[0]
    }

    #[test]
    fn neighbours_are_visited_in_different_passes() {
        let mut memory = AlignedWords::zeroed(64 * STRIDE_BYTES);
        let cycle = Cycle::build(memory.words_mut(), order(None, 5, 1));
        let lap = lap(&cycle);
        for pass in lap.chunks(64) {
            let mut strides: Vec<usize> = pass.iter().map(|line| line / STRIDE_LINES).collect();
            strides.sort_unstable();
            assert_eq!(strides, (0..64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_group_is_finished_before_the_next_begins() {
        let mut memory = AlignedWords::zeroed(64 * STRIDE_BYTES);
        let cycle = Cycle::build(memory.words_mut(), order(Some(8 * STRIDE_BYTES), 5, 1));
        let lap = lap(&cycle);
        for visits in lap.chunks(8) {
            let group = visits[0] / STRIDE_LINES / 8;
            assert!(visits.iter().all(|line| line / STRIDE_LINES / 8 == group));
        }
    }

    #[test]
    fn seeds_and_streams_give_orders_of_their_own() {
        let lap_of = |seed, stream| {
            let mut memory = AlignedWords::zeroed(16 * STRIDE_BYTES);
            let order = CycleOrder {
                stream,
                ..order(None, seed, 1)
            };
            lap(&Cycle::build(memory.words_mut(), order))
        };
        assert_eq!(lap_of(1, 0), lap_of(1, 0));
        assert_ne!(lap_of(1, 0), lap_of(2, 0));
        assert_ne!(lap_of(1, 0), lap_of(1, 1));
    }

    #[test]
    fn chains_begin_at_equal_distances() {
        let mut memory = AlignedWords::zeroed(4 * STRIDE_BYTES);
        let cycle = Cycle::build(memory.words_mut(), order(None, 3, 4));
        let lap = lap(&cycle);
        let starts: Vec<usize> = cycle
            .starts()
            .iter()
            .map(|start| cycle.offset_bytes(*start) / LINE_BYTES)
            .collect();
        assert_eq!(starts, [lap[0], lap[4], lap[8], lap[12]]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_line_is_visited_exactly_once(
            strides in 1usize..200,
            group in prop::option::of(1usize..20_000),
            seed: u64,
            chains in 1usize..20,
        ) {
            let mut memory = AlignedWords::zeroed(strides * STRIDE_BYTES);
            let cycle = Cycle::build(memory.words_mut(), order(group, seed, chains));
            prop_assert!(visits_every_line_once(&cycle));
            prop_assert_eq!(cycle.starts().len(), chains.min(strides * STRIDE_LINES));
        }
    }
}
