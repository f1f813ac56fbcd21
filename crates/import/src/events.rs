//! The events that took the most time.
//!
//! ```text
//!                                            Total Wait       Wait   % DB Wait
//! Event                                Waits Time (sec)    Avg(ms)   time Class
//! ------------------------------ ----------- ---------- ---------- ------ --------
//! DB CPU                                         1638.6              60.6
//! resmgr:cpu quantum                  16,005     1065.4      66.57   39.4 Schedule
//! ```
//!
//! Layouts differ in widths, in units (`144.2K`, `66.57ms`), in the class, which Statspack has
//! not, and in the name of the first row, which is `CPU time` in Statspack. What stands in all of
//! them is the order: name, waits, time, average, share. Text that went through a web page has
//! lost its columns, so rows are read by words and not by columns.

use linux::{Error, TextFile};
use model::{Printed, ReportEvent};

use crate::figure::{figure, is_overflow};
use crate::pieces::Line;

/// What the top events say.
#[derive(Debug, Default)]
pub(crate) struct TopEvents {
    /// The row of CPU time.
    pub(crate) cpu: Option<ReportEvent>,
    /// The others, in the order of the report.
    pub(crate) waits: Vec<ReportEvent>,
}

/// Names of the row of CPU time.
const CPU_ROWS: [&str; 2] = ["DB CPU", "CPU time"];

/// Reads the first table of events; none is no error.
///
/// # Errors
/// When a row of it has not the figures it should have.
pub(crate) fn read(file: &TextFile, lines: &[Line<'_>]) -> Result<TopEvents, Error> {
    let mut top = TopEvents::default();
    let Some(heading) = lines.iter().position(|(_, line)| is_heading(line)) else {
        return Ok(top);
    };
    let rows = lines[heading + 1..].iter();
    let mut rows = rows.skip_while(|(_, line)| is_underline(line)).peekable();
    while let Some((number, line)) = rows.next_if(|(_, line)| !ends(line)) {
        if is_ellipsis(line) {
            continue;
        }
        let event = row(file, *number, line)?;
        if CPU_ROWS.contains(&event.name.as_str()) {
            top.cpu.get_or_insert(event);
        } else {
            top.waits.push(event);
        }
    }
    Ok(top)
}

/// `Event   Waits   Time (sec) …`.
fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("Event") && words.next() == Some("Waits")
}

fn is_underline(line: &str) -> bool {
    let trimmed = line.trim();
    !trimmed.is_empty()
        && trimmed
            .chars()
            .all(|letter| letter == '-' || letter.is_whitespace())
}

/// An empty line ends the table, and so does the line of dashes below it.
fn ends(line: &str) -> bool {
    line.trim().is_empty() || is_underline(line)
}

/// Whoever quotes a table puts dots for the rows that are left out.
fn is_ellipsis(line: &str) -> bool {
    line.chars()
        .all(|letter| letter == '.' || letter.is_whitespace())
}

/// One row: the words of the name up to the first figure, the figures, the words of the class.
fn row(file: &TextFile, number: usize, line: &str) -> Result<ReportEvent, Error> {
    let is_figure = |word: &&str| figure(word).is_some() || is_overflow(word);
    let words: Vec<&str> = line.split_whitespace().collect();
    let name: Vec<&str> = words
        .iter()
        .copied()
        .take_while(|word| !is_figure(word))
        .collect();
    let figures = words[name.len()..].iter().copied();
    let figures: Vec<&str> = figures.take_while(is_figure).collect();
    let class = words[name.len() + figures.len()..].join(" ");
    let expected = "an event with its waits, time, average and share of DB time, \
                    or with its time and share";
    // Without waits there is no average; the average of a few short waits may be left out too.
    let (waits, total, share) = match (name.is_empty(), figures.as_slice()) {
        (false, [total, share]) => (None, *total, *share),
        (false, [waits, total, share]) => (Some(*waits), *total, *share),
        (false, [waits, total, _, share]) => (Some(*waits), *total, *share),
        _ => return Err(file.malformed(number, expected, line.trim())),
    };
    Ok(ReportEvent {
        name: name.join(" "),
        waits: waits.and_then(figure).map(|waits| waits.value as u64),
        total_s: figure(total),
        share_of_db_time: figure(share).map(|percent| Printed {
            value: percent.value / 100.0,
            half_unit: percent.half_unit / 100.0,
        }),
        class: (!class.is_empty()).then_some(class),
    })
}
