//! The streams as plain loops, vectorized by the compiler where it can. They do not bypass the
//! caches: the `nt_` entries only give every path the same shape.

use crate::stream_path::StreamFunctions;

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
