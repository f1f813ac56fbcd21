//! The types of `numalab.dose/1`: what placements would give a target, from doses of moved pages.

use serde::Serialize;

use crate::{MemoryFigures, NodeId, TryEnd, TryLine, TryWindow};

/// A session of doses, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DoseReport {
    /// The target, as the user named it.
    pub target: String,
    /// How work is counted, as the user may ask for it.
    pub metric: String,
    /// One unit of work, in the singular.
    pub unit: String,
    /// The seed of the order and of the pages.
    pub seed: u64,
    /// Seconds of a window.
    pub window_s: f64,
    /// Seconds before each window that do not count.
    pub lead_in_s: f64,
    /// The node that doses went to.
    pub to_node: NodeId,
    /// What measured the latencies that distances are; `None` if they are the firmware's.
    pub distances_by: Option<String>,
    /// The memory as it lay before.
    pub now: MemoryFigures,
    /// The doses.
    pub doses: Vec<GivenDose>,
    /// Blocks of windows, one of each dose and one without, that count.
    pub blocks: u32,
    /// By how much CPU time per unit of work changes with a local distance more of the mean access,
    /// as a share, and the ends of its interval; `None` without enough blocks.
    pub slope: Option<f64>,
    /// See [`DoseReport::slope`].
    pub slope_low: Option<f64>,
    /// See [`DoseReport::slope`].
    pub slope_high: Option<f64>,
    /// Why nothing is predicted.
    pub refused: Option<String>,
    /// The placements.
    pub placements: Vec<DosePrediction>,
    /// How the session ended.
    pub end: TryEnd,
    /// What made it end, unless that is the time.
    pub end_because: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What could not be taken back, if anything.
    pub is_left: Option<String>,
    /// Every window, oldest first.
    pub windows: Vec<TryWindow>,
    /// What happened, oldest first.
    pub log: Vec<TryLine>,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// A dose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GivenDose {
    /// Its name.
    pub name: String,
    /// The share of the pages.
    pub share: f64,
    /// By how much it changes the mean distance of an access, where 1 is a local one.
    pub distance: f64,
    /// By how much CPU time per unit of work changed, as a share; `None` without a window.
    pub cpu_time_change: Option<f64>,
}

/// What a placement would give.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DosePrediction {
    /// In the words of `numalab try --to`.
    pub placement: String,
    /// The memory as it would lie.
    pub after: MemoryFigures,
    /// By how much CPU time per unit of work would change, as a share; `None` where nothing is
    /// predicted.
    pub cpu_time_change: Option<f64>,
    /// The ends of its interval; where nothing is predicted, what is not excluded.
    pub low: Option<f64>,
    /// See [`DosePrediction::low`].
    pub high: Option<f64>,
}
