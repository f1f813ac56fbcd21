//! The CPU time of another process: its threads to the nanosecond, those that have ended included,
//! and its children that have ended, to a clock tick.

use crate::{Error, Root};

/// Ticks per second in /proc/PID/stat: `USER_HZ` (include/asm-generic/param.h).
const TICK_NS: u64 = 1_000_000_000 / 100;
/// `CPUCLOCK_SCHED` (include/linux/posix-timers.h): the clock of a process by its id is
/// `(~pid << 3) | 2`, as clock_getcpuclockid(3) makes it.
const OF_SCHEDULER: i32 = 2;

/// CPU time of process `pid` in ns, with that of its children that ended and were waited for;
/// `None` when it is gone.
///
/// # Errors
/// When its stat is malformed.
pub fn of_process(root: &Root, pid: u32) -> Result<Option<u64>, Error> {
    let file = match root.read_lossy(&format!("proc/{pid}/stat")) {
        Ok(file) => file,
        Err(error) if error.is_gone() => return Ok(None),
        Err(error) => return Err(error),
    };
    let times = parse(file.text());
    let (own, children) =
        times.ok_or_else(|| file.malformed(1, "the fields of stat", file.text()))?;
    let exact = root.is_live().then(|| clock_of(pid)).flatten();
    Ok(Some(exact.unwrap_or(own).saturating_add(children)))
}

/// Fields 14 to 17 of stat, `utime stime cutime cstime`: own time and that of children, in ns.
/// Fields are counted from 1; the third is the first after the name.
fn parse(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(14 - 3);
    let mut ns = || {
        // Times of children may be negative in the kernel's type.
        let ticks = fields.next()?.parse::<i64>().ok()?;
        Some(u64::try_from(ticks).unwrap_or(0).saturating_mul(TICK_NS))
    };
    let (user, kernel, children_user, children_kernel) = (ns()?, ns()?, ns()?, ns()?);
    Some((
        user.saturating_add(kernel),
        children_user.saturating_add(children_kernel),
    ))
}

/// The process's own CPU clock.
fn clock_of(pid: u32) -> Option<u64> {
    let clock = (!i32::try_from(pid).ok()? << 3) | OF_SCHEDULER;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one `timespec`, which outlives the call.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok()?;
    (answer == 0).then(|| seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{clock_of, of_process, parse};
    use crate::{Root, clock};

    #[test]
    fn fields_of_stat_are_found_behind_any_name() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 11 22 33 -44 20 0 1 0 5";
        assert_eq!(parse(line), Some((330_000_000, 330_000_000)));
        for cut in ["", "7 (a) S 1 7", "7 (a) S 1 7 7 0 -1 4 1 2 3 4 x 22 33 44"] {
            assert_eq!(parse(cut), None, "{cut}");
        }
    }

    #[test]
    fn the_clock_of_a_process_by_its_id_is_its_own_clock() {
        let before = clock::process_cpu_ns();
        let by_id = clock_of(std::process::id()).unwrap();
        assert!((before..=clock::process_cpu_ns()).contains(&by_id));
    }

    #[test]
    fn a_child_that_ended_counts_and_a_process_that_is_gone_has_no_time() {
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = child.id();
        assert!(child.wait().unwrap().success());
        let root = Root::live();
        assert_eq!(of_process(&root, pid).unwrap(), None);
        let own = clock::process_cpu_ns();
        let time = of_process(&root, std::process::id()).unwrap().unwrap();
        assert!(time >= own + 20_000_000, "{time} {own}");
    }
}
