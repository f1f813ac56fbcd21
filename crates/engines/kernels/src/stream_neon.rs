//! The streams in NEON, 128 bits at a time.

use std::arch::aarch64::{
    uint64x2_t, vaddq_f64, vaddq_u64, vaddvq_u64, vdupq_n_u64, vld1q_u64, vmulq_f64,
    vreinterpretq_f64_u64, vreinterpretq_u64_f64, vst1q_u64,
};

use crate::stream_path::{StreamFunctions, stream_functions};

type Vector = uint64x2_t;
const WORDS: usize = 2;

#[inline]
#[target_feature(enable = "neon")]
unsafe fn load(at: *const u64) -> Vector {
    // SAFETY: as the caller promises, a vector can be read there.
    unsafe { vld1q_u64(at) }
}

#[inline]
#[target_feature(enable = "neon")]
unsafe fn store(at: *mut u64, value: Vector) {
    // SAFETY: as the caller promises, a vector can be written there.
    unsafe { vst1q_u64(at, value) };
}

/// Stores with `STNP` of two general registers, a hint that the line is not needed again soon.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn stream(at: *mut u64, value: Vector) {
    use std::arch::aarch64::vgetq_lane_u64;
    let (low, high) = (vgetq_lane_u64::<0>(value), vgetq_lane_u64::<1>(value));
    // SAFETY: as the caller promises, a vector can be written there.
    unsafe {
        std::arch::asm!(
            "stnp {low}, {high}, [{at}]",
            low = in(reg) low,
            high = in(reg) high,
            at = in(reg) at,
            options(nostack, preserves_flags),
        );
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn all(value: u64) -> Vector {
    vdupq_n_u64(value)
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Vector {
    vdupq_n_u64(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn add(a: Vector, b: Vector) -> Vector {
    vaddq_u64(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn sum(value: Vector) -> u64 {
    vaddvq_u64(value)
}

#[inline]
#[target_feature(enable = "neon")]
fn plus_times(b: Vector, c: Vector, factor: Vector) -> Vector {
    let product = vmulq_f64(vreinterpretq_f64_u64(factor), vreinterpretq_f64_u64(c));
    vreinterpretq_u64_f64(vaddq_f64(vreinterpretq_f64_u64(b), product))
}

/// Orders preceding non-temporal stores, which may otherwise become visible late.
#[inline]
#[target_feature(enable = "neon")]
fn drain() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

stream_functions!("neon");
