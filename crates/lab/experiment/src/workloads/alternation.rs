//! A round of trials with alternating windows: all its cases are up, and all but one are parked.
//!
//! In a **block** every case is measured for the same time. Cases that can have short windows
//! alternate in many turns inside it; the others have one window. Interference that lasts longer
//! than a turn, or a block, affects all cases in it alike (Abedi and Brecht, "Conducting Repeatable
//! Experiments in Highly Variable Cloud Computing Environments", ICPE 2017; Bulej et al., "Duet
//! Benchmarking", ICPE 2020). docs/measurement.md has the rules.

use instance::{
    BlockWord, InstanceCommand, InstanceReport, Taken, TicketWord, Turns, WindowReport,
};
use linux::Root;
use linux::clock::monotonic_ns;
use linux::machine_counters::{self, MachineCounters};
use model::exit::ExitCode;
use model::{CasePlan, LogicalReads, Phase, Trial};
use stats::Generator;

use super::instance_launch::{InstanceLauncher, LOOK_EVERY, not_permitted};
use super::instance_validity::judged;
use super::member::{Member, fail_who_shares, order_of_start, start, turns};
use super::quiet_blocks::{Block, counted_blocks};
use super::rhythm::{Blocks, Length, RUN_WINDOWS, TRACE_WINDOW_S, TRACE_WINDOWS, Trace, Turn};
use crate::plan::needs_long_windows;
use crate::{Cancel, RoundSpec, WorkloadError};

/// Number of traces of each of two cases from which the turn is chosen, and of traces in which both
/// take turns.
const TRACES: usize = 4;
const TRACES_IN_TURN: usize = 3;
/// Warm-up of each case before the first block, in seconds: long enough for the scheduler to settle
/// its sessions on CPUs. Their page tables are complete by then; the lead-in of each window warms
/// their caches.
const WARM_UP_S: f64 = 0.05;
/// Minimum number of blocks of a round, however little time is left.
const BLOCKS_MIN: u32 = 2;
/// Time from the opening of a series to its first turn, so that every instance has passed it on: at
/// first, and the multiple of the delay of one that was late.
const OPEN_S: f64 = 0.002;
const TIMES_LATE: f64 = 3.0;

/// The context of a round.
struct Round<'r, 's> {
    spec: &'r RoundSpec<'s>,
    live: &'r mut dyn FnMut(Phase, Option<f64>),
    cancel: &'r Cancel,
    /// Time from the opening of a series to its first turn.
    open_s: f64,
}

/// Runs the trials of a round. Its processes and groups are gone afterwards, also on error.
/// `turn` is how cases with short windows alternate; the first round chooses it.
///
/// # Errors
/// As [`crate::Workload::trial`].
pub(super) fn alternate(
    launcher: &InstanceLauncher,
    turn: &mut Option<Turn>,
    cases: &[&CasePlan],
    spec: &RoundSpec<'_>,
    live: &mut dyn FnMut(Phase, Option<f64>),
    cancel: &Cancel,
) -> Result<Vec<Trial>, WorkloadError> {
    let mut round = Round {
        spec,
        live,
        cancel,
        open_s: OPEN_S,
    };
    let mut members = Vec::new();
    let mut result = round.start(launcher, cases, &mut members);
    if result.is_ok() {
        result = round.make(turn, &mut members);
    }
    let mut trials = Vec::new();
    for member in members {
        // End the processes first: a group can only be removed when it is empty.
        drop(member.running);
        let removed = member.prepared.remove();
        result = result.and(removed);
        let none = || Trial::failed(spec.trial.round, "the instance sent no report".to_owned());
        let mut trial = member.trial.unwrap_or_else(none);
        trial.evidence.memory_of = member.memory_of;
        trials.push(trial);
    }
    result.map(|()| trials)
}

impl Round<'_, '_> {
    /// Starts the instances. Of cases that request the same memory, the first makes it, and the
    /// others use it: then the ratio has no noise of layout, and the round loads it once.
    fn start<'c>(
        &mut self,
        launcher: &InstanceLauncher,
        cases: &[&'c CasePlan],
        members: &mut Vec<Member<'c>>,
    ) -> Result<(), WorkloadError> {
        let order = order_of_start(cases)?;
        let mut tickets: Vec<Option<TicketWord>> = vec![None; cases.len()];
        for (maker, index) in &order {
            if let Some(maker) = maker.filter(|maker| tickets[*maker].is_none()) {
                let place = order.iter().position(|(_, it)| *it == maker);
                let member = &mut members[place.expect("it is one of them")];
                tickets[maker] = self.until(member, |report| match report {
                    InstanceReport::Loaded(ticket) => Some(ticket),
                    _ => None,
                })?;
            }
            let shared = maker.and_then(|maker| Some((tickets[maker]?, cases[maker].name.clone())));
            members.push(start(launcher, cases[*index], *index, self.spec, shared)?);
        }
        // In the order of the cases, as their trials are returned.
        let mut numbered: Vec<_> = order.into_iter().zip(members.drain(..)).collect();
        numbered.sort_by_key(|((_, index), _)| *index);
        members.extend(numbered.into_iter().map(|(_, member)| member));
        Ok(())
    }

