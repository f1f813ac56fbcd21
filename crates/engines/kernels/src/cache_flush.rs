//! Writes lines back to memory and takes them out of every cache, so that a chase does not begin
//! among lines that its making left behind (Intel MLC does the same: the last-level cache of
//! Skylake-SP keeps lines by a rule of its own).

use crate::cycle::LINE_BYTES;

/// Flushes the lines of `bytes` from `first` on; does nothing where programs may not. The content
/// stays as it is, whoever else has it borrowed.
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
    // SAFETY: Linux lets programs clean and invalidate by address (SCTLR_EL1.UCI), and the caller
    // promises that the line is mapped.
    unsafe { std::arch::asm!("dc civac, {}", in(reg) line, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
unsafe fn flush_line(_line: *const u8) {}

#[cfg(test)]
mod tests {
    use crate::aligned_words::AlignedWords;

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
