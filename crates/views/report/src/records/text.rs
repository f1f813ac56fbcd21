//! A record of a running target, as text and as the document `numalab.record/1`.

use model::{ByteSize, LiveRun, RecordEnd, RecordReport, RecordedTarget, counted};
use serde::Serialize;

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::records::figures::RecordFigures;
use crate::run::figures::decimals;

/// The name of the format.
pub(crate) const RECORD_FORMAT: &str = "numalab.record/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct RecordDocument<'a> {
    /// `numalab.record/1`.
    pub format: &'static str,
    /// The id of the stored run.
    pub run: &'a str,
    /// The name the user gave it.
    pub label: Option<&'a str>,
    /// Start, RFC 3339 with offset.
    pub started_at: &'a str,
    /// `uname -n`.
    pub host: &'a str,
    /// `uname -r`.
    pub kernel: &'a str,
    /// Its fields.
    #[serde(flatten)]
    pub report: &'a RecordReport,
}

/// Returns the document of a record.
pub fn record_document<'a>(run: &'a LiveRun, report: &'a RecordReport) -> RecordDocument<'a> {
    RecordDocument {
        format: RECORD_FORMAT,
        run: &run.id,
        label: run.label.as_deref(),
        started_at: &run.started_at,
        host: &run.machine.host,
        kernel: &run.machine.kernel,
        report,
    }
}

/// Formats a record.
pub fn record_text(label: Option<&str>, report: &RecordReport, options: &TextOptions) -> String {
    let named = label.map_or(String::new(), |label| format!(", {}", plain(label)));
    let mut text = options.heading(&format!("Record of {}{named}", plain(&report.target)));
    let figures = RecordFigures::of(report);
    let mut facts = vec![
        (
            "work",
            figures
                .rate
                .map(|rate| format!("{} {}s per second", decimals(rate, 1), report.unit)),
        ),
        (
            "CPU time",
            figures
                .cost_s
                .map(|cost| format!("{} per {}", duration(cost), report.unit)),
        ),
        (
            "mix",
            figures
                .mix
                .zip(report.mix_unit.as_deref())
                .map(|(mix, unit)| {
                    format!("{} {} per {}", decimals(mix, 1), plain(unit), report.unit)
                }),
        ),
        ("CPUs used", figures.cpus.map(|cpus| decimals(cpus, 2))),
        (
            "by others",
            figures.others_cpus.map(|cpus| decimals(cpus, 2)),
        ),
        ("memory", Some(places(&report.begin))),
    ];
    if let Some(finish) = report
        .finish
        .as_ref()
        .filter(|it| places(it) != places(&report.begin))
    {
        facts.push(("at the end", Some(places(finish))));
    }
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&options.paragraph("", &format!("{name:<10} {value}"), Style::Usual));
        }
    }
    text.push('\n');
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    say(
        &ended(report),
        if report.end == RecordEnd::TimeOver {
            Style::Usual
        } else {
            Style::Care
        },
    );
    report
        .notes
        .iter()
        .for_each(|note| say(&plain(note), Style::Care));
    text
}

/// `1.25 µs`.
fn duration(seconds: f64) -> String {
    let (factor, unit) = match seconds {
        _ if seconds < 1e-6 => (1e9, "ns"),
        _ if seconds < 1e-3 => (1e6, "µs"),
        _ if seconds < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", decimals(seconds * factor, 2))
}

/// Where its memory lies.
pub(crate) fn places(target: &RecordedTarget) -> String {
    let nodes = target.bytes_by_node.iter().filter(|(_, bytes)| **bytes > 0);
    let nodes: Vec<String> = nodes
        .map(|(node, bytes)| format!("{} on node {node}", ByteSize(*bytes)))
        .collect();
    match nodes.is_empty() {
        true => "unknown".to_owned(),
        false => nodes.join(", "),
    }
}

fn ended(report: &RecordReport) -> String {
    let windows = counted(report.windows.len() as u64, "window");
    let void = report.windows.iter().filter(|it| it.void.is_some()).count();
    let still = report
        .windows
        .iter()
        .filter(|it| it.work == Some(0))
        .count();
    let mut said = format!("{windows} of {:.0} s", report.window_s);
    if void > 0 {
        said.push_str(&format!(", of which {void} do not count"));
    }
    if still > 0 {
        said.push_str(&format!(", in {still} of which nothing was done"));
    }
    let why = match report.end {
        RecordEnd::Unfinished => "it goes on, or numalab was killed",
        RecordEnd::TimeOver => return said,
        RecordEnd::NoCounter => "no window counted",
        RecordEnd::Changed => "it was changed meanwhile",
        RecordEnd::TargetEnded => "the target ended",
        RecordEnd::Interrupted => "interrupted",
    };
    let because = match &report.end_because {
        Some(because) if report.end != RecordEnd::Interrupted => format!(" ({})", plain(because)),
        _ => String::new(),
    };
    let (seconds, asked) = (report.seconds, report.seconds_asked);
    format!("{said}; ended after {seconds:.0} of {asked:.0} s: {why}{because}")
}
