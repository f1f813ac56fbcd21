//! Splits a file into the lines of its reports.
//!
//! A file may contain several consecutive reports, each with its title. It may also contain the
//! rows of several runs side by side, each after the number of its run, as article 000 prints them:
//!
//! ```text
//! Run 1:  Logical read (blocks):          4,551,737.9      52,878,393.1
//! Run 2:  Logical read (blocks):          4,685,712.3      18,984,632.1
//! Run 1: DB CPU 1420.7 97.7 Run 2: DB CPU 1432.6 99.0
//! ```

use std::collections::BTreeSet;

use linux::{Error, TextFile};
use model::{ReportKind, counted};

/// A line of a file with its number, from 1.
pub(crate) type Line<'t> = (usize, &'t str);

/// The lines of one report.
#[derive(Debug, Clone)]
pub(crate) struct Piece<'t> {
    /// Its kind, by its title.
    pub(crate) kind: ReportKind,
    /// Its lines.
    pub(crate) lines: Vec<Line<'t>>,
}

/// Titles of reports that do not cover a single instance over a single interval, with descriptions.
const OTHER_REPORTS: [(&str, &str); 6] = [
    ("WORKLOAD REPOSITORY COMPARE", "a comparison of two periods"),
    ("WORKLOAD REPOSITORY REPORT (RAC)", REPORT_OF_CLUSTER),
    ("DATABASE INSTANCES INCLUDED IN REPORT", REPORT_OF_CLUSTER),
    ("WORKLOAD REPOSITORY SQL", "a report of one statement"),
    ("WORKLOAD REPOSITORY DIFF", "a comparison of two periods"),
    ("STATSPACK SQL", "a report of one statement"),
];

/// Its figures are sums over the instances or rows for each of them.
const REPORT_OF_CLUSTER: &str = "a report of all instances of a cluster (awrgrpt.sql); take the \
                                 report of one instance (awrrpt.sql)";

/// The most runs side by side in a report: each gets a copy of all shared lines.
const RUNS_MAX: usize = 100;

/// The most lines of a report with runs side by side: an excerpt of an article, not a whole report.
const LINES_MAX: usize = 10_000;

/// The description of readable reports in errors.
pub(crate) const EXPECTED_REPORT: &str =
    "an AWR report of one instance (awrrpt.sql), or a Statspack report";

/// Splits the lines of a file into its reports.
///
/// # Errors
/// When there are none, or when they are a report of another kind.
pub(crate) fn pieces<'t>(file: &TextFile, lines: &[Line<'t>]) -> Result<Vec<Piece<'t>>, Error> {
    refuse_others(file, lines)?;
    let mut reports: Vec<Piece<'_>> = Vec::new();
    let mut current = Piece {
        kind: ReportKind::Excerpt,
        lines: Vec::new(),
    };
    for (number, line) in lines {
        if let Some(kind) = title(line) {
            let begun = Piece {
                kind,
                lines: Vec::new(),
            };
            reports.push(std::mem::replace(&mut current, begun));
        }
        current.lines.push((*number, line));
    }
    reports.push(current);
    // Text before the first title is commentary.
    if reports.len() > 1 {
        reports.remove(0);
    }
    let apart = reports.iter().map(|report| runs_apart(file, report));
    Ok(apart.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The kind of report that a title names.
fn title(line: &str) -> Option<ReportKind> {
    let line = line.trim().to_ascii_uppercase();
    match line.as_str() {
        _ if line.starts_with("WORKLOAD REPOSITORY REPORT FOR") => Some(ReportKind::Awr),
        _ if line.starts_with("WORKLOAD REPOSITORY PDB REPORT") => Some(ReportKind::Awr),
        _ if line.starts_with("STATSPACK REPORT FOR") => Some(ReportKind::Statspack),
        _ => None,
    }
}

fn refuse_others(file: &TextFile, lines: &[Line<'_>]) -> Result<(), Error> {
    if lines.iter().all(|(_, line)| line.trim().is_empty()) {
        return Err(file.ended(EXPECTED_REPORT));
    }
    for (number, line) in lines {
        let line = line.trim().to_ascii_uppercase();
        let other = OTHER_REPORTS
            .iter()
            .find(|(start, _)| line.starts_with(start));
        if let Some((_, what)) = other {
            return Err(file.unexpected(*number, EXPECTED_REPORT, *what));
        }
    }
    Ok(())
}

/// The runs side by side in a report; the report itself if there are none.
fn runs_apart<'t>(file: &TextFile, report: &Piece<'t>) -> Result<Vec<Piece<'t>>, Error> {
    let split: Vec<(usize, Vec<Part<'_>>)> = report
        .lines
        .iter()
        .map(|(number, line)| (*number, parts(line)))
        .collect();
    let runs: BTreeSet<u32> = split
        .iter()
        .flat_map(|(_, parts)| parts.iter().filter_map(|(run, _)| *run))
        .collect();
    if runs.is_empty() {
        return Ok(vec![report.clone()]);
    }
    if runs.len() > RUNS_MAX || report.lines.len() > LINES_MAX {
        let first = report.lines.first().map_or(1, |(number, _)| *number);
        let expected = format!(
            "at most {RUNS_MAX} runs side by side, labelled \"Run 1:\" and so on, in at most \
             {LINES_MAX} lines"
        );
        let found = format!(
            "{} in {}",
            counted(runs.len(), "run"),
            counted(report.lines.len(), "line")
        );
        return Err(file.unexpected(first, expected, found));
    }
    let of_run = |run: u32| {
        let lines = split.iter().flat_map(|(number, parts)| {
            let own = parts
                .iter()
                .filter(move |(of, _)| of.is_none_or(|of| of == run));
            own.map(|(_, part)| (*number, *part))
        });
        Piece {
            kind: report.kind,
            lines: lines.collect(),
        }
    };
    Ok(runs.into_iter().map(of_run).collect())
}

/// A part of a line with the number of its run.
type Part<'t> = (Option<u32>, &'t str);

