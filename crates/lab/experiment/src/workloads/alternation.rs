//! A round of trials with alternating windows: all its cases are up, and all but one are parked.
//!
//! A **block** is one window of each case, in random order. Interference that lasts longer than a
//! block affects all its cases alike (Abedi and Brecht, "Conducting Repeatable Experiments in
//! Highly Variable Cloud Computing Environments", ICPE 2017; Bulej et al., "Duet Benchmarking",
//! ICPE 2020). docs/measurement.md has the rules.

use instance::{InstanceCommand, InstanceReport, Running, Task, WindowReport};
use model::{CasePlan, LogicalReads, Phase, Trial};
use stats::{Generator, median};

use super::instance_launch::{InstanceLauncher, LOOK_EVERY, Prepared, not_permitted, work_of};
use super::instance_validity::judged;
use super::quiet_blocks::quiet_blocks;
use super::window_length::{LEAD_IN_USUAL_S, WindowLength, lead_in_of};
use crate::{Cancel, RoundSpec, WorkloadError};

/// Number of traces from which the lead-in is chosen.
const TRACES: u32 = 3;
/// Seconds that the other case runs before each trace, and seconds that the traced case runs.
const TRACE_S: (f64, f64) = (0.05, 0.12);
/// Interval between the samples of a trace, in seconds.
const TRACE_EVERY_S: f64 = 0.002;
/// Warm-up of each case before the first block, in seconds: long enough for the scheduler to settle
/// its sessions on CPUs. Their page tables are complete by then; the lead-in of each window warms
/// their caches.
const WARM_UP_S: f64 = 0.05;
/// Minimum number of blocks of a round, however little time is left.
const BLOCKS_MIN: u32 = 2;

/// One case of a round: its instance while up, its trial afterwards.
struct Member<'c> {
    case: &'c CasePlan,
    work: &'c LogicalReads,
    prepared: Prepared,
    running: Option<Running>,
    trial: Option<Trial>,
}

/// The context of a round.
struct Round<'r, 's> {
    spec: &'r RoundSpec<'s>,
    live: &'r mut dyn FnMut(Phase, Option<f64>),
    cancel: &'r Cancel,
}

