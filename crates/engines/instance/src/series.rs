//! A series of windows in shared memory: when the sessions of a case have their turns.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Maximum windows of a series.
pub(crate) const WINDOWS_MAX: usize = 48;

/// A series of windows: the clock page by which the sessions of this case and those of others take
/// turns. Every turn is a lead-in and a window, and belongs to one case. Set before the series is
/// opened, and never while it runs.
#[repr(C)]
pub(crate) struct Series {
    /// When the first turn begins, whichever case has it: `CLOCK_MONOTONIC` in ns.
    pub first_ns: AtomicU64,
    pub lead_in_ns: AtomicU64,
    pub window_ns: AtomicU64,
    /// Windows of this case.
    pub windows: AtomicU32,
    /// The turns of this case, ascending.
    pub turns: [AtomicU32; WINDOWS_MAX],
}

impl Series {
    /// Returns when the turn of a window begins, and the bounds of the window.
    pub(crate) fn turn(&self, window: usize) -> (u64, (u64, u64)) {
        let lead_in_ns = self.lead_in_ns.load(Ordering::Relaxed);
        let window_ns = self.window_ns.load(Ordering::Relaxed);
        let turn = u64::from(self.turns[window.min(WINDOWS_MAX - 1)].load(Ordering::Relaxed));
        let first_ns = self.first_ns.load(Ordering::Relaxed);
        let begin_ns = first_ns.saturating_add(turn.saturating_mul(lead_in_ns + window_ns));
        let start_ns = begin_ns.saturating_add(lead_in_ns);
        (begin_ns, (start_ns, start_ns.saturating_add(window_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_one_another_without_a_gap() {
        let series = Series {
            first_ns: AtomicU64::new(1000),
            lead_in_ns: AtomicU64::new(10),
            window_ns: AtomicU64::new(40),
            windows: AtomicU32::new(2),
            turns: [const { AtomicU32::new(0) }; WINDOWS_MAX],
        };
        series.turns[0].store(1, Ordering::Relaxed);
        series.turns[1].store(2, Ordering::Relaxed);
        assert_eq!(series.turn(0), (1050, (1060, 1100)));
        assert_eq!(series.turn(1), (1100, (1110, 1150)));
        // What a hostile number says is no reason to panic.
        series.first_ns.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(series.turn(1).0, u64::MAX);
    }
}
