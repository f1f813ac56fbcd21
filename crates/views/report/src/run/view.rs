//! What there is to see of a run: its figures in the words and with the digits of the text, so that
//! pages, tickets and text show the same. Names and messages are as they were recorded; who shows
//! them escapes them.

use model::{Case, LoadLadder, Run, Trial, moment};
use verdict::{CaseTotals, Judgement, Standing, explain, is_emulated, is_load_sweep, judge, order};

use crate::explanation::text::sentence;
use crate::form::table::{Side, Table};
use crate::run::asked::asked;
use crate::run::evidence::evidence_lines;
use crate::run::figures::{UNKNOWN, confidence_percent, decimals, value};
use crate::run::load_sweep::load;
use crate::run::machine::{host, machine};
use crate::run::ranking::{COST, against, comparison_cells, cost_text, figures, has_costs, middle};
use crate::run::text::{method, which_run};
use crate::verdict_words::answer::{answer, sureness};
use crate::verdict_words::sentence::verdict_sentence;
use crate::verdict_words::warnings::run_warnings;

/// What there is to see of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// Its experiment.
    pub experiment: String,
    /// The question that it answers.
    pub question: String,
    /// Which run it is, and how it ended.
    pub which: String,
    /// The machine in one line.
    pub machine: String,
    /// How it was measured; `None` for an imported run.
    pub method: Option<String>,
    /// The host that it was measured on; `None` where its reports name none, or several.
    pub host: Option<String>,
    /// When it started, to the minute, in the zone of its host.
    pub started: String,
    /// The answer: the verdict in at most [`ANSWER_WORDS`] words.
    ///
    /// [`ANSWER_WORDS`]: crate::ANSWER_WORDS
    pub answer: String,
    /// How sure the answer is.
    pub sureness: String,
    /// The verdict, one sentence.
    pub verdict: String,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    /// The unit of the figures.
    pub unit: String,
    /// What a figure of the metric is divided by to be in this unit.
    pub unit_is: f64,
    /// The confidence of the intervals, such as `95 %`.
    pub confidence: String,
    /// What the ratios are of, such as `times binding`.
    pub against: String,
    /// Whether the cases are points of a curve, which are not ranked.
    pub is_curve: bool,
    /// The curves of latency under load; whoever shows the run adds them.
    pub curves: Vec<LoadLadder>,
    /// The cases, the best first.
    pub cases: Vec<CaseView>,
    /// Why the cases differ, one sentence for each; empty where that cannot be said.
    pub reasons: Vec<String>,
    /// Cases that did not run, with the reason.
    pub skipped: Vec<(String, String)>,
    /// Whether CPU time per read is compared beside throughput.
    pub has_costs: bool,
    /// Whether speeds mean nothing, because the machine is emulated.
    pub is_emulated: bool,
    /// The definition of the experiment.
    pub definition: String,
}

/// A column of the table of cases: its title, and the cell of each case.
type Column<'a> = (&'a str, Side, fn(&CaseView) -> &String);

impl RunView {
    /// The table of its cases: the ranking, or the points of a curve.
    pub fn table(&self) -> Table {
        let interval = format!("{} interval", self.confidence);
        let of_all: [Column<'_>; 4] = [
            ("case", Side::Left, |it| &it.name),
            (&self.unit, Side::Right, |it| &it.median),
            (&interval, Side::Right, |it| &it.interval),
            ("valid", Side::Right, |it| &it.valid),
        ];
        let mut columns = of_all.to_vec();
        match self.is_curve {
            true => columns.insert(1, ("load", Side::Right, |it| &it.load)),
            false => {
                columns.insert(0, ("rank", Side::Right, |it| &it.rank));
                columns.push((&self.against, Side::Left, |it| &it.ratio));
                if self.has_costs {
                    columns.push((COST, Side::Left, |it| &it.cost));
                }
                columns.push(("verdict", Side::Left, |it| &it.verdict));
            }
        }
        let titles: Vec<_> = columns
            .iter()
            .map(|(title, side, _)| (*title, *side))
            .collect();
        let cells = |case| {
            columns
                .iter()
                .map(|(.., cell)| cell(case).clone())
                .collect()
        };
        Table::new(&titles).with(self.cases.iter().map(cells))
    }
}

