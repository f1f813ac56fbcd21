//! The figures of a record: what a unit of work took, how much was done, and the mix.

use model::{RecordReport, RecordWindow};
use stats::{Portion, RecordMean};

/// The figures of a record, over the windows that count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFigures {
    /// CPU seconds of the target for each unit of work.
    pub cost_s: Option<f64>,
    /// Units of work per second.
    pub rate: Option<f64>,
    /// What is counted for the mix, for each unit of work.
    pub mix: Option<f64>,
    /// CPUs that the target used.
    pub cpus: Option<f64>,
    /// CPUs that others on the machine used.
    pub others_cpus: Option<f64>,
}

/// What a unit of work took, in CPU time or in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Took {
    /// CPU time of the target.
    CpuTime,
    /// Time.
    Time,
}

impl RecordFigures {
    /// Of a record.
    pub(crate) fn of(report: &RecordReport) -> Self {
        let sum = |of: &dyn Fn(&RecordWindow) -> Option<(f64, f64)>| {
            let pairs = counting(&report.windows).filter_map(of);
            let (above, below) = pairs.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
            (below > 0.0).then(|| above / below)
        };
        let work = |it: &RecordWindow| it.work.map(|work| work as f64);
        RecordFigures {
            cost_s: sum(&|it| it.cpu_s.zip(work(it))),
            rate: sum(&|it| Some((work(it)?, it.seconds))),
            mix: sum(&|it| it.mix.map(|mix| mix as f64).zip(work(it))),
            cpus: sum(&|it| Some((it.cpu_s?, it.seconds))),
            others_cpus: sum(&|it| Some(((it.machine_busy_s? - it.cpu_s?).max(0.0), it.seconds))),
        }
    }
}

fn counting(windows: &[RecordWindow]) -> impl Iterator<Item = &RecordWindow> {
    windows.iter().filter(|window| window.void.is_none())
}

/// What a unit of work took in each window that counts.
fn portions(windows: &[RecordWindow], took: Took) -> Vec<Portion> {
    let portion = |it: &RecordWindow| {
        Some(Portion {
            work: it.work? as f64,
            took: match took {
                Took::CpuTime => it.cpu_s?,
                Took::Time => it.seconds,
            },
        })
    };
    counting(windows).filter_map(portion).collect()
}

/// What a record says of it; `None` if it is too short, or nothing was done.
pub(crate) fn mean(report: &RecordReport, took: Took) -> Option<RecordMean> {
    RecordMean::of(&portions(&report.windows, took))
}

/// ln of what a unit took in the second half of a record, by its first.
pub(crate) fn drift(report: &RecordReport, took: Took) -> Option<f64> {
    let portions = portions(&report.windows, took);
    let (first, second) = portions.split_at(portions.len() / 2);
    let ln = |of: &[Portion]| {
        let sum = of
            .iter()
            .fold((0.0, 0.0), |sum, it| (sum.0 + it.took, sum.1 + it.work));
        let ln = (sum.0 / sum.1).ln();
        ln.is_finite().then_some(ln)
    };
    Some(ln(second)? - ln(first)?)
}
