//! A run made from reports or a table of figures: a case for each name, a trial for each report or
//! row.

use model::{
    Case, CasePlan, Evidence, ImportedWork, LoadReport, Measured, Metric, Outcome, Placement,
    Printed, Run, RunStatus, Trial, Work,
};

use crate::consistency::remarks;
use crate::csv_file::{Table, TableCase};

/// Name of the experiment of imported runs.
pub const EXPERIMENT: &str = "awr";
/// Name of the experiment of runs that are imported from a table of figures.
pub const TABLE_EXPERIMENT: &str = "csv";

/// The reports of one case, each a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCase {
    /// Name of the case.
    pub name: String,
    /// Its reports.
    pub reports: Vec<LoadReport>,
}

/// The run that stores the reports. Nothing is invented: the machine, the placement and its
/// evidence stay unknown.
pub fn run_of_reports(
    id: String,
    imported_at: String,
    baseline: String,
    cases: Vec<ReportedCase>,
) -> Run {
    Run {
        id,
        experiment: EXPERIMENT.to_owned(),
        question: "What do Oracle's reports show for one load under several settings?".to_owned(),
        definition: String::new(),
        started_at: imported_at,
        status: RunStatus::Imported,
        machine: None,
        // Fixed, so that the same reports always yield the same intervals.
        seed: 0,
        metric: Metric::LogicalReadsPerSecond,
        baseline,
        asks_about_memory: false,
        window_s: None,
        calibration: None,
        cases: cases.into_iter().map(case).collect(),
        skipped: Vec::new(),
    }
}

/// A table of figures, and what is known of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRun {
    /// The file, as named by the user.
    pub file: String,
    /// What was read of it.
    pub table: Table,
    /// What the figures answer.
    pub question: String,
    /// Their unit.
    pub unit: String,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// The run that stores a table of figures. Nothing is invented: machine, placement, evidence and
/// the length of windows stay unknown.
pub fn run_of_table(id: String, imported_at: String, baseline: String, table: TableRun) -> Run {
    let work = ImportedWork {
        files: vec![table.file],
        unit: Some(table.unit),
        in_rounds: table.table.in_rounds,
    };
    let trial = |(round, value)| Trial {
        outcome: Outcome::Valid,
        measured: Some(Measured {
            value,
            window_s: None,
            warm_up_s: None,
            sessions: None,
            kernel: None,
        }),
        ..Trial::failed(round, String::new())
    };
    let case = |case: TableCase| Case {
        plan: CasePlan {
            name: case.name,
            about: String::new(),
            placement: Placement::inherited(),
            work: Work::Imported(work.clone()),
        },
        trials: case.trials.into_iter().map(trial).collect(),
    };
    Run {
        experiment: TABLE_EXPERIMENT.to_owned(),
        question: table.question,
        metric: match table.more_is_better {
            true => Metric::Gain,
            false => Metric::Cost,
        },
        definition: names_of_rounds(&table.table.rounds),
        cases: table.table.cases.into_iter().map(case).collect(),
        ..run_of_reports(id, imported_at, baseline, Vec::new())
    }
}

/// The names of rounds, by which a reader finds a trial in the file again; empty where rounds have
/// none.
fn names_of_rounds(names: &[String]) -> String {
    let lines = names.iter().enumerate();
    lines
        .map(|(round, name)| format!("round {round} = {name:?}\n"))
        .collect()
}

/// Sets the interval of every report that does not state its own to `elapsed_s`.
pub fn assume_interval(reports: &mut [LoadReport], elapsed_s: f64) {
    for report in reports {
        report.interval.elapsed_s.get_or_insert(Printed {
            value: elapsed_s,
            half_unit: 0.0,
        });
    }
}

fn case(reported: ReportedCase) -> Case {
    let mut files: Vec<String> = reported.reports.iter().map(|it| it.file.clone()).collect();
    files.dedup();
    let plan = CasePlan {
        name: reported.name,
        about: String::new(),
        placement: Placement::inherited(),
        work: Work::Imported(ImportedWork {
            files,
            ..ImportedWork::default()
        }),
    };
    let trials = reported
        .reports
        .into_iter()
        .zip(0..)
        .map(|(report, round)| Trial {
            round,
            outcome: Outcome::Valid,
            measured: None,
            evidence: Evidence::default(),
            warnings: remarks(&report),
            report: Some(Box::new(report)),
        });
    Case {
        trials: trials.collect(),
        plan,
    }
}
