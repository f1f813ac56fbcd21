//! `numalab move`: moves the memory of a running process or database to other nodes.

use std::path::PathBuf;

use clap::Args;
use linux::Root;
use model::exit::ExitCode;
use model::{MoveReport, MoveStatus, Topology};
use placement::Destination;
use relocation::{Choice, Claims, MoveError, Moved, NoBalancing, Pace, Plan, Survey};
use report::Fields;
use residency::Options;
use residency::instances::Target;

use crate::arguments::values::SAMPLE_SEED;
use crate::arguments::values::target_of;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::moving::move_report;
use crate::moving::progress::MoveProgress;
use crate::moving::trace::MoveTrace;
use crate::output;

/// Options of `numalab move`.
#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Destination: interleave, interleave=0-3, weighted-interleave (by the kernel's weights),
    /// weighted-interleave=0-3, a node, spread (in proportion to the memory of the nodes),
    /// spread=0:2,1:1, or near-cpus (the nodes of the CPUs that the processes may use).
    #[arg(long, value_name = "DESTINATION")]
    pub to: Destination,
    /// Move only shared memory.
    #[arg(long, conflicts_with = "private")]
    pub shared: bool,
    /// Move only private memory.
    #[arg(long)]
    pub private: bool,
    /// Move only this shared segment, as `numalab inspect` names it; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "private")]
    pub segment: Vec<String>,
    /// Move at most this many MiB per second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(allow_negative_numbers = true)]
    pub mib_per_s: Option<u32>,
    /// Show what would be moved, and move nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Look at every page afterwards; otherwise, shared memory of 8 GiB or more is sampled.
    #[arg(long, conflicts_with = "dry_run")]
    pub verify_all: bool,
    /// Write a trace of the move for the viewer Perfetto: bytes moved, free memory of the nodes,
    /// and the memory of the target by node.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub perfetto: Option<PathBuf>,
    /// Print JSON (numalab.move/1).
    #[arg(long)]
    pub json: bool,
}

impl MoveArguments {
    /// The move of a plan of the doctor.
    pub(crate) fn of_plan(target: &str, to: Destination, is_shared_only: bool) -> Self {
        MoveArguments {
            target: target.to_owned(),
            to,
            shared: is_shared_only,
            private: false,
            segment: Vec::new(),
            mib_per_s: None,
            dry_run: false,
            verify_all: false,
            perfetto: None,
            json: false,
        }
    }

    fn moves_only_shared(&self) -> bool {
        self.shared || !self.segment.is_empty()
    }
}

/// Maximum deviation of a shared segment's shares from the plan, beyond which it was not placed.
const SHARE_ERROR_MAX: f64 = 0.01;

/// Less shared memory than this is looked at whole afterwards: at 1 GiB, a sample takes as long as
/// all pages (docs/move.md).
const SAMPLED_BYTES_MIN: u64 = 8 << 30;

/// Plans the move, carries it out, and verifies where the memory is.
pub(crate) fn run(arguments: &MoveArguments) -> Result<(), Failure> {
    let root = Root::live();
    let target = target_of(&root, &arguments.target)?;
    let topology = topology::read_nodes(&root)?;
    if let Some(lacking) = arguments.to.lacking(&topology) {
        let advice = "`--to spread=0:2,1:1` moves existing pages in such proportions on any kernel";
        return Err(Failure::new(ExitCode::MachineCannot, lacking).advise(advice));
    }
    let survey = survey(&root, &target, &topology, arguments)?;
    let locked = match arguments.dry_run {
        true => None,
        // Claim before reading where the memory is: from then on no other numalab moves it.
        false => Some(relocation::claim(&root, &survey).map_err(MoveError::from)?),
    };
    let members = survey.members.clone();
    let plan = relocation::plan(&root, survey)?;
    relocation::check_room(&root, &plan, &topology)?;
    let mut report = move_report::of_plan(&arguments.target, &arguments.to, &plan)?;
    let Some(locked) = locked else {
        if has_ended(&root, &target) {
            report.report.status = MoveStatus::TargetEnded;
        }
        show(arguments, &report)?;
        return conclusion(&report.report);
    };
    let moved = carry_out(&root, &target, arguments, &plan, &locked)?;
    report.add_outcome(&plan, &moved);
    let options = second_look(&plan, arguments);
    if moved.has_target_ended {
        report.report.status = MoveStatus::TargetEnded;
    } else if let Err(error) = report.verify(&root, (&target, members), &topology, &options) {
        match has_ended(&root, &target) {
            true => report.report.status = MoveStatus::TargetEnded,
            false => report
                .report
                .notes
                .push(format!("cannot tell where the memory is now: {error}")),
        }
    }
    show(arguments, &report)?;
    conclusion(&report.report)
}

