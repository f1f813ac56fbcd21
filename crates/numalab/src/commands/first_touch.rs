//! `numalab firsttouch`: who touched memory first, and so decided where it lies.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use firsttouch::{Blocks, GroupTouches, Look, LookError};
use linux::Root;
use model::exit::ExitCode;
use model::{FirstTouch, RelationResidency, TouchedRelation};
use postgresql::RelationsOrder;
use report::{Fields, TextOptions};
use residency::instances::Target;

use super::started_program::{Companion, Follower, end_unstarted, json_has_a_file};
use crate::arguments::values::seconds;
use crate::arguments::values::target_of;
use crate::failure::Failure;
use crate::interrupt;
use crate::output;

/// Options of `numalab firsttouch`.
#[derive(Debug, Args)]
pub(crate) struct FirstTouchArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    #[arg(required_unless_present = "command")]
    pub target: Option<String>,
    /// Look for this long, such as 60s or 5m [default: 60s; with a COMMAND, until it ends].
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Memory for the events of each CPU, in KiB, rounded up to a power of two [default: 8192, less
    /// on machines with more than 64 CPUs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=1 << 20))]
    pub buffer_kib: Option<u32>,
    /// Write the result to a file. Without it, the result of a TARGET goes to stdout; that of a
    /// COMMAND goes to stderr, since stdout is the COMMAND's.
    #[arg(long, value_name = "FILE", visible_alias = "report")]
    pub output: Option<PathBuf>,
    /// Also show the tables of PostgreSQL by who touched their buffers first; with a COMMAND, the
    /// server is the one of DATADIR. It needs the extension pg_buffercache.
    #[arg(long, value_name = "DATADIR", num_args = 0..=1, require_equals = true)]
    pub relations: Option<Option<PathBuf>>,
    /// Role to connect as, for --relations [default: the one named like the connecting user].
    #[arg(long, value_name = "ROLE", requires = "relations")]
    pub pg_role: Option<String>,
    /// Write JSON (numalab.firsttouch/1); with a COMMAND, it needs --output.
    #[arg(long)]
    pub json: bool,
    /// Program to start, and its arguments.
    #[arg(last = true, conflicts_with = "target", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How long a running target is looked at.
const DURATION_DEFAULT: Duration = Duration::from_secs(60);

/// Time between two rounds: what a CPU can fault in it fits its buffer several times.
const ROUND: Duration = Duration::from_millis(10);

fn duration(text: &str) -> Result<Duration, String> {
    seconds(text).map(Duration::from_secs_f64)
}

/// Looks, and shows who touched what first.
pub(crate) fn run(arguments: &FirstTouchArguments) -> Result<(), Failure> {
    let root = Root::live();
    if arguments.target.is_none() {
        json_has_a_file(arguments.json, arguments.output.as_deref())?;
    }
    let output = Output::open(arguments)?;
    match &arguments.target {
        Some(target) => at_target(&root, arguments, target, output),
        None => at_program(&root, arguments, output),
    }
}

fn buffer_bytes(arguments: &FirstTouchArguments) -> Option<usize> {
    arguments.buffer_kib.map(|kib| kib as usize * 1024)
}

fn at_target(
    root: &Root,
    arguments: &FirstTouchArguments,
    target: &str,
    mut output: Output,
) -> Result<(), Failure> {
    let parsed = target_of(root, target)?;
    let order = relations_order(arguments, Some(&parsed))?;
    let topology = topology::read(root)?;
    let cancel = interrupt::cancel_on_signals()?;
    // One event for each CPU.
    linux::process::raise_open_files();
    let duration = arguments.duration.unwrap_or(DURATION_DEFAULT);
    let mut look = Look::at_target(root, &topology, &parsed, buffer_bytes(arguments))?;
    // Whoever reads stderr knows that nothing is missed from now on.
    let seconds = duration.as_secs_f64();
    output::talk(&format!(
        "looking at {target} for {seconds} s; Ctrl-C ends it earlier"
    ));
    let started = Instant::now();
    let mut has_ended = false;
    while started.elapsed() < duration && !cancel.is_cancelled() && !has_ended {
        std::thread::sleep(ROUND.min(duration.saturating_sub(started.elapsed())));
        look.round();
        has_ended = look.has_ended();
    }
    output.write(&finish(root, look, target, order.as_ref())?)?;
    if has_ended {
        let message = format!("all processes of {target} ended before the time was over");
        return Err(Failure::new(ExitCode::WorkloadFailed, message));
    }
    if cancel.is_cancelled() {
        let message = "interrupted; the result is of the time until then";
        return Err(Failure::new(ExitCode::Interrupted, message));
    }
    Ok(())
}

fn at_program(root: &Root, arguments: &FirstTouchArguments, output: Output) -> Result<(), Failure> {
    let topology = topology::read(root)?;
    let order = relations_order(arguments, None)?;
    let follower = Follower::prepare()?;
    let mut look = Look::at_next_program(root, &topology, buffer_bytes(arguments))?;
    let words = &arguments.command;
    let started = follower.start(words);
    let running = started.map_err(|error| end_unstarted(words, &error))?;
    let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let program = Path::new(&words[0]).file_name().unwrap_or_default();
    look.follow_program(running.pid(), &program.to_string_lossy());
    let mut looking = Looking {
        root,
        order,
        look: Some(look),
        output,
        target: shown.join(" "),
        started: Instant::now(),
        duration: arguments.duration.unwrap_or(Duration::MAX),
    };
    let ended = running.follow(&mut looking)?;
    looking.finish()?;
    ended.end_as();
    Ok(())
}

/// What to ask the server, for `--relations`.
fn relations_order(
    arguments: &FirstTouchArguments,
    target: Option<&Target>,
) -> Result<Option<RelationsOrder>, Failure> {
    let Some(named) = &arguments.relations else {
        return Ok(None);
    };
    let data = match (named, target) {
        (Some(data), _) => data.clone(),
        (None, Some(Target::Postgres(data))) => PathBuf::from(data),
        _ => {
            let message = "--relations: which server?";
            let advice = "name its data directory: --relations=DATADIR";
            return Err(Failure::new(ExitCode::Usage, message).advise(advice));
        }
    };
    let role = arguments.pg_role.clone();
    let with_server_view = false;
    Ok(Some(RelationsOrder {
        data,
        role,
        with_server_view,
    }))
}

/// Ends a look; the server is asked for its tables afterwards, so that the asking is not seen.
fn finish(
    root: &Root,
    mut look: Look<'_>,
    target: &str,
    order: Option<&RelationsOrder>,
) -> Result<FirstTouch, Failure> {
    look.stop()?;
    let relations = order.map(|order| relations(root, &mut look, order));
    let mut touch = look.finish(target)?;
    touch.relations = relations.flatten();
    Ok(touch)
}

/// The tables, the largest first; `None` with a gap where the server does not tell.
fn relations(
    root: &Root,
    look: &mut Look<'_>,
    order: &RelationsOrder,
) -> Option<Vec<TouchedRelation>> {
    let map = match postgresql::buffer_map(root, order) {
        Ok(map) => map,
        Err(error) => {
            look.note_gap(format!("who touched which table is unknown: {error}"));
            return None;
        }
    };
    let at = |block: u32| map.offset + u64::from(block) * map.block_bytes;
    let blocks = map.blocks.iter();
    let blocks = Blocks {
        object: map.object,
        block_bytes: map.block_bytes,
        groups: map.relations.len(),
        list: blocks
            .map(|(block, of)| (at(*block), *of as usize))
            .collect(),
    };
    let Some(touches) = look.touches_of(&blocks) else {
        let data = order.data.display();
        look.note_gap(format!(
            "who touched which table is unknown: the server of {data} was not looked at"
        ));
        return None;
    };
    let all = map.relations.into_iter().zip(touches);
    let mut all: Vec<TouchedRelation> = all.map(|(of, touches)| touched(of, touches)).collect();
    all.sort_by_key(|it| (Reverse(it.bytes), it.filenode));
    Some(all)
}

fn touched(of: RelationResidency, touches: GroupTouches) -> TouchedRelation {
    let seen: u64 = touches.touched.iter().map(|touch| touch.bytes).sum();
    TouchedRelation {
        database: of.database,
        name: of.name,
        kind: of.kind,
        filenode: of.filenode,
        bytes: seen + touches.before_bytes + touches.unseen_bytes,
        touched: touches.touched,
        before_bytes: touches.before_bytes,
        unseen_bytes: touches.unseen_bytes,
    }
}

/// A look beside a program.
struct Looking<'a> {
    root: &'a Root,
    order: Option<RelationsOrder>,
    look: Option<Look<'a>>,
    output: Output,
    target: String,
    started: Instant,
    duration: Duration,
}

