//! The last minutes of snapshots, bounded.

use std::collections::VecDeque;

use model::Snapshot;

use crate::levels::{Growths, Levels};
use crate::{Change, Forecast, Lowest};

/// Ten minutes: long enough for the slope of a load, short enough that an earlier load is
/// forgotten.
const SECONDS_MAX: f64 = 600.0;

/// At most so many snapshots, however often they are taken.
const SNAPSHOTS_MAX: usize = 1200;

/// Who grows is found from the processes of a snapshot that is older than this: at most three of
/// them keep theirs.
const PROCESSES_EVERY_S: f64 = 300.0;

/// Snapshots of the last ten minutes. Those before the last two keep their nodes only, and one in
/// five minutes its processes: those of ten minutes would take hundreds of megabytes.
#[derive(Clone, Debug, Default)]
pub struct History {
    snapshots: VecDeque<Snapshot>,
    lowest: Lowest,
    levels: Levels,
}

impl History {
    /// Adds a snapshot and forgets what is too old. A clock that went backwards (another machine, a
    /// reboot) begins a new history.
    pub fn push(&mut self, snapshot: Snapshot) {
        if self
            .latest()
            .is_some_and(|latest| latest.uptime_s >= snapshot.uptime_s)
        {
            *self = History::default();
        }
        self.levels.push(&snapshot);
        let oldest = snapshot.uptime_s - SECONDS_MAX;
        self.snapshots.push_back(snapshot);
        while let Some(first) = self.snapshots.front()
            && (self.snapshots.len() > SNAPSHOTS_MAX || first.uptime_s < oldest)
        {
            self.lowest.add(first);
            self.snapshots.pop_front();
        }
        self.thin();
    }

    /// Takes what is not looked at again from the third last snapshot.
    fn thin(&mut self) {
        let Some(third) = self.snapshots.len().checked_sub(3) else {
            return;
        };
        let mut before = self.snapshots.range(..third).rev();
        let last = before.find(|it| !it.processes.is_empty());
        let thinned = &self.snapshots[third];
        let is_due = last.is_none_or(|it| thinned.uptime_s - it.uptime_s >= PROCESSES_EVERY_S);
        let thinned = &mut self.snapshots[third];
        if !is_due {
            thinned.processes = Vec::new();
            thinned.instances = Vec::new();
        }
        thinned.gaps = Vec::new();
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

    /// How fast what is in the last snapshot grows.
    pub fn growths(&self) -> Growths {
        let latest = self.latest();
        latest.map_or_else(Growths::default, |latest| self.levels.growths(latest))
    }

    /// What runs out first ([`Forecast::of`]).
    pub fn forecast(&self) -> Forecast {
        Forecast::of(self.snapshots(), &self.lowest)
    }
}
