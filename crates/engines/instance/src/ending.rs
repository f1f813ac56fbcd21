//! Describes how a process of an instance ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Describes how a process ended early, with the likely cause.
pub(crate) fn ended_early(status: ExitStatus) -> String {
    // SIGKILL cannot be caught, so the process leaves no reason.
    let hint = match status.signal() {
        Some(9) => "; if nobody killed it, the kernel did, for lack of memory (`dmesg` says so)",
        _ => "",
    };
    format!("ended early: {status}{hint}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::ended_early;

    #[test]
    fn only_a_kill_may_mean_that_memory_ran_out() {
        let killed = ended_early(ExitStatus::from_raw(9));
        assert!(killed.contains("signal: 9 (SIGKILL)") && killed.contains("lack of memory"));
        for raw in [11, 1 << 8] {
            let text = ended_early(ExitStatus::from_raw(raw));
            assert!(!text.contains("memory"), "{text}");
        }
    }
}
