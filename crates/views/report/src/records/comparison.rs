//! Compares records of a running target across a change that numalab did not make: by how much,
//! with what confidence, and what else was different.

use std::collections::BTreeMap;

use model::{JudgedBy, LiveMeasured, LiveRun, RecordEnd, RecordReport, counted};
use serde::Serialize;
use stats::{Difference, RecordMean, difference};

use crate::records::figures::{RecordFigures, Took, drift, mean};
use crate::records::text::places;
use verdict::CONFIDENCE;

/// A change by more than this is listed: of the load, the mix, the CPUs used.
const CHANGE_MIN: f64 = 0.05;
/// A change of a node's share of the memory.
const SHARE_MIN: f64 = 0.02;
/// A change of the CPUs that others use.
const OTHERS_MIN: f64 = 0.1;

/// Records compared. A ratio above 1 is a gain.
#[derive(Clone, Debug, Serialize)]
pub struct RecordComparison {
    /// Which figure says most of a placement.
    pub judged_by: JudgedBy,
    /// One unit of work, in the singular.
    pub unit: String,
    /// The ids of the records of each side.
    pub runs: [Vec<String>; 2],
    /// Work per CPU second of the target, second by first.
    pub cost: FigureCompared,
    /// Work per second.
    pub rate: FigureCompared,
    /// What else was different, one fragment each.
    pub changed: Vec<String>,
    /// By how much the deciding figure moved within records in which nothing was changed, as a
    /// share: the most of the halves of each, and between records of one side.
    pub unchanged_moved: Option<f64>,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// A figure of two sides.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FigureCompared {
    /// Second by first.
    pub ratio: Option<f64>,
    /// The ends of its interval.
    pub ratio_low: Option<f64>,
    /// See [`FigureCompared::ratio_low`].
    pub ratio_high: Option<f64>,
    /// Why there is no interval.
    pub no_interval: Option<String>,
}

impl RecordComparison {
    /// The figure that says most.
    pub fn judged(&self) -> &FigureCompared {
        match self.judged_by {
            JudgedBy::Cost => &self.cost,
            JudgedBy::Rate => &self.rate,
        }
    }

    /// Whether the second side is below `limit` times the first: by the whole interval, or by the
    /// ratio where there is none.
    pub fn is_below(&self, limit: f64) -> bool {
        let judged = self.judged();
        judged
            .ratio_high
            .or(judged.ratio)
            .is_some_and(|it| it < limit)
    }
}

/// Compares two sides of one or more records each.
///
/// # Errors
/// When something is no record, or what is counted is not the same.
pub fn compare_records(first: &[LiveRun], second: &[LiveRun]) -> Result<RecordComparison, String> {
    let sides = [records(first)?, records(second)?];
    let all: Vec<&RecordReport> = sides.iter().flatten().map(|it| it.1).collect();
    let unit = &all.first().ok_or("there is no record")?.unit;
    if let Some(other) = all.iter().find(|it| it.unit != *unit) {
        return Err(format!(
            "one counts {unit}s, another {}s: a unit of work is not the same",
            other.unit
        ));
    }
    // Cost holds whatever the users ask for; rate only where all of them asked for all there is.
    let is_rate = all.iter().all(|it| it.judged_by == JudgedBy::Rate);
    let (judged_by, took) = match is_rate {
        true => (JudgedBy::Rate, Took::Time),
        false => (JudgedBy::Cost, Took::CpuTime),
    };
    Ok(RecordComparison {
        judged_by,
        unit: unit.clone(),
        runs: [ids(first), ids(second)],
        cost: compared(&sides, Took::CpuTime),
        rate: compared(&sides, Took::Time),
        changed: changed(&sides, judged_by),
        unchanged_moved: unchanged_moved(&sides, took),
        notes: notes(&sides),
    })
}

type Record<'a> = (&'a LiveRun, &'a RecordReport);
type Sides<'a> = [Vec<Record<'a>>; 2];

fn records(side: &[LiveRun]) -> Result<Vec<Record<'_>>, String> {
    side.iter().map(record).collect()
}

fn record(run: &LiveRun) -> Result<Record<'_>, String> {
    match &run.measured {
        LiveMeasured::Record(report) => Ok((run, report)),
        LiveMeasured::Try(_) | LiveMeasured::Doctor(_) => {
            Err(format!("{} is no record: {}", run.id, run.title()))
        }
    }
}

fn ids(side: &[LiveRun]) -> Vec<String> {
    side.iter().map(|run| run.id.clone()).collect()
}

