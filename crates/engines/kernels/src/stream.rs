//! Reads, writes and copies whole arrays for a given time and counts the bytes.

use model::StreamKernel;

use crate::cache_line::LINE_BYTES;
use crate::simd::Simd;
use crate::stream_path::{TURN_WORDS, portable};
use crate::timer::Timer;

/// Bytes of each array between two clock readings: long enough that a reading (about 10 ns, without
/// stalling: see [`Timer::glance`]) costs less than 1 % at 30 GB/s, short enough that threads stop
/// together.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Gap between the arrays of a thread, so that their lines do not map to the same sets of the
/// first-level cache (Intel calls loads that follow stores at the same page offset "4K aliasing").
/// An odd number of lines.
const STAGGER_WORDS: usize = 17 * LINE_BYTES / size_of::<u64>();

/// Period, in words, of the content of the arrays that are read, so that the sum of a chunk is
/// known.
const PERIOD_WORDS: usize = 256;

/// Factor of the triads. With small integers, a factor of one half keeps every result exact.
const FACTOR: f64 = 0.5;

/// What one thread did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamWindow {
    /// Bytes read and written by the program's instructions.
    pub bytes: u64,
    /// Start, in ticks of the timer.
    pub begin: u64,
    /// End: after the first clock reading past the deadline, when all loads have completed and all
    /// non-temporal stores have left the processor.
    pub end: u64,
    /// Sum of all words read by the kernel `read`; 0 for others.
    pub checksum: u64,
}

/// The arrays of one thread and the kernel to run on them.
pub struct Stream<'m> {
    kernel: StreamKernel,
    simd: Simd,
    /// Written, or read by `read`.
    a: &'m mut [u64],
    /// Read.
    b: &'m mut [u64],
    /// Read.
    c: &'m mut [u64],
    /// Words of each array in a chunk.
    chunk_words: usize,
    /// Index of the first word of the next chunk in each array.
    at: usize,
    /// Value that a write-only kernel stores in the current pass.
    value: u64,
}

impl<'m> Stream<'m> {
    /// Creates and fills arrays in `memory`, which must begin at a cache line. Returns `None` if
    /// `memory` has no room for one chunk of each array, or if this processor cannot run the kernel
    /// with this instruction set.
    pub fn new(memory: &'m mut [u64], kernel: StreamKernel, simd: Simd) -> Option<Self> {
        Self::with_chunk(memory, kernel, simd, CHUNK_BYTES)
    }

    /// Like [`Stream::new`], with chunks of `chunk_bytes` per array: a multiple of 2 KiB.
    pub(crate) fn with_chunk(
        memory: &'m mut [u64],
        kernel: StreamKernel,
        simd: Simd,
        chunk_bytes: usize,
    ) -> Option<Self> {
        let chunk_words = chunk_bytes / size_of::<u64>();
        assert!(
            chunk_words > 0 && chunk_words.is_multiple_of(PERIOD_WORDS),
            "a chunk is made of whole periods"
        );
        assert!(
            memory.as_ptr().addr().is_multiple_of(LINE_BYTES),
            "an array begins where a cache line does"
        );
        let facts = kernel.facts();
        let arrays = (facts.arrays_read + facts.arrays_written) as usize;
        let room = (memory.len() / arrays).checked_sub(STAGGER_WORDS)?;
        let words = room / chunk_words * chunk_words;
        if words == 0 || !simd.can_run(kernel) {
            return None;
        }
        let mut parts = memory.chunks_mut(words + STAGGER_WORDS).take(arrays);
        let mut array = || {
            let part = parts.next();
            part.map_or(&mut [][..], |part| &mut part[..words])
        };
        let (a, b, c) = (array(), array(), array());
        let mut stream = Stream {
            kernel,
            simd,
            a,
            b,
            c,
            chunk_words,
            at: 0,
            value: 1,
        };
        stream.fill();
        Some(stream)
    }

    /// Fills the arrays with integers as `f64`, the same in every period.
    fn fill(&mut self) {
        let number = |index: usize, step: usize| ((index % PERIOD_WORDS) * step + 1) as f64;
        for (index, word) in self.a.iter_mut().enumerate() {
            *word = number(index, 1).to_bits();
        }
        for (index, word) in self.b.iter_mut().enumerate() {
            *word = number(index, 2).to_bits();
        }
        for (index, word) in self.c.iter_mut().enumerate() {
            *word = number(index, 6).to_bits();
        }
    }

    /// Returns the bytes that the program moves per chunk, in all arrays.
    pub(crate) fn bytes_per_chunk(&self) -> u64 {
        let facts = self.kernel.facts();
        let arrays = u64::from(facts.arrays_read + facts.arrays_written);
        (self.chunk_words * size_of::<u64>()) as u64 * arrays
    }

    /// Passes over the arrays once, so that the windows start in steady state.
    pub fn warm_up(&mut self) {
        for _ in 0..self.a.len() / self.chunk_words {
            self.chunk();
        }
    }

    /// Passes over the arrays repeatedly until the clock reaches `until`.
    pub fn run(&mut self, until: u64, timer: &Timer) -> StreamWindow {
        let chunk_bytes = self.bytes_per_chunk();
        let begin = timer.now();
        let mut window = StreamWindow {
            bytes: 0,
            begin,
            end: begin,
            checksum: 0,
        };
        // Always run one chunk: a thread that is late shows in the times, not as a rate of 0.
        loop {
            window.checksum = window.checksum.wrapping_add(self.chunk());
            window.bytes += chunk_bytes;
            if timer.glance() >= until {
                break;
            }
        }
        // SAFETY: `new` checked that this processor supports the instructions.
        unsafe { (self.simd.functions().drain)() };
        window.end = timer.now();
        window
    }

