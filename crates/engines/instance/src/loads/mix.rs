//! Pseudorandom numbers that can be recomputed from their input.

/// Mixes 64 bits (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014:
/// the finalizer of SplitMix64). It is a bijection.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