impl Looking<'_> {
    /// Shows the result, unless that was done before.
    fn finish(&mut self) -> Result<(), Failure> {
        match self.look.take() {
            Some(look) => {
                let touch = finish(self.root, look, &self.target, self.order.as_ref())?;
                self.output.write(&touch)
            }
            None => Ok(()),
        }
    }
}

impl Companion for Looking<'_> {
    fn due_in(&self) -> Duration {
        match self.look {
            Some(_) => ROUND,
            None => Duration::MAX,
        }
    }

    fn tick(&mut self) -> Result<(), Failure> {
        if let Some(look) = &mut self.look {
            look.round();
        }
        match self.started.elapsed() >= self.duration {
            true => self.finish(),
            false => Ok(()),
        }
    }
}

/// Where the result goes.
struct Output {
    file: Option<(PathBuf, File)>,
    is_json: bool,
    /// Whether stdout is that of a program.
    is_beside_program: bool,
}

impl Output {
    /// Opens the file before the look, so that errors are reported in time.
    fn open(arguments: &FirstTouchArguments) -> Result<Self, Failure> {
        let file = arguments.output.as_ref().map(|path| {
            let file = File::create(path).map_err(|error| {
                let message = format!("cannot write the report {}: {error}", path.display());
                Failure::new(ExitCode::Usage, message)
            })?;
            Ok::<_, Failure>((path.clone(), file))
        });
        Ok(Output {
            file: file.transpose()?,
            is_json: arguments.json,
            is_beside_program: arguments.target.is_none(),
        })
    }

