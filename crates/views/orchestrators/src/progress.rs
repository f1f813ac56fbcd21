//! What came of a plan, from the runs that hosts have sent.

use std::collections::{BTreeMap, BTreeSet};

use model::{RunHeader, RunStatus};
use serde::Serialize;

use crate::hosts::first_label;
use crate::plan::Plan;

/// A run of the store, as far as it says what came of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOfHost {
    /// The run.
    pub header: RunHeader,
    /// Whether it began after the plan was made.
    pub is_later: bool,
    /// Why its last trial failed, if that was asked for.
    pub reason: Option<String>,
}

impl RunOfHost {
    fn state(&self) -> StepProgress {
        let header = &self.header;
        // A look at the machine, such as the doctor's, has no trials.
        let has_trials = !header.experiment.starts_with("doctor");
        let reason = || self.reason.clone();
        match header.status {
            RunStatus::Unfinished => StepProgress::Failed {
                reason: Some("it has not ended, or was killed".to_owned()),
            },
            RunStatus::Interrupted => StepProgress::Failed {
                reason: Some("it was interrupted".to_owned()),
            },
            RunStatus::Failed => StepProgress::Failed { reason: reason() },
            _ if has_trials && header.trials_valid == 0 => StepProgress::Failed {
                reason: reason().or_else(|| Some("no trial counts".to_owned())),
            },
            RunStatus::Settled | RunStatus::Bounded | RunStatus::Imported => StepProgress::Done,
        }
    }
}

/// What came of one step on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum StepProgress {
    /// It was measured and sent.
    Done,
    /// A run of it was sent, and cannot be used.
    Failed {
        /// Why, if the run says so.
        reason: Option<String>,
    },
    /// Nothing was sent.
    Missing,
}

/// What came of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// A step failed.
    Failed,
    /// A step is missing.
    Partial,
    /// Nothing was sent.
    NeverAnswered,
    /// All steps were done.
    Done,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostProgress {
    /// Its name in the plan.
    pub host: String,
    /// What came of it.
    pub state: HostState,
    /// What came of each step, in the order of the plan.
    pub steps: Vec<StepProgress>,
    /// Runs of each step: more than one was tried again.
    pub tries: Vec<u32>,
    /// The start of its newest run before the plan, if it has none since.
    pub last_before: Option<String>,
}

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanProgress {
    /// The plan's name.
    pub plan: String,
    /// When it was made.
    pub made_at: String,
    /// Whether the plan names its hosts: otherwise those that answered are listed.
    pub hosts_are_named: bool,
    /// What each machine does.
    pub steps: Vec<String>,
    /// The hosts in the order of the plan.
    pub hosts: Vec<HostProgress>,
}

impl PlanProgress {
    /// How many hosts are in this state.
    pub fn count(&self, state: HostState) -> usize {
        self.hosts.iter().filter(|host| host.state == state).count()
    }

    /// Whether every host has done everything, and there is one.
    pub fn is_complete(&self) -> bool {
        !self.hosts.is_empty() && self.count(HostState::Done) == self.hosts.len()
    }
}

/// Finds out what came of a plan; `runs` are in any order but for one step of one host, where a
/// later one comes first.
pub fn progress(plan: &Plan, runs: &[RunOfHost]) -> PlanProgress {
    let names: Vec<String> = plan.steps.iter().map(crate::Step::stored_as).collect();
    let mut of_hosts: BTreeMap<&str, Vec<&RunOfHost>> = BTreeMap::new();
    for run in runs {
        if let Some(host) = &run.header.host
            && names.contains(&run.header.experiment)
        {
            of_hosts.entry(host).or_default().push(run);
        }
    }
    let hosts: Vec<HostProgress> = match plan.hosts.is_empty() {
        true => of_hosts
            .iter()
            .map(|(host, runs)| of_host(host, runs, &names))
            .filter(|host| host.state != HostState::NeverAnswered)
            .collect(),
        false => named_hosts(plan, &of_hosts, &names),
    };
    PlanProgress {
        plan: plan.name.clone(),
        made_at: plan.made_at.clone(),
        hosts_are_named: !plan.hosts.is_empty(),
        steps: plan.steps.iter().map(ToString::to_string).collect(),
        hosts,
    }
}

/// A kernel may call itself by its whole name where the plan has the first part, or the other way
/// round; that counts where the first part is one host's alone.
fn named_hosts(
    plan: &Plan,
    of_hosts: &BTreeMap<&str, Vec<&RunOfHost>>,
    names: &[String],
) -> Vec<HostProgress> {
    let whole: BTreeSet<&str> = plan.hosts.iter().map(String::as_str).collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for host in &plan.hosts {
        *count.entry(first_label(host)).or_default() += 1;
    }
    let mut by_label: BTreeMap<&str, Vec<&RunOfHost>> = BTreeMap::new();
    for (host, runs) in of_hosts.iter().filter(|(host, _)| !whole.contains(*host)) {
        by_label.entry(first_label(host)).or_default().extend(runs);
    }
    let runs_of = |host: &str| {
        let mut runs = of_hosts.get(host).cloned().unwrap_or_default();
        if count.get(first_label(host)) == Some(&1) {
            runs.extend(by_label.get(first_label(host)).into_iter().flatten());
        }
        runs
    };
    let hosts = plan.hosts.iter();
    hosts
        .map(|host| of_host(host, &runs_of(host), names))
        .collect()
}

