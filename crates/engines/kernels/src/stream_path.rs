//! The loops of the streams, common to all vector instruction sets: a path defines its vectors and
//! how to load, store and add them, and [`stream_functions`] generates its loops. [`portable`] has
//! no vectors.

/// Words per loop iteration: four of the widest vectors. Array lengths are multiples of this.
pub(crate) const TURN_WORDS: usize = 4 * 64 / size_of::<u64>();

/// The loops of one path. All take arrays of equal length, a multiple of [`TURN_WORDS`], that begin
/// at a cache line.
pub(crate) struct StreamFunctions {
    /// Returns the sum of all words.
    pub(crate) read: unsafe fn(&[u64]) -> u64,
    /// Sets every word.
    pub(crate) write: unsafe fn(&mut [u64], u64),
    /// Sets every word with non-temporal stores, which bypass the caches.
    pub(crate) nt_write: unsafe fn(&mut [u64], u64),
    /// Copies the second array to the first.
    pub(crate) copy: unsafe fn(&mut [u64], &[u64]),
    /// Copies with non-temporal stores.
    pub(crate) nt_copy: unsafe fn(&mut [u64], &[u64]),
    /// Sets the first array to the second plus the factor times the third, as `f64`.
    pub(crate) triad: unsafe fn(&mut [u64], &[u64], &[u64], f64),
    /// Computes the triad with non-temporal stores.
    pub(crate) nt_triad: unsafe fn(&mut [u64], &[u64], &[u64], f64),
    /// Waits until non-temporal stores have left the processor. Not part of a loop: waiting after
    /// every chunk would leave memory idle.
    pub(crate) drain: unsafe fn(),
}

/// Generates the loops of a path from what its module defines: `Vector`, `WORDS` (words per
/// vector), and the functions `load`, `store`, `stream`, `all`, `zero`, `add`, `sum`, `plus_times`
/// and `drain`.
macro_rules! stream_functions {
    ($feature:literal) => {
        /// The loops of this path.
        pub(crate) const FUNCTIONS: StreamFunctions = StreamFunctions {
            read,
            write,
            nt_write,
            copy,
            nt_copy,
            triad,
            nt_triad,
            drain,
        };

        #[target_feature(enable = $feature)]
        fn read(a: &[u64]) -> u64 {
            let mut sums = [zero(); 4];
            for turn in a.chunks_exact(4 * WORDS) {
                for (part, sum) in turn.chunks_exact(WORDS).zip(&mut sums) {
                    // SAFETY: the part is a vector long and aligned to one.
                    *sum = add(*sum, unsafe { load(part.as_ptr()) });
                }
            }
            sums.into_iter()
                .fold(0, |total, part| total.wrapping_add(sum(part)))
        }

        #[target_feature(enable = $feature)]
        fn write(a: &mut [u64], value: u64) {
            let value = all(value);
            for to in a.chunks_exact_mut(WORDS) {
                // SAFETY: the part is a vector long and aligned to one.
                unsafe { store(to.as_mut_ptr(), value) };
            }
        }

        #[target_feature(enable = $feature)]
        fn nt_write(a: &mut [u64], value: u64) {
            let value = all(value);
            for to in a.chunks_exact_mut(WORDS) {
                // SAFETY: the part is a vector long and aligned to one.
                unsafe { stream(to.as_mut_ptr(), value) };
            }
        }

        #[target_feature(enable = $feature)]
        fn copy(a: &mut [u64], b: &[u64]) {
            for (to, from) in a.chunks_exact_mut(WORDS).zip(b.chunks_exact(WORDS)) {
                // SAFETY: both parts are a vector long and aligned to one.
                unsafe { store(to.as_mut_ptr(), load(from.as_ptr())) };
            }
        }

        #[target_feature(enable = $feature)]
        fn nt_copy(a: &mut [u64], b: &[u64]) {
            for (to, from) in a.chunks_exact_mut(WORDS).zip(b.chunks_exact(WORDS)) {
                // SAFETY: both parts are a vector long and aligned to one.
                unsafe { stream(to.as_mut_ptr(), load(from.as_ptr())) };
            }
        }

        #[target_feature(enable = $feature)]
        fn triad(a: &mut [u64], b: &[u64], c: &[u64], factor: f64) {
            let factor = all(factor.to_bits());
            let sources = b.chunks_exact(WORDS).zip(c.chunks_exact(WORDS));
            for (to, (b, c)) in a.chunks_exact_mut(WORDS).zip(sources) {
                // SAFETY: the three parts are a vector long and aligned to one.
                unsafe {
                    let value = plus_times(load(b.as_ptr()), load(c.as_ptr()), factor);
                    store(to.as_mut_ptr(), value);
                }
            }
        }

        #[target_feature(enable = $feature)]
        fn nt_triad(a: &mut [u64], b: &[u64], c: &[u64], factor: f64) {
            let factor = all(factor.to_bits());
            let sources = b.chunks_exact(WORDS).zip(c.chunks_exact(WORDS));
            for (to, (b, c)) in a.chunks_exact_mut(WORDS).zip(sources) {
                // SAFETY: the three parts are a vector long and aligned to one.
                unsafe {
                    let value = plus_times(load(b.as_ptr()), load(c.as_ptr()), factor);
                    stream(to.as_mut_ptr(), value);
                }
            }
        }
    };
}

pub(crate) use stream_functions;

/// Plain loops, vectorized by the compiler where it can. They do not bypass the caches: the `nt_`
/// entries only give every path the same shape.
pub(crate) mod portable {
    use super::StreamFunctions;

    /// The loops of this path.
    pub(crate) const FUNCTIONS: StreamFunctions = StreamFunctions {
        read,
        write,
        nt_write: write,
        copy,
        nt_copy: copy,
        triad,
        nt_triad: triad,
        drain: || {},
    };

    /// Returns the sum of all words.
    pub(crate) fn read(a: &[u64]) -> u64 {
        a.iter().fold(0, |sum, word| sum.wrapping_add(*word))
    }

    fn write(a: &mut [u64], value: u64) {
        a.fill(value);
    }

    fn copy(a: &mut [u64], b: &[u64]) {
        a.copy_from_slice(b);
    }

    fn triad(a: &mut [u64], b: &[u64], c: &[u64], factor: f64) {
        for ((to, b), c) in a.iter_mut().zip(b).zip(c) {
            *to = (f64::from_bits(*b) + factor * f64::from_bits(*c)).to_bits();
        }
    }
}