/// The parts of a line by run number; `None` marks a part that belongs to all runs.
fn parts(line: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut begin = 0;
    let mut of = None;
    for (at, _) in line.match_indices("Run ") {
        let Some((run, length)) = run_number(&line[at..]) else {
            continue;
        };
        let is_word = line[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace);
        // A number in the middle of a sentence does not start a row.
        let heads_rows = of.is_some() || line[..at].trim().is_empty();
        if !is_word || !heads_rows {
            continue;
        }
        if of.is_some() {
            parts.push((of, &line[begin..at]));
        }
        (of, begin) = (Some(run), at + length);
    }
    parts.push((of, &line[begin..]));
    parts
}

/// The number in `Run 12:` at the start of a text, and the length of this prefix.
fn run_number(text: &str) -> Option<(u32, usize)> {
    let (head, _) = text.split_once(':')?;
    let number = head.strip_prefix("Run ")?.trim().parse().ok()?;
    Some((number, head.len() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&[&str]]) {
        let file = TextFile::new("f", text);
        let found = pieces(&file, &file.lines().collect::<Vec<_>>()).unwrap();
        let found: Vec<Vec<&str>> = found
            .iter()
            .map(|piece| piece.lines.iter().map(|(_, line)| line.trim()).collect())
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_file_without_titles_is_one_report() {
        check("a\nb\n", &[&["a", "b"]]);
    }

    #[test]
    fn titles_separate_reports_and_what_stands_before_them_is_talk() {
        let one = "WORKLOAD REPOSITORY report for";
        let two = "STATSPACK report for";
        let text = format!("talk\n{one}\na\n{two}\nb");
        check(&text, &[&[one, "a"], &[two, "b"]]);
    }

    #[test]
    fn numbered_rows_belong_to_their_run_and_others_to_all() {
        check(
            "head\nRun 1: a\nRun 2: b\nRun 1: c Run 2: d\n",
            &[&["head", "a", "c"], &["head", "b", "d"]],
        );
        check("a Run 1: b\n", &[&["a Run 1: b"]]);
        check("Run x: b\nDryRun 1: c\n", &[&["Run x: b", "DryRun 1: c"]]);
    }

    #[test]
    fn other_reports_are_named() {
        let error = |text: &str| {
            let file = TextFile::new("f", text);
            let lines: Vec<Line<'_>> = file.lines().collect();
            pieces(&file, &lines).unwrap_err().to_string()
        };
        assert!(error("").ends_with("found the end of the file"));
        let runs: String = (0..101).map(|run| format!("Run {run}: a\n")).collect();
        assert!(error(&runs).ends_with("found 101 runs in 101 lines"));
        let compare = "a\nWORKLOAD REPOSITORY COMPARE PERIOD REPORT\n";
        assert!(error(compare).contains("line 2"));
        assert!(error(compare).ends_with("found a comparison of two periods"));
        let cluster = "WORKLOAD REPOSITORY REPORT (RAC)\nDatabase Instances Included In Report\n";
        for text in [cluster, "Database Instances Included In Report\n"] {
            assert!(error(text).contains("line 1: expected an AWR report of one instance"));
            assert!(error(text).ends_with("take the report of one instance (awrrpt.sql)"));
        }
    }
}
