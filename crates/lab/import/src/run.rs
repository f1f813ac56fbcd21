//! A run made from reports: a case for each name, a trial for each report.

use model::{
    Case, CasePlan, Evidence, ImportedWork, LoadReport, Metric, Outcome, Placement, Printed, Run,
    RunStatus, Trial, Work,
};

use crate::consistency::remarks;

/// Name of the experiment of imported runs.
pub const EXPERIMENT: &str = "awr";

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
        work: Work::Imported(ImportedWork { files }),
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
