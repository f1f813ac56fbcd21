//! What `numalab latency` and `numalab bandwidth` would measure, and how long that would take, as
//! text and as the documents `numalab.latency-plan/1` and `numalab.bandwidth-plan/1`.

use model::{NodeSet, PageKind, WorkingSet, counted, node_words};
use serde::Serialize;

use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::memory::latency_figures::{ns, size};

/// What would be measured. The order of the fields is their order in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryPlan {
    /// The nodes whose CPUs measure.
    pub cpu_nodes: NodeSet,
    /// The nodes whose memory is measured.
    pub memory_nodes: NodeSet,
    /// Kind of pages; `None` where nothing was tried, on a machine that is not at hand.
    pub page_kind: Option<PageKind>,
    /// Memory of one cell, in bytes; of all threads that share a last-level cache together.
    pub working_set_bytes: u64,
    /// How the working set was found; `None`: it was not searched for.
    pub working_set: Option<WorkingSet>,
    /// Whether only lines are timed that no cache holds, because there is no time for laps.
    pub first_visits: bool,
    /// The runs, in order.
    pub runs: Vec<PlannedRun>,
    /// Estimated seconds of all runs with the least number of rounds.
    pub seconds_min: f64,
    /// Estimated seconds with the most rounds, or until the time limit.
    pub seconds_max: f64,
    /// What the estimates go by.
    pub costs: PlanCosts,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedRun {
    /// Name of the experiment.
    pub experiment: String,
    /// Cases, each measured once per round.
    pub cases: usize,
    /// Cases that this machine cannot run.
    pub skipped: usize,
    /// The least rounds.
    pub rounds_min: u32,
    /// The most rounds.
    pub rounds_max: u32,
    /// Half-width of every interval, relative to its median, at which the run ends before.
    pub half_width_target: f64,
    /// Seconds after which no trial begins.
    pub limit_s: f64,
    /// Estimated seconds of one round.
    pub round_s: f64,
    /// Estimated seconds of the least rounds, or until the limit.
    pub seconds_min: f64,
    /// Estimated seconds of the most rounds, or until the limit.
    pub seconds_max: f64,
}

impl PlannedRun {
    /// Whether the time limit ends the run before every case has its least rounds.
    pub fn is_cut_off(&self) -> bool {
        self.round_s * f64::from(self.rounds_min) > self.limit_s
    }
}

/// What the steps of a trial of local memory cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlanCosts {
    /// Whether they were measured just before, on this machine.
    pub measured: bool,
    /// The working set that they are of, in bytes.
    pub bytes: u64,
    /// Seconds to prepare it.
    pub prepare_s: f64,
    /// Seconds to go round it once.
    pub lap_s: f64,
}

