//! What doses say of placements, as text and as the document `numalab.dose/1`.

use model::{DosePrediction, DoseReport, counted, shell_line};

use crate::form::advice::Advice;
use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;

/// The widest name of a placement.
const NAME_COLUMNS: usize = 27;

/// Formats what doses say.
pub fn dose_text(report: &DoseReport, options: &TextOptions) -> String {
    let target = plain(&report.target);
    let mut text = options.heading(&format!("Placements of {target}, predicted from doses"));
    text.push_str(&doses(report).text(options));
    text.push('\n');
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    match &report.refused {
        Some(why) => {
            say(&format!("No prediction: {why}."), Style::Care);
            if let Some(excluded) = excluded(report) {
                say(&excluded, Style::Usual);
            }
        }
        None => {
            let line = format!(
                "CPU time per {} by how far its memory is, from {} of windows; the interval \
                 holds noise, and a tenth of what is predicted beyond the doses:",
                report.unit,
                counted(u64::from(report.blocks), "block")
            );
            say(&line, Style::Usual);
            text.push('\n');
            text.push_str(&predictions(report).text(options));
        }
    }
    text.push('\n');
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    let now = match &report.is_left {
        Some(left) => format!("not everything is as before: {}", plain(left)),
        None => "everything is as before".to_owned(),
    };
    say(
        &format!("ended after {:.0} s; {now}", report.seconds),
        Style::Usual,
    );
    report
        .notes
        .iter()
        .for_each(|note| say(&plain(note), Style::Care));
    if let Some(advice) = next(report) {
        text.push_str(&advice.text("", Style::Usual, options));
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn doses(report: &DoseReport) -> Table {
    let mut table = Table::of("dose|>distance|>CPU time");
    for dose in &report.doses {
        let change = dose.cpu_time_change.map_or("-".to_owned(), percent);
        let cells = [plain(&dose.name), format!("{:+.3}", dose.distance), change];
        table.row(cells);
    }
    table
}

fn predictions(report: &DoseReport) -> Table {
    let mut table = Table::of("placement|>remote|>CPU time|>interval");
    for placement in &report.placements {
        let ends = placement.low.zip(placement.high);
        let interval = ends.map_or("-".to_owned(), |(low, high)| {
            format!("{} to {}", percent(low), percent(high))
        });
        let cells = [
            plain_within(&placement.placement, NAME_COLUMNS),
            format!("{:.0} %", placement.after.remote_share * 100.0),
            placement.cpu_time_change.map_or("-".to_owned(), percent),
            interval,
        ];
        table.row(cells);
    }
    table
}

/// How much is excluded where nothing is predicted.
fn excluded(report: &DoseReport) -> Option<String> {
    let end = |it: &DosePrediction| Some(it.low?.abs().max(it.high?.abs()));
    let most = report
        .placements
        .iter()
        .filter_map(|it| Some((it, end(it)?)));
    let (placement, end) = most.max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "A change of CPU time by more than {:.0} % is excluded for {}, and for the others.",
        end * 100.0,
        plain(&placement.placement)
    ))
}

/// What to do next: the best placement, measured.
fn next(report: &DoseReport) -> Option<Advice> {
    let better = report
        .placements
        .iter()
        .filter(|it| it.high.is_some_and(|high| high < 0.0));
    let better = better.filter(|it| it.cpu_time_change.is_some());
    let best = better.min_by(|one, other| {
        let change = |it: &DosePrediction| it.cpu_time_change.unwrap_or(0.0);
        change(one).total_cmp(&change(other))
    })?;
    Some(Advice::paste(
        "to measure what it gives:",
        shell_line!("numalab try {} --to {}", report.target, best.placement),
    ))
}

#[cfg(test)]
mod tests {
    use model::MemoryFigures;

    use super::*;

    fn report(refused: Option<&str>) -> DoseReport {
        let placement = DosePrediction {
            placement: "near-cpus".to_owned(),
            after: MemoryFigures::default(),
            cpu_time_change: refused.is_none().then_some(-0.4),
            low: Some(-0.5),
            high: Some(-0.3),
        };
        DoseReport {
            target: "redis:6379".to_owned(),
            unit: "command".to_owned(),
            blocks: 12,
            refused: refused.map(str::to_owned),
            placements: vec![placement],
            seconds: 600.0,
            ..DoseReport::default()
        }
    }

    #[test]
    fn a_prediction_has_its_interval_and_a_refusal_what_it_excludes() {
        let said = |report: &DoseReport| {
            let text = dose_text(report, &TextOptions::default());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let text = said(&report(None));
        for expected in [
            "near-cpus 0 % -40.0 % -50.0 % to -30.0 %",
            "from 12 blocks of windows",
            "everything is as before",
            "numalab try redis:6379 --to near-cpus",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let text = said(&report(Some("the doses show nothing above noise")));
        assert!(
            text.contains("No prediction: the doses show nothing above noise."),
            "{text}"
        );
        assert!(
            text.contains("by more than 50 % is excluded for near-cpus"),
            "{text}"
        );
        assert!(!text.contains("numalab try"), "{text}");
    }
}
