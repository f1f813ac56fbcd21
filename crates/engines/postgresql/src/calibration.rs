//! The sweep of work units: doubles the work unit until doubling gains almost nothing.

use linux::Root;
use model::{CalibrationPoint, Phase};

use crate::connection::Loaded;
use crate::session::{Command, Event};
use crate::sessions::{CALL_SLACK, Sessions};
use crate::statement::hits_per_statement;
use crate::{Cluster, Error, Launcher, ServerPlan, TablesPlan, Watch};

/// The parameters of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationOrder {
    /// Seed of the rows and keys.
    pub seed: u64,
    /// Relative gain of a doubling below which the plateau is reached.
    pub gain_min: f64,
    /// Largest work unit to try.
    pub work_unit_max: u32,
}

/// Number of doublings without gain that end the sweep: a single one may be chance.
const FLAT_DOUBLINGS: u32 = 2;

/// Runs a sweep on a fresh server of `cluster`, with one session.
///
/// # Errors
/// When the sweep fails; [`Error::Cancelled`].
pub fn calibrate(
    cluster: &Cluster,
    launcher: &Launcher,
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
    let swept = Loaded::ours(&server, &plan, order.seed)
        .and_then(|mut loaded| sweep(&mut loaded, order, on_point, watch));
    server.explain(swept)
}

/// Runs a sweep on loaded tables.
///
/// # Errors
/// As for [`calibrate`].
pub(crate) fn sweep(
    loaded: &mut Loaded,
    order: &CalibrationOrder,
    on_point: &mut dyn FnMut(CalibrationPoint),
    watch: &mut Watch<'_>,
) -> Result<(), Error> {
    // Read the buffers back as in a trial, to detect an unreadable placement before the first
    // trial.
    if loaded.is_ours {
        loaded.buffers(&Root::live())?;
    }
    let mut sessions = Sessions::start(loaded.session_orders(order.seed), watch.cancelled)?;
    let (mut work_unit, mut best, mut flat) = (1, 0.0_f64, 0);
    let rows = loaded.tables[0].rows();
    while work_unit <= order.work_unit_max && u64::from(work_unit) <= rows && flat < FLAT_DOUBLINGS
    {
        let table = loaded.tables[0].clone();
        let hits = hits_per_statement(&mut loaded.client, &table, work_unit, order.seed)?;
        let logical_reads_per_s = rate(&mut sessions, work_unit, watch.cancelled)? * hits;
        on_point(CalibrationPoint {
            work_unit,
            logical_reads_per_s,
        });
        (watch.live)(Phase::WarmingUp, Some(logical_reads_per_s));
        flat = if logical_reads_per_s < best * (1.0 + order.gain_min) {
            flat + 1
        } else {
            0
        };
        best = best.max(logical_reads_per_s);
        work_unit *= 2;
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
