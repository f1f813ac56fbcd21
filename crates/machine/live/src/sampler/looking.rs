//! Looks at the memory of processes, as the account of looks allows.

use std::collections::{BTreeMap, BTreeSet};

use linux::process_activity::Activity;
use model::OpenedSubject;

use super::{Sampler, Scope};
use crate::looks::{Candidate, urgency};
use crate::opened;

impl Sampler {
    /// Looks at the memory of processes: of those on the screen at as many as the account allows,
    /// of others at one. On a machine with one node, only what processes of databases share is to
    /// be found.
    pub(super) fn look(
        &mut self,
        uptime_s: f64,
        running: &BTreeMap<u32, Activity>,
        (shown, of_databases): (&BTreeSet<u32>, &BTreeSet<u32>),
        gaps: &mut Vec<String>,
    ) {
        let among = match self.nodes.only() {
            Some(_) => of_databases,
            None => shown,
        };
        let mut unseen = Unseen::default();
        let mut candidates: Vec<Candidate> = Vec::new();
        for pid in among {
            if let Some(activity) = running.get(pid) {
                let is_of_database = of_databases.contains(pid);
                let process = (*pid, activity, is_of_database);
                candidates.extend(self.candidate(process, uptime_s, &mut unseen));
            }
        }
        candidates.sort_by(|a, b| b.urgency.total_cmp(&a.urgency));
        let passed = self.last_uptime_s.map_or(0.0, |last| uptime_s - last);
        let most_urgent = candidates.first().map(|it| it.resident);
        let most_s = most_urgent.map_or(0.0, |resident| self.looks.cost_s(resident));
        self.looks.earn(passed, most_s);
        // What is open is looked at even on credit.
        if let Some((resident, pid)) = self.opened_to_look_at(uptime_s, running) {
            self.look_at(pid, resident, uptime_s);
        }
        // While the most urgent is saved for, others are looked at that cost little.
        let is_saving = most_urgent.is_some_and(|resident| !self.looks.can_pay(resident));
        let mut left_s = match is_saving {
            true => self.looks.spare_s(passed),
            false => f64::INFINITY,
        };
        let mut looks = 0;
        for it in &candidates {
            let cost_s = self.looks.cost_s(it.resident);
            if cost_s > left_s || !self.looks.can_pay(it.resident) {
                continue;
            }
            if looks > 0 && !it.is_visible {
                break;
            }
            self.look_at(it.pid, it.resident, uptime_s);
            left_s -= cost_s;
            looks += 1;
        }
        gaps.extend(unseen.sentences());
    }

    fn look_at(&mut self, pid: u32, resident: u64, uptime_s: f64) {
        let looked = self.looks.look(&self.root, pid, resident);
        if let Some(held) = self.held.get_mut(&pid) {
            held.is_closed = looked.is_none();
            held.looked = looked.map(|looked| (uptime_s, looked));
        }
    }

    /// A process that may be looked at; `None` for one that may not, or whose size is not known
    /// yet: it may be huge.
    fn candidate(
        &self,
        (pid, activity, is_of_database): (u32, &Activity, bool),
        uptime_s: f64,
        unseen: &mut Unseen,
    ) -> Option<Candidate> {
        let held = self.held.get(&pid)?;
        let is_target = matches!(self.scope, Scope::Target(_));
        let resident = self.resident(pid, activity);
        if held.is_closed {
            unseen.closed.count(pid);
            return None;
        }
        let resident = resident?;
        if !self.looks.is_small_enough(resident, is_target) {
            unseen.too_large.count(pid);
            return None;
        }
        let age_s = held.looked.as_ref().map(|(at, _)| uptime_s - at);
        let is_visible = self.attention.visible.contains(&pid);
        Some(Candidate {
            pid,
            resident,
            is_visible,
            urgency: urgency(age_s, is_visible, is_of_database),
        })
    }

    /// The opened process, if its memory is due to be looked at, with its size.
    fn opened_to_look_at(
        &self,
        uptime_s: f64,
        running: &BTreeMap<u32, Activity>,
    ) -> Option<(u64, u32)> {
        let Some(OpenedSubject::Process(pid)) = self.attention.opened else {
            return None;
        };
        let (activity, held) = (running.get(&pid)?, self.held.get(&pid)?);
        let resident = self.resident(pid, activity).unwrap_or(0);
        let looked_at = held.looked.as_ref().map(|(at, _)| *at);
        let is_due = opened::is_due(looked_at, uptime_s) && !held.is_closed;
        (is_due && self.looks.is_small_enough(resident, true)).then_some((resident, pid))
    }
}

/// Processes whose memory by node stays unknown.
#[derive(Default)]
struct Unseen {
    too_large: Counted,
    closed: Counted,
}

/// How many, and the first.
#[derive(Default)]
struct Counted {
    count: u32,
    first: u32,
}

impl Counted {
    fn count(&mut self, pid: u32) {
        if self.count == 0 {
            self.first = pid;
        }
        self.count += 1;
    }

    fn sentence(&self, why: &str) -> Option<String> {
        let Self { count, first } = self;
        match count {
            0 => None,
            1 => Some(format!("memory by node of process {first} unknown: {why}")),
            _ => Some(format!(
                "memory by node of {count} processes unknown, first {first}: {why}"
            )),
        }
    }
}

impl Unseen {
    fn sentences(&self) -> impl Iterator<Item = String> {
        let too_large = self.too_large.sentence("too large to walk while watching");
        let closed = "numa_maps cannot be read (of other users only with CAP_SYS_PTRACE)";
        too_large.into_iter().chain(self.closed.sentence(closed))
    }
}