fn of_host(host: &str, runs: &[&RunOfHost], names: &[String]) -> HostProgress {
    let mut steps = Vec::new();
    let mut tries = Vec::new();
    for name in names {
        let later = runs.iter().filter(|run| run.is_later);
        let tried: Vec<StepProgress> = later
            .filter(|run| run.header.experiment == *name)
            .map(|run| run.state())
            .collect();
        tries.push(u32::try_from(tried.len()).unwrap_or(u32::MAX));
        // One that was done counts, whatever was tried before or since.
        let state = match tried.contains(&StepProgress::Done) {
            true => StepProgress::Done,
            false => tried.into_iter().next().unwrap_or(StepProgress::Missing),
        };
        steps.push(state);
    }
    let any = |is: fn(&StepProgress) -> bool| steps.iter().any(is);
    let state = if any(|it| matches!(it, StepProgress::Failed { .. })) {
        HostState::Failed
    } else if !any(|it| *it == StepProgress::Done) {
        HostState::NeverAnswered
    } else if any(|it| *it == StepProgress::Missing) {
        HostState::Partial
    } else {
        HostState::Done
    };
    let before = runs.iter().map(|run| run.header.started_at.as_str());
    HostProgress {
        host: host.to_owned(),
        last_before: before
            .max()
            .filter(|_| state == HostState::NeverAnswered)
            .map(ToOwned::to_owned),
        state,
        steps,
        tries,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use model::{RunHeader, RunStatus};

    use super::{HostState, PlanProgress, RunOfHost, StepProgress, progress};
    use crate::Engine;
    use crate::plan::tests::plan;

    pub(crate) fn run(host: &str, experiment: &str, status: RunStatus) -> RunOfHost {
        let is_doctor = experiment == "doctor";
        let trials_valid = if is_doctor || status == RunStatus::Failed {
            0
        } else {
            5
        };
        RunOfHost {
            header: RunHeader {
                id: format!("{host}-{experiment}"),
                experiment: experiment.to_owned(),
                label: None,
                started_at: "2026-10-01T09:00:00+02:00".to_owned(),
                status,
                host: Some(host.to_owned()),
                emulated: Some(false),
                cases: if is_doctor { 0 } else { 2 },
                skipped: 0,
                trials_valid,
                trials_invalid: 0,
                trials_failed: 0,
            },
            is_later: true,
            reason: (status == RunStatus::Failed).then(|| "no memory on node 1".to_owned()),
        }
    }

    fn of(runs: &[RunOfHost]) -> PlanProgress {
        progress(&plan(Engine::Slurm, &["doctor", "latency"]), runs)
    }

    #[test]
    fn a_host_has_done_all_a_part_or_nothing() {
        use HostState::{Done, NeverAnswered, Partial};
        let states = |found: &PlanProgress| {
            let hosts = found.hosts.iter();
            hosts.map(|host| host.state).collect::<Vec<_>>()
        };
        let doctor = run("n1", "doctor", RunStatus::Settled);
        let latency = run("n1", "latency", RunStatus::Bounded);
        assert_eq!(states(&of(&[])), [NeverAnswered, NeverAnswered]);
        let partial = of(std::slice::from_ref(&latency));
        assert_eq!(states(&partial), [Partial, NeverAnswered]);
        assert_eq!(
            partial.hosts[0].steps,
            [StepProgress::Missing, StepProgress::Done]
        );
        // A kernel calls itself by the first part of its name.
        let other = run("n2", "latency", RunStatus::Settled);
        assert_eq!(
            states(&of(&[doctor.clone(), latency.clone(), other])),
            [Done, Partial]
        );
        let other = run("stranger", "bandwidth", RunStatus::Settled);
        assert!(!of(&[doctor, latency, other]).is_complete());
    }

    #[test]
    fn what_failed_says_why_until_it_was_done() {
        let failed = run("n1", "latency", RunStatus::Failed);
        let found = of(std::slice::from_ref(&failed));
        assert_eq!(found.hosts[0].state, HostState::Failed);
        let reason = Some("no memory on node 1".to_owned());
        assert_eq!(found.hosts[0].steps[1], StepProgress::Failed { reason });
        let again = of(&[run("n1", "latency", RunStatus::Settled), failed]);
        assert_eq!(again.hosts[0].steps[1], StepProgress::Done);
        assert_eq!(again.hosts[0].tries, [0, 2]);
    }

    #[test]
    fn what_was_measured_before_the_plan_does_not_count() {
        let mut before = run("n1", "latency", RunStatus::Settled);
        before.is_later = false;
        let found = of(&[before]);
        assert_eq!(found.hosts[0].state, HostState::NeverAnswered);
        assert_eq!(
            found.hosts[0].last_before.as_deref(),
            Some("2026-10-01T09:00:00+02:00")
        );
    }

    #[test]
    fn where_the_engine_knows_the_hosts_those_that_answered_are_listed() {
        let mut plan = plan(Engine::Kubernetes, &["latency"]);
        plan.hosts.clear();
        let found = progress(&plan, &[run("w7", "latency", RunStatus::Settled)]);
        assert!(!found.hosts_are_named && found.is_complete());
        assert_eq!(found.hosts[0].host, "w7");
        assert!(!progress(&plan, &[]).is_complete());
    }
}
