//! CPUs a process may use: sched_setaffinity(2), sched_getaffinity(2), getcpu(2).
//!
//! Masks grow with the highest CPU: a fixed `cpu_set_t` ends at CPU 1023.

use model::{CpuId, CpuSet};

use crate::SystemCallError;
use crate::bit_mask;

/// Words of a mask that holds the most CPUs Linux can be built for (8192, arch/x86/Kconfig).
const MASK_WORDS: usize = 8192 / 64;

/// Binds the calling thread to `cpus`.
///
/// # Errors
/// `EINVAL` when none of the CPUs is online and allowed by the cpuset.
pub fn bind_this_thread(cpus: &CpuSet) -> Result<(), SystemCallError> {
    bind_process(0, cpus)
}

/// Lets the thread with this id use every CPU that its cpuset has, also those that it gets later.
///
/// # Errors
/// `ESRCH` when it has ended; `EPERM` when it belongs to another user.
pub fn unbind_thread(tid: u32) -> Result<(), SystemCallError> {
    // The kernel ignores bits beyond its own masks (kernel/sched/syscalls.c, `get_user_cpu_mask`).
    let all = (0..MASK_WORDS as u32 * 64).map(CpuId).collect();
    bind_process(tid, &all)
}

/// Binds the first thread of process `pid`, or the thread with that id (0: the calling thread), to
/// `cpus`.
///
/// # Errors
/// `EINVAL` when none of the CPUs is online and allowed by the cpuset of the process; `EPERM` when
/// the process belongs to another user.
pub fn bind_process(pid: u32, cpus: &CpuSet) -> Result<(), SystemCallError> {
    let mask = bit_mask::from_set(cpus, 1);
    // SAFETY: the pointer and the length in bytes describe `mask`, which outlives the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            pid,
            size_of_val(&mask[..]),
            mask.as_ptr(),
        )
    };
    if answer < 0 {
        return Err(SystemCallError::last(
            "sched_setaffinity",
            format!("{pid}, CPUs {cpus}"),
        ));
    }
    Ok(())
}

/// The CPUs the calling thread may use.
///
/// # Errors
/// Only when the kernel supports more than 8192 CPUs.
pub fn of_this_thread() -> Result<CpuSet, SystemCallError> {
    of_thread(0)
}

/// The CPUs that the thread with this id (0: the calling thread) may use.
///
/// # Errors
/// `ESRCH` when it has ended; `EINVAL` when the kernel supports more than 8192 CPUs.
pub fn of_thread(tid: u32) -> Result<CpuSet, SystemCallError> {
    let mut mask = vec![0u64; MASK_WORDS];
    // SAFETY: the kernel writes at most the stated number of bytes into `mask`.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            tid,
            size_of_val(&mask[..]),
            mask.as_mut_ptr(),
        )
    };
    if answer < 0 {
        return Err(SystemCallError::last("sched_getaffinity", tid.to_string()));
    }
    Ok(bit_mask::to_set(&mask))
}

/// The CPU the calling thread runs on now. Uses the vDSO: no system call on x86-64.
pub fn current_cpu() -> CpuId {
    CpuId(rustix::thread::sched_getcpu() as u32)
}

#[cfg(test)]
mod tests {
    use super::{bind_this_thread, current_cpu, of_this_thread};

    #[test]
    fn a_thread_stays_on_the_cpu_it_is_bound_to() {
        std::thread::spawn(|| {
            let allowed = of_this_thread().unwrap();
            let last = allowed.iter().last().expect("a thread has a CPU");
            bind_this_thread(&[last].into_iter().collect()).unwrap();
            assert_eq!(
                of_this_thread().unwrap().iter().collect::<Vec<_>>(),
                vec![last]
            );
            assert_eq!(current_cpu(), last);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_by_name() {
        let error = bind_this_thread(&"8000".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("CPUs 8000"), "{error}");
    }
}
