//! The document `numalab.snapshot/1`.

use model::Snapshot;
use serde::Serialize;
use serve::Look;

/// The document `numalab.snapshot/1`.
#[derive(Serialize)]
pub(crate) struct SnapshotDocument<'l> {
    format: &'static str,
    #[serde(flatten)]
    snapshot: &'l Snapshot,
    /// What runs out first; null when nothing is expected to.
    forecast: Option<ForecastDocument<'l>>,
    /// What needs attention, one sentence each.
    notices: &'l [String],
}

#[derive(Serialize)]
struct ForecastDocument<'l> {
    node: u32,
    resource: &'l str,
    exhausted_s: f64,
    exhausted_low_s: f64,
    exhausted_high_s: f64,
}

impl<'l> SnapshotDocument<'l> {
    /// The document of a snapshot with what follows from those before it.
    pub(crate) fn of(look: &'l Look) -> Self {
        let forecast = look.forecast.first().map(|first| ForecastDocument {
            node: first.node,
            resource: &first.resource,
            exhausted_s: first.seconds,
            exhausted_low_s: first.interval.0,
            exhausted_high_s: first.interval.1,
        });
        Self {
            format: "numalab.snapshot/1",
            snapshot: &look.snapshot,
            forecast,
            notices: &look.notices,
        }
    }
}
