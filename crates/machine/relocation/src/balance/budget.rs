//! How much the kernel may move in a second. It has no such setting of its own for memory that all
//! CPUs reach alike, so numalab stops it once it has moved enough, until the next second.

/// What is left of the current second.
#[derive(Debug)]
pub(super) struct Budget {
    bytes_per_s: u64,
    /// Number of the current second, and what had been moved when it began.
    second: (u64, u64),
}

impl Budget {
    /// A budget from now on; `moved` is what the kernel has moved since boot, in bytes.
    pub(super) fn new(bytes_per_s: u64, moved: u64) -> Self {
        let second = (0, moved);
        Self {
            bytes_per_s,
            second,
        }
    }

    /// Whether the kernel has moved enough for the current second; `now_s` is the time since the
    /// begin in seconds.
    pub(super) fn is_spent(&mut self, now_s: f64, moved: u64) -> bool {
        let second = now_s as u64;
        if second != self.second.0 {
            self.second = (second, moved);
        }
        moved.saturating_sub(self.second.1) >= self.bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Budget;

    #[test]
    fn a_second_that_has_had_enough_waits_for_the_next() {
        let mut budget = Budget::new(100, 1000);
        let mut is_spent = |now_s, moved| budget.is_spent(now_s, moved);
        assert!(!is_spent(0.1, 1050));
        assert!(is_spent(0.2, 1100));
        assert!(is_spent(0.9, 1180));
        // What was too much is not taken from the next second: it is bounded by how soon we look.
        assert!(!is_spent(1.0, 1180));
        assert!(is_spent(1.5, 1290));
    }

    proptest! {
        #[test]
        fn a_counter_that_begins_again_stops_nothing(
            looks in prop::collection::vec((0.0..9.0_f64, any::<u64>()), 0..20)
        ) {
            let mut budget = Budget::new(100, u64::MAX);
            for (now_s, moved) in looks {
                let _ = budget.is_spent(now_s, moved);
            }
            prop_assert!(!budget.is_spent(100.0, 7));
        }
    }
}
