//! What `latency` and `bandwidth` plan before they measure: places, working set, rounds, and how
//! long that takes. `--dry-run` shows it.

use std::time::Instant;

use experiment::Plan;
use experiment::memory::{self, MemoryPlaces, StepCosts};
use linux::Root;
use model::{ByteSize, PageKind, Run, Topology, WorkingSet};
use report::{Document, MemoryPlan, PlanCosts, PlannedRun};

use crate::arguments::memory::MemoryArguments;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::measuring::execution::Execution;
use crate::measuring::fitness::{self, Fit, Needs};
use crate::measuring::memory_runs::{self, Rounds};
use crate::output;

/// What was found out before planning.
pub(crate) struct Prepared {
    pub places: MemoryPlaces,
    pub fit: Option<Fit>,
    pub costs: StepCosts,
    pub working_set: Option<WorkingSet>,
    /// When that began.
    pub begun: Instant,
}

/// How large a working set is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Size {
    /// Four times the last-level cache.
    ByCache,
    /// The smallest at which latency no longer depends on it.
    Searched,
    /// As the user says.
    Named(ByteSize),
}

/// Finds pages and the working set for these places.
pub(crate) fn prepare(
    context: &Context,
    arguments: &MemoryArguments,
    places: MemoryPlaces,
    size: Size,
) -> Result<Prepared, Failure> {
    let begun = Instant::now();
    let host = &context.host;
    let mut prepared = Prepared {
        places,
        fit: None,
        costs: StepCosts::stated(),
        working_set: None,
        begun,
    };
    if let Size::Named(ByteSize(bytes)) = size {
        prepared.places.set_working_set(host, bytes);
    }
    if !context.is_live {
        // Most kernels have them.
        prepared.places.page_kind = PageKind::Transparent;
        return Ok(prepared);
    }
    let needs = Needs {
        cpus: prepared.places.measuring.len(),
        quiet: !arguments.dry_run,
        anyway: arguments.anyway || arguments.dry_run,
        takes_turns: false,
    };
    let fit = fitness::check(&host.topology, needs)?;
    fit.tell();
    prepared.fit = Some(fit);
    let root = Root::live();
    if let Size::Searched = size {
        let found = memory::find_working_set(&root, host, &mut prepared.places)?;
        if let Some(found) = &found {
            prepared.costs = StepCosts::of(found);
        }
        prepared.working_set = found.map(|found| found.working_set);
    } else {
        memory::largest_pages(&root, &mut prepared.places)?;
    }
    Ok(prepared)
}

/// Executes the plans one after the other, until one is interrupted.
pub(crate) fn execute(
    arguments: &MemoryArguments,
    context: &Context,
    prepared: &Prepared,
    plans: Vec<(Plan, Rounds)>,
) -> Result<Vec<Run>, Failure> {
    // The options allow a captured machine for a dry run only.
    if !context.is_live {
        return Ok(Vec::new());
    }
    let doubts = prepared.fit.as_ref().map_or_else(Vec::new, Fit::warnings);
    let mut execution = Execution::open(&arguments.store)?;
    let mut runs = Vec::new();
    for (plan, rounds) in plans {
        memory_runs::tell_notes(&plan);
        let seed = arguments.seed;
        let machine = context.record(prepared.working_set.clone());
        let run = memory_runs::execute(&mut execution, machine, plan, rounds, seed, &doubts)?;
        execution.tell_where(&run);
        runs.push(run);
        if execution.is_cancelled() {
            break;
        }
    }
    Ok(runs)
}

/// Prints what would be measured, as a document of this format or as text.
pub(crate) fn show(
    format: Option<&'static str>,
    prepared: &Prepared,
    topology: &Topology,
    plans: &[(Plan, Rounds)],
) -> Result<(), Failure> {
    let plan = document(prepared, topology, plans);
    match format {
        Some(format) => output::json(&Document {
            format,
            fields: &plan,
        }),
        None => output::data(&report::memory_plan_text(&plan, &output::text_options())),
    }
}

fn document(prepared: &Prepared, topology: &Topology, plans: &[(Plan, Rounds)]) -> MemoryPlan {
    let (places, costs) = (&prepared.places, prepared.costs);
    let run = |(plan, rounds): &(Plan, Rounds)| planned(plan, *rounds, &costs, topology);
    let runs: Vec<PlannedRun> = plans.iter().map(run).collect();
    let begun_s = prepared.begun.elapsed().as_secs_f64();
    let sum = |of: fn(&PlannedRun) -> f64| begun_s + runs.iter().map(of).sum::<f64>();
    MemoryPlan {
        cpu_nodes: places.measuring.keys().copied().collect(),
        memory_nodes: places.memory_nodes.clone(),
        page_kind: prepared.fit.is_some().then_some(places.page_kind),
        working_set_bytes: places.working_set_bytes,
        working_set: prepared.working_set.clone(),
        first_visits: places.first_visits,
        seconds_min: sum(|run| run.seconds_min),
        seconds_max: sum(|run| run.seconds_max),
        runs,
        costs: PlanCosts {
            measured: costs.is_measured,
            bytes: costs.bytes,
            prepare_s: costs.prepare_s,
            lap_s: costs.lap_s,
        },
    }
}

fn planned(plan: &Plan, rounds: Rounds, costs: &StepCosts, topology: &Topology) -> PlannedRun {
    let round_s = costs.round_s(plan, topology);
    let of = |count: u32| (round_s * f64::from(count)).min(rounds.within_s);
    PlannedRun {
        experiment: plan.experiment.clone(),
        cases: plan.cases.len(),
        skipped: plan.skipped.len(),
        rounds_min: rounds.min,
        rounds_max: rounds.max,
        half_width_target: rounds.half_width_target,
        limit_s: rounds.within_s,
        round_s,
        seconds_min: of(rounds.min),
        seconds_max: of(rounds.max),
    }
}
