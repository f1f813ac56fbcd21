//! The sweep of work units as text: where doubling the rows of a statement stops paying off.

use model::{Calibration, Run, counted};

use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::run::figures::{UNKNOWN, decimals, rate, whole};

/// Formats the calibration of a run.
pub fn calibration_text(run: &Run, options: &TextOptions) -> String {
    let Some(calibration) = &run.calibration else {
        return "The work unit was not calibrated.\n".to_string();
    };
    let mut table = Table::of(">rows per statement|>logical reads/s|>gain|");
    let mut before: Option<f64> = None;
    for point in &calibration.points {
        let reads = point.logical_reads_per_s;
        let gain = before.map_or(UNKNOWN.to_string(), |before| {
            format!("{} %", decimals(100.0 * (reads / before - 1.0), 1))
        });
        let (mark, style) = match point.work_unit == calibration.work_unit {
            true => ("taken", Style::Good),
            false => ("", Style::Usual),
        };
        table.push(vec![
            (whole(point.work_unit.into()), Style::Usual),
            (rate(reads), Style::Usual),
            (gain, Style::Usual),
            (mark.to_string(), style),
        ]);
        before = Some(reads);
    }
    let text = table.text(options);
    format!(
        "{text}{}",
        options.paragraph("", &work_unit(calibration), Style::Usual)
    )
}

/// Returns the chosen work unit, in one line.
pub(crate) fn work_unit(calibration: &Calibration) -> String {
    let plateau = match calibration.plateau_reached {
        true => "on the plateau",
        false => "before the plateau",
    };
    let rows = whole(calibration.work_unit.into());
    format!(
        "work unit {} per statement, {plateau}",
        counted(rows, "row")
    )
}
