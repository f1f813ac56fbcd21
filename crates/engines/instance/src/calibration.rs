//! Finds the work unit at which a trial measures the memory, not the executor.
//!
//! The rate of one session rises with the rows per statement until the overhead of a statement
//! becomes negligible (Bertrand Drouvot, "SLOB Logical I/O testing: check if your benchmark
//! delivers the maximum", 2014). The sweep doubles the work unit until doublings gain too little.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::clock::monotonic_ns;
use model::CalibrationPoint;
use stats::Sweep;

use crate::Error;
use crate::instance::Instance;
use crate::order::{InstanceReport, Report, Task};
use crate::sessions::Sessions;

/// Parts of a step, of which the fastest counts. Other activity on the machine only slows a part
/// down, and the sweep looks for what the session can do, not what it usually does.
const PARTS: u32 = 4;

/// The sweep continues to this work unit whatever the doublings gain: a disturbance that lasts for
/// the quarter of a second of two steps looks like a plateau.
const WORK_UNIT_SEEN: u32 = 256;

/// Sweeps work units 1, 2, 4, … and reports each point.
pub(crate) fn run(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let Task::Calibration {
        step_s,
        gain_min,
        work_unit_max,
    } = instance.order.task
    else {
        return Err(Error::Protocol {
            what: "calibration",
            cause: "not asked for".to_owned(),
        });
    };
    let largest = work_unit_max.min(instance.sga.layout.rows_per_table);
    let mut sweep = Sweep::new(gain_min, largest, WORK_UNIT_SEEN);
    while let Some(work_unit) = sweep.next() {
        let rate = rate_at(instance, sessions, work_unit, step_s)?;
        report(InstanceReport::Point(CalibrationPoint {
            work_unit,
            logical_reads_per_s: rate,
        }))?;
        sweep.take(rate);
    }
    instance.stop();
    report(InstanceReport::Calibrated)
}

/// Returns the rate at one work unit: that of the fastest part of the step.
fn rate_at(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    work_unit: u32,
    step_s: f64,
) -> Result<f64, Error> {
    instance
        .sga
        .control
        .gate
        .0
        .work_unit
        .store(work_unit, Ordering::Relaxed);
    // A tenth of the step lets the current statement end.
    std::thread::sleep(Duration::from_secs_f64(step_s / 10.0));
    let mut best = 0f64;
    for _ in 0..PARTS {
        let (reads_before, _) = instance.sga.live_totals();
        let start_ns = monotonic_ns();
        std::thread::sleep(Duration::from_secs_f64(step_s / f64::from(PARTS)));
        let (reads_after, _) = instance.sga.live_totals();
        let seconds = (monotonic_ns() - start_ns) as f64 / 1e9;
        best = best.max((reads_after - reads_before) as f64 / seconds);
    }
    sessions.check_alive(&instance.sga)?;
    Ok(best)
}
