//! Assembles a whole report from its parts.

use linux::{Error, TextFile};
use model::{LoadReport, Printed};

use crate::consistency::contradictions;
use crate::events::{self, TopEvents};
use crate::figure::figure;
use crate::pieces::{EXPECTED_REPORT, Line, Piece, pieces};
use crate::{header, html, load_profile, parameters, time_model};

/// The most reports per file: more indicate an error in the text.
pub(crate) const REPORTS_MAX: usize = 1000;

/// Reads the reports of a file: AWR as HTML or text and Statspack as text, of releases 11g to 23ai.
/// Excerpts as people quote them are accepted: only the load profile is required. The rows of
/// several runs may be side by side after `Run 1:`, `Run 2:`.
///
/// # Errors
/// When the file is not a report, when a report lacks logical reads, or when a row lacks figures it
/// should have; names file, line and expectation.
pub fn reports_of_file(file: &TextFile) -> Result<Vec<LoadReport>, Error> {
    if html::is_html(file) {
        let lines = html::lines_of(file)?;
        let lines = lines.iter().map(|(number, line)| (*number, line.as_str()));
        return reports_of_lines(file, &lines.collect::<Vec<_>>());
    }
    let has_figures = |line: &str| line.split_whitespace().any(|word| figure(word).is_some());
    if let Some((last, _)) = file.lines().last().filter(|(_, line)| has_figures(line)) {
        file.check_whole(last)?;
    }
    reports_of_lines(file, &file.lines().collect::<Vec<_>>())
}

fn reports_of_lines(file: &TextFile, lines: &[Line<'_>]) -> Result<Vec<LoadReport>, Error> {
    let pieces = pieces(file, lines)?;
    if pieces.len() > REPORTS_MAX {
        let first = pieces[REPORTS_MAX].lines.first();
        let line = first.map_or(1, |(number, _)| *number);
        let expected = format!("at most {REPORTS_MAX} reports in a file");
        return Err(file.unexpected(line, expected, "more"));
    }
    let reports = pieces.iter().map(|piece| report(file, piece));
    let reports = reports.collect::<Result<Vec<_>, _>>()?;
    match reports.is_empty() {
        true => Err(file.ended(EXPECTED_REPORT)),
        false => Ok(reports),
    }
}

fn report(file: &TextFile, piece: &Piece<'_>) -> Result<LoadReport, Error> {
    let lines = &piece.lines;
    let header = header::read(file, lines)?;
    let (profile, rows) = load_profile::read(file, lines)?;
    let top = events::read(file, lines)?;
    let times = time_model::read(file, lines)?;
    let mut contradictions = contradictions(piece.kind, &header, &rows, &top, &times);
    contradictions.extend(header.remarks);
    let cpu_row = top.cpu.as_ref().and_then(|cpu| cpu.event.total_s);
    let db_cpu_s = finest([times.db_cpu_s, cpu_row, header.db_cpu_s]);
    let db_time_s = finest([times.db_time_s, header.db_time_s]);
    Ok(LoadReport {
        kind: piece.kind,
        file: file.path().display().to_string(),
        line: lines.first().map_or(1, |(number, _)| *number),
        database: header.database,
        instance: header.instance,
        release: header.release,
        host: header.host,
        interval: header.interval,
        profile,
        db_time_s: db_time_s.or_else(|| db_time_by_share(&top)),
        db_cpu_s,
        events: top.waits.into_iter().map(|row| row.event).collect(),
        parameters: parameters::read(lines),
        contradictions,
    })
}

/// The figure printed with the most digits.
fn finest<const N: usize>(figures: [Option<Printed>; N]) -> Option<Printed> {
    let known = figures.into_iter().flatten();
    known.min_by(|a, b| a.half_unit.total_cmp(&b.half_unit))
}

/// DB time, derived from the CPU time and its printed share.
fn db_time_by_share(top: &TopEvents) -> Option<Printed> {
    let cpu = &top.cpu.as_ref()?.event;
    let (total, share) = (cpu.total_s?, cpu.share_of_db_time?);
    let value = total.value / share.value;
    let half_unit = value * (total.half_unit / total.value + share.half_unit / share.value);
    (value.is_finite() && half_unit.is_finite()).then_some(Printed { value, half_unit })
}
