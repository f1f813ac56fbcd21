//! The watching form of `numalab bind`: numalab stays as the parent of the program, forwards its
//! signals, verifies where its memory went, and ends as it ended.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use linux::child::ChildEvent;
use linux::{Root, proc_status};
use model::exit::ExitCode;
use model::{BindAsked, BindReport, Finding, Topology};
use placement::bind::{InForce, Look, Machine, Order, Saved, contradictions};
use report::Fields;
use residency::instances::{self, Target};

use super::bind_scope::Scope;
use super::started_program::{Companion, Follower, end_unstarted};
use crate::arguments::placement::{BindArguments, Trigger};
use crate::failure::Failure;
use crate::output;

/// Time of the first look: early enough to see even `ls` on a slow machine.
const FIRST_LOOK: Duration = Duration::from_millis(10);
/// Delay before a second look at a placement that seems not to be honoured.
const SECOND_LOOK_AFTER: Duration = Duration::from_millis(100);
/// Longest interval between two checks whether the program has an amount of memory, unless a check
/// itself takes long.
const PATIENCE: Duration = Duration::from_millis(50);
/// Looks may take one part in this many of the time since the last one.
const SHARE_OF_TIME: u32 = 20;

/// Everything needed to watch a program.
pub(super) struct Watch<'a> {
    /// The command line.
    pub arguments: &'a BindArguments,
    /// The machine before the program started.
    pub machine: &'a Machine,
    /// The requested placement.
    pub order: Order,
    /// The requested placement, for the report.
    pub asked: BindAsked,
    /// The placement that the kernel reported to be in force.
    pub in_force: InForce,
    /// Warnings about the placement.
    pub lints: Vec<Finding>,
    /// The placement of numalab itself, to be restored.
    pub before: &'a Saved,
    /// The group or the limit of the program.
    pub scope: &'a Scope,
}

/// Starts the program and waits until it ends. Then ends this process as the program ended, or with
/// the exit code of a placement that was not honoured. Returns only if numalab itself failed.
pub(super) fn run(watch: &Watch<'_>, follower: Follower) -> Result<(), Failure> {
    // Whatever fails here fails before the program runs.
    let mut looker = Looker::new(watch, open_report(watch.arguments)?)?;
    let command = &watch.arguments.command;
    let program = follower.start(command).map_err(|error| {
        // The program did not start: remove its limit. The journal records what cannot be removed.
        let _ = watch.scope.end();
        end_unstarted(command, &error)
    })?;
    watch.scope.leave();
    watch.before.restore();
    looker.begin(program.pid());
    let ended = program.follow(&mut looker)?;
    looker.finish(ended.event)?;
    watch.scope.end()?;
    let honoured = looker.report.honoured;
    if ended.is_success() && !honoured {
        // The report says why.
        std::process::exit(i32::from(ExitCode::PlacementNotHonoured.number()))
    }
    ended.end_as();
    Ok(())
}

/// Opens the file for the report before the program starts, so that errors are reported in time.
fn open_report(arguments: &BindArguments) -> Result<Option<File>, Failure> {
    let Some(path) = &arguments.output else {
        return Ok(None);
    };
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path);
    file.map(Some).map_err(|error| {
        let message = format!("cannot write the report {}: {error}", path.display());
        Failure::new(ExitCode::Usage, message)
    })
}

/// Looks at the program from time to time, and reports once.
struct Looker<'a> {
    watch: &'a Watch<'a>,
    target: Target,
    topology: Topology,
    started: Instant,
    next: Duration,
    next_look: Duration,
    last: Option<(Duration, Look)>,
    report: BindReport,
    report_file: Option<File>,
    reported: bool,
}

impl Companion for Looker<'_> {
    fn due_in(&self) -> Duration {
        match self.reported {
            true => Duration::MAX,
            false => self.next.saturating_sub(self.started.elapsed()),
        }
    }

    /// Looks if a look is due, and reports once the trigger is reached.
    fn tick(&mut self) -> Result<(), Failure> {
        let elapsed = self.started.elapsed();
        let trigger = self.watch.arguments.trigger();
        self.report.trigger_reached = match trigger {
            Trigger::After(time) => elapsed >= time,
            Trigger::Bytes(bytes) => self.resident_bytes() >= bytes,
        };
        // The cost of a check limits how often the amount is checked; a look costs more.
        let asked = self.started.elapsed() - elapsed;
        if self.report.trigger_reached || elapsed >= self.next_look {
            self.look(elapsed);
            let looked = self.started.elapsed();
            self.next_look = looked + looked.max((looked - elapsed) * SHARE_OF_TIME);
        }
        if self.report.trigger_reached && self.last.is_some() {
            return self.finish_looking();
        }
        let pause = match trigger {
            // It could not be looked at: it may have begun or be ending.
            _ if self.report.trigger_reached => FIRST_LOOK.max(asked * SHARE_OF_TIME),
            Trigger::After(time) => elapsed.min(time.saturating_sub(elapsed)),
            Trigger::Bytes(_) => PATIENCE.min(elapsed).max(asked * SHARE_OF_TIME),
        };
        self.next = self.started.elapsed() + pause;
        Ok(())
    }
}

