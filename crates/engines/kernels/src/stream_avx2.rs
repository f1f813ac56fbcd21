//! The streams in AVX2, 256 bits at a time.

use std::arch::x86_64::{
    __m256i, _mm_sfence, _mm256_add_epi64, _mm256_add_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
    _mm256_extract_epi64, _mm256_load_si256, _mm256_mul_pd, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_store_si256, _mm256_stream_si256,
};

use crate::stream_path::{StreamFunctions, stream_functions};

type Vector = __m256i;
const WORDS: usize = 4;

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(at: *const u64) -> Vector {
    // SAFETY: as the caller promises, a vector can be read there.
    unsafe { _mm256_load_si256(at.cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there.
    unsafe { _mm256_store_si256(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn stream(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there; `drain` follows.
    unsafe { _mm256_stream_si256(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(value: u64) -> Vector {
    _mm256_set1_epi64x(value as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Vector {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm256_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(value: Vector) -> u64 {
    let words = [
        _mm256_extract_epi64::<0>(value),
        _mm256_extract_epi64::<1>(value),
        _mm256_extract_epi64::<2>(value),
        _mm256_extract_epi64::<3>(value),
    ];
    words
        .into_iter()
        .fold(0, |total, word| total.wrapping_add(word as u64))
}

#[inline]
#[target_feature(enable = "avx2")]
fn plus_times(b: Vector, c: Vector, factor: Vector) -> Vector {
    let product = _mm256_mul_pd(_mm256_castsi256_pd(factor), _mm256_castsi256_pd(c));
    _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(b), product))
}

/// Orders preceding non-temporal stores, which may otherwise become visible late.
#[inline]
#[target_feature(enable = "avx2")]
fn drain() {
    _mm_sfence();
}

stream_functions!("avx2");
