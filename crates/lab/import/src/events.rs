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
//! Layouts differ in widths, in units (`144.2K`, `66.57ms`, `52.86 s`), in the class, which
//! Statspack lacks, and in the name of the first row, which is `CPU time` in Statspack. All of them
//! have the same order: name, waits, time, average, share. Text that went through a web page has
//! lost its columns, so rows are parsed by words and not by columns. The average includes its unit,
//! or the heading states that it is in milliseconds.

use std::ops::Range;

use linux::{Error, TextFile};
use model::{Printed, ReportEvent};

use crate::figure::{figure, is_overflow, is_time_unit, ungrouped};
use crate::html::BEHIND_FIRST;
use crate::pieces::Line;
use crate::table::{cell, columns, fits};

/// The table of top events.
#[derive(Debug, Default)]
pub(crate) struct TopEvents {
    /// The row of CPU time.
    pub(crate) cpu: Option<Row>,
    /// The other rows, in the order of the report.
    pub(crate) waits: Vec<Row>,
}

/// A row, with the figures that only serve to check others.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) event: ReportEvent,
    pub(crate) waits: Option<Printed>,
    pub(crate) average_s: Option<Printed>,
}

/// The row of CPU time in AWR.
const CPU_ROW: &str = "DB CPU";
/// The same in Statspack, where shares are of CPU time plus waits, not of DB time.
const CPU_ROW_OF_STATSPACK: &str = "CPU time";

impl TopEvents {
    /// Whether the table is Statspack's, whatever its title says.
    pub(crate) fn is_of_statspack(&self) -> bool {
        let cpu = self.cpu.as_ref();
        cpu.is_some_and(|row| row.event.name == CPU_ROW_OF_STATSPACK)
    }
}

/// Reads the first table of events; empty if there is none.
///
/// # Errors
/// When a row lacks figures it should have.
pub(crate) fn read(file: &TextFile, lines: &[Line<'_>]) -> Result<TopEvents, Error> {
    let mut top = TopEvents::default();
    let Some(heading) = lines.iter().position(|(_, line)| is_heading(line)) else {
        return Ok(top);
    };
    let headings = &lines[heading.saturating_sub(HEADING_LINES - 1)..=heading];
    let is_in_ms = headings.iter().any(|(_, line)| line.contains("(ms)"));
    let rows = &lines[heading + 1..];
    let underline = rows
        .first()
        .map(|(_, line)| columns(line))
        .unwrap_or_default();
    let begin = rows.iter().position(|(_, line)| !is_underline(line));
    let rows = &rows[begin.unwrap_or(rows.len())..];
    for (index, (number, line)) in rows.iter().enumerate() {
        let below = rows.get(index + 1).map_or("", |(_, line)| line);
        if ends(line, below) {
            break;
        }
        if is_ellipsis(line) {
            continue;
        }
        let row = row(file, *number, line, is_in_ms, &underline)?;
        if [CPU_ROW, CPU_ROW_OF_STATSPACK].contains(&row.event.name.as_str()) {
            top.cpu.get_or_insert(row);
        } else {
            top.waits.push(row);
        }
    }
    Ok(top)
}

/// Lines of a multi-line heading; the last has the names of all columns.
const HEADING_LINES: usize = 3;

/// `Event   Waits   Time (sec) …`. The tables of all foreground and background events, which follow
/// later, have the share of waits that timed out behind the waits: `Event   Waits -outs …`.
fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_of_events = words.next() == Some("Event") && words.next() == Some("Waits");
    is_of_events && !words.any(|word| word == "-outs")
}

fn is_underline(line: &str) -> bool {
    let trimmed = line.trim();
    !trimmed.is_empty()
        && trimmed
            .chars()
            .all(|letter| letter == '-' || letter.is_whitespace())
}

/// An empty line ends the table, as do the line of dashes below it, a note, and the title of the
/// next table, which release 11.2 prints without an empty line before it:
///
/// ```text
/// resmgr:cpu quantum                   16,005       1,065     67   39.4 Scheduler
/// Host CPU (CPUs:  160 Cores:   80 Sockets:    8)
/// ~~~~~~~~         Load Average
/// ```
fn ends(line: &str, below: &str) -> bool {
    let is_title =
        below.trim_start().starts_with("~~") || line.trim_start().starts_with("Host CPU");
    let is_note = line.trim_start().starts_with("->");
    line.trim().is_empty() || is_underline(line) || is_title || is_note
}