    /// Processes one chunk; returns its sum for `read`, else 0.
    pub(crate) fn chunk(&mut self) -> u64 {
        let part = self.at..self.at + self.chunk_words;
        let functions = self.simd.functions();
        let mut sum = 0;
        // SAFETY: `new` checked that this processor supports the instructions.
        unsafe {
            match self.kernel {
                StreamKernel::Read => sum = (functions.read)(&self.a[part]),
                StreamKernel::Write => (functions.write)(&mut self.a[part], self.value),
                StreamKernel::NtWrite => (functions.nt_write)(&mut self.a[part], self.value),
                StreamKernel::Copy => {
                    (functions.copy)(&mut self.a[part.clone()], &self.b[part]);
                }
                StreamKernel::NtCopy => {
                    (functions.nt_copy)(&mut self.a[part.clone()], &self.b[part]);
                }
                StreamKernel::Triad => {
                    let (b, c) = (&self.b[part.clone()], &self.c[part.clone()]);
                    (functions.triad)(&mut self.a[part], b, c, FACTOR);
                }
                StreamKernel::NtTriad => {
                    let (b, c) = (&self.b[part.clone()], &self.c[part.clone()]);
                    (functions.nt_triad)(&mut self.a[part], b, c, FACTOR);
                }
            }
        }
        self.at += self.chunk_words;
        if self.at == self.a.len() {
            self.at = 0;
            self.value += 1;
        }
        sum
    }

    /// Returns the checksum that [`Stream::run`] must return for this many bytes of the kernel
    /// `read`.
    pub(crate) fn checksum_expected(&self, bytes: u64) -> u64 {
        if self.kernel != StreamKernel::Read {
            return 0;
        }
        let chunk = portable::read(&self.a[..self.chunk_words]);
        chunk.wrapping_mul(bytes / self.bytes_per_chunk())
    }

    /// Returns whether the arrays hold what a plain loop would have stored. Call it after at least
    /// one whole pass.
    pub fn is_right(&self) -> bool {
        match self.kernel {
            StreamKernel::Read => true,
            StreamKernel::Write | StreamKernel::NtWrite => {
                let (done, left) = self.a.split_at(self.at);
                let is = |value| move |word: &u64| *word == value;
                done.iter().all(is(self.value)) && left.iter().all(is(self.value - 1))
            }
            StreamKernel::Copy | StreamKernel::NtCopy => self.a == self.b,
            StreamKernel::Triad | StreamKernel::NtTriad => {
                let sources = self.b.iter().zip(self.c.iter());
                let expected = sources
                    .map(|(b, c)| (f64::from_bits(*b) + FACTOR * f64::from_bits(*c)).to_bits());
                self.a.iter().copied().eq(expected)
            }
        }
    }
}

const _: () = assert!(PERIOD_WORDS.is_multiple_of(TURN_WORDS));

#[cfg(test)]
mod tests {
    use model::StreamKernel;

    use super::{CHUNK_BYTES, Stream};
    use crate::cache_line::tests::AlignedWords;
    use crate::simd::Simd;
    use crate::timer::Timer;

    /// Returns room for two chunks of three arrays and their gaps.
    fn memory() -> AlignedWords {
        AlignedWords::zeroed(3 * (2 * CHUNK_BYTES + 2048))
    }

    #[test]
    fn every_path_gives_what_plain_loops_give() {
        let timer = Timer::for_tests();
        for simd in Simd::available() {
            for row in StreamKernel::TABLE
                .iter()
                .filter(|row| simd.can_run(row.kernel))
            {
                let mut memory = memory();
                let mut stream = Stream::new(memory.words_mut(), row.kernel, simd).unwrap();
                stream.warm_up();
                let case = format!("{} with {}", row.name, simd.name());
                assert!(stream.is_right(), "{case}");
                let window = stream.run(timer.now() + 1_000_000, &timer);
                assert!(stream.is_right(), "{case}");
                assert!(window.bytes > 0 && window.end > window.begin, "{case}");
                assert_eq!(
                    window.checksum,
                    stream.checksum_expected(window.bytes),
                    "{case}"
                );
            }
        }
    }

    #[test]
    fn a_wrong_word_is_seen() {
        for row in StreamKernel::TABLE
            .iter()
            .filter(|row| row.arrays_written > 0)
        {
            let mut memory = memory();
            let simd = Simd::best();
            let mut stream = Stream::new(memory.words_mut(), row.kernel, simd).unwrap();
            stream.warm_up();
            let last = stream.a.len() - 1;
            stream.a[last] ^= 1;
            assert!(!stream.is_right(), "{}", row.name);
        }
    }

    #[test]
    fn bytes_are_those_that_the_program_moves() {
        let timer = Timer::for_tests();
        for (kernel, arrays) in [
            (StreamKernel::Read, 1),
            (StreamKernel::Copy, 2),
            (StreamKernel::Triad, 3),
        ] {
            let mut memory = memory();
            let mut stream = Stream::new(memory.words_mut(), kernel, Simd::Portable).unwrap();
            let window = stream.run(timer.now() + 1_000_000, &timer);
            assert!(window.bytes > 0);
            assert_eq!(window.bytes % (arrays * CHUNK_BYTES as u64), 0);
        }
    }

    #[test]
    fn too_little_memory_is_no_stream() {
        let mut memory = AlignedWords::zeroed(CHUNK_BYTES);
        assert!(Stream::new(memory.words_mut(), StreamKernel::Read, Simd::Portable).is_none());
        let mut memory = AlignedWords::zeroed(0);
        assert!(Stream::new(memory.words_mut(), StreamKernel::Copy, Simd::Portable).is_none());
    }
}
