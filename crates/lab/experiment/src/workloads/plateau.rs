//! The work unit that a sweep finds: the smallest that comes near the best rate.

use model::exit::ExitCode;
use model::{Calibration, CalibrationPoint};

use crate::WorkloadError;

/// Gain of a doubling of the work unit below which the plateau is reached.
pub(super) const GAIN_MIN: f64 = 0.03;
/// Largest work unit tried.
pub(super) const WORK_UNIT_MAX: u32 = 8192;
/// Share of the best rate of the sweep that the chosen work unit must reach.
const PLATEAU_SHARE: f64 = 0.97;

/// The smallest work unit of the sweep that comes near the best rate.
pub(super) fn plateau(points: Vec<CalibrationPoint>) -> Result<Calibration, WorkloadError> {
    let best = points
        .iter()
        .map(|point| point.logical_reads_per_s)
        .fold(0.0, f64::max);
    let near = |point: &&CalibrationPoint| point.logical_reads_per_s >= best * PLATEAU_SHARE;
    let chosen = points.iter().find(near).map(|point| point.work_unit);
    let work_unit = chosen.ok_or_else(|| WorkloadError::Fatal {
        message: "cannot calibrate the work unit: no rate was measured".to_owned(),
        exit_code: ExitCode::WorkloadFailed,
    })?;
    // The sweep ends early only when doublings no longer gained.
    let plateau_reached = points
        .last()
        .is_some_and(|last| last.work_unit < WORK_UNIT_MAX);
    Ok(Calibration {
        work_unit,
        plateau_reached,
        points,
    })
}

#[cfg(test)]
mod tests {
    use model::CalibrationPoint;

    use super::plateau;

    fn check(rates: &[f64], expected: u32) {
        let points = rates
            .iter()
            .enumerate()
            .map(|(index, rate)| CalibrationPoint {
                work_unit: 1 << index,
                logical_reads_per_s: *rate,
            });
        assert_eq!(
            plateau(points.collect()).unwrap().work_unit,
            expected,
            "{rates:?}"
        );
    }

    #[test]
    fn the_work_unit_is_the_smallest_on_the_plateau() {
        check(&[1.0, 2.0, 3.0, 3.5, 3.55, 3.56], 8);
        check(&[1.0], 1);
        check(&[1.0, 5.0, 4.0, 4.9], 2);
    }
}
