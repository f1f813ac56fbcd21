//! The counter that user programs can read: one instruction and the fences around it.

use model::TimerSource;

/// Returns the counter if it ticks at a constant rate.
#[cfg(target_arch = "x86_64")]
pub(crate) fn constant_rate_source() -> Option<TimerSource> {
    use std::arch::x86_64::__cpuid;
    const LARGEST_LEAF: u32 = 0x8000_0000;
    const POWER_LEAF: u32 = 0x8000_0007;
    // Bit 8 of EDX, "invariant TSC" (Intel SDM, volume 3, 19.17.1; AMD APM, volume 3, E.4.6).
    const INVARIANT_TSC: u32 = 1 << 8;
    let has_leaf = __cpuid(LARGEST_LEAF).eax >= POWER_LEAF;
    (has_leaf && __cpuid(POWER_LEAF).edx & INVARIANT_TSC != 0).then_some(TimerSource::Tsc)
}

/// Reads the time stamp counter after all preceding loads have completed and before any following
/// load starts (Intel SDM, volume 2, RDTSC: `LFENCE` on both sides; Linux makes `LFENCE`
/// serializing on AMD, too).
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn read() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: both instructions are part of x86-64 and touch no memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Reads the time stamp counter without ordering.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn glance() -> u64 {
    // SAFETY: the instruction is part of x86-64 and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Returns the virtual counter, which always ticks at the same rate (Arm ARM, D12.1).
#[cfg(target_arch = "aarch64")]
pub(crate) fn constant_rate_source() -> Option<TimerSource> {
    Some(TimerSource::VirtualCounter)
}

/// Reads the virtual counter after all preceding loads have completed and before any following load
/// starts.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: Linux permits programs to read this register; nothing else is accessed.
    unsafe {
        std::arch::asm!(
            "dsb ld",
            "isb",
            "mrs {ticks}, cntvct_el0",
            "isb",
            ticks = out(reg) ticks,
            options(nostack),
        );
    }
    ticks
}

/// Reads the virtual counter without ordering.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn glance() -> u64 {
    let ticks: u64;
    // SAFETY: Linux permits programs to read this register; nothing else is accessed.
    unsafe {
        std::arch::asm!("mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack));
    }
    ticks
}

/// Returns `None`: no counter is known, and the timer reads the kernel's clock instead.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn constant_rate_source() -> Option<TimerSource> {
    None
}

/// Reads the kernel's clock in place of a counter.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn read() -> u64 {
    linux::clock::monotonic_ns()
}

/// Reads the kernel's clock; there is no faster one.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn glance() -> u64 {
    read()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_counter_never_goes_back() {
        let first = super::read();
        assert!(super::read() >= first);
    }
}