    fn make(
        &mut self,
        turn: &mut Option<Turn>,
        members: &mut [Member<'_>],
    ) -> Result<(), WorkloadError> {
        for member in members.iter_mut() {
            self.until(member, |report| match report {
                InstanceReport::Parked => Some(()),
                _ => None,
            })?;
        }
        // One at a time: together they would only show how they share the machine.
        let length = Length {
            lead_in_s: 0.0,
            window_s: WARM_UP_S,
        };
        for index in 0..members.len() {
            (self.live)(Phase::WarmingUp, None);
            self.series(members, length, &[(index, vec![0])], false)?;
        }
        let turn = match *turn {
            Some(known) => known,
            None => *turn.insert(self.choose_turn(members)?),
        };
        let works: Vec<&LogicalReads> = members.iter().map(|member| member.work).collect();
        let plan = Blocks::of(&works, turn, self.spec.trial.window_s);
        let blocks = self.blocks(members, &plan)?;
        let kept = counted_blocks(&blocks);
        // All close at once: a round is short, and this is no part of what is measured.
        for (index, member) in members.iter_mut().enumerate() {
            let words = blocks.iter().zip(&kept).map(|(block, kept)| BlockWord {
                kept: *kept,
                taken: block.taken[index],
            });
            let close = InstanceCommand::Close {
                blocks: words.collect(),
            };
            self.tell(member, &close);
        }
        for member in members.iter_mut() {
            let trial = self.until(member, |report| match report {
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

    /// Measures block by block.
    fn blocks(
        &mut self,
        members: &mut [Member<'_>],
        plan: &Blocks,
    ) -> Result<Vec<Block>, WorkloadError> {
        let mut random = Generator::new(self.spec.order_seed, 0);
        let blocks_min = members.iter().map(|member| turns(member.work));
        let blocks_min = blocks_min.max().unwrap_or(0).max(BLOCKS_MIN);
        let is_long = |index: &usize| needs_long_windows(members[*index].work);
        let (long, short): (Vec<usize>, Vec<usize>) = (0..members.len()).partition(is_long);
        let mut segments: Vec<Vec<usize>> = long.into_iter().map(|index| vec![index]).collect();
        segments.extend((!short.is_empty()).then_some(short));
        let mut blocks = Vec::new();
        for number in 0..plan.blocks.max(blocks_min) {
            if number >= blocks_min && (self.spec.is_over)() {
                break;
            }
            random.shuffle(&mut segments);
            let mut block = Block {
                taken: vec![Taken::default(); members.len()],
                is_late: false,
            };
            for segment in &segments {
                let (length, turns) = match segment[..] {
                    [alone] => (plan.alone(members[alone].work), vec![vec![0]]),
                    _ => plan.together(segment.len(), Turns::MAX, &mut random),
                };
                let of_cases: Vec<(usize, Vec<u32>)> = segment.iter().copied().zip(turns).collect();
                let found = self.series(members, length, &of_cases, true)?;
                block.is_late |= found.is_late;
                segment
                    .iter()
                    .for_each(|index| block.taken[*index] = found.taken);
            }
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Chooses the turn, from traces of two cases that can have short windows.
    fn choose_turn(&mut self, members: &mut [Member<'_>]) -> Result<Turn, WorkloadError> {
        let is_short = |index: &usize| {
            let member = &members[*index];
            !needs_long_windows(member.work) && member.running.is_some()
        };
        let short: Vec<usize> = (0..members.len()).filter(is_short).collect();
        let Some((&one, others)) = short.split_first() else {
            return Ok(Turn::LONG);
        };
        // Two memories displace each other from caches more than one that both use.
        let shares = |other: &&usize| members[**other].memory() == members[one].memory();
        let share_one = others.iter().all(|other| shares(&other));
        let Some(&other) = others.iter().min_by_key(shares) else {
            return Ok(Turn::LONG);
        };
        let length = Length {
            lead_in_s: 0.0,
            window_s: TRACE_WINDOW_S,
        };
        let windows: Vec<u32> = (0..TRACE_WINDOWS).collect();
        let mut traces = Vec::new();
        for _ in 0..TRACES {
            for index in [one, other] {
                let of_cases = [(index, windows.clone())];
                let found = self.series(members, length, &of_cases, false)?;
                traces.extend(found.reports.into_iter().map(|report| Trace {
                    work_per_s: report.work_per_s,
                    statement_s: report.statement_s,
                    park_cpu_s: report.park_cpu_s,
                }));
            }
        }
        // Whose memory is no other's finds its lines displaced in each turn, and takes longer than
        // a few windows to have them back: among cases that share, it would seem slower by a tenth.
        let mut in_turn = Vec::new();
        for _ in 0..if share_one { TRACES_IN_TURN } else { 0 } {
            let of_case = |place: u32| -> Vec<u32> {
                let runs = 0..TRACE_WINDOWS / RUN_WINDOWS;
                let first = runs.map(|run| (2 * run + place) * RUN_WINDOWS);
                first.flat_map(|first| first..first + RUN_WINDOWS).collect()
            };
            let of_cases = [(one, of_case(0)), (other, of_case(1))];
            let found = self.series(members, length, &of_cases, false)?;
            in_turn.extend(found.reports.into_iter().map(|report| report.work_per_s));
        }
        Ok(Turn::of(&traces, &in_turn))
    }

    /// Opens a series for the cases with these turns, and waits until it is over.
    fn series(
        &mut self,
        members: &mut [Member<'_>],
        length: Length,
        of_cases: &[(usize, Vec<u32>)],
        is_measured: bool,
    ) -> Result<Series, WorkloadError> {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        let before = counters()?;
        let first_ns = monotonic_ns() + nanoseconds(self.open_s);
        for (index, turns) in of_cases {
            let open = InstanceCommand::Open(Turns {
                first_ns,
                lead_in_ns: nanoseconds(length.lead_in_s),
                window_ns: nanoseconds(length.window_s),
                turns: turns.clone(),
                is_measured,
            });
            self.tell(&mut members[*index], &open);
        }
        let mut reports = Vec::new();
        let mut waiting: Vec<usize> = of_cases.iter().map(|(index, _)| *index).collect();
        while let Some(&index) = waiting.first() {
            let found = self.look(&mut members[index], |report| match report {
                InstanceReport::Window(report) => Some(report),
                _ => None,
            })?;
            let is_done = found.is_some() || members[index].running.is_none();
            reports.extend(found);
            match is_done {
                true => drop(waiting.remove(0)),
                false => waiting.rotate_left(1),
            }
            fail_who_shares(members, self.spec.trial.round);
        }
        let late_s = reports.iter().map(|it| it.late_s).fold(0.0, f64::max);
        if late_s > 0.0 {
            self.open_s = self.open_s.max((self.open_s + late_s) * TIMES_LATE);
        }
        let ours_cpu_s = reports.iter().map(|it| it.cpu_s).sum();
        Ok(Series {
            taken: taken(&before, &counters()?, ours_cpu_s, of_cases.len()),
            is_late: late_s > 0.0,
            reports,
        })
    }

    /// Sends a command to an instance. If the instance has ended, its reports say so.
    fn tell(&mut self, member: &mut Member<'_>, command: &InstanceCommand) {
        if let Some(running) = &mut member.running {
            let _ = running.tell(command);
        }
    }

    /// Waits for a report; returns `None` when the instance has failed.
    fn until<T>(
        &mut self,
        member: &mut Member<'_>,
        mut take: impl FnMut(InstanceReport) -> Option<T>,
    ) -> Result<Option<T>, WorkloadError> {
        while member.running.is_some() {
            if let Some(taken) = self.look(member, &mut take)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Waits a short while for a report.
    fn look<T>(
        &mut self,
        member: &mut Member<'_>,
        mut take: impl FnMut(InstanceReport) -> Option<T>,
    ) -> Result<Option<T>, WorkloadError> {
        if self.cancel.is_cancelled() {
            return Err(WorkloadError::Cancelled);
        }
        let Some(running) = &mut member.running else {
            return Ok(None);
        };
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
            | Err(InstanceReport::Failed { reason }) => {
                member.fail(self.spec.trial.round, reason);
            }
            Ok(Some(report)) | Err(report) => return Ok(take(report)),
            Ok(None) => {}
        }
        Ok(None)
    }
}

/// What came of a series.
struct Series {
    reports: Vec<WindowReport>,
    /// What others took from each of its cases.
    taken: Taken,
    is_late: bool,
}

fn counters() -> Result<MachineCounters, WorkloadError> {
    machine_counters::read(&Root::live()).map_err(|error| WorkloadError::Fatal {
        message: error.to_string(),
        exit_code: ExitCode::WorkloadFailed,
    })
}

/// Returns what others took from each of `cases` between two readings: their equal shares.
fn taken(
    before: &MachineCounters,
    after: &MachineCounters,
    ours_cpu_s: f64,
    cases: usize,
) -> Taken {
    let share = |before: Option<f64>, after: Option<f64>, ours: f64| {
        Some((after? - before? - ours).max(0.0) / cases.max(1) as f64)
    };
    Taken {
        steal_s: share(before.steal_s, after.steal_s, 0.0),
        other_cpu_s: share(before.busy_s, after.busy_s, ours_cpu_s),
    }
}