/// Formats a plan for a terminal.
pub fn memory_plan_text(plan: &MemoryPlan, options: &TextOptions) -> String {
    let mut text = options.heading("Plan");
    let (cpu_nodes, memory_nodes) = (&plan.cpu_nodes, &plan.memory_nodes);
    let pages = match plan.page_kind {
        Some(kind) => kind.meaning(),
        None => "the largest pages available",
    };
    let bytes = size(plan.working_set_bytes);
    let about = format!(
        "CPUs of {} and memory of {}; {pages}; working set {bytes}.",
        nodes(cpu_nodes),
        nodes(memory_nodes),
    );
    text.push_str(&options.paragraph("", &about, Style::Usual));
    for sentence in sentences(plan) {
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text.push('\n');
    text.push_str(&runs(plan, options));
    text
}

fn nodes(nodes: &NodeSet) -> String {
    node_words(nodes)
}

fn sentences(plan: &MemoryPlan) -> Vec<String> {
    let mut sentences: Vec<String> = plan
        .working_set
        .as_ref()
        .map(searched)
        .into_iter()
        .collect();
    if plan.first_visits {
        sentences.push(
            "There is no time for laps: only lines are timed that no cache has held since they \
             were flushed."
                .to_owned(),
        );
    }
    let PlanCosts {
        bytes,
        prepare_s,
        lap_s,
        ..
    } = plan.costs;
    sentences.push(match plan.costs.measured {
        true => format!(
            "The times are estimated from costs measured just now: {prepare_s:.2} s to prepare \
             {}, {lap_s:.2} s to go round it, longer by the firmware's distances where it is far.",
            size(bytes)
        ),
        false => "The times are estimated from costs of another machine.".to_owned(),
    });
    for run in plan.runs.iter().filter(|run| run.is_cut_off()) {
        sentences.push(format!(
            "{}: {} would take {:.0} s, and the limit is {:.0} s (--within): some cases will have \
             fewer.",
            run.experiment,
            counted(run.rounds_min, "round"),
            run.round_s * f64::from(run.rounds_min),
            run.limit_s
        ));
    }
    sentences
}

/// Describes how the working set was found.
fn searched(found: &WorkingSet) -> String {
    let points = found.points.iter().map(|point| {
        let (at, uncached) = (ns(point.ns), ns(point.uncached_ns));
        format!("{} {at} ns, uncached {uncached} ns", size(point.bytes))
    });
    let points: Vec<String> = points.collect();
    let verdict = match found.is_beyond_caches {
        true => "Latency no longer depends on the working set",
        false => "Caches still lower the latency at the largest working set",
    };
    format!("{verdict}: {}.", points.join("; "))
}

fn runs(plan: &MemoryPlan, options: &TextOptions) -> String {
    let mut table = Table::of("run|>cases|>rounds|>a round, s|>limit, s|>all, s");
    for run in &plan.runs {
        let cells = [
            run.experiment.clone(),
            run.cases.to_string(),
            range(run.rounds_min.to_string(), run.rounds_max.to_string()),
            format!("{:.1}", run.round_s),
            format!("{:.0}", run.limit_s),
            seconds(run.seconds_min, run.seconds_max),
        ];
        table.row(cells);
    }
    let all = seconds(plan.seconds_min, plan.seconds_max);
    format!("{}\nAbout {all} s in total.\n", table.text(options))
}

fn seconds(least: f64, most: f64) -> String {
    range(format!("{least:.0}"), format!("{most:.0}"))
}

fn range(least: String, most: String) -> String {
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use model::WorkingSetPoint;

    use super::*;

    fn plan(limit_s: f64) -> MemoryPlan {
        let run = PlannedRun {
            experiment: "latency".to_owned(),
            cases: 65,
            skipped: 0,
            rounds_min: 5,
            rounds_max: 20,
            half_width_target: 0.02,
            limit_s,
            round_s: 40.0,
            seconds_min: limit_s.min(200.0),
            seconds_max: limit_s.min(800.0),
        };
        MemoryPlan {
            cpu_nodes: "0-7".parse().unwrap(),
            memory_nodes: "0-7".parse().unwrap(),
            page_kind: Some(PageKind::Transparent),
            working_set_bytes: 256 << 20,
            working_set: Some(WorkingSet {
                bytes: 256 << 20,
                bytes_max: 1 << 30,
                is_beyond_caches: true,
                points: vec![WorkingSetPoint {
                    bytes: 256 << 20,
                    memories: 7,
                    ns: 134.0,
                    uncached_ns: 135.0,
                    ratio: 0.993,
                }],
            }),
            first_visits: false,
            seconds_min: run.seconds_min,
            seconds_max: run.seconds_max,
            runs: vec![run],
            costs: PlanCosts {
                measured: true,
                bytes: 256 << 20,
                prepare_s: 0.1,
                lap_s: 0.04,
            },
        }
    }

    fn text(plan: &MemoryPlan) -> String {
        let text = memory_plan_text(plan, &TextOptions::default());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_plan_says_what_is_measured_and_how_long_that_takes() {
        let text = text(&plan(300.0));
        for part in [
            "CPUs of nodes 0-7 and memory of nodes 0-7; transparent huge pages; working set 256",
            "no longer depends on the working set: 256 MiB 134.0 ns, uncached 135.0 ns.",
            "measured just now: 0.10 s to prepare 256 MiB, 0.04 s to go round it",
            "latency 65 5 to 20 40.0 300 200 to 300",
            "About 200 to 300 s in total.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_limit_that_is_too_short_for_the_least_rounds_is_named() {
        assert!(!text(&plan(300.0)).contains("--within"));
        let text = text(&plan(100.0));
        assert!(
            text.contains("5 rounds would take 200 s, and the limit is 100 s (--within)"),
            "{text}"
        );
    }
}
