//! One case of a round of alternating windows: its instance, and whose memory it uses.

use instance::{Running, Task, TicketWord};
use linux::Root;
use model::{CasePlan, LogicalReads, NodeSet, Trial};

use super::instance_launch::{InstanceLauncher, Prepared, work_of};
use super::trial_groups::of_numa;
use crate::plan::share_memory;
use crate::{RoundSpec, WorkloadError};

/// One case of a round: its instance while up, its trial afterwards.
pub(super) struct Member<'c> {
    pub case: &'c CasePlan,
    pub work: &'c LogicalReads,
    pub prepared: Prepared,
    /// The case whose memory it uses, if not its own.
    pub memory_of: Option<String>,
    pub running: Option<Running>,
    pub trial: Option<Trial>,
}

impl Member<'_> {
    /// Returns the case that made the memory it uses.
    pub(super) fn memory(&self) -> &str {
        self.memory_of.as_ref().unwrap_or(&self.case.name)
    }

    /// Ends the instance: its trial has failed.
    pub(super) fn fail(&mut self, round: u32, reason: String) {
        self.running = None;
        self.trial = Some(Trial::failed(round, reason));
    }
}

/// The memory that a case uses, and the name of the case that made it.
pub(super) type Shared = (TicketWord, String);

/// Starts the instance of a case.
pub(super) fn start<'c>(
    launcher: &InstanceLauncher,
    case: &'c CasePlan,
    number: usize,
    spec: &RoundSpec<'_>,
    shared: Option<Shared>,
) -> Result<Member<'c>, WorkloadError> {
    let trial = &spec.trial;
    let asked_unit = case.logical_reads().and_then(|work| work.load.work_unit);
    let work = work_of(case)?;
    let task = Task::Windows {
        round: trial.round,
        work_unit: asked_unit.or(trial.work_unit).unwrap_or(1),
    };
    let (ticket, memory_of) = shared.unzip();
    let prepared = launcher.prepare(case, work, Some(number))?;
    let mut order = launcher.order_of(case, work.clone(), &prepared, trial.seed, task);
    order.shared = ticket;
    let mut member = Member {
        case,
        work,
        prepared,
        memory_of,
        running: None,
        trial: None,
    };
    match launcher.start(&order) {
        Ok(running) => member.running = Some(running),
        // An instance that dies early may be gone before it reads its order.
        Err(error) => member.fail(trial.round, error.to_string()),
    }
    Ok(member)
}

/// Returns the order in which cases start, each with the case that makes its memory, if that is
/// another one: those that make memory come first.
pub(super) fn order_of_start(
    cases: &[&CasePlan],
) -> Result<Vec<(Option<usize>, usize)>, WorkloadError> {
    let nodes = allowed_nodes()?;
    let maker_of = |index: usize| {
        let mut before = 0..index;
        before.find(|other| share_memory(cases[*other], cases[index], &nodes))
    };
    let all = (0..cases.len()).map(|index| (maker_of(index), index));
    let mut order: Vec<(Option<usize>, usize)> = all.collect();
    order.sort_by_key(|(maker, _)| maker.is_some());
    Ok(order)
}

/// Fails the cases that share memory with one that died in a turn: it may have held a latch.
pub(super) fn fail_who_shares(members: &mut [Member<'_>], round: u32) {
    let died = members.iter().filter(|member| member.running.is_none());
    let died: Vec<(String, String)> = died
        .map(|member| (member.memory().to_owned(), member.case.name.clone()))
        .collect();
    for (memory, name) in died {
        let sharing = members.iter_mut().filter(|member| {
            let is_up = member.running.is_some() && member.trial.is_none();
            is_up && member.memory() == memory
        });
        for member in sharing {
            let reason = format!("used the same memory as {name}, which failed in this round");
            member.fail(round, reason);
        }
    }
}

/// Returns the memory nodes that this process may use.
fn allowed_nodes() -> Result<NodeSet, WorkloadError> {
    let allowed = linux::proc_status::allowed(&Root::live(), std::process::id());
    let allowed = allowed.map_err(|error| of_numa(placement::Error::from(error)))?;
    Ok(allowed.memory_nodes)
}

/// Returns the number of windows until every caged session has had the first turn in two of them:
/// in a single one, others may have taken its CPU. Without caging, 0.
pub(super) fn turns(work: &LogicalReads) -> u32 {
    let load = &work.load;
    load.cpu_count
        .map_or(0, |most| 2 * load.sessions.div_ceil(most.max(1)))
}
