//! Clocks of the kernel.

use rustix::time::{ClockId, clock_gettime};

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC` in ns, the same for all processes. From the vDSO: no system call where the
/// clock source is the TSC or a paravirtual clock.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process in ns (`CLOCK_PROCESS_CPUTIME_ID`), exact to the call.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}
