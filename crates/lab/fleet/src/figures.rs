//! What was measured on machines: which is not like the others of its group.

use std::collections::BTreeMap;

use model::{FIGURES, FactKind, FigureDifference, FigurePair, FleetFinding, GroupFigure, Metric};
use stats::{Interval, Likeness, MEMBERS_MIN, Reading, likeness, median, median_interval};

/// A difference of less than this share is none for users, whatever its interval.
const MATTERS: f64 = 0.02;
/// Standard deviation of a median of normal values by that of their mean, for many values.
const MEDIAN_ERROR: f64 = 1.2533;
/// Scales the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL_CONSISTENT: f64 = 1.4826;
/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// What one case of an experiment measured on one machine, in the unit of its metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The experiment.
    pub experiment: String,
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: Metric,
    /// The stored run.
    pub run: String,
    /// The median of the trials that count.
    pub value: f64,
    /// The relative standard error of the median; 0 if trials are too few.
    error: f64,
    /// The interval of the median; `None` where trials are too few.
    interval: Option<Interval>,
}

impl Figure {
    /// The figure of these trials; `None` without one that can be compared.
    pub fn new(
        experiment: &str,
        case: &str,
        metric: Metric,
        run: &str,
        values: &[f64],
    ) -> Option<Self> {
        let value = median(values).filter(|value| FIGURES.contains(value))?;
        let away: Vec<f64> = values.iter().map(|it| (it / value - 1.0).abs()).collect();
        let spread = NORMAL_CONSISTENT * median(&away)?;
        Some(Figure {
            experiment: experiment.to_owned(),
            case: case.to_owned(),
            metric,
            run: run.to_owned(),
            value,
            error: match values.len() {
                0..3 => 0.0,
                count => MEDIAN_ERROR * spread / (count as f64).sqrt(),
            },
            interval: median_interval(values, CONFIDENCE),
        })
    }

    fn reading(&self) -> Reading {
        Reading {
            ln: self.value.ln(),
            error: self.error,
        }
    }

    fn key(&self) -> Key {
        (self.experiment.clone(), self.metric, self.case.clone())
    }
}

/// What makes figures of two machines comparable.
type Key = (String, Metric, String);

/// What the figures of a group say.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<FleetFinding>,
    pub(crate) figures: Vec<GroupFigure>,
    pub(crate) pairs: Vec<FigurePair>,
}

/// One case with the figure of each machine.
struct Column<'f> {
    key: Key,
    figures: Vec<Option<&'f Figure>>,
}

/// Judges the figures of a group; `machines` has those of each of its machines, `None` for one
/// whose figures are not compared.
pub(crate) fn judge(machines: &[Option<&[Figure]>], host: &dyn Fn(usize) -> String) -> Judged {
    let columns = columns(machines);
    let mut judged = Judged::default();
    let experiments =
        columns.chunk_by(|one, other| (&one.key.0, one.key.1) == (&other.key.0, other.key.1));
    for columns_of_one in experiments {
        let readings: Vec<Vec<Option<Reading>>> = columns_of_one
            .iter()
            .map(|column| {
                column
                    .figures
                    .iter()
                    .map(|it| it.map(Figure::reading))
                    .collect()
            })
            .collect();
        let likeness = likeness(&readings, columns.len());
        let found: Vec<(&Column<'_>, Likeness)> = columns_of_one
            .iter()
            .zip(likeness)
            .filter_map(|(column, likeness)| Some((column, likeness?)))
            .collect();
        judged.figures.extend(
            found
                .iter()
                .map(|(column, likeness)| of_group(column, likeness)),
        );
        for machine in 0..machines.len() {
            judged.findings.extend(finding(&found, machine, host));
        }
        judged.pairs.extend(
            found
                .iter()
                .filter_map(|(column, _)| pair(column, columns.len(), host)),
        );
    }
    judged
}

/// The cases that at least two machines have.
fn columns<'f>(machines: &[Option<&'f [Figure]>]) -> Vec<Column<'f>> {
    let mut columns: BTreeMap<Key, Vec<Option<&Figure>>> = BTreeMap::new();
    for (machine, figures) in machines.iter().enumerate() {
        for figure in figures.iter().flat_map(|it| it.iter()) {
            let none = || vec![None; machines.len()];
            columns.entry(figure.key()).or_insert_with(none)[machine] = Some(figure);
        }
    }
    let columns = columns
        .into_iter()
        .map(|(key, figures)| Column { key, figures });
    columns
        .filter(|it| it.figures.iter().flatten().count() >= 2)
        .collect()
}

