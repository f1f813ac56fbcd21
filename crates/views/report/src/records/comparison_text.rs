//! Compared records as text and as the document `numalab.record-comparison/1`.

use model::{JudgedBy, counted};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::records::comparison::{FigureCompared, RecordComparison};

/// Formats compared records; `names` are those of the two sides.
pub fn record_comparison_text(
    found: &RecordComparison,
    names: [&str; 2],
    options: &TextOptions,
) -> String {
    let [first, second] = names.map(plain);
    let mut text = options.heading(&format!("{second} compared with {first}"));
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    say(
        "Not randomised: something else may have changed, too.",
        Style::Care,
    );
    match found.changed.is_empty() {
        true => say(
            "Nothing else that numalab looks at has changed.",
            Style::Usual,
        ),
        false => {
            let changed: Vec<String> = found.changed.iter().map(|it| plain(it)).collect();
            say(
                &format!("Also changed: {}.", changed.join("; ")),
                Style::Care,
            );
        }
    }
    say("", Style::Usual);
    let cost = ("work per CPU second of the target", &found.cost);
    let rate = ("work per second", &found.rate);
    let (judged, other) = match found.judged_by {
        JudgedBy::Cost => (cost, rate),
        JudgedBy::Rate => (rate, cost),
    };
    let [one, many] = [&found.runs[0], &found.runs[1]].map(|it| it.len());
    if one.max(many) > 1 {
        say(
            &format!(
                "{} against {}: each record is one value",
                counted(one as u64, "record"),
                counted(many as u64, "record")
            ),
            Style::Usual,
        );
    }
    say(
        &format!("{} ({}s): {}", judged.0, found.unit, figure(judged.1)),
        style(judged.1),
    );
    say(&format!("{}: {}", other.0, figure(other.1)), Style::Usual);
    if let Some(moved) = found.unchanged_moved {
        say(
            &format!(
                "slow noise cannot be told from an effect: with nothing changed, these records \
                 moved by up to {:.1} %",
                moved * 100.0
            ),
            Style::Usual,
        );
    }
    found
        .notes
        .iter()
        .for_each(|note| say(&plain(note), Style::Care));
    text
}

fn style(figure: &FigureCompared) -> Style {
    match figure.ratio_low.zip(figure.ratio_high) {
        Some((low, _)) if low > 1.0 => Style::Good,
        Some((_, high)) if high < 1.0 => Style::Care,
        _ => Style::Usual,
    }
}

fn figure(figure: &FigureCompared) -> String {
    let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    let why = || plain(figure.no_interval.as_deref().unwrap_or_default());
    let Some(ratio) = figure.ratio else {
        return why();
    };
    match figure.ratio_low.zip(figure.ratio_high) {
        None => format!("{} %, without an interval: {}", percent(ratio), why()),
        Some((low, high)) => {
            let differs = low > 1.0 || high < 1.0;
            let word = if differs {
                "differs"
            } else {
                "no difference shown"
            };
            let (low, high) = (percent(low), percent(high));
            format!("{} % ({low} to {high} %): {word}", percent(ratio))
        }
    }
}
