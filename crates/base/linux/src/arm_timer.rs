//! The timer that each Arm processor has: how fast it ticks.

/// Returns the ticks per second that firmware, or the hypervisor, states; `None` on other
/// processors.
#[cfg(target_arch = "aarch64")]
pub(crate) fn hertz() -> Option<u64> {
    let hertz: u64;
    // SAFETY: Linux permits programs to read this register (kernel, `arch/arm64/kernel/traps.c`);
    // nothing else is accessed.
    unsafe {
        std::arch::asm!("mrs {hertz}, cntfrq_el0", hertz = out(reg) hertz, options(nomem, nostack));
    }
    Some(hertz)
}

/// There is no such timer.
#[cfg(not(target_arch = "aarch64"))]
pub(crate) fn hertz() -> Option<u64> {
    None
}
