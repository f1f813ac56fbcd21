//! Clocks of the kernel.

use rustix::time::{ClockId, clock_gettime};

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC` in ns, the same for all processes. Uses the vDSO: no system call where the
/// clock source is the TSC or a paravirtual clock.
pub fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process in ns (`CLOCK_PROCESS_CPUTIME_ID`), exact at the time of the call.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// CPU time of this thread in ns (`CLOCK_THREAD_CPUTIME_ID`), exact at the time of the call.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// The CPU time of this process spent in the kernel, in ns (getrusage(2), `ru_stime`). Most kernels
/// sample it at each tick and scale it to the total.
pub fn process_kernel_cpu_ns() -> u64 {
    // SAFETY: `rusage` is plain data, for which zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // The only errors are an invalid `who` and an invalid address.
    // SAFETY: the kernel writes one `rusage`.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_stime.tv_sec as u64 * 1_000_000_000 + usage.ru_stime.tv_usec as u64 * 1000
}
