//! The time model of a report, which has more digits than its load profile.
//!
//! ```text
//! Statistic Name                                       Time (s) % of DB Time
//! ------------------------------------------ ------------------ ------------
//! sql execute elapsed time                              2,704.0        100.0
//! DB CPU                                                1,627.8         60.2
//! DB time                                               2,704.1
//! ```

use linux::{Error, TextFile};
use model::Printed;

use crate::figure::{figure, is_overflow, ungrouped};
use crate::pieces::Line;

/// Times within the interval.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) db_time_s: Option<Printed>,
    pub(crate) db_cpu_s: Option<Printed>,
}

/// Reads the time model; empty if there is none.
///
/// # Errors
/// When one of the rows that it reads lacks its figure.
pub(crate) fn read(file: &TextFile, lines: &[Line<'_>]) -> Result<Times, Error> {
    let mut times = Times::default();
    let Some(heading) = lines.iter().position(|(_, line)| is_heading(line)) else {
        return Ok(times);
    };
    for (number, line) in &lines[heading + 1..] {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            break;
        }
        for (name, field) in [
            ("DB CPU ", &mut times.db_cpu_s),
            ("DB time ", &mut times.db_time_s),
        ] {
            if let Some(rest) = trimmed.strip_prefix(name) {
                // Tables that follow without an empty line have rows with the same names.
                if field.is_none() {
                    *field = seconds(file, *number, name.trim(), rest)?;
                }
            }
        }
    }
    Ok(times)
}

/// `Statistic Name   Time (s) …`, and `Statistic   Time (s) …` in Statspack.
fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("Statistic") && line.contains("Time (s)")
}

fn seconds(
    file: &TextFile,
    number: usize,
    name: &str,
    rest: &str,
) -> Result<Option<Printed>, Error> {
    let rest = ungrouped(rest).unwrap_or_else(|| rest.to_owned());
    let word = rest.split_whitespace().next().unwrap_or("");
    if is_overflow(word) {
        return Ok(None);
    }
    let expected = format!("seconds after \"{name}\"");
    let seconds = figure(word).ok_or_else(|| file.malformed(number, expected, rest.trim()))?;
    Ok(Some(seconds))
}