/// What there is to see of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseView {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// The work and placement that were requested.
    pub asked: String,
    /// Its rank, or the ranks that it may have: `2`, `2-4`.
    pub rank: String,
    /// Its figure, in the unit of the run.
    pub median: String,
    /// What the figure is of its trials: `median`, or `mean`.
    pub middle: &'static str,
    /// The interval of the figure: `4.60 to 4.70`.
    pub interval: String,
    /// How many trials count: `9 of 10`.
    pub valid: String,
    /// Its ratio to the baseline with its interval: `1.49 (1.47 to 1.51)`.
    pub ratio: String,
    /// CPU time per read as a multiple of the baseline's, with its interval.
    pub cost: String,
    /// What follows from the ratio.
    pub verdict: String,
    /// What the load beside it moved, where it is a point of a curve.
    pub load: String,
    /// Figure and interval as numbers, in the unit of the run.
    pub median_value: Option<f64>,
    /// See `median_value`.
    pub interval_values: Option<(f64, f64)>,
    /// Its trials, in the order in which they ran.
    pub trials: Vec<TrialView>,
    /// Where the time of its sessions went, in ns per logical read, CPU first; empty where no
    /// session read blocks.
    pub time: Vec<TimeShare>,
    /// What the kernel said of its placement, one line each.
    pub evidence: Vec<String>,
}

/// A part of the time of sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeShare {
    /// Its name: `DB CPU`, `CPU wait`, or that of a wait.
    pub name: String,
    /// Time per logical read, ns.
    pub ns_per_read: f64,
    /// The same with its unit.
    pub shown: String,
}

/// What there is to see of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialView {
    /// Its round, from 0.
    pub round: u32,
    /// Whether it counts.
    pub validity: Validity,
    /// Why it does not count.
    pub reason: Option<String>,
    /// Its figure in the unit of the run, also if it does not count.
    pub value: Option<f64>,
    /// The same with its digits.
    pub shown: Option<String>,
    /// The figures of its windows that count, in the unit of the run.
    pub windows: Vec<f64>,
}

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// It counts.
    Valid,
    /// It ran, but does not count.
    Invalid,
    /// It did not finish.
    Failed,
}

impl Validity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Validity::Valid => "valid",
            Validity::Invalid => "invalid",
            Validity::Failed => "failed",
        }
    }
}

/// Returns what there is to see of a run.
pub fn run_view(run: &Run) -> RunView {
    let judgement = judge(run);
    let cases = order(run, &judgement);
    let cases = cases.iter().map(|index| case_view(run, &judgement, *index));
    let skipped = run.skipped.iter();
    RunView {
        id: run.id.clone(),
        experiment: run.experiment.clone(),
        question: run.question.clone(),
        which: which_run(run),
        machine: machine(run),
        method: method(run),
        unit: run.shown_unit().to_owned(),
        unit_is: run.metric.facts().shown_unit_is,
        confidence: confidence_percent(judgement.confidence()),
        against: against(run),
        is_curve: is_load_sweep(run),
        curves: Vec::new(),
        cases: cases.collect(),
        reasons: reasons(run),
        skipped: skipped
            .map(|it| (it.case.clone(), it.reason.clone()))
            .collect(),
        has_costs: has_costs(run),
        is_emulated: is_emulated(run),
        definition: run.definition.clone(),
        host: host(run),
        started: moment(&run.started_at),
        answer: answer(run, &judgement),
        sureness: sureness(run, &judgement),
        verdict: verdict_sentence(run, &judgement),
        warnings: run_warnings(run, &judgement),
    }
}

