//! How many CPUs the processes of a target used: since they started, and in a moment.

use std::time::{Duration, Instant};

use linux::{Root, proc_stat, proc_uptime, process_cpu_time};
use model::Residency;

/// How long the moment is.
const MOMENT: Duration = Duration::from_secs(1);
/// Ticks per second in /proc/PID/stat: `USER_HZ` (include/asm-generic/param.h).
const TICKS_PER_S: f64 = 100.0;
/// What ran for less is no average.
const AGE_MIN_S: f64 = 1.0;

/// CPUs that they used on average since the first of them started; `None` where a capture does not
/// tell.
pub(crate) fn since_start(root: &Root, residency: &Residency) -> Option<f64> {
    let uptime = proc_uptime::read(root).ok()??;
    let pids = residency.processes.iter().map(|it| it.pid);
    let starts = pids.filter_map(|pid| proc_stat::read(root, pid).ok());
    let starts = starts.filter(|stat| !stat.lacks_stat);
    let first = starts.map(|stat| stat.start_ticks).min()?;
    let age = uptime - first as f64 / TICKS_PER_S;
    (age >= AGE_MIN_S).then(|| seconds(root, residency) / age)
}

/// CPUs that they use in a second from now.
pub(crate) fn in_a_moment(root: &Root, residency: &Residency) -> f64 {
    let (before, began) = (seconds(root, residency), Instant::now());
    std::thread::sleep(MOMENT);
    let used = seconds(root, residency) - before;
    // A process that ended meanwhile takes its time with it, unless its parent waited for it.
    used.max(0.0) / began.elapsed().as_secs_f64()
}

/// CPU time of all processes, with that of children that have ended, in seconds.
fn seconds(root: &Root, residency: &Residency) -> f64 {
    let pids = residency.processes.iter().map(|it| it.pid);
    let times = pids.filter_map(|pid| process_cpu_time::of_process(root, pid).ok().flatten());
    times.map(|ns| ns as f64 * 1e-9).sum()
}

#[cfg(test)]
mod tests {
    use model::ProcessResidency;

    use super::*;

    fn of(pids: &[u32]) -> Residency {
        let process = |pid: &u32| ProcessResidency {
            pid: *pid,
            ..ProcessResidency::default()
        };
        Residency {
            processes: pids.iter().map(process).collect(),
            ..Residency::default()
        }
    }

    #[test]
    fn time_is_divided_by_the_age_of_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(folder.path()).unwrap();
        let stat = |pid: u32, ticks: u32, start: u32| {
            let rest = format!("{ticks} 0 0 0 20 0 1 0 {start} 0 0 0 0 0 0");
            let text = format!("{pid} (a) S 1 1 1 0 -1 0 0 0 0 0 {rest}\n");
            write(&format!("proc/{pid}/stat"), &text);
        };
        stat(7, 10_000, 10_000);
        stat(8, 5_000, 20_000);
        let used = |pids: &[u32]| since_start(&root, &of(pids));
        assert_eq!(used(&[7]), None, "a capture without the time");
        write("proc/uptime", "200.00 1.00\n");
        assert_eq!(used(&[7]), Some(1.0));
        assert_eq!(used(&[7, 8]), Some(1.5));
        assert_eq!(used(&[8]), None, "just started");
        assert_eq!(used(&[9]), None, "gone");
    }
}
