//! A run as Markdown (CommonMark with tables, as GitHub and GitLab show them), for a ticket.

use model::Run;

use crate::form::plain::markdown;
use crate::run::view::run_view;

/// Formats a run.
pub fn run_markdown(run: &Run) -> String {
    let view = run_view(run);
    let mut text = format!(
        "## {}\n\n**{}**\n\n",
        markdown(&view.question),
        markdown(&view.verdict)
    );
    for warning in &view.warnings {
        text.push_str(&format!("> **warning:** {}\n\n", markdown(warning)));
    }
    if !view.cases.is_empty() {
        text.push_str(&view.table().markdown());
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
            text.push_str(&format!("- {name}: {}\n", markdown(value)));
        }
    }
    text
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let lines = lines.map(|line| format!("- {}\n", markdown(&line)));
    match lines.collect::<String>() {
        lines if lines.is_empty() => lines,
        lines => format!("{title}:\n\n{lines}\n"),
    }
}
