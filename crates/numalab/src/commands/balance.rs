//! `numalab balance`: lets the kernel's NUMA balancing at shared memory for a while.

use clap::Args;
use linux::Root;
use model::exit::ExitCode;
use model::{BalanceEnd, BalanceReport, BalanceSample, BalancedSegment, counted, shell_word};
use relocation::{BalanceLimits, BalancePlan, BalanceSegment, Balanced, Claims, Course};
use relocation::{MoveError, PartKind};
use report::Fields;

use crate::arguments::values;
use crate::arguments::values::target_of;
use crate::commands::relocate::{interrupted, target_ended};
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::progress;
use crate::output;

/// Options of `numalab balance`.
#[derive(Debug, Args)]
pub(crate) struct BalanceArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Balance only this shared segment, as `numalab inspect` names it; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub segment: Vec<String>,
    /// End after this many seconds if pages still move.
    #[arg(long = "for", value_name = "S", default_value = "120")]
    #[arg(value_parser = values::seconds)]
    pub seconds: f64,
    /// Let the kernel move at most this many MiB per second.
    #[arg(long, value_name = "N", default_value = "256")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub mib_per_s: u32,
    /// Let the kernel go on afterwards, until `numalab undo`.
    #[arg(long)]
    pub keep: bool,
    /// Show what would be balanced, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON (numalab.balance/1).
    #[arg(long)]
    pub json: bool,
}

/// Plans, lets the kernel at the memory, and shows what it did.
pub(crate) fn run(arguments: &BalanceArguments) -> Result<(), Failure> {
    let root = Root::live();
    let target = target_of(&root, &arguments.target)?;
    let topology = topology::read(&root)?;
    let survey = relocation::survey_shared(&root, &target, &topology, &arguments.segment)?;
    let locked = match arguments.dry_run {
        true => None,
        // Claim before reading where the memory is: from then on no other numalab moves it.
        false => Some(relocation::claim(&root, &survey).map_err(MoveError::from)?),
    };
    let plan = relocation::plan_balance(&root, &target, &topology, survey)?;
    let mut report = planned(arguments, &plan);
    if let Some(locked) = locked {
        let balanced = balance(&root, arguments, &plan, &locked)?;
        add_outcome(&mut report, balanced, arguments.keep);
    }
    match arguments.json {
        true => output::json_of(&report.document(), true)?,
        false => output::data(&report::balance_text(&report, &output::text_options()))?,
    }
    conclusion(&report)
}

fn limits(arguments: &BalanceArguments) -> BalanceLimits {
    BalanceLimits {
        seconds: arguments.seconds,
        bytes_per_s: u64::from(arguments.mib_per_s) << 20,
        keep: arguments.keep,
    }
}

fn balance(
    root: &Root,
    arguments: &BalanceArguments,
    plan: &BalancePlan,
    locked: &Claims,
) -> Result<Balanced, Failure> {
    let journal = StateFolder::from_environment()?.journal();
    let cancel = interrupt::cancel_on_signals()?;
    let line = progress::line_on_stderr();
    let mut course = Course {
        stop: &|| cancel.is_cancelled(),
        watch: &mut |sample| line.set_message(progress_words(sample)),
    };
    let (target, limits) = (&arguments.target, limits(arguments));
    let balanced = relocation::balance(root, plan, locked, target, &journal, limits, &mut course);
    line.finish_and_clear();
    Ok(balanced?)
}

fn progress_words(sample: &BalanceSample) -> String {
    let BalanceSample {
        at_s,
        hint_faults,
        pages_watched,
        pages_changed,
        pages_returned,
        ..
    } = sample;
    let local = match BalanceReport::local_share(&[*sample]) {
        Some(share) => format!(", {:.0} % local", share * 100.0),
        None => String::new(),
    };
    format!(
        "{at_s:.0} s: {}{local}; of {}, {pages_changed} \
         moved, {pages_returned} came back",
        counted(hint_faults, "hint fault"),
        counted(pages_watched, "page")
    )
}

fn planned(arguments: &BalanceArguments, plan: &BalancePlan) -> BalanceReport {
    let limits = limits(arguments);
    let segment = |segment: &BalanceSegment| BalancedSegment {
        name: segment.part.name.clone(),
        kind: match segment.part.kind {
            PartKind::Segment(kind) => kind.word().to_owned(),
            PartKind::Private { .. } => "private".to_owned(),
        },
        page_bytes: segment.part.page_bytes,
        near_nodes: segment.near_nodes(),
        bytes_by_node_before: segment.before.clone(),
        policy_before: segment.policy.clone(),
        policy_meanwhile: plan.policy(),
        ..BalancedSegment::default()
    };
    BalanceReport {
        target: arguments.target.clone(),
        nodes: plan.nodes.clone(),
        seconds_max: limits.seconds,
        bytes_per_s_max: limits.bytes_per_s,
        settled_after_s: plan.settled_after_s,
        segments: plan.segments.iter().map(segment).collect(),
        notes: plan.notes.clone(),
        ..BalanceReport::default()
    }
}

fn add_outcome(report: &mut BalanceReport, balanced: Balanced, is_kept: bool) {
    report.end = balanced.end;
    report.seconds = Some(balanced.seconds);
    report.samples = balanced.samples;
    report.is_kept = is_kept;
    for (segment, placed) in report.segments.iter_mut().zip(balanced.segments) {
        segment.bytes_by_node_after = Some(placed.after);
        segment.bytes_elsewhere = Some(placed.bytes_elsewhere);
        segment.policy_after = Some(placed.policy);
    }
}

fn conclusion(report: &BalanceReport) -> Result<(), Failure> {
    let target = &report.target;
    match report.end {
        BalanceEnd::Interrupted => Err(interrupted()),
        BalanceEnd::TargetEnded => Err(target_ended(target)),
        BalanceEnd::NoFaults => {
            let message = "the kernel took no sample of who uses the memory, and moved nothing";
            let advice = format!(
                "it samples processes that use CPU time and have the memory mapped for writing; \
                 `numalab move {} --shared --to near-cpus` needs no samples",
                shell_word(target)
            );
            Err(Failure::new(ExitCode::PlacementNotHonoured, message).advise(advice))
        }
        _ => Ok(()),
    }
}