/// People who quote a table put dots for omitted rows.
fn is_ellipsis(line: &str) -> bool {
    line.chars()
        .all(|letter| letter == '.' || letter.is_whitespace())
}

/// One row: the words of the name up to the first figure, the figures, the words of the class.
fn row(
    file: &TextFile,
    number: usize,
    line: &str,
    is_in_ms: bool,
    underlined: &[Range<usize>],
) -> Result<Row, Error> {
    let line = &ungrouped(line).unwrap_or_else(|| line.to_owned());
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = words.iter().take_while(|word| !is_figure(word)).count();
    let named = named.max(named_by_columns(line, underlined));
    let named = named + usize::from(has_one_more(&words[named.min(words.len())..]));
    let (name, rest) = words.split_at(named.min(words.len()));
    let (figures, class) = figures(rest);
    let expected = "an event with its waits, time, average and share of DB time, \
                    or with its time and share";
    // Without waits there is no average; the average of a few short waits may be omitted, too.
    let [waits, total, average, share] = match (name.is_empty(), figures.as_slice()) {
        (false, [total, share]) if !share.is_time => [None, Some(total), None, Some(share)],
        (false, [waits, total, average]) if average.is_time => {
            [Some(waits), Some(total), Some(average), None]
        }
        (false, [waits, total, share]) if !total.is_time => {
            [Some(waits), Some(total), None, Some(share)]
        }
        (false, [waits, total, average, share]) if !share.is_time => {
            [Some(waits), Some(total), Some(average), Some(share)]
        }
        _ => {
            let row = line.replace(BEHIND_FIRST, "");
            return Err(file.malformed(number, expected, row.trim()));
        }
    };
    let printed = |figure: Option<&Figure>| figure.and_then(|figure| figure.printed);
    let scaled = |printed: Printed, factor: f64| Printed {
        value: printed.value * factor,
        half_unit: printed.half_unit * factor,
    };
    let average_s = match average {
        Some(average) if average.is_time => average.printed,
        Some(average) if is_in_ms => average.printed.map(|ms| scaled(ms, 1e-3)),
        _ => None,
    };
    let waits = printed(waits);
    let event = ReportEvent {
        name: name.join(" "),
        waits: waits.map(|waits| waits.value as u64),
        total_s: printed(total),
        share_of_db_time: printed(share).map(|percent| scaled(percent, 1e-2)),
        class: (!class.is_empty()).then(|| class.join(" ")),
    };
    Ok(Row {
        event,
        waits,
        average_s,
    })
}

/// The words in the cell or the column of names, if the row has one: an event may be called
/// `events in waitclass 2`.
fn named_by_columns(line: &str, underlined: &[Range<usize>]) -> usize {
    if let Some((name, _)) = line.split_once(BEHIND_FIRST) {
        return name.split_whitespace().count();
    }
    match underlined {
        // A row without columns is shorter than they are.
        [names, _, _, average, ..]
            if line.trim_end().chars().count() > average.start && fits(line, underlined) =>
        {
            cell(line, names).split_whitespace().count()
        }
        _ => 0,
    }
}

/// Whether a figure too many follows the name of an event, which then is its last word: waits,
/// time, average and share are all there are. Three digits behind it may be a group of it.
fn has_one_more(words: &[&str]) -> bool {
    let (figures, _) = figures(words);
    let is_whole = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let may_be_group = words.get(1).is_some_and(|it| it.len() == 3 && is_whole(it));
    figures.len() == 5 && is_whole(words[0]) && !may_be_group
}

/// A figure of a row; `None` where it was too wide for its column.
struct Figure {
    printed: Option<Printed>,
    /// Whether it has a unit of time.
    is_time: bool,
}

fn is_figure(word: &str) -> bool {
    figure(word).is_some() || is_overflow(word)
}

/// The leading figures of a list of words, and the remaining words. A unit of time may be separated
/// from its figure.
fn figures<'w, 't>(words: &'w [&'t str]) -> (Vec<Figure>, &'w [&'t str]) {
    let mut found: Vec<Figure> = Vec::new();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        let unit = behind.first().filter(|unit| is_time_unit(unit));
        let (text, behind) = match unit {
            Some(unit) => (format!("{word}{unit}"), &behind[1..]),
            None => ((*word).to_owned(), behind),
        };
        if !is_figure(word) {
            break;
        }
        found.push(Figure {
            printed: figure(&text),
            is_time: text.ends_with('s'),
        });
        rest = behind;
    }
    (found, rest)
}
