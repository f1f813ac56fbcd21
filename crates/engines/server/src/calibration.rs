//! The sweep of work units: doubles the work unit until doubling gains almost nothing.

use linux::Root;
use linux::own_program::OwnProgram;
use model::{CalibrationPoint, Phase};

use crate::session::{Command, Event};
use crate::sessions::{CALL_SLACK, Sessions};
use crate::trial::explain;
use crate::{CalibrationOrder, Cluster, Error, Loaded, ServerPlan, TablesPlan, Watch};

/// Runs a sweep on a fresh server of `cluster`, with one session.
///
/// # Errors
/// When the sweep fails; [`Error::Cancelled`].
pub fn calibrate(
    cluster: &dyn Cluster,
    launcher: &OwnProgram,
    plan: &ServerPlan,
    order: &CalibrationOrder,
    on_point: &mut dyn FnMut(CalibrationPoint),
    watch: &mut Watch<'_>,
) -> Result<(), Error> {
    (watch.live)(Phase::Loading, None);
    let one = TablesPlan {
        sessions: 1,
        ..plan.tables
    };
    let plan = ServerPlan {
        tables: one,
        ..plan.clone()
    };
    let mut server = cluster.start(&plan, launcher)?;
    let swept = server
        .load(&plan, order.seed)
        .and_then(|mut loaded| sweep(loaded.as_mut(), order, on_point, watch));
    explain(server.as_mut(), swept)
}

/// Runs a sweep on loaded tables, with the first of their sessions.
///
/// # Errors
/// As for [`calibrate`].
pub fn sweep(
    loaded: &mut dyn Loaded,
    order: &CalibrationOrder,
    on_point: &mut dyn FnMut(CalibrationPoint),
    watch: &mut Watch<'_>,
) -> Result<(), Error> {
    // Read the cache back as in a trial, to detect an unreadable placement before the first
    // trial.
    if loaded.is_ours() {
        loaded.cache(&Root::live())?;
    }
    let mut openers = loaded.openers(order.seed);
    openers.truncate(1);
    let mut sessions = Sessions::start(openers, watch.cancelled)?;
    // The work unit applies to all tables, including those that the one session does not read.
    let rows = u32::try_from(loaded.rows()).unwrap_or(u32::MAX);
    let mut rule = stats::Sweep::new(order.gain_min, order.work_unit_max.min(rows), 1);
    while let Some(work_unit) = rule.next() {
        let hits = loaded.reads_per_statement(work_unit, order.seed)?;
        let logical_reads_per_s = rate(&mut sessions, work_unit, watch.cancelled)? * hits;
        on_point(CalibrationPoint {
            work_unit,
            logical_reads_per_s,
        });
        (watch.live)(Phase::WarmingUp, Some(logical_reads_per_s));
        rule.take(logical_reads_per_s);
    }
    Ok(())
}

/// Returns the statements per second of the second call: the first also plans.
fn rate(
    sessions: &mut Sessions,
    work_unit: u32,
    cancelled: &dyn Fn() -> bool,
) -> Result<f64, Error> {
    sessions.tell(Command::WarmUp { work_unit });
    let (mut rate, mut calls) = (0.0, 0);
    sessions.all(
        "a call of the calibration",
        CALL_SLACK,
        cancelled,
        |_, _, event| {
            if let Event::Slice { statements_per_s } = event {
                (rate, calls) = (statements_per_s, calls + 1);
            }
            calls == 2
        },
    )?;
    sessions.tell(Command::Settle);
    sessions.all(
        "handing in counters",
        CALL_SLACK,
        cancelled,
        |_, _, event| matches!(event, Event::Settled { .. }),
    )?;
    Ok(rate)
}