impl<'a> Looker<'a> {
    fn new(watch: &'a Watch<'a>, report_file: Option<File>) -> Result<Self, Failure> {
        let words = watch.arguments.command.iter();
        let report = BindReport {
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            asked: watch.asked.clone(),
            lints: watch.lints.clone(),
            honoured: !watch.arguments.verify,
            ..BindReport::default()
        };
        Ok(Looker {
            watch,
            target: Target::Process(0),
            topology: topology::read(&Root::live())?,
            started: Instant::now(),
            next: FIRST_LOOK,
            next_look: Duration::ZERO,
            last: None,
            report,
            report_file,
            reported: !watch.arguments.verify,
        })
    }

    /// The program was started as this process.
    fn begin(&mut self, pid: u32) {
        self.target = Target::Process(pid);
        self.report.pid = pid;
        self.started = Instant::now();
    }

    fn look(&mut self, at: Duration) {
        let policy = self.policy_at_start();
        let look = placement::bind::look(&Root::live(), &self.target, &self.topology, &policy);
        // A program that is ending cannot be read; the previous look counts.
        if let Ok(look) = look {
            self.report.looks += 1;
            self.last = Some((at, look));
        }
    }

    /// Returns the policy that was in force when the program started, in the kernel's words.
    fn policy_at_start(&self) -> String {
        let in_force = self.watch.in_force.policy.clone();
        let asked = || {
            self.watch
                .order
                .policy
                .as_ref()
                .map(linux::mempolicy::Policy::words)
        };
        in_force
            .or_else(asked)
            .unwrap_or_else(|| "default".to_owned())
    }

    /// Returns the private memory of all processes plus the shared memory of the process with the
    /// most.
    fn resident_bytes(&self) -> u64 {
        let root = Root::live();
        let members = instances::find(&root, &self.target).unwrap_or_default();
        let found = members
            .iter()
            .filter_map(|it| proc_status::resident(&root, it.stat.pid).ok());
        let (private, shared) = found.fold((0_u64, 0), |(private, shared), it| {
            (
                private.saturating_add(it.private_bytes),
                it.shared_bytes.max(shared),
            )
        });
        private.saturating_add(shared)
    }

    /// Judges the last look and reports.
    fn finish_looking(&mut self) -> Result<(), Failure> {
        if self.reported {
            return Ok(());
        }
        self.reported = true;
        let is_contradicted = |it: &(Duration, Look)| !self.judge(&it.1).is_empty();
        if self.last.as_ref().is_some_and(is_contradicted) {
            // A page may be migrating or about to be freed: only a lasting contradiction counts.
            std::thread::sleep(SECOND_LOOK_AFTER);
            self.look(self.started.elapsed());
        }
        if let Some((at, look)) = self.last.take() {
            self.report.contradictions = self.judge(&look);
            self.report.honoured = self.report.contradictions.is_empty();
            self.report.looked_after_s = Some(at.as_secs_f64());
            self.report.processes = look.residency.processes.len() as u32;
            self.report.bytes_without_node = look.residency.bytes_without_node;
            self.report.method = Some(look.residency.method);
            self.report.bytes_by_node = look.memory;
            self.report.overrides = look.overrides;
        }
        let text = match self.watch.arguments.json {
            false => report::bind_text(&self.report),
            true => output::json_text(&self.report.document())?,
        };
        self.write(&text)
    }

    fn judge(&self, look: &Look) -> Vec<String> {
        let Watch { machine, order, .. } = self.watch;
        let weights = linux::kernel_settings::interleave_weights(&Root::live())
            .ok()
            .flatten();
        let group = self.watch.scope.group.as_ref();
        let group = group.map(|group| (&group.cpus, &group.memory_nodes));
        let is_inherited = order.policy.is_none() && self.policy_at_start() != "default";
        contradictions(
            order,
            group,
            &weights.unwrap_or_default(),
            look,
            |cpus| match is_inherited {
                true => machine.memory_nodes.clone(),
                false => machine.local_memory_nodes(cpus),
            },
        )
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        let Some(file) = &mut self.report_file else {
            output::talk_lines(text.trim_end());
            return Ok(());
        };
        file.write_all(text.as_bytes()).map_err(|error| {
            let message = format!("cannot write the report: {error}");
            Failure::new(ExitCode::Store, message)
        })
    }

    /// Records the exit status. Reports the last look, unless that was done before.
    fn finish(&mut self, end: ChildEvent) -> Result<(), Failure> {
        self.report.exit_status = match end {
            ChildEvent::Exited(status) => Some(status),
            ChildEvent::Killed(signal) => Some(128 + signal as u8),
            ChildEvent::Stopped(_) | ChildEvent::Continued => None,
        };
        self.finish_looking()
    }
}
