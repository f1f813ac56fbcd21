//! Cache lines: their size, and flushing them from every cache to memory.

/// Size of a cache line on every processor numalab runs on. arm64 cores with lines of 128 bytes
/// fetch two of these at once, which is another reason for strides.
pub const LINE_BYTES: usize = 64;

/// Whether lines can be flushed from every cache on this processor.
pub const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Flushes the lines of `bytes` from `first` on, so that a chase does not start among lines that
/// building it left in the caches (Intel MLC does the same: the last-level cache of Skylake-SP has
/// its own policy for retaining lines). Does nothing on processors other than x86-64 and arm64. The
/// content does not change, so other borrowers are not affected.
///
/// # Safety
/// The range is mapped.
pub(crate) unsafe fn flush(first: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE_BYTES) {
        // SAFETY: the line is in the range, which the caller promises is mapped.
        unsafe { flush_line(first.wrapping_add(offset)) };
    }
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn flush_line(line: *const u8) {
    // SAFETY: CLFLUSH is part of SSE2, and the caller promises that the line is mapped.
    unsafe { std::arch::x86_64::_mm_clflush(line) };
}

#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn flush_line(line: *const u8) {
    // SAFETY: Linux permits programs to clean and invalidate by address (SCTLR_EL1.UCI), and the
    // caller promises that the line is mapped.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
unsafe fn flush_line(_line: *const u8) {}

#[cfg(test)]
pub(crate) mod tests {
    use super::LINE_BYTES;

    /// Zeroed words; the first is at the start of a cache line. Measurements use `PlacedMemory`.
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

    #[test]
    fn flushed_memory_keeps_its_content() {
        let mut memory = AlignedWords::zeroed(4096);
        memory.words_mut().fill(7);
        let first = memory.words_mut().as_ptr().cast();
        // SAFETY: the words are those of a live vector.
        unsafe { super::flush(first, 4096) };
        assert!(memory.words_mut().iter().all(|word| *word == 7));
    }
}
