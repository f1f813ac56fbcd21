//! What placements gave the load of a running target, as text and as the document `numalab.try/1`.

use model::{
    ByteSize, JudgedBy, TriedPlacement, TryEnd, TryLine, TryReport, TryVerdict, counted, shell_line,
};
use serde::Serialize;

use crate::form::advice::Advice;
use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;

/// The name of the format.
pub(crate) const TRY_FORMAT: &str = "numalab.try/1";

/// Switches of a pair on average: one in it, and one before it in half of the cases.
const SWITCHES_PER_PAIR: f64 = 1.5;

/// The document.
#[derive(Debug, Serialize)]
pub struct TryDocument<'a> {
    /// `numalab.try/1`.
    pub format: &'static str,
    /// The id of the stored run; `None` of a plan.
    pub run: Option<&'a str>,
    /// Its fields.
    #[serde(flatten)]
    pub report: &'a TryReport,
}

/// Returns the document of a session, which is stored as this run.
pub fn try_document<'a>(run: Option<&'a str>, report: &'a TryReport) -> TryDocument<'a> {
    TryDocument {
        format: TRY_FORMAT,
        run,
        report,
    }
}

/// Formats what happened in a session, with the seconds since its begin.
pub(crate) fn try_log_text(report: &TryReport) -> String {
    let line = |it: &TryLine| format!("{:8.1} s  {}\n", it.at_s, plain(&it.text));
    report.log.iter().map(line).collect()
}

/// Formats a session.
pub fn try_text(report: &TryReport, options: &TextOptions) -> String {
    let mut text = options.heading(&format!("Placements of {}", plain(&report.target)));
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    match report.end {
        TryEnd::Planned => planned(report).iter().for_each(|it| say(it, Style::Usual)),
        _ => {
            for placement in &report.placements {
                let style = match placement.verdict {
                    TryVerdict::Better => Style::Good,
                    TryVerdict::Worse | TryVerdict::Stopped => Style::Care,
                    TryVerdict::Equal | TryVerdict::Undecided => Style::Usual,
                };
                say(&sentence(report, placement), style);
            }
            say(&ended(report), Style::Usual);
            text.push('\n');
            text.push_str(&figures(report, options));
        }
    }
    let mut say = |sentence: &str| text.push_str(&options.paragraph("", sentence, Style::Usual));
    report.notes.iter().for_each(|note| say(&plain(note)));
    if let Some(advice) = next(report) {
        text.push_str(&advice.text("", Style::Care, options));
    }
    text
}

fn planned(report: &TryReport) -> Vec<String> {
    let mut lines: Vec<String> = report
        .placements
        .iter()
        .map(|placement| {
            let moved = match (placement.bytes_to_move.unwrap_or(0), placement.move_s) {
                (0, _) => "moves no memory".to_owned(),
                (bytes, None) => format!("moves {}", ByteSize(bytes)),
                (bytes, Some((least, most))) => format!(
                    "moves {}, in about {least:.1} to {most:.1} s, and as much back",
                    ByteSize(bytes)
                ),
            };
            format!("{}: a switch to it {moved}", plain(&placement.placement))
        })
        .collect();
    let pair_s = 2.0 * (report.window_s + report.lead_in_s);
    let pairs = (report.seconds_max / pair_s).floor();
    lines.push(format!(
        "with windows of {:.0} s there are at most {} in {:.0} s, with {:.0} switches there or \
         back; nothing was changed",
        report.window_s,
        counted(pairs as u64, "pair"),
        report.seconds_max,
        pairs * SWITCHES_PER_PAIR
    ));
    lines
}

/// The verdict on a placement.
fn sentence(report: &TryReport, placement: &TriedPlacement) -> String {
    let name = plain(&placement.placement);
    let by = match report.judged_by {
        JudgedBy::Cost => format!("work per CPU second of the target ({}s)", report.unit),
        JudgedBy::Rate => format!("{}s per second", report.unit),
    };
    let range = match placement.ratio_low.zip(placement.ratio_high) {
        Some((low, high)) => format!("{} to {} %", percent(low), percent(high)),
        None => "no interval yet".to_owned(),
    };
    let pairs = counted(u64::from(placement.pairs), "pair");
    let gain = report.gain * 100.0;
    match (placement.verdict, placement.ratio) {
        (TryVerdict::Stopped, _) => {
            format!("{name} was taken back at once: it was much worse for seconds")
        }
        (_, None) => format!("{name}: no pair of windows counts"),
        (TryVerdict::Better, Some(ratio)) => format!(
            "{name} is better than the current placement: {} % in {by} ({range}; {pairs})",
            percent(ratio)
        ),
        (TryVerdict::Worse, Some(ratio)) => format!(
            "{name} is worse than the current placement: {} % in {by} ({range}; {pairs})",
            percent(ratio)
        ),
        (TryVerdict::Equal, Some(_)) => format!(
            "{name} is as good as the current placement, within ± {gain:.1} % in {by} ({range}; \
             {pairs})"
        ),
        (TryVerdict::Undecided, Some(ratio)) => format!(
            "{name}: not decided, {} % in {by} ({range}; {pairs})",
            percent(ratio)
        ),
    }
}

