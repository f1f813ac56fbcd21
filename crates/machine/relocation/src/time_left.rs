//! How long the rest of a move takes, from what its batches have taken so far: those of the target
//! itself, with all page tables that have its pages and with whatever uses the machine meanwhile.

use std::collections::VecDeque;

/// Batches that are looked at: the machine may have become busier or quieter since older ones.
const BATCHES: usize = 8;

/// Batches before which nothing is said: one alone has no range.
const BATCHES_MIN: usize = 2;

/// The time that the rest of a move takes, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeLeft {
    /// If all of it goes like the fastest of the last batches.
    pub least_s: f64,
    /// If all of it goes like the slowest of them.
    pub most_s: f64,
}

/// The speed of the last batches of a move.
#[derive(Debug, Default)]
pub struct MoveSpeed {
    bytes_all: u64,
    /// The least time of a byte: that of the rate that was asked for.
    s_per_byte_min: f64,
    bytes: u64,
    /// When the last batch was done, or the first began.
    seconds: Option<f64>,
    /// Seconds per byte of each.
    batches: VecDeque<f64>,
}

impl MoveSpeed {
    /// That of a move of so many bytes, at most so many in a second, which begins now.
    pub fn of(bytes_all: u64, bytes_per_s: Option<u64>) -> Self {
        MoveSpeed {
            bytes_all,
            s_per_byte_min: bytes_per_s.map_or(0.0, |rate| 1.0 / rate.max(1) as f64),
            ..MoveSpeed::default()
        }
    }

    /// Takes in that at this time, in seconds, so many bytes have been handled. The first call is
    /// that before the first batch. A batch in which nothing had to be moved says nothing.
    pub fn add(&mut self, seconds: f64, bytes: u64) {
        let more = bytes.saturating_sub(self.bytes);
        let before = *self.seconds.get_or_insert(seconds);
        if more == 0 {
            return;
        }
        (self.bytes, self.seconds) = (bytes, Some(seconds));
        let s_per_byte = (seconds - before) / more as f64;
        self.batches.push_back(s_per_byte.max(self.s_per_byte_min));
        if self.batches.len() > BATCHES {
            self.batches.pop_front();
        }
    }

    /// The bytes handled so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The time left; `None` before enough batches have been moved.
    pub fn left(&self) -> Option<TimeLeft> {
        if self.batches.len() < BATCHES_MIN {
            return None;
        }
        let left = self.bytes_all.saturating_sub(self.bytes) as f64;
        let times = self.batches.iter().map(|s_per_byte| left * s_per_byte);
        let least_s = times.clone().fold(f64::INFINITY, f64::min);
        Some(TimeLeft {
            least_s,
            most_s: times.fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes in batches of these MiB and seconds, and returns the time left in whole seconds.
    fn check(batches: &[(u64, f64)], expected: Option<(f64, f64)>) {
        let mut speed = MoveSpeed::of(75 << 20, None);
        let (mut bytes, mut seconds) = (0, 9.0);
        speed.add(seconds, bytes);
        for (mib, took) in batches {
            bytes += mib << 20;
            seconds += took;
            speed.add(seconds, bytes);
        }
        let left = speed.left();
        let left = left.map(|left| (left.least_s.round(), left.most_s.round()));
        assert_eq!(left, expected, "{batches:?}");
    }

    #[test]
    fn the_rest_takes_as_long_as_the_fastest_and_the_slowest_of_the_last_batches() {
        check(&[], None);
        // One alone has no range.
        check(&[(3, 1.0)], None);
        // 68 MiB are left, at 0.5 and at 0.75 s each.
        check(&[(3, 1.5), (4, 3.0)], Some((34.0, 51.0)));
        // Nothing had to be moved in the one before the last.
        check(&[(3, 1.5), (0, 1.0), (4, 3.0)], Some((34.0, 68.0)));
        check(&[(3, 1.5), (72, 70.0)], Some((0.0, 0.0)));
        // The machine was busier before.
        let mut quieter = vec![(3, 60.0)];
        quieter.extend([(4, 2.0); 8]);
        check(&quieter, Some((20.0, 20.0)));
    }

    #[test]
    fn a_rate_that_was_asked_for_is_not_exceeded() {
        let mut speed = MoveSpeed::of(64 << 20, Some(1 << 20));
        // The first batch is moved at once, and the second when the rate allows it.
        for (seconds, bytes) in [(0.0, 0), (0.1, 2 << 20), (2.1, 4 << 20)] {
            speed.add(seconds, bytes);
        }
        let left = speed.left().unwrap();
        assert_eq!((left.least_s.round(), left.most_s.round()), (60.0, 60.0));
    }

    #[test]
    fn more_than_was_planned_is_no_time_left() {
        let mut speed = MoveSpeed::of(1, None);
        for (seconds, bytes) in [(0.0, 0), (1.0, 1), (2.0, 2)] {
            speed.add(seconds, bytes);
        }
        let left = speed.left().unwrap();
        assert_eq!((left.least_s, left.most_s), (0.0, 0.0));
    }
}
