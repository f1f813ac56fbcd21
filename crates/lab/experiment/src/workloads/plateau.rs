//! Chooses the work unit from a sweep: the smallest whose rate comes near the best.

use model::exit::ExitCode;
use model::{Calibration, CalibrationPoint};

use crate::WorkloadError;

/// The plateau is reached when doubling the work unit gains less than this share.
pub(super) const GAIN_MIN: f64 = 0.03;
/// Largest work unit of a sweep.
const WORK_UNIT_MAX: u32 = 8192;
/// Share of the best rate of the sweep that the chosen work unit must reach.
const PLATEAU_SHARE: f64 = 0.97;

/// Returns the largest work unit to try where tables have `rows_max` rows.
pub(super) fn work_unit_max(rows_max: Option<u32>) -> u32 {
    WORK_UNIT_MAX.min(rows_max.unwrap_or(WORK_UNIT_MAX))
}

/// Returns the smallest work unit of a sweep up to `work_unit_max` whose rate comes near the best.
pub(super) fn plateau(
    points: Vec<CalibrationPoint>,
    work_unit_max: u32,
) -> Result<Calibration, WorkloadError> {
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
    // The sweep ends early only when doubling no longer gains.
    let plateau_reached = points
        .last()
        .is_some_and(|last| last.work_unit <= work_unit_max / 2);
    Ok(Calibration {
        work_unit,
        plateau_reached,
        points,
    })
}

#[cfg(test)]
mod tests {
    use model::CalibrationPoint;

    use super::{plateau, work_unit_max};

    fn check(rates: &[f64], expected: u32) {
        let points = rates
            .iter()
            .enumerate()
            .map(|(index, rate)| CalibrationPoint {
                work_unit: 1 << index,
                logical_reads_per_s: *rate,
            });
        assert_eq!(
            plateau(points.collect(), 8192).unwrap().work_unit,
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

    #[test]
    fn a_sweep_that_ends_with_the_table_has_not_reached_the_plateau() {
        let reached = |rows: u32, count: u32| {
            let point = |doublings: u32| CalibrationPoint {
                work_unit: 1 << doublings,
                logical_reads_per_s: 1.0,
            };
            let points = (0..count).map(point).collect();
            plateau(points, work_unit_max(Some(rows)))
                .unwrap()
                .plateau_reached
        };
        assert_eq!(work_unit_max(Some(2730)), 2730);
        assert_eq!(work_unit_max(Some(u32::MAX)), work_unit_max(None));
        // Work units 1 to 2048 of at most 2730, then 1 to 1024.
        assert!(!reached(2730, 12));
        assert!(reached(2730, 11));
        assert!(!reached(2048, 12));
    }
}