/// `+3.1`, `-0.5`.
fn percent(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

fn ended(report: &TryReport) -> String {
    let why = match report.end {
        TryEnd::Planned | TryEnd::Decided => "every placement was judged",
        TryEnd::TimeOver => "the time was over",
        TryEnd::NoCounter => "the counter of work failed three times in a row",
        TryEnd::Vetoed => "another process changes what was tried",
        TryEnd::TargetEnded => "the target ended",
        TryEnd::Interrupted => "interrupted",
    };
    let because = match &report.end_because {
        Some(because) if report.end != TryEnd::Interrupted => format!(" ({})", plain(because)),
        _ => String::new(),
    };
    let now = match (&report.is_left, &report.is_kept) {
        (Some(left), _) => format!("not everything is as before: {}", plain(left)),
        (None, Some(kept)) => format!("{} is in force until `numalab undo`", plain(kept)),
        (None, None) => "everything is as before".to_owned(),
    };
    format!("ended after {:.0} s: {why}{because}; {now}", report.seconds)
}

/// Both figures of each placement.
fn figures(report: &TryReport, options: &TextOptions) -> String {
    let judged = |it: &TriedPlacement| (it.ratio, it.ratio_low.zip(it.ratio_high));
    let other = |it: &TriedPlacement| (it.other_ratio, it.other_low.zip(it.other_high));
    let mut table = Table::of("placement|>work per CPU time, %|>work per second, %|>pairs");
    for placement in &report.placements {
        let (cost, rate) = match report.judged_by {
            JudgedBy::Cost => (judged(placement), other(placement)),
            JudgedBy::Rate => (other(placement), judged(placement)),
        };
        let cells = [
            plain(&placement.placement),
            cell(cost),
            cell(rate),
            placement.pairs.to_string(),
        ];
        table.row(cells);
    }
    table.text(options)
}

fn cell((ratio, ends): (Option<f64>, Option<(f64, f64)>)) -> String {
    match (ratio, ends) {
        (None, _) => "-".to_owned(),
        (Some(ratio), None) => percent(ratio),
        (Some(ratio), Some((low, high))) => {
            format!("{} ({} to {})", percent(ratio), percent(low), percent(high))
        }
    }
}

/// What to do next.
fn next(report: &TryReport) -> Option<Advice> {
    let mut better = report.placements.iter();
    let better = better.find(|it| it.verdict == TryVerdict::Better)?;
    match &report.is_kept {
        Some(_) => Some(Advice::words(
            "a restart of the target loses it: docs/placing.md says how to start it so".to_owned(),
        )),
        None => {
            let why = "try it once more, and leave the better one in force:".to_owned();
            Some(Advice::paste(
                why,
                shell_line!(
                    "numalab try {} --to {} --keep",
                    report.target,
                    better.placement
                ),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdict: TryVerdict) -> TryReport {
        let placement = TriedPlacement {
            placement: "near-cpus".to_owned(),
            verdict,
            pairs: 12,
            ratio: Some(1.08),
            ratio_low: Some(1.02),
            ratio_high: Some(1.15),
            other_ratio: Some(0.99),
            ..TriedPlacement::default()
        };
        TryReport {
            target: "redis:6379".to_owned(),
            unit: "command".to_owned(),
            gain: 0.03,
            end: TryEnd::Decided,
            seconds: 320.0,
            placements: vec![placement],
            ..TryReport::default()
        }
    }

    #[test]
    fn a_verdict_has_its_figure_interval_and_pairs() {
        let options = TextOptions::default();
        let check = |report: &TryReport, expected: &str| {
            let text = try_text(report, &options);
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(line.contains(expected), "{line}");
        };
        let better = report(TryVerdict::Better);
        check(
            &better,
            "near-cpus is better than the current placement: +8.0 % in work per CPU",
        );
        check(&better, "(+2.0 to +15.0 %; 12 pairs)");
        check(
            &better,
            "ended after 320 s: every placement was judged; everything is as before",
        );
        check(&better, "numalab try redis:6379 --to near-cpus --keep");
        check(&better, "+8.0 (+2.0 to +15.0) -1.0 12");
        let kept = TryReport {
            is_kept: Some("near-cpus".to_owned()),
            ..better
        };
        check(&kept, "near-cpus is in force until `numalab undo`");
        let rate = TryReport {
            judged_by: JudgedBy::Rate,
            ..report(TryVerdict::Undecided)
        };
        check(
            &rate,
            "near-cpus: not decided, +8.0 % in commands per second",
        );
        check(
            &report(TryVerdict::Stopped),
            "near-cpus was taken back at once",
        );
    }
}
