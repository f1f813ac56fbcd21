//! The streams in AVX-512, 512 bits (a whole cache line) at a time.

use std::arch::x86_64::{
    __m512i, _mm_sfence, _mm512_add_epi64, _mm512_add_pd, _mm512_castpd_si512, _mm512_castsi512_pd,
    _mm512_load_si512, _mm512_mul_pd, _mm512_reduce_add_epi64, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_store_si512, _mm512_stream_si512,
};

use crate::stream_path::{StreamFunctions, stream_functions};

type Vector = __m512i;
const WORDS: usize = 8;

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(at: *const u64) -> Vector {
    // SAFETY: as the caller promises, a vector can be read there.
    unsafe { _mm512_load_si512(at.cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there.
    unsafe { _mm512_store_si512(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn stream(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there; `drain` follows.
    unsafe { _mm512_stream_si512(at.cast(), value) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(value: u64) -> Vector {
    _mm512_set1_epi64(value as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn zero() -> Vector {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: Vector, b: Vector) -> Vector {
    _mm512_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn sum(value: Vector) -> u64 {
    _mm512_reduce_add_epi64(value) as u64
}

#[inline]
#[target_feature(enable = "avx512f")]
fn plus_times(b: Vector, c: Vector, factor: Vector) -> Vector {
    let product = _mm512_mul_pd(_mm512_castsi512_pd(factor), _mm512_castsi512_pd(c));
    _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(b), product))
}

/// Orders preceding non-temporal stores, which may otherwise become visible late.
#[inline]
#[target_feature(enable = "avx512f")]
fn drain() {
    _mm_sfence();
}

stream_functions!("avx512f");