    fn write(&mut self, touch: &FirstTouch) -> Result<(), Failure> {
        let is_plain = self.file.is_some() || self.is_beside_program;
        let text = match (self.is_json, is_plain) {
            (true, _) => output::json_text_of(&touch.document(), true)?,
            (false, true) => report::first_touch_text(touch, &TextOptions::default()),
            (false, false) => report::first_touch_text(touch, &output::text_options()),
        };
        match &mut self.file {
            Some((path, file)) => file.write_all(text.as_bytes()).map_err(|error| {
                let message = format!("cannot write the report {}: {error}", path.display());
                Failure::new(ExitCode::Store, message)
            }),
            None if self.is_beside_program => {
                output::talk_lines(text.trim_end());
                Ok(())
            }
            None => output::data(&text),
        }
    }
}

/// How a user gets the right to record page faults.
const RIGHTS: &str = "run it as root or with CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8, and if \
                      kernel.perf_event_paranoid is 3, as on Debian); a program of your own needs \
                      only `sysctl kernel.perf_event_paranoid=1`; in a container, the seccomp \
                      profile must allow perf_event_open, too";

impl From<LookError> for Failure {
    fn from(error: LookError) -> Self {
        let message = error.to_string();
        match error {
            LookError::Instance(error) => error.into(),
            LookError::Read(error) => error.into(),
            LookError::NotPermitted { .. } => Failure::new(ExitCode::NotPermitted, message)
                .advise("run it as the user of these processes, as root, or with CAP_SYS_PTRACE"),
            LookError::Events(_) if error.is_permission() => {
                Failure::new(ExitCode::NotPermitted, message).advise(RIGHTS)
            }
            LookError::Events(_) => Failure::new(ExitCode::MachineCannot, message).advise(
                "the kernel must have perf events (CONFIG_PERF_EVENTS), and descriptors for one \
                 event on each CPU (`ulimit -n`)",
            ),
        }
    }
}
