//! A run as Markdown (CommonMark with tables, as GitHub and GitLab show them), for a ticket.

use model::Run;

use crate::form::plain::plain;
use crate::run::view::{RunView, run_view};

/// Characters that mean something in Markdown or HTML.
const SPECIAL: &str = "\\`*_{}[]<>#|~&";

/// Formats a run.
pub fn run_markdown(run: &Run) -> String {
    let view = run_view(run);
    let mut text = format!(
        "## {}\n\n**{}**\n\n",
        escaped(&view.question),
        escaped(&view.verdict)
    );
    for warning in &view.warnings {
        text.push_str(&format!("> **warning:** {}\n\n", escaped(warning)));
    }
    if !view.cases.is_empty() {
        text.push_str(&table(&view));
        text.push('\n');
    }
    text.push_str(&list("Why", view.reasons.iter().cloned()));
    let skipped = view.skipped.iter();
    let skipped = skipped.map(|(case, reason)| format!("{case}: {reason}"));
    text.push_str(&list("Skipped", skipped));
    let facts = [
        ("machine", Some(&view.machine)),
        ("run", Some(&view.which)),
        ("method", view.method.as_ref()),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            text.push_str(&format!("- {name}: {}\n", escaped(value)));
        }
    }
    text
}

fn table(view: &RunView) -> String {
    let columns = view.columns();
    let heads: Vec<&String> = columns.iter().map(|(head, _)| head).collect();
    let is_words = |head: &str| head == "case" || head == "verdict" || head == view.against;
    let sides = heads.iter().map(|head| match is_words(head) {
        true => "| --- ",
        false => "| ---: ",
    });
    let mut text = format!("{}{}|\n", row(&heads), sides.collect::<String>());
    for case in &view.cases {
        let cells: Vec<&String> = columns.iter().map(|(_, cell)| cell(case)).collect();
        text.push_str(&row(&cells));
    }
    text
}

fn row(cells: &[&String]) -> String {
    let cells = cells.iter().map(|cell| escaped(cell));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let lines = lines.map(|line| format!("- {}\n", escaped(&line)));
    match lines.collect::<String>() {
        lines if lines.is_empty() => lines,
        lines => format!("{title}:\n\n{lines}\n"),
    }
}

/// Text on one line that means nothing but itself.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in plain(text).chars() {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_cannot_make_markup_or_columns() {
        assert_eq!(escaped("a|b <b>*c*\n"), "a\\|b \\<b\\>\\*c\\*\\\\u\\{a\\}");
    }
}