/// Runs the trials of a round. Its processes and groups are gone afterwards, also on error.
/// `lead_in_s` is the unmeasured time before each window; the first round determines it.
///
/// # Errors
/// As [`crate::Workload::trial`].
pub(super) fn alternate(
    launcher: &InstanceLauncher,
    lead_in_s: &mut Option<f64>,
    cases: &[&CasePlan],
    spec: &RoundSpec<'_>,
    live: &mut dyn FnMut(Phase, Option<f64>),
    cancel: &Cancel,
) -> Result<Vec<Trial>, WorkloadError> {
    let mut round = Round { spec, live, cancel };
    let mut members = Vec::new();
    let mut result = Ok(());
    for (number, case) in cases.iter().enumerate() {
        match start(launcher, case, number, spec) {
            Ok(member) => members.push(member),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    if result.is_ok() {
        result = round.make(lead_in_s, &mut members);
    }
    let mut trials = Vec::new();
    for member in members {
        // End the processes first: a group can only be removed when it is empty.
        drop(member.running);
        let removed = member.prepared.remove();
        result = result.and(removed);
        let none = || Trial::failed(spec.trial.round, "the instance sent no report".to_owned());
        trials.push(member.trial.unwrap_or_else(none));
    }
    result.map(|()| trials)
}

fn start<'c>(
    launcher: &InstanceLauncher,
    case: &'c CasePlan,
    number: usize,
    spec: &RoundSpec<'_>,
) -> Result<Member<'c>, WorkloadError> {
    let trial = &spec.trial;
    let asked_unit = case.logical_reads().and_then(|work| work.load.work_unit);
    let work = work_of(case)?;
    let task = Task::Windows {
        round: trial.round,
        work_unit: asked_unit.or(trial.work_unit).unwrap_or(1),
    };
    let prepared = launcher.prepare(case, work, Some(number))?;
    let order = launcher.order_of(case, work.clone(), &prepared, trial.seed, task);
    let mut member = Member {
        case,
        work,
        prepared,
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

/// Returns the number of windows until every caged session has had the first turn in two of them:
/// in a single one, others may have taken its CPU. Without caging, 0.
fn turns(work: &LogicalReads) -> u32 {
    let load = &work.load;
    load.cpu_count
        .map_or(0, |most| 2 * load.sessions.div_ceil(most.max(1)))
}

fn trace(seconds: f64) -> InstanceCommand {
    InstanceCommand::Trace {
        seconds,
        every_s: TRACE_EVERY_S,
    }
}

/// Returns the points of a trace.
fn points(report: InstanceReport) -> Option<Vec<(f64, u64)>> {
    match report {
        InstanceReport::Trace(points) => Some(points),
        _ => None,
    }
}

impl Member<'_> {
    fn fail(&mut self, round: u32, reason: String) {
        self.running = None;
        self.trial = Some(Trial::failed(round, reason));
    }
}

impl Round<'_, '_> {
    fn make(
        &mut self,
        lead_in_s: &mut Option<f64>,
        members: &mut [Member<'_>],
    ) -> Result<(), WorkloadError> {
        for member in members.iter_mut() {
            self.until(member, |report| match report {
                InstanceReport::Parked => Some(()),
                _ => None,
            })?;
        }
        // One at a time: together they would only show how they share the machine.
        let warm_up = trace(WARM_UP_S);
        for member in members.iter_mut() {
            (self.live)(Phase::WarmingUp, None);
            self.ask(member, &warm_up, points)?;
        }
        let works: Vec<&LogicalReads> = members.iter().map(|member| member.work).collect();
        let lead_in_s = match *lead_in_s {
            Some(known) => known,
            None => *lead_in_s.insert(self.choose_lead_in(members)?),
        };
        let length = WindowLength::of(&works, lead_in_s, self.spec.trial.window_s);
        let blocks = self.blocks(members, &length)?;
        let kept = quiet_blocks(&blocks);
        for member in members.iter_mut() {
            let close = InstanceCommand::Close { kept: kept.clone() };
            let trial = self.ask(member, &close, |report| match report {
                InstanceReport::Trial(trial) => Some(*trial),
                _ => None,
            })?;
            if let Some(trial) = trial {
                member.trial = Some(judged(
                    member.case,
                    member.work,
                    trial,
                    &member.prepared.groups,
                ));
            }
        }
        Ok(())
    }

    /// Opens windows, block by block, and returns their reports by block.
    fn blocks(
        &mut self,
        members: &mut [Member<'_>],
        length: &WindowLength,
    ) -> Result<Vec<Vec<WindowReport>>, WorkloadError> {
        let mut random = Generator::new(self.spec.order_seed, 0);
        let mut order: Vec<usize> = (0..members.len()).collect();
        let blocks_min = members.iter().map(|member| turns(member.work));
        let blocks_min = blocks_min.max().unwrap_or(0).max(BLOCKS_MIN);
        let mut blocks = Vec::new();
        for block in 0..length.windows.max(blocks_min) {
            if block >= blocks_min && (self.spec.is_over)() {
                break;
            }
            random.shuffle(&mut order);
            let mut reports = Vec::with_capacity(order.len());
            for index in &order {
                let member = &mut members[*index];
                let open = InstanceCommand::Open {
                    lead_in_s: length.lead_in_s(member.work),
                    window_s: length.window_s,
                };
                let report = self.ask(member, &open, |report| match report {
                    InstanceReport::Window(report) => Some(report),
                    _ => None,
                })?;
                reports.extend(report);
            }
            blocks.push(reports);
        }
        Ok(blocks)
    }

    /// Measures how long a case needs to refill its caches, with two cases that run without a CPU
    /// limit.
    fn choose_lead_in(&mut self, members: &mut [Member<'_>]) -> Result<f64, WorkloadError> {
        let is_free = |member: &Member<'_>| {
            let load = &member.work.load;
            load.cpu_count.is_none() && load.cpu_quota.is_none() && member.running.is_some()
        };
        let free: Vec<usize> = (0..members.len())
            .filter(|index| is_free(&members[*index]))
            .take(2)
            .collect();
        let [one, other] = free[..] else {
            return Ok(LEAD_IN_USUAL_S);
        };
        let mut lead_ins = Vec::new();
        for _ in 0..TRACES {
            self.ask(&mut members[other], &trace(TRACE_S.0), points)?;
            let traced = self.ask(&mut members[one], &trace(TRACE_S.1), points)?;
            lead_ins.extend(traced.as_deref().and_then(lead_in_of));
        }
        Ok(median(&lead_ins).unwrap_or(LEAD_IN_USUAL_S))
    }

    /// Sends a command to an instance and waits for the answer; returns `None` when it has failed.
    fn ask<T>(
        &mut self,
        member: &mut Member<'_>,
        command: &InstanceCommand,
        take: impl FnMut(InstanceReport) -> Option<T>,
    ) -> Result<Option<T>, WorkloadError> {
        // If the instance has ended, its reports say so.
        if let Some(running) = &mut member.running {
            let _ = running.tell(command);
        }
        self.until(member, take)
    }

    /// Waits for a report; returns `None` when the instance has failed.
    fn until<T>(
        &mut self,
        member: &mut Member<'_>,
        mut take: impl FnMut(InstanceReport) -> Option<T>,
    ) -> Result<Option<T>, WorkloadError> {
        let round = self.spec.trial.round;
        while let Some(running) = &mut member.running {
            if self.cancel.is_cancelled() {
                return Err(WorkloadError::Cancelled);
            }
            match running
                .next_report(LOOK_EVERY)
                .map_err(InstanceReport::from)
            {
                Ok(Some(InstanceReport::Progress { phase, value })) => {
                    (self.live)(phase.into(), value);
                }
                Ok(Some(InstanceReport::NotPermitted { reason }))
                | Err(InstanceReport::NotPermitted { reason }) => {
                    return Err(not_permitted(reason));
                }
                Ok(Some(InstanceReport::Failed { reason }))
                | Err(InstanceReport::Failed { reason }) => member.fail(round, reason),
                Ok(Some(report)) | Err(report) => {
                    if let Some(taken) = take(report) {
                        return Ok(Some(taken));
                    }
                }
                Ok(None) => {}
            }
        }
        Ok(None)
    }
}
