//! Memory for tests: words that begin at a cache line. Measurements use `PlacedMemory`.

use crate::cache_line::LINE_BYTES;

/// Zeroed words; the first is at the start of a cache line.
pub(crate) struct AlignedWords {
    words: Vec<u64>,
    first: usize,
    count: usize,
}

impl AlignedWords {
    /// Creates as many words as fit in `bytes`.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        let count = bytes / size_of::<u64>();
        let words = vec![0; count + LINE_BYTES / size_of::<u64>()];
        let first = words.as_ptr().align_offset(LINE_BYTES);
        AlignedWords {
            words,
            first,
            count,
        }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words[self.first..self.first + self.count]
    }
}