fn of_group(column: &Column<'_>, likeness: &Likeness) -> GroupFigure {
    GroupFigure {
        experiment: column.key.0.clone(),
        case: column.key.2.clone(),
        metric: column.key.1,
        machines: likeness.members as u32,
        centre: likeness.centre.exp(),
        spread: likeness.spread,
        found_from: likeness
            .limit
            .map(|limit| ((limit * likeness.spread).exp() - 1.0).max(MATTERS)),
        values: column
            .figures
            .iter()
            .map(|it| it.map(|figure| figure.value))
            .collect(),
    }
}

/// What is odd about one machine in one experiment: its case that is furthest from the group's, and
/// how many others are odd.
fn finding(
    found: &[(&Column<'_>, Likeness)],
    machine: usize,
    host: &dyn Fn(usize) -> String,
) -> Option<FleetFinding> {
    let of_machine = || {
        found
            .iter()
            .filter_map(|(column, likeness)| Some((column, likeness, column.figures[machine]?)))
    };
    let odd = of_machine().filter(|(_, likeness, figure)| is_odd(likeness, figure));
    let odd: Vec<_> = odd.collect();
    let far = |likeness: &Likeness, figure: &Figure| (figure.reading().ln - likeness.centre).abs();
    let (column, likeness, figure) = odd
        .iter()
        .max_by(|one, other| far(one.1, one.2).total_cmp(&far(other.1, other.2)))?;
    let room = likeness.limit? * likeness.spread;
    let ratio = (figure.reading().ln - likeness.centre).exp();
    let is_better_high = figure.metric.facts().better == model::Better::More;
    Some(FleetFinding {
        kind: FactKind::Figure,
        fact: format!("{}, {}", column.key.0, column.key.2),
        hosts: vec![host(machine)],
        expected: String::new(),
        having: likeness.members as u32,
        known: likeness.members as u32,
        measured: String::new(),
        figure: Some(FigureDifference {
            experiment: column.key.0.clone(),
            case: column.key.2.clone(),
            run: figure.run.clone(),
            metric: figure.metric,
            expected: likeness.centre.exp(),
            expected_low: (likeness.centre - room).exp(),
            expected_high: (likeness.centre + room).exp(),
            measured: figure.value,
            measured_low: figure.interval.map(|it| it.low),
            measured_high: figure.interval.map(|it| it.high),
            ratio,
            is_worse: (ratio < 1.0) == is_better_high,
            cases_differing: odd.len() as u32,
            cases: of_machine().count() as u32,
        }),
    })
}

fn is_odd(likeness: &Likeness, figure: &Figure) -> bool {
    let reading = figure.reading();
    likeness.is_odd(reading) && (reading.ln - likeness.centre).abs() >= (1.0 + MATTERS).ln()
}

/// What two machines differ by, if only two have the figure, beyond the errors of both.
fn pair(column: &Column<'_>, figures: usize, host: &dyn Fn(usize) -> String) -> Option<FigurePair> {
    let known = column.figures.iter().enumerate();
    let known: Vec<(usize, &Figure)> = known.filter_map(|(at, it)| Some((at, (*it)?))).collect();
    let [(first, one), (second, other)] = known[..] else {
        return None;
    };
    // Trials too few for an interval do not tell two machines apart.
    one.interval.and(other.interval)?;
    let error = (one.error * one.error + other.error * other.error).sqrt();
    let room = error * stats::normal_limit((1.0 - CONFIDENCE) / figures as f64)?;
    let ln = (other.value / one.value).ln();
    let differs = ln.abs() > room && ln.abs() >= (1.0 + MATTERS).ln() && known.len() < MEMBERS_MIN;
    differs.then(|| FigurePair {
        experiment: column.key.0.clone(),
        case: column.key.2.clone(),
        metric: column.key.1,
        hosts: [host(first), host(second)],
        values: [one.value, other.value],
        ratio: ln.exp(),
        ratio_low: (ln - room).exp(),
        ratio_high: (ln + room).exp(),
    })
}
