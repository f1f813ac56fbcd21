//! The streams in SSE2, 128 bits at a time.

use std::arch::x86_64::{
    __m128i, _mm_add_epi64, _mm_add_pd, _mm_castpd_si128, _mm_castsi128_pd, _mm_cvtsi128_si64,
    _mm_load_si128, _mm_mul_pd, _mm_set1_epi64x, _mm_setzero_si128, _mm_sfence, _mm_store_si128,
    _mm_stream_si128, _mm_unpackhi_epi64,
};

use crate::stream_path::{StreamFunctions, stream_functions};

type Vector = __m128i;
const WORDS: usize = 2;

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn load(at: *const u64) -> Vector {
    // SAFETY: as the caller promises, a vector can be read there.
    unsafe { _mm_load_si128(at.cast()) }
}

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn store(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there.
    unsafe { _mm_store_si128(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn stream(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there; `drain` follows.
    unsafe { _mm_stream_si128(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "sse2")]
fn all(value: u64) -> Vector {
    _mm_set1_epi64x(value as i64)
}

#[inline]
#[target_feature(enable = "sse2")]
fn zero() -> Vector {
    _mm_setzero_si128()
}

#[inline]
#[target_feature(enable = "sse2")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "sse2")]
fn sum(value: Vector) -> u64 {
    let high = _mm_cvtsi128_si64(_mm_unpackhi_epi64(value, value)) as u64;
    (_mm_cvtsi128_si64(value) as u64).wrapping_add(high)
}

#[inline]
#[target_feature(enable = "sse2")]
fn plus_times(b: Vector, c: Vector, factor: Vector) -> Vector {
    let product = _mm_mul_pd(_mm_castsi128_pd(factor), _mm_castsi128_pd(c));
    _mm_castpd_si128(_mm_add_pd(_mm_castsi128_pd(b), product))
}

/// Orders preceding non-temporal stores, which may otherwise become visible late.
#[inline]
#[target_feature(enable = "sse2")]
fn drain() {
    _mm_sfence();
}

stream_functions!("sse2");
