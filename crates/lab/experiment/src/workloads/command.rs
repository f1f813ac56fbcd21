//! An external program as a workload: started under its placement, with evidence read before and
//! while it runs; its number is parsed from its output, and all processes that it started are
//! ended. With a server, the placement is the server's, and the program is the load on it.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use journal::Journal;
use linux::own_program::OwnProgram;
use model::exit::ExitCode;
use model::{
    CasePlan, CommandWork, CpuSet, Evidence, Measured, Outcome, Phase, PrintedNumber, ServerMemory,
    SessionEvidence, Topology, Trial, Work, cpu_words, node_words,
};
use placement::hierarchy::Hierarchy;

use super::command_launch::{CommandOrder, ReadBack, policy};
use super::command_server::{RunningServer, client_order};
use super::guarded::{Guarded, Left};
use super::printed_lines::shown;
use super::printed_number::number_in;
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{Cancel, TrialSpec, Workload, WorkloadError};

/// Interval at which the program is looked for its end.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Interval at which the CPUs of all its threads are read.
const CPUS_EVERY: Duration = Duration::from_millis(20);

/// External programs.
pub struct CommandWorkload {
    guardian: OwnProgram,
    /// Where processor groups are created; `None` when none can be.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
    topology: Topology,
}

impl CommandWorkload {
    /// Creates a workload that starts programs under `guardian`, which must call [`super::guard`],
    /// on the machine with this topology.
    pub fn new(
        guardian: OwnProgram,
        hierarchy: Option<Hierarchy>,
        journal: Journal,
        topology: Topology,
    ) -> Self {
        CommandWorkload {
            guardian,
            hierarchy,
            journal,
            topology,
        }
    }

    /// Runs the program; `None` when cancelled. `order` is for the program, or for its server.
    fn run(
        &self,
        work: &CommandWork,
        order: &CommandOrder,
        cancel: &Cancel,
    ) -> Result<Option<Ended>, String> {
        let Some(asked) = &work.server else {
            let program = Guarded::start(&self.guardian, order, work.between.as_ref())?;
            let Some(ended) = attend(program, None, cancel)? else {
                return Ok(None);
            };
            return Ok(Some(ended));
        };
        let started = RunningServer::start(&self.guardian, order, asked, cancel)?;
        let Some(mut server) = started else {
            return Ok(None);
        };
        let bytes_by_node_before = server.memory(&self.topology, "before the load")?;
        let order = client_order(asked, &work.command);
        let load = Guarded::start(&self.guardian, &order, work.between.as_ref())?;
        let Some(mut ended) = attend(load, Some(&mut server), cancel)? else {
            return Ok(None);
        };
        ended.server = Some(SeenServer {
            read_back: server.guarded().read_back(),
            memory: ServerMemory {
                bytes_by_node_before,
                bytes_by_node_after: server.memory(&self.topology, "during the load")?,
            },
        });
        server.stop();
        Ok(Some(ended))
    }
}

/// The result of a program.
struct Ended {
    status: ExitStatus,
    seconds: f64,
    left: Left,
    /// The CPUs on which the placed program ran: the server's, if there is one.
    cpus_used: CpuSet,
    server: Option<SeenServer>,
}

/// What was seen of the server.
struct SeenServer {
    read_back: Option<ReadBack>,
    memory: ServerMemory,
}

/// Waits for the program to end and samples the CPUs of what is placed, the server or else the
/// program; returns `None` when cancelled.
fn attend(
    mut program: Guarded,
    mut server: Option<&mut RunningServer>,
    cancel: &Cancel,
) -> Result<Option<Ended>, String> {
    let start = Instant::now();
    let mut cpus_used = CpuSet::default();
    let mut next_look = start;
    let status = loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        if Instant::now() >= next_look {
            cpus_used.extend(match &mut server {
                Some(server) => server.guarded().cpus_now(),
                None => program.cpus_now(),
            });
            next_look = Instant::now() + CPUS_EVERY;
        }
        if let Some(server) = &mut server {
            server.require_running("during the load")?;
        }
        if let Some(status) = program.try_end()? {
            break status;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    Ok(Some(Ended {
        status,
        seconds: start.elapsed().as_secs_f64(),
        left: program.finish()?,
        cpus_used,
        server: None,
    }))
}

impl Workload for CommandWorkload {
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let Work::Command(work) = &case.work else {
            return Err(WorkloadError::Fatal {
                message: format!("case {:?} is not a program", case.name),
                exit_code: ExitCode::Bug,
            });
        };
        let groups = TrialGroups::create(
            self.hierarchy.as_ref(),
            &case.placement,
            work.cpu_quota,
            &self.journal,
            None,
        )?;
        let started = work.server.as_ref().map(|server| &server.command);
        let order = CommandOrder {
            parent_pid: std::process::id(),
            placement: case.placement.clone(),
            groups: groups.directories(),
            allocation: work.allocation.clone(),
            command: started.unwrap_or(&work.command).clone(),
        };
        live(Phase::Measuring, None);
        let mut trial = match self.run(work, &order, cancel) {
            Ok(None) => {
                groups.remove()?;
                return Err(WorkloadError::Cancelled);
            }
            Ok(Some(ended)) => trial_of(spec.round, work, ended),
            Err(reason) => Trial::failed(spec.round, reason),
        };
        groups.read_back(&mut trial.evidence, &mut trial.warnings);
        groups.remove()?;
        judge(case, work, &mut trial);
        Ok(trial)
    }
}

