//! The least that each node had of everything, in the hours before the history.

use std::collections::{BTreeMap, VecDeque};

use model::{NodeId, Snapshot};

use crate::resource::Resource;

/// Most loads come back within a day.
const HOURS: f64 = 24.0;

const HOUR_S: f64 = 3600.0;

/// The least that each node had left in the last day, before the snapshots of a history.
#[derive(Clone, Debug, Default)]
pub struct Lowest {
    hours: VecDeque<Hour>,
}

#[derive(Clone, Debug)]
struct Hour {
    begun_s: f64,
    least: BTreeMap<(NodeId, Resource), u64>,
}

impl Lowest {
    /// Adds a snapshot that leaves the history.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        let now = snapshot.uptime_s;
        let age_s = |hour: &Hour| now - hour.begun_s;
        if self.hours.back().is_none_or(|hour| age_s(hour) >= HOUR_S) {
            self.hours.push_back(Hour {
                begun_s: now,
                least: BTreeMap::new(),
            });
        }
        while self
            .hours
            .front()
            .is_some_and(|hour| age_s(hour) > HOURS * HOUR_S)
        {
            self.hours.pop_front();
        }
        let Some(Hour { least: hour, .. }) = self.hours.back_mut() else {
            return;
        };
        for (node, resource) in Resource::all(snapshot) {
            let found = snapshot.nodes.iter().find(|it| it.id == node);
            if let Some(left) = found.and_then(|node| resource.left(node)) {
                let least = hour.entry((node, resource)).or_insert(left);
                *least = left.min(*least);
            }
        }
    }

    /// The least that the node had of it; `None` when that is not known.
    pub(crate) fn of(&self, node: NodeId, resource: Resource) -> Option<u64> {
        let hours = self.hours.iter();
        hours
            .filter_map(|hour| hour.least.get(&(node, resource)))
            .min()
            .copied()
    }
}
