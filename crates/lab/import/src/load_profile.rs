//! The load profile: rates per second.
//!
//! ```text
//! Load Profile                    Per Second   Per Transaction  Per Exec  Per Call
//! ~~~~~~~~~~~~~~~            ---------------   --------------- --------- ---------
//!              DB Time(s):               8.9              58.8      0.00      3.66
//!               DB CPU(s):               8.9              58.7      0.00      3.65
//!   Logical read (blocks):       6,323,758.9      41,668,897.2
//! ```
//!
//! Up to release 11 the last row is called `Logical reads:`.

use linux::{Error, TextFile};
use model::{LoadProfile, Printed};

use crate::figure::{figure, is_overflow, ungrouped};
use crate::pieces::Line;

/// The rows that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    DbTime,
    DbCpu,
    LogicalReads,
    PhysicalReads,
}

/// The labels of the rows in the known layouts.
const LABELS: [(&str, Row); 8] = [
    ("DB Time(s)", Row::DbTime),
    ("DB time(s)", Row::DbTime),
    ("DB CPU(s)", Row::DbCpu),
    ("Logical read (blocks)", Row::LogicalReads),
    ("Logical reads (blocks)", Row::LogicalReads),
    ("Logical reads", Row::LogicalReads),
    ("Physical read (blocks)", Row::PhysicalReads),
    ("Physical reads", Row::PhysicalReads),
];

/// Expectation in the error for a report without logical reads.
const EXPECTED: &str =
    "a table \"Load Profile\" with a row \"Logical read (blocks):\" or \"Logical reads:\"";

/// A row with its figures; `None` where one was too wide for its column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileRow {
    row: Row,
    /// The label in the report.
    pub(crate) label: &'static str,
    pub(crate) per_second: Option<Printed>,
    pub(crate) per_transaction: Option<Printed>,
}

/// Reads the load profile of a report; also returns its rows.
///
/// # Errors
/// When there is none, when it lacks the row of logical reads, or when a row lacks its figure.
pub(crate) fn read(
    file: &TextFile,
    lines: &[Line<'_>],
) -> Result<(LoadProfile, Vec<ProfileRow>), Error> {
    let is_heading = |(_, line): &Line<'_>| line.trim_start().starts_with("Load Profile");
    let mut headings = (0..lines.len()).filter(|at| is_heading(&lines[*at]));
    let begin = headings.next().ok_or_else(|| missing(file, lines))?;
    let is_row = |(_, line): &Line<'_>| labelled(line).is_some();
    let rows = lines[begin..].iter().position(is_row);
    // A page has its title twice before its first row.
    let first_row = begin + rows.unwrap_or(0);
    let others: Vec<usize> = headings.filter(|at| *at > first_row).collect();
    let end = others.first().copied().unwrap_or(lines.len());
    let mut found: Vec<ProfileRow> = Vec::new();
    for (number, line) in &lines[begin..end] {
        let Some(row) = profile_row(file, *number, line)? else {
            continue;
        };
        // Later tables have rows with the same names.
        if found.iter().all(|known| known.row != row.row) {
            found.push(row);
        }
    }
    for other in others {
        check_same(file, &found, lines[begin].0, &lines[other..])?;
    }
    let of = |row: Row| found.iter().find(|known| known.row == row)?.per_second;
    let profile = LoadProfile {
        db_time_per_s: of(Row::DbTime),
        db_cpu_per_s: of(Row::DbCpu),
        logical_reads_per_s: of(Row::LogicalReads).ok_or_else(|| missing(file, lines))?,
        physical_reads_per_s: of(Row::PhysicalReads),
    };
    Ok((profile, found))
}

/// Refuses a second load profile whose figures differ from the first: nothing tells which one is
/// the report's.
fn check_same(
    file: &TextFile,
    found: &[ProfileRow],
    first: usize,
    lines: &[Line<'_>],
) -> Result<(), Error> {
    let table = lines[1..].iter();
    let table = table.skip_while(|(_, line)| labelled(line).is_none());
    for (number, line) in table.take_while(|(_, line)| !line.trim().is_empty()) {
        let Some(row) = profile_row(file, *number, line)? else {
            continue;
        };
        let known = found.iter().find(|known| known.row == row.row);
        if known.is_none_or(|known| known.per_second != row.per_second) {
            let expected = "one load profile in a report";
            let found = format!("one that differs from that on line {first}");
            return Err(file.unexpected(*number, expected, found));
        }
    }
    Ok(())
}

/// The row on a line, if it is one that is read.
fn profile_row(file: &TextFile, number: usize, line: &str) -> Result<Option<ProfileRow>, Error> {
    let Some((label, row, rest)) = labelled(line) else {
        return Ok(None);
    };
    let expected =
        "figures in columns that at least two blanks separate, where blanks group digits";
    let rest = ungrouped(rest).ok_or_else(|| file.malformed(number, expected, rest.trim()))?;
    Ok(Some(ProfileRow {
        row,
        label,
        per_second: per_second(file, number, &rest)?,
        per_transaction: rest.split_whitespace().nth(1).and_then(figure),
    }))
}

/// The row on a line, with its label and the text after it.
fn labelled(line: &str) -> Option<(&'static str, Row, &str)> {
    let (label, rest) = line.split_once(':')?;
    let label = label.trim();
    let known = LABELS.iter().find(|(known, _)| *known == label);
    known.map(|(label, row)| (*label, *row, rest))
}

/// The first figure of a row; `None` where it was too wide for its column.
fn per_second(file: &TextFile, number: usize, rest: &str) -> Result<Option<Printed>, Error> {
    let word = rest.split_whitespace().next().unwrap_or("");
    if is_overflow(word) {
        return Ok(None);
    }
    let expected = "a figure per second, such as \"6,323,758.9\"";
    let printed = figure(word).ok_or_else(|| file.malformed(number, expected, rest.trim()))?;
    Ok(Some(printed))
}

/// The error at the last line of a report that lacks its logical reads.
fn missing(file: &TextFile, lines: &[Line<'_>]) -> Error {
    let last = lines.last().map_or(1, |(number, _)| *number);
    file.unexpected(last, EXPECTED, "the end of the report")
}