fn trial_of(round: u32, work: &CommandWork, ended: Ended) -> Trial {
    let Ended { left, server, .. } = ended;
    let Some(read_back) = left.read_back.clone() else {
        let said = shown(&left.stderr);
        let reason = format!("the program did not start: {}, {said}", ended.status);
        return Trial::failed(round, reason);
    };
    let (placed, memory) = match server {
        None => (Some(read_back.clone()), None),
        Some(server) => (server.read_back, Some(server.memory)),
    };
    let session = |placed: ReadBack| SessionEvidence {
        pid: placed.pid,
        cpus_allowed: placed.cpus,
        memory_nodes_allowed: placed.memory_nodes,
        cpus_used: ended.cpus_used,
        policy: placed.policy,
        bytes_read_by_node: Default::default(),
        own_memory: None,
    };
    let evidence = Evidence {
        sessions: placed.map(session).into_iter().collect(),
        server_memory: memory,
        ..Evidence::default()
    };
    if !ended.status.success() {
        let said = shown(&left.stderr);
        let reason = format!("the program ended with {}; stderr: {said}", ended.status);
        return Trial {
            evidence,
            ..Trial::failed(round, reason)
        };
    }
    let client = work.server.as_ref().and_then(|it| it.client_cpus.as_ref());
    if let Some(asked) = client.filter(|asked| **asked != read_back.cpus) {
        let reason = format!(
            "the load on the server may run on {}, requested {asked}",
            cpu_words(read_back.cpus)
        );
        return Trial {
            evidence,
            ..Trial::failed(round, reason)
        };
    }
    match figure(work, &left, ended.seconds) {
        Ok((read, value, window_s)) => Trial {
            outcome: Outcome::Valid,
            measured: Some(Measured {
                value,
                window_s: Some(window_s),
                warm_up_s: None,
                sessions: None,
                kernel: None,
            }),
            evidence: Evidence {
                number_read: Some(read),
                ..evidence
            },
            ..Trial::failed(round, String::new())
        },
        Err(reason) => Trial {
            evidence,
            ..Trial::failed(round, format!("cannot read its number: {reason}"))
        },
    }
}

/// Returns the number that was read, the figure, and the seconds that it is of.
fn figure(
    work: &CommandWork,
    left: &Left,
    seconds: f64,
) -> Result<(PrintedNumber, f64, f64), String> {
    if left.printed.is_cut {
        return Err("it printed more than 16 MiB".to_owned());
    }
    // Of a rate, the program prints what is counted.
    let counted = work.unit.rsplit_once('/').map(|(counted, _)| counted);
    let unit = match (&work.between, counted) {
        (Some(_), Some(counted)) => counted,
        _ => &work.unit,
    };
    let read = number_in(&left.printed.text, &work.number, unit)?;
    let number = read.number;
    Ok(match left.printed.window.seconds()? {
        Some(window_s) => (read, number / window_s, window_s),
        None => (read, number, seconds),
    })
}

/// Compares placement, policy and quota with the evidence.
fn judge(case: &CasePlan, work: &CommandWork, trial: &mut Trial) {
    if trial.outcome != Outcome::Valid {
        return;
    }
    let mut found = placement::placement_contradictions(&case.placement, &trial.evidence);
    for session in &trial.evidence.sessions {
        let asked = policy(&work.allocation).map(|policy| policy.words());
        if let Some(asked) = asked.filter(|asked| *asked != session.policy) {
            let seen = &session.policy;
            found.push(format!(
                "the program has policy {seen:?}, requested {asked:?}"
            ));
        }
    }
    if work.server.is_some() && trial.evidence.sessions.is_empty() {
        found.push("the server's placement could not be read back".to_owned());
    }
    let memory = trial.evidence.server_memory.as_ref();
    found.extend(memory.and_then(|it| memory_contradiction(case, work, it)));
    let quota = trial.evidence.cpu_quota.as_ref();
    found.extend(quota_contradiction(work.cpu_quota, quota));
    if !found.is_empty() {
        trial.outcome = Outcome::Invalid(found.join("; "));
    }
}

/// Compares where the memory of a server is with the nodes that it may use.
fn memory_contradiction(
    case: &CasePlan,
    work: &CommandWork,
    memory: &ServerMemory,
) -> Option<String> {
    let bound = match &work.allocation {
        model::Allocation::Bind(nodes) => Some(nodes),
        _ => case.placement.memory_nodes.as_ref(),
    };
    let is_elsewhere = |node: &model::NodeId| bound.is_some_and(|nodes| !nodes.contains(*node));
    let lies = &memory.bytes_by_node_after;
    let elsewhere = lies.iter().filter(|(node, _)| is_elsewhere(node));
    let bytes = elsewhere.fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    (bytes > 0).then(|| {
        let nodes = bound.map(ToString::to_string).unwrap_or_default();
        format!(
            "{bytes} bytes of the server's memory lie outside of {}",
            node_words(nodes)
        )
    })
}
