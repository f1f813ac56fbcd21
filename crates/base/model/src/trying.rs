//! What a placement gave the load of a running target.

use serde::{Deserialize, Serialize};

/// A session in which placements were tried, or a plan of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TryReport {
    /// The target, as the user named it.
    pub target: String,
    /// How work is counted, as the user may ask for it.
    pub metric: String,
    /// One unit of work, in the singular.
    pub unit: String,
    /// By which figure placements were judged.
    pub judged_by: JudgedBy,
    /// Why by that one.
    pub judged_because: String,
    /// The seed of the coins.
    pub seed: u64,
    /// Seconds of a window.
    pub window_s: f64,
    /// Seconds before each window that do not count.
    pub lead_in_s: f64,
    /// The smallest gain that is worth it: 0.03.
    pub gain: f64,
    /// The longest that it may take, in seconds.
    pub seconds_max: f64,
    /// How it ended.
    pub end: TryEnd,
    /// What made it end, unless that is a decision.
    pub end_because: Option<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The placement that was left in force, if one was.
    pub is_kept: Option<String>,
    /// What could not be taken back, if anything.
    pub is_left: Option<String>,
    /// The placements other than the current one.
    pub placements: Vec<TriedPlacement>,
    /// Every window, oldest first.
    pub windows: Vec<TryWindow>,
    /// What happened, oldest first.
    pub log: Vec<TryLine>,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// By which figure placements are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// CPU time of the target per unit of work.
    #[default]
    Cost,
    /// Work per second.
    Rate,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TryEnd {
    /// Only planned.
    #[default]
    Planned,
    /// Every placement was judged.
    Decided,
    /// The time was over.
    TimeOver,
    /// The counter of work failed again and again.
    NoCounter,
    /// Another process changed what was tried.
    Vetoed,
    /// The target ended, or was started again.
    TargetEnded,
    /// Interrupted by the user.
    Interrupted,
}

/// What was found of a placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TryVerdict {
    /// Not yet known.
    #[default]
    Undecided,
    /// Better than the current one.
    Better,
    /// Worse.
    Worse,
    /// As good, within the gain that is worth it.
    Equal,
    /// It was so much worse for seconds that it was taken back at once.
    Stopped,
}

/// A placement, and how it compares with the current one. A ratio above 1 is a gain: less CPU time
/// per unit of work, or more work per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TriedPlacement {
    /// The placement, as the user gave it.
    pub placement: String,
    /// The verdict.
    pub verdict: TryVerdict,
    /// Pairs of windows that count.
    pub pairs: u32,
    /// The estimate by the figure that judges; `None` without pairs.
    pub ratio: Option<f64>,
    /// The ends of its interval; `None` where there is none yet.
    pub ratio_low: Option<f64>,
    /// See [`TriedPlacement::ratio_low`].
    pub ratio_high: Option<f64>,
    /// The same by the other figure.
    pub other_ratio: Option<f64>,
    /// See [`TriedPlacement::other_ratio`].
    pub other_low: Option<f64>,
    /// See [`TriedPlacement::other_ratio`].
    pub other_high: Option<f64>,
    /// The log ratio of each pair, in order.
    pub log_ratios: Vec<f64>,
    /// Of a plan: the bytes that a switch to it moves.
    pub bytes_to_move: Option<u64>,
    /// Of a plan: the seconds that this takes, at the least and at the most; `None` if unknown.
    pub move_s: Option<(f64, f64)>,
}

/// A window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TryWindow {
    /// When it began, in seconds since the begin.
    pub at_s: f64,
    /// The placement.
    pub placement: String,
    /// The number of its pair, from 1.
    pub pair: u32,
    /// Its length, in seconds.
    pub seconds: f64,
    /// Units of work; `None` if unknown.
    pub work: Option<u64>,
    /// CPU time of the target, in seconds.
    pub cpu_s: Option<f64>,
    /// What is counted for the mix, per unit of work.
    pub mix: Option<f64>,
    /// Why it does not count.
    pub void: Option<String>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TryLine {
    /// When, in seconds since the begin.
    pub at_s: f64,
    /// What.
    pub text: String,
}
