//! What could not run: one line for all cases and experiments with the same reason.

use unicode_width::UnicodeWidthStr;

use crate::form::plain::plain_within;
use crate::form::style::TextOptions;

/// Maximum width of a reason, in columns.
const REASON_COLUMNS: usize = 60;
/// Minimum width of the names, in columns.
const NAMES_COLUMNS: usize = 16;

/// A case or an experiment that did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl NotRun {
    /// Creates an entry from a reason as planned or stored: the decisive case may precede it, and
    /// advice follows a semicolon. Both are dropped, as a line has no room for them.
    pub fn new(name: &str, reason: &str) -> Self {
        let reason = reason.split("; ").next().unwrap_or(reason);
        let of_case = reason
            .strip_prefix("case ")
            .and_then(|it| it.split_once(": "));
        let reason = of_case.map_or(reason, |(_, reason)| reason);
        NotRun {
            name: name.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// Returns the table in at most `most` lines, starting with an empty one; rows that do not fit are
/// counted.
pub(crate) fn not_run_lines(not_run: &[NotRun], options: &TextOptions, most: usize) -> Vec<String> {
    let reasons = options.columns().saturating_sub(NAMES_COLUMNS + 4);
    let groups = groups(not_run, reasons.min(REASON_COLUMNS));
    // An empty line and the title.
    let rows = most.saturating_sub(2);
    if groups.is_empty() || rows == 0 {
        return Vec::new();
    }
    let shown = match groups.len() > rows {
        true => rows - 1,
        false => groups.len(),
    };
    let (shown, hidden) = groups.split_at(shown);
    let widest = shown.iter().map(|(reason, _)| reason.width()).max();
    let widest = widest.unwrap_or(0);
    let room = options.columns().saturating_sub(widest + 4);
    let room = room.max(NAMES_COLUMNS);
    let names: Vec<String> = shown
        .iter()
        .map(|(_, names)| fitting(names, room))
        .collect();
    let columns = names.iter().map(|it| it.width()).max().unwrap_or(0);
    let mut lines = vec![
        String::new(),
        options.heading("Not run").trim_end().to_owned(),
    ];
    for ((reason, _), names) in shown.iter().zip(&names) {
        let pad = " ".repeat(columns.saturating_sub(names.width()));
        lines.push(format!("  {names}{pad}  {reason}"));
    }
    if !hidden.is_empty() {
        let hidden: usize = hidden.iter().map(|(_, names)| names.len()).sum();
        lines.push(format!("  and {hidden} more: numalab list"));
    }
    lines
}

/// Groups names by reason, truncated to `columns`, in order of first appearance.
fn groups(not_run: &[NotRun], columns: usize) -> Vec<(String, Vec<&str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for it in not_run {
        let reason = plain_within(&it.reason, columns);
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&it.name),
            None => groups.push((reason, vec![&it.name])),
        }
    }
    groups
}

/// Returns as many names as fit, and the number of the others.
fn fitting(names: &[&str], room: usize) -> String {
    let names: Vec<String> = names.iter().map(|it| plain_within(it, room)).collect();
    let with = |shown: usize| match names.len() - shown {
        0 => names.join(", "),
        hidden => format!("{} and {hidden} more", names[..shown].join(", ")),
    };
    let fits = (1..=names.len())
        .rev()
        .map(with)
        .find(|it| it.width() <= room);
    fits.unwrap_or_else(|| {
        let end = format!(" and {} more", names.len() - 1);
        let first = plain_within(&names[0], room.saturating_sub(end.len()).max(1));
        format!("{first}{end}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(not_run: &[(&str, &str)], most: usize) -> Vec<String> {
        let not_run: Vec<NotRun> = not_run.iter().map(|(a, b)| NotRun::new(a, b)).collect();
        not_run_lines(&not_run, &TextOptions::default(), most)
    }

    const NODES: &str = "needs 2 memory nodes (this machine has 1); try it in an emulated guest";

    #[test]
    fn one_reason_is_one_line() {
        let not_run = [
            ("local-vs-remote", NODES),
            (
                "huge-pages",
                "case huge: node 0 has no pool of 2 MiB pages; set one",
            ),
            ("numa-vs-suma", NODES),
            ("parallel-scan", NODES),
        ];
        let expected = [
            "",
            "Not run",
            "  local-vs-remote and 2 more  needs 2 memory nodes (this machine has 1)",
            "  huge-pages                  node 0 has no pool of 2 MiB pages",
        ];
        assert_eq!(shown(&not_run, 9), expected);
        let less = ["", "Not run", "  and 4 more: numalab list"];
        assert_eq!(shown(&not_run, 3), less);
        assert!(shown(&not_run, 2).is_empty());
        assert!(shown(&[], 9).is_empty());
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let long = "postgres-".repeat(9);
        let reason = "x".repeat(200);
        let not_run = [
            (long.as_str(), reason.as_str()),
            ("b", &reason),
            ("c", NODES),
        ];
        for line in shown(&not_run, 9) {
            assert!(line.width() <= 80, "{line}");
        }
    }
}
