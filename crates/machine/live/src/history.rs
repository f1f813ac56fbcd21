//! The last minutes of snapshots, bounded.

use std::collections::VecDeque;

use model::Snapshot;

use crate::{Change, Forecast};

/// Ten minutes: long enough for the slope of a load, short enough that an earlier load is
/// forgotten.
const SECONDS_MAX: f64 = 600.0;

/// At most so many snapshots, however often they are taken.
const SNAPSHOTS_MAX: usize = 1200;

/// Snapshots of the last ten minutes. Those before the last two keep their nodes only: processes
/// of ten minutes would take hundreds of megabytes.
#[derive(Clone, Debug, Default)]
pub struct History {
    snapshots: VecDeque<Snapshot>,
}

impl History {
    /// Adds a snapshot and forgets what is too old. A clock that went backwards (another machine, a
    /// reboot) begins a new history.
    pub fn push(&mut self, snapshot: Snapshot) {
        if self
            .latest()
            .is_some_and(|latest| latest.uptime_s >= snapshot.uptime_s)
        {
            self.snapshots.clear();
        }
        let oldest = snapshot.uptime_s - SECONDS_MAX;
        self.snapshots.push_back(snapshot);
        while self.snapshots.len() > SNAPSHOTS_MAX
            || self
                .snapshots
                .front()
                .is_some_and(|first| first.uptime_s < oldest)
        {
            self.snapshots.pop_front();
        }
        if let Some(third) = self.snapshots.len().checked_sub(3) {
            self.snapshots[third].processes = Vec::new();
            self.snapshots[third].instances = Vec::new();
            self.snapshots[third].gaps = Vec::new();
        }
    }

    /// The snapshots, oldest first.
    pub fn snapshots(&self) -> impl DoubleEndedIterator<Item = &Snapshot> {
        self.snapshots.iter()
    }

    /// The last snapshot.
    pub fn latest(&self) -> Option<&Snapshot> {
        self.snapshots.back()
    }

    /// What happened between the last two snapshots.
    pub fn change(&self) -> Option<Change> {
        let mut newest = self.snapshots.iter().rev();
        let after = newest.next()?;
        Some(Change::between(newest.next()?, after))
    }

    /// What runs out first ([`Forecast::of`]).
    pub fn forecast(&self) -> Forecast {
        Forecast::of(self.snapshots())
    }
}
