//! Keeps an instance up for inspection: its sessions run, or wait at the barrier.

use std::time::Duration;

use crate::Error;
use crate::held_counter::Published;
use crate::instance::Instance;
use crate::order::{InstanceReport, Report};
use crate::sessions::Sessions;

/// How often the instance checks that its sessions are alive, and counts what they have read: a
/// hundredth of a second, so that readers who look once a second are not misled.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Reports its processes, and stays up until the coordinator ends them.
///
/// # Errors
/// [`Error::Process`] when a session or a writer ends before that.
pub(crate) fn run(
    instance: &Instance<'_>,
    sessions: &mut Sessions,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let counter = Published::new(instance.order.work.load.emulated_cost.is_some())?;
    report(InstanceReport::Held {
        instance_pid: std::process::id(),
        session_pids: sessions.pids(),
        writer_pids: sessions.writer_pids(),
    })?;
    loop {
        std::thread::sleep(LOOK_EVERY);
        counter.write(instance);
        sessions.check_alive(&instance.sga)?;
    }
}
