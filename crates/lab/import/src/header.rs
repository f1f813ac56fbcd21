//! The head of a report: the database, the host and the interval.
//!
//! ```text
//! Host Name        Platform                         CPUs Cores Sockets Memory(GB)
//! ---------------- -------------------------------- ---- ----- ------- ----------
//! dbserver         Linux x86 64-bit                  160    80       8    1009.30
//!
//! Begin Snap:      1234 01-Jan-15 10:00:12        45       1.2
//!   End Snap:      1235 01-Jan-15 10:05:15        46       1.3
//!    Elapsed:                5.05 (mins)
//!    DB Time:               45.08 (mins)
//! ```
//!
//! Statspack has `DB CPU: 27.30 (mins)` after the DB time.

use linux::{Error, TextFile};
use model::{Printed, ReportHost, ReportInterval};

use crate::figure::{figure, is_overflow, ungrouped};
use crate::pieces::Line;
use crate::table::first_rows;

/// The contents of a report's head.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) database: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) release: Option<String>,
    pub(crate) host: ReportHost,
    pub(crate) interval: ReportInterval,
    /// What was found and could not be read.
    pub(crate) remarks: Vec<String>,
    pub(crate) db_time_s: Option<Printed>,
    pub(crate) db_cpu_s: Option<Printed>,
}

/// Reads the head; missing values stay unknown.
///
/// # Errors
/// When a row is present but its figure is missing.
pub(crate) fn read(file: &TextFile, lines: &[Line<'_>]) -> Result<Header, Error> {
    // The head ends where the load profile begins; later tables have columns with the same names.
    let is_profile = |(_, line): &Line<'_>| line.trim_start().starts_with("Load Profile");
    let end = lines.iter().position(is_profile).unwrap_or(lines.len());
    let lines = &lines[..end];
    let mut header = Header::default();
    tables(file, lines, &mut header)?;
    for (number, line) in lines {
        interval(file, *number, line, &mut header)?;
    }
    Ok(header)
}

fn tables(file: &TextFile, lines: &[Line<'_>], header: &mut Header) -> Result<(), Error> {
    for (number, heading, value) in first_rows(lines) {
        let whole = |value: &str| whole(file, number, &heading, value);
        let host = &mut header.host;
        match heading.as_str() {
            "DB Name" | "Database" => set(&mut header.database, value),
            "Instance" => set(&mut header.instance, value),
            "Release" => set(&mut header.release, value),
            // Statspack's heading "Host Name" spans two columns.
            "Host Name" => set(&mut host.name, value),
            "Name" => set(&mut host.name, value),
            "Platform" => set(&mut host.platform, value),
            "CPUs" => host.cpus = whole(&value)?,
            "Cores" => host.cores = whole(&value)?,
            "Sockets" => host.sockets = whole(&value)?,
            "Memory(GB)" | "Memory (G)" | "Memory (GB)" => {
                let gib = printed(file, number, &heading, &value)?;
                // At most 1e18 GiB by the limit on figures; the conversion saturates.
                host.memory_bytes = gib.map(|gib| (gib.value * f64::from(1 << 30)) as u64);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sets a field once: the first row of a name is the report's own.
fn set(field: &mut Option<String>, value: String) {
    field.get_or_insert(value);
}

fn interval(file: &TextFile, number: usize, line: &str, header: &mut Header) -> Result<(), Error> {
    let trimmed = line.trim();
    let interval = &mut header.interval;
    for (label, time) in [
        ("Begin Snap:", &mut interval.begin),
        ("End Snap:", &mut interval.end),
    ] {
        let Some(rest) = trimmed.strip_prefix(label) else {
            continue;
        };
        *time = snapshot_time(rest);
        if time.is_none() {
            header.remarks.push(format!(
                "\"{label}\" on line {number} has no time in a known form, so the length of the \
                 interval is not compared with it"
            ));
        }
    }
    if let Some(elapsed) = minutes(file, number, line, "Elapsed:")? {
        interval.elapsed_s = Some(elapsed);
    }
    for label in ["DB Time:", "DB time:"] {
        if let Some(db_time) = minutes(file, number, line, label)? {
            header.db_time_s = Some(db_time);
        }
    }
    if let Some(db_cpu) = minutes(file, number, line, "DB CPU:")? {
        header.db_cpu_s = Some(db_cpu);
    }
    Ok(())
}

/// `1234 01-Jan-15 10:00:12        45       1.2`: the date and the time.
fn snapshot_time(rest: &str) -> Option<String> {
    // A month may have a blank: `1234 01-1月 -15 10:00:12`.
    let words: Vec<&str> = rest.split_whitespace().skip(1).collect();
    let time = words.iter().position(|word| word.contains(':'))?;
    (1..=3).contains(&time).then(|| words[..=time].join(" "))
}

/// The minutes after a label, in seconds.
fn minutes(
    file: &TextFile,
    number: usize,
    line: &str,
    label: &str,
) -> Result<Option<Printed>, Error> {
    let Some((_, rest)) = line.split_once(label) else {
        return Ok(None);
    };
    let rest = ungrouped(rest).unwrap_or_else(|| rest.to_owned());
    let mut words = rest.split_whitespace();
    let (value, unit) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if is_overflow(value) {
        return Ok(None);
    }
    let minutes = figure(value).filter(|_| unit == "(mins)");
    let expected = format!("minutes after \"{label}\", such as \"5.05 (mins)\"");
    let minutes = minutes.ok_or_else(|| file.malformed(number, expected, rest.trim()))?;
    Ok(Some(Printed {
        value: minutes.value * 60.0,
        half_unit: minutes.half_unit * 60.0,
    }))
}

fn whole(file: &TextFile, number: usize, heading: &str, value: &str) -> Result<Option<u32>, Error> {
    let whole = printed(file, number, heading, value)?;
    Ok(whole.map(|whole| whole.value as u32))
}

fn printed(
    file: &TextFile,
    number: usize,
    heading: &str,
    value: &str,
) -> Result<Option<Printed>, Error> {
    if is_overflow(value) {
        return Ok(None);
    }
    let expected = format!("a number below \"{heading}\"");
    let printed = figure(value).ok_or_else(|| file.malformed(number, expected, value))?;
    Ok(Some(printed))
}
