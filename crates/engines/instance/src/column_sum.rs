//! Sums the values of a column block at the speed of memory.

use crate::block::{HEADER_WORDS, LINE_WORDS};
use crate::layout::{BLOCK_WORDS, Block};

/// Prefetch distance in lines: 7 KiB, what a core reads within the latency of memory and while it
/// pins a block.
const LINES_AHEAD: usize = 112;

/// Words of a block that no process writes.
type Words = [u64; BLOCK_WORDS];

/// Returns the sum of the values of a column block. `next` is the block to be summed after this
/// one: its first lines are prefetched.
///
/// # Safety
/// No process may write to the two blocks during the call.
#[inline]
pub(crate) unsafe fn column_sum(block: &Block, next: &Block) -> u64 {
    // SAFETY: an atomic word has the layout of a plain one, and the caller promises that none of
    // them changes. Plain loads, because the compiler does not vectorize atomic ones: with eight or
    // more instructions per line, a core looks too few lines ahead to keep memory busy.
    let (words, next) = unsafe { (plain(block), plain(next)) };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this processor supports the instructions.
        return unsafe { sum_avx2(words, next) };
    }
    sum(words, next)
}

/// # Safety
/// As for [`column_sum`].
unsafe fn plain(block: &Block) -> &Words {
    // SAFETY: as in [`column_sum`].
    unsafe { &*std::ptr::from_ref(&block.words).cast() }
}

/// The loop of [`sum`], 256 bits at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(words: &Words, next: &Words) -> u64 {
    sum(words, next)
}

/// Prefetches the cache line of a word into the second-level cache, which supports more outstanding
/// lines than the first. Does nothing where the target has no such instruction.
#[inline(always)]
fn prefetch(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch has no effect visible to a program, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Sums into eight independent lanes, one for each word of a cache line, so that no addition waits
/// for the previous one.
///
/// The processor's own prefetching ends at every 4 KiB page (Intel, "Optimization Reference
/// Manual", 2.4, "Data Prefetching"), so this prefetches lines ahead, from this block into the
/// next.
#[inline(always)]
fn sum(words: &Words, next: &Words) -> u64 {
    const LAST_WORDS: usize = LINES_AHEAD * LINE_WORDS;
    let mut sums = [0u64; LINE_WORDS];
    for (sum, word) in sums.iter_mut().zip(&words[HEADER_WORDS..LINE_WORDS]) {
        *sum = *word;
    }
    let mut add = |lines: &[u64], ahead: &[u64]| {
        let lines = lines.chunks_exact(LINE_WORDS);
        for (line, ahead) in lines.zip(ahead.chunks_exact(LINE_WORDS)) {
            prefetch(&ahead[0]);
            for (sum, word) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(*word);
            }
        }
    };
    let (first, last) = words.split_at(BLOCK_WORDS - LAST_WORDS);
    add(&first[LINE_WORDS..], &words[LINE_WORDS + LAST_WORDS..]);
    add(last, &next[..LAST_WORDS]);
    sums.into_iter().fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{column_sum, plain, sum};
    use crate::block::{COLUMN_VALUES, Kind};
    use crate::layout::{Block, BlockId};

    #[test]
    fn the_sum_of_a_column_block_is_that_of_its_values() {
        let (block, next) = (Block::zeroed(), Block::zeroed());
        // SAFETY: no other thread accesses the blocks.
        let sums = || unsafe {
            let next = plain(&next);
            [column_sum(&block, &block), sum(plain(&block), next)]
        };
        let expected = block.write_column(BlockId::column(7));
        assert_eq!(sums(), [expected; 2]);
        // Each value counts once: adding one to every word adds the number of values.
        for word in &block.words[4..] {
            word.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(sums(), [expected + u64::from(COLUMN_VALUES); 2]);
        assert_eq!((block.items(), block.is(Kind::Column)), (1020, true));
    }
}