/// How to look at the memory again after the move.
fn second_look(plan: &Plan, arguments: &MoveArguments) -> Options {
    let shared = plan.parts.iter().filter(|it| it.part.object().is_some());
    let bytes: u64 = shared.flat_map(|it| it.now.values()).sum();
    let is_sampled = bytes >= SAMPLED_BYTES_MIN && !arguments.verify_all;
    Options {
        sample_seed: is_sampled.then_some(SAMPLE_SEED),
        only_shared: arguments.moves_only_shared(),
        only_bytes: true,
        ..Options::default()
    }
}

fn survey(
    root: &Root,
    target: &Target,
    topology: &Topology,
    arguments: &MoveArguments,
) -> Result<Survey, MoveError> {
    let choice = Choice {
        shared: !arguments.private,
        private: !arguments.moves_only_shared(),
        segments: arguments.segment.clone(),
    };
    relocation::survey(root, target, topology, &arguments.to, &choice)
}

fn carry_out(
    root: &Root,
    target: &Target,
    arguments: &MoveArguments,
    plan: &Plan,
    locked: &Claims,
) -> Result<Moved, Failure> {
    let journal = StateFolder::from_environment()?.journal();
    let cancel = interrupt::cancel_on_signals()?;
    let bytes_per_s = arguments.mib_per_s.map(|mib| u64::from(mib) << 20);
    let mut progress = MoveProgress::on_stderr(plan.bytes_to_move(), bytes_per_s);
    let trace = arguments.perfetto.as_deref();
    let mut trace = trace
        .map(|file| MoveTrace::begin(file, target))
        .transpose()?;
    let mut moved_bytes = 0;
    let mut pace = Pace {
        bytes_per_s,
        of_others: linux::capabilities::may_move_pages_of_others(root),
        stop: &|| cancel.is_cancelled(),
        watch: &mut |bytes| {
            progress.at(bytes);
            moved_bytes = bytes;
            if let Some(trace) = &mut trace {
                trace.add(bytes);
            }
        },
    };
    let names = (target.to_string(), arguments.to.to_string());
    let moved = relocation::carry_out(
        root,
        plan,
        locked,
        (&names.0, &names.1),
        &journal,
        &mut pace,
    );
    progress.finish();
    // What was moved is reported in any case.
    if let Some(Err(failure)) = trace.map(|trace| trace.finish(moved_bytes)) {
        output::talk(&failure.message);
    }
    Ok(moved?)
}

fn has_ended(root: &Root, target: &Target) -> bool {
    residency::instances::find(root, target).is_err()
}

fn show(arguments: &MoveArguments, report: &move_report::Building) -> Result<(), Failure> {
    if arguments.json {
        return output::json_of(&report.report.document(), true);
    }
    let options = output::text_options();
    output::data(&report::move_text(&report.report, &options))
}

/// Of memory that was being moved, or balanced.
pub(crate) fn interrupted() -> Failure {
    let message = "interrupted; the memory moved so far stays there (`numalab undo` moves it back)";
    Failure::new(ExitCode::Interrupted, message)
}