fn case_view(run: &Run, judgement: &Judgement, index: usize) -> CaseView {
    let (case, judged) = (&run.cases[index], &judgement.cases[index]);
    let mut cells = figures(run.metric, judged).into_iter();
    let mut cell = || cells.next().map_or_else(String::new, |(text, _)| text);
    let (rank, _, median, interval, valid) = (cell(), cell(), cell(), cell(), cell());
    let [(ratio, _), (verdict, _)] = comparison_cells(run, judgement, index);
    let unit_is = run.metric.facts().shown_unit_is;
    let shown = |value: f64| Some(value / unit_is).filter(|it| it.is_finite());
    let ends = judged.shown_interval.map(|it| (it.low, it.high));
    let topology = run.topology();
    let valid_trials: Vec<&Trial> = case.trials.iter().filter(|it| counts(it)).collect();
    let evidence = topology.filter(|_| !valid_trials.is_empty());
    CaseView {
        name: case.plan.name.clone(),
        about: case.plan.about.clone(),
        asked: asked(&case.plan),
        rank,
        median,
        middle: middle(judgement.is_of_rounds),
        interval,
        valid,
        ratio,
        cost: cost_text(judgement, index),
        verdict,
        load: load(case).unwrap_or_else(|| UNKNOWN.to_owned()),
        median_value: judged.shown.and_then(shown),
        interval_values: ends.and_then(|(low, high)| shown(low).zip(shown(high))),
        trials: case
            .trials
            .iter()
            .map(|trial| trial_view(run, trial))
            .collect(),
        time: time(case),
        evidence: evidence.map_or_else(Vec::new, |it| evidence_lines(&valid_trials, it)),
    }
}

fn counts(trial: &Trial) -> bool {
    Standing::of(trial).is_valid()
}

fn trial_view(run: &Run, trial: &Trial) -> TrialView {
    let standing = Standing::of(trial);
    let unit_is = run.metric.facts().shown_unit_is;
    let measured = trial.measured.as_ref();
    let value_of = trial.valid_value().or(measured.map(|it| it.value));
    let value_of = value_of.filter(|it| it.is_finite());
    let samples = measured.and_then(|it| it.sessions.as_ref());
    let samples = samples.map_or(&[][..], |it| &it.samples);
    let samples = samples.iter().filter(|it| !it.left_out);
    let samples = samples.map(|it| it.logical_reads_per_s);
    let kernel = measured.and_then(|it| it.kernel.as_ref());
    let kernel = kernel.map_or(&[][..], |it| &it.windows).iter().copied();
    let windows = samples.chain(kernel).map(|it| it / unit_is);
    TrialView {
        round: trial.round,
        validity: match standing {
            Standing::Valid => Validity::Valid,
            Standing::Invalid(_) => Validity::Invalid,
            Standing::Failed(_) => Validity::Failed,
        },
        reason: standing.reason().map(str::to_owned),
        value: value_of.map(|it| it / unit_is),
        shown: value_of.map(|it| value(run.metric, it)),
        windows: windows.filter(|it| it.is_finite()).collect(),
    }
}

/// Where the time of the sessions of a case went: DB CPU, CPU wait, then waits, the largest first.
fn time(case: &Case) -> Vec<TimeShare> {
    let totals = CaseTotals::of(case);
    let time = &totals.time;
    let mut waits: Vec<(String, f64)> = time
        .waits
        .iter()
        .map(|(name, wait)| (name.clone(), wait.total_s))
        .collect();
    waits.sort_by(|one, other| other.1.total_cmp(&one.1));
    let of_cpu = [("DB CPU", time.db_cpu_s), ("CPU wait", time.cpu_wait_s)];
    let of_cpu = of_cpu.map(|(name, total_s)| (name.to_owned(), total_s));
    let parts = of_cpu.into_iter().chain(waits);
    let parts = parts.filter_map(|(name, total_s)| {
        let ns_per_read = 1e9 * total_s / totals.logical_reads;
        let is_known = ns_per_read.is_finite() && ns_per_read > 0.0;
        is_known.then(|| TimeShare {
            name,
            ns_per_read,
            shown: format!("{} ns", decimals(ns_per_read, 1)),
        })
    });
    parts.collect()
}

/// Why each case differs from the baseline.
fn reasons(run: &Run) -> Vec<String> {
    let Ok(found) = explain(run, None, None) else {
        return Vec::new();
    };
    let differences = found.differences.iter();
    differences.map(|it| sentence(&found, it)).collect()
}