fn compared(sides: &Sides<'_>, took: Took) -> FigureCompared {
    let figure = |report: &RecordReport| {
        let figures = RecordFigures::of(report);
        match took {
            Took::CpuTime => figures.cost_s,
            Took::Time => figures.rate.map(|rate| 1.0 / rate),
        }
    };
    let known = |side: &[Record<'_>]| {
        let lns = side.iter().map(|it| figure(it.1).map(f64::ln));
        let lns: Vec<f64> = lns.collect::<Option<_>>()?;
        let mean = lns.iter().sum::<f64>() / lns.len() as f64;
        mean.is_finite().then_some(mean)
    };
    let ratio = known(&sides[0])
        .zip(known(&sides[1]))
        .map(|(one, other)| (one - other).exp());
    let Some(ratio) = ratio else {
        let what = match took {
            Took::CpuTime => "its CPU time or its work is unknown or 0",
            Took::Time => "its work is unknown or 0",
        };
        return FigureCompared {
            no_interval: Some(format!("a record says nothing of it: {what}")),
            ..FigureCompared::default()
        };
    };
    let means = |side: &[Record<'_>]| -> Option<Vec<RecordMean>> {
        side.iter().map(|it| mean(it.1, took)).collect()
    };
    if means_nothing(sides) {
        return FigureCompared {
            ratio: Some(ratio),
            no_interval: Some(EMULATED.to_owned()),
            ..FigureCompared::default()
        };
    }
    let found = means(&sides[0]).zip(means(&sides[1]));
    let found = found.and_then(|(one, other)| difference(&one, &other, CONFIDENCE));
    let (ends, no_interval) = match found {
        None => (
            None,
            Some("a record has fewer than 20 windows that count".to_owned()),
        ),
        Some(Difference::TooSlow(lag)) => {
            let why = format!(
                "its noise is too slow: neighbouring batches of windows correlate by {lag:.2}, \
                 so no interval would hold"
            );
            (None, Some(why))
        }
        // What a unit takes is the inverse of a gain.
        Some(Difference::Within(it)) => (Some(((-it.high).exp(), (-it.low).exp())), None),
    };
    let (ratio_low, ratio_high) = ends.unzip();
    FigureCompared {
        ratio: Some(ratio),
        ratio_low,
        ratio_high,
        no_interval,
    }
}

const EMULATED: &str = "this machine is emulated, so its figures mean nothing";

/// Whether a record is of an emulated machine, unless what reads cost there is known.
fn means_nothing(sides: &Sides<'_>) -> bool {
    let is_emulated =
        |it: &Record<'_>| it.0.machine.emulated == Some(true) && !it.1.has_emulated_cost;
    sides.iter().flatten().any(is_emulated)
}

/// By how much what nobody changed has moved.
fn unchanged_moved(sides: &Sides<'_>, took: Took) -> Option<f64> {
    let drifts = sides.iter().flatten().filter_map(|it| drift(it.1, took));
    let between = sides.iter().filter_map(|side| {
        let lns = side.iter().filter_map(|it| Some(mean(it.1, took)?.ln));
        let lns: Vec<f64> = lns.collect();
        let ends = lns
            .iter()
            .copied()
            .reduce(f64::min)
            .zip(lns.iter().copied().reduce(f64::max));
        ends.map(|(least, most)| most - least)
    });
    let moved = drifts.map(f64::abs).chain(between).reduce(f64::max)?;
    Some(moved.exp_m1())
}

