//! What happens from one snapshot to the next that a reader of a recording looks for.

use std::collections::{BTreeMap, BTreeSet};

use model::Snapshot;

use crate::{History, Notices};

/// The end of a process is an event if it had run for so long: programs that scripts start end all
/// the time.
const RAN_S: f64 = 60.0;

/// Ticks per second of a process's start: `USER_HZ` (include/asm-generic/param.h).
const TICKS_PER_S: f64 = 100.0;

/// Finds events in snapshots that come one after the other.
#[derive(Debug, Default)]
pub struct Events {
    history: History,
    notices: Notices,
    /// The ids of notices that held at the last snapshot.
    held: BTreeSet<&'static str>,
    /// The names of processes at the last snapshot, by id and start.
    processes: BTreeMap<(u32, u64), String>,
    instances: BTreeSet<String>,
}

impl Events {
    /// Returns what has happened since the snapshot before, one sentence each: a notice appears, a
    /// database begins or ends, a process ends that had run for a minute. Nothing has at the first.
    pub fn of(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let is_first = self.history.latest().is_none();
        let mut events = Vec::new();
        self.history.push(Snapshot {
            opened: None,
            ..snapshot.clone()
        });
        let notices = self.notices.update(&self.history);
        let is_new = |id: &&'static str| !self.held.contains(id);
        let new = notices.iter().filter(|it| is_new(&it.id));
        events.extend(new.map(|it| it.sentence.clone()));
        self.held = notices.iter().map(|it| it.id).collect();

        let names = snapshot.instances.iter().map(|it| it.name.clone());
        let names: BTreeSet<String> = names.collect();
        let came = names.difference(&self.instances);
        events.extend(came.map(|name| format!("{name} is there")));
        let gone = self.instances.difference(&names);
        events.extend(gone.map(|name| format!("{name} has ended")));
        self.instances = names;

        let processes = snapshot.processes.iter();
        let processes = processes.map(|it| ((it.pid, it.start_ticks), it.name.clone()));
        let processes: BTreeMap<(u32, u64), String> = processes.collect();
        for ((pid, start_ticks), name) in &self.processes {
            let ran_s = snapshot.uptime_s - *start_ticks as f64 / TICKS_PER_S;
            if ran_s >= RAN_S && !processes.contains_key(&(*pid, *start_ticks)) {
                events.push(format!("process {pid} {name:?} has ended"));
            }
        }
        self.processes = processes;
        if is_first {
            events.clear();
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{InstanceSnapshot, NodeHugePages, NodeSnapshot, ProcessSnapshot};

    fn snapshot(uptime_s: f64, free: u64, starts: &[(u32, u64)], instance: &str) -> Snapshot {
        let pool = NodeHugePages {
            page_bytes: 2 << 20,
            total: 8,
            free: Some(free),
            surplus: None,
        };
        let processes = starts.iter().map(|&(pid, start_ticks)| ProcessSnapshot {
            pid,
            start_ticks,
            name: "po\u{1b}st".to_owned(),
            ..ProcessSnapshot::default()
        });
        Snapshot {
            uptime_s,
            nodes: vec![NodeSnapshot {
                huge_pages: vec![pool],
                ..NodeSnapshot::default()
            }],
            processes: processes.collect(),
            instances: vec![InstanceSnapshot {
                name: instance.to_owned(),
                ..InstanceSnapshot::default()
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn notices_and_ends_are_events_but_not_at_the_first_snapshot() {
        let mut events = Events::default();
        let none: [&str; 0] = [];
        let (old, new) = ((7, 100), (8, 9000));
        assert_eq!(events.of(&snapshot(100.0, 0, &[old, new], "a")), none);
        assert_eq!(events.of(&snapshot(101.0, 0, &[old, new], "a")), none);
        assert_eq!(events.of(&snapshot(102.0, 1, &[old, new], "a")), none);
        let found = events.of(&snapshot(103.0, 0, &[(7, 500)], "b"));
        let expected = [
            "node 0 has none of its 8 huge pages of 2 MiB free",
            "b is there",
            "a has ended",
            "process 7 \"po\\u{1b}st\" has ended",
        ];
        assert_eq!(found, expected);
    }
}
