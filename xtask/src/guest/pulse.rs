//! Tells an emulator that stands still from one that waits: an idle guest's kernel has timers.

use std::fs;

/// Looks, 20 ms apart or more, over which the emulator must do something. They are counted instead
/// of timed: while the host itself does not run, nobody looks.
pub(super) const LOOKS: u32 = 3000;

/// Hundredths of a second of CPU time that are something. An idle guest of two nodes with four CPUs
/// took 48 in a minute (Linux 6.1, two CPUs of 2 GHz); one that stood still took none.
const SOMETHING: u64 = 5;

/// The CPU time of an emulator, followed.
#[derive(Debug)]
pub(super) struct Pulse {
    process: u32,
    used: u64,
    looks: u32,
}

impl Pulse {
    /// Follows a process.
    pub(super) fn of(process: u32) -> Self {
        Self {
            process,
            used: 0,
            looks: 0,
        }
    }

    /// Looks once; true if the process has done nothing since many looks. One that has ended or
    /// cannot be read does not stand still.
    pub(super) fn is_still(&mut self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process));
        let used = stat.ok().as_deref().and_then(used);
        used.is_some_and(|used| self.look(used))
    }

    fn look(&mut self, used: u64) -> bool {
        if used >= self.used.saturating_add(SOMETHING) {
            (self.used, self.looks) = (used, 0);
        }
        self.looks += 1;
        self.looks > LOOKS
    }
}

/// Returns the CPU time of all threads, in user mode and in the kernel, in hundredths of a second
/// (fields 14 and 15 of `/proc/PID/stat`, proc(5); `USER_HZ` is 100 on x86).
fn used(stat: &str) -> Option<u64> {
    // The second field, the program's name in parentheses, may itself have spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let mut time = || times.next()?.parse::<u64>().ok();
    Some(time()? + time()?)
}

#[cfg(test)]
mod tests {
    use super::{LOOKS, Pulse, SOMETHING, used};

    #[test]
    fn the_times_are_found_behind_any_name() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194304 10 0 0 0 723 89 5 6 20 0 4 0 100 0 0";
        assert_eq!(used(stat), Some(812));
        assert_eq!(used("7 (sh) S 1 7"), None);
        assert_eq!(used(""), None);
    }

    #[test]
    fn it_stands_still_after_many_looks_without_work_and_not_before() {
        let mut pulse = Pulse::of(0);
        assert!(!pulse.look(1000));
        let still = (1..LOOKS).filter(|_| pulse.look(1000 + SOMETHING - 1));
        assert_eq!(still.count(), 0);
        assert!(pulse.look(1000 + SOMETHING - 1));
    }

    #[test]
    fn little_work_is_enough() {
        let mut pulse = Pulse::of(0);
        // An idle guest, as measured: 48 hundredths in a minute.
        let still = (0..u64::from(10 * LOOKS)).filter(|look| pulse.look(look * 48 / 3000));
        assert_eq!(still.count(), 0);
    }

    #[test]
    fn a_process_that_is_gone_does_not_stand_still() {
        let mut pulse = Pulse::of(u32::MAX);
        assert!((0..=LOOKS).all(|_| !pulse.is_still()));
    }
}