/// The mean of a figure over the records of each side.
fn means(sides: &Sides<'_>, of: impl Fn(&RecordReport) -> Option<f64>) -> Option<(f64, f64)> {
    let mean = |side: &[Record<'_>]| {
        let values: Vec<f64> = side.iter().filter_map(|it| of(it.1)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    mean(&sides[0]).zip(mean(&sides[1]))
}

fn changed(sides: &Sides<'_>, judged_by: JudgedBy) -> Vec<String> {
    let mut changed = Vec::new();
    let figures = |report: &RecordReport| RecordFigures::of(report);
    let unit = &sides[0][0].1.unit;
    let mix = sides[0][0].1.mix_unit.clone().unwrap_or_default();
    let shifts = [
        // What is judged is the result, and no change beside it.
        (judged_by == JudgedBy::Cost).then(|| {
            (
                format!("load ({unit}s per second)"),
                means(sides, |it| figures(it).rate),
            )
        }),
        Some((
            format!("mix ({mix} per {unit})"),
            means(sides, |it| figures(it).mix),
        )),
        Some((
            "CPUs that it used".to_owned(),
            means(sides, |it| figures(it).cpus),
        )),
        Some((
            "bytes of memory".to_owned(),
            means(sides, |it| {
                Some(it.begin.bytes_by_node.values().sum::<u64>() as f64)
            }),
        )),
    ];
    for (name, (first, second)) in shifts
        .into_iter()
        .flatten()
        .filter_map(|(it, of)| Some((it, of?)))
    {
        let shift = second / first - 1.0;
        if shift.is_finite() && shift.abs() > CHANGE_MIN {
            changed.push(format!("{name} {:+.0} %", shift * 100.0));
        }
    }
    if let Some((first, second)) = means(sides, |it| figures(it).others_cpus)
        && (second - first).abs() > OTHERS_MIN
    {
        changed.push(format!("CPUs that others used {first:.2} → {second:.2}"));
    }
    changed.extend(places_changed(sides));
    changed.extend(words_changed(sides));
    changed
}

/// The share of its memory on each node.
fn shares(report: &RecordReport) -> BTreeMap<u32, f64> {
    let of = &report.begin.bytes_by_node;
    let all = of.values().sum::<u64>().max(1) as f64;
    of.iter()
        .map(|(node, bytes)| (node.0, *bytes as f64 / all))
        .collect()
}

fn places_changed(sides: &Sides<'_>) -> Vec<String> {
    let nodes = sides
        .iter()
        .flatten()
        .flat_map(|it| shares(it.1).into_keys());
    let mut nodes: Vec<u32> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    let share = |node: u32| {
        let share = |it: &RecordReport| Some(shares(it).get(&node).copied().unwrap_or(0.0));
        let (first, second) = means(sides, share)?;
        ((second - first).abs() > SHARE_MIN).then(|| {
            let [first, second] = [first, second].map(|it| it * 100.0);
            format!("memory on node {node} {first:.0} % → {second:.0} %")
        })
    };
    nodes.into_iter().filter_map(share).collect()
}

/// What is in words: of the last record of the first side, and of the first of the second.
fn words_changed(sides: &Sides<'_>) -> Vec<String> {
    let [Some(first), Some(second)] = [sides[0].last(), sides[1].first()] else {
        return Vec::new();
    };
    let [one, other] = [first, second].map(words);
    let names = one
        .keys()
        .chain(other.keys().filter(|name| !one.contains_key(*name)));
    let word = |of: &BTreeMap<String, String>, name: &str| {
        of.get(name)
            .cloned()
            .unwrap_or_else(|| "unknown".to_owned())
    };
    names
        .map(|name| (name, word(&one, name), word(&other, name)))
        .filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| format!("{name} {one} → {other}"))
        .collect()
}

fn words((run, report): &Record<'_>) -> BTreeMap<String, String> {
    let machine = &run.machine;
    let begin = &report.begin;
    let own = [
        ("target", report.target.clone()),
        ("metric", report.metric.clone()),
        ("processes", begin.processes.to_string()),
        ("CPUs allowed", begin.cpus.clone()),
        ("memory nodes allowed", begin.memory_nodes.clone()),
        ("huge pages", model::ByteSize(begin.huge_bytes).to_string()),
        ("host", machine.host.clone()),
        ("kernel", machine.kernel.clone()),
        ("CPU model", machine.cpu_model.clone().unwrap_or_default()),
        ("CPUs online", machine.topology.cpus.to_string()),
        ("numalab", machine.numalab.clone()),
    ];
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    let settings = report.server_settings.iter().chain(&report.kernel_settings);
    own.chain(settings.map(|(name, value)| (name.clone(), value.clone())))
        .collect()
}

fn notes(sides: &Sides<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (run, report) in sides.iter().flatten() {
        let RecordReport {
            seconds,
            seconds_asked,
            ..
        } = report;
        if report.end != RecordEnd::TimeOver {
            notes.push(format!(
                "{} ended early, after {seconds:.0} of {seconds_asked:.0} s",
                run.id
            ));
        }
        let finish = report.finish.as_ref().map(places);
        let begin = places(&report.begin);
        if let Some(finish) = finish.filter(|it| *it != begin) {
            notes.push(format!(
                "memory moved while {} was recorded: {begin}; then {finish}",
                run.id
            ));
        }
        let void = report.windows.iter().filter(|it| it.void.is_some()).count();
        if void > 0 {
            notes.push(format!(
                "of {}, {} left out",
                run.id,
                counted(void as u64, "window")
            ));
        }
    }
    if sides.iter().flatten().any(|it| it.1.has_emulated_cost) {
        let note = "emulated cost: what a read costs is read from a table, so the figures say \
                    nothing about hardware";
        notes.push(note.to_owned());
    }
    let rates = sides
        .iter()
        .flatten()
        .filter(|it| it.1.judged_by == JudgedBy::Rate)
        .count();
    if rates > 0 && rates < sides.iter().flatten().count() {
        let note = "the target was saturated in a part of the records only, so its CPU time per \
                    unit of work decides";
        notes.push(note.to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