/// Of a target whose memory was being moved, or balanced.
pub(crate) fn target_ended(target: &str) -> Failure {
    let message = format!("all processes of {target} have ended");
    Failure::new(ExitCode::WorkloadFailed, message)
}

fn conclusion(report: &MoveReport) -> Result<(), Failure> {
    match report.status {
        MoveStatus::Planned | MoveStatus::Complete => {}
        MoveStatus::Interrupted => return Err(interrupted()),
        MoveStatus::TargetEnded => return Err(target_ended(&report.target)),
    }
    let is_off = |error: &f64| *error > SHARE_ERROR_MAX;
    let shared = report.parts.iter().filter(|part| part.shared);
    for part in shared {
        if let Some(error) = part.share_error().filter(is_off) {
            let (name, percent) = (&part.name, error * 100.0);
            let message = format!("{name} is not placed as planned: a node is {percent:.1} % off");
            let advice = "run the same command to try again; the report lists the pages that \
                          stayed, and why";
            return Err(Failure::new(ExitCode::PlacementNotHonoured, message).advise(advice));
        }
    }
    Ok(())
}

impl From<MoveError> for Failure {
    fn from(error: MoveError) -> Self {
        let message = error.to_string();
        let fail = |code| Failure::new(code, message.clone());
        match error {
            MoveError::Instance(error) => error.into(),
            MoveError::Ended { .. } => fail(ExitCode::WorkloadFailed),
            MoveError::Unfinished { entries, cause } => {
                let numbers: Vec<String> = entries.iter().map(u64::to_string).collect();
                let advice = format!(
                    "`numalab undo {}` takes it back; then remove the cause and try again",
                    numbers.join(" ")
                );
                Failure::new(Failure::from(*cause).exit_code, message).advise(advice)
            }
            _ if error.is_permission() => fail(ExitCode::NotPermitted).advise(
                "run it as root, or with CAP_SYS_NICE to move pages, CAP_SYS_PTRACE and \
                 CAP_DAC_READ_SEARCH to open other users' processes, and CAP_SYS_ADMIN or \
                 CAP_CHECKPOINT_RESTORE to open shared memory; in a container, the seccomp \
                 profile must also allow move_pages and mbind",
            ),
            MoveError::Journal(error) => error.into(),
            MoveError::Read(error) => error.into(),
            MoveError::Destination { .. } => {
                fail(ExitCode::Usage).advise("`numalab topology` shows the nodes and their memory")
            }
            MoveError::NoSegment { .. } => {
                fail(ExitCode::Usage).advise("`numalab inspect` shows the segments")
            }
            MoveError::Forbidden { .. } => fail(ExitCode::MachineCannot)
                .advise("add that node to its processor group (cpuset.mems), or name another node"),
            MoveError::NoRoom { .. } => fail(ExitCode::MachineCannot).advise(
                "nothing was moved; free memory there (for huge pages, use `numalab pages \
                 --set`), or move less (--segment, --shared, --private)",
            ),
            MoveError::PolicySetByAnother { .. } => fail(ExitCode::PlacementNotHonoured).advise(
                "`numalab undo` moves the pages back; with `--force` it restores the policy, too",
            ),
            MoveError::NoBalancing { reason, .. } => {
                fail(ExitCode::MachineCannot).advise(balancing_advice(reason))
            }
            MoveError::SystemCall(_) | MoveError::NotPermitted { .. } => {
                fail(ExitCode::MachineCannot)
            }
        }
    }
}

/// What to do where the kernel does not balance memory.
fn balancing_advice(reason: NoBalancing) -> &'static str {
    match reason {
        NoBalancing::OneNode => "`numalab topology` shows the nodes and their memory",
        NoBalancing::Off(_) => {
            "`sysctl kernel.numa_balancing=1` turns it on, for the private memory of all \
             processes, too; set it back afterwards, or use `numalab move`"
        }
        NoBalancing::Missing | NoBalancing::OldKernel | NoBalancing::NoSmallPages => {
            "use `numalab move`, which needs no help from the kernel"
        }
    }
}
