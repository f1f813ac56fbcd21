//! The table of the findings that judging a matrix can give.

use model::{Finding, Severity};

/// One row of the table of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingFacts {
    /// Its name.
    pub id: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// Every finding that judging a matrix can give.
pub const FINDINGS: [FindingFacts; 11] = [
    facts(
        HIDDEN_HOP,
        "nodes at one distance by the firmware measure one hop apart",
    ),
    facts(
        UNDERSTATED,
        "the firmware's distance says less than was measured",
    ),
    facts(
        OVERSTATED,
        "the firmware's distance says more than was measured",
    ),
    facts(
        ASYMMETRIC,
        "the two directions between nodes measure differently",
    ),
    facts(
        LOCAL_NOT_NEAREST,
        "another node's memory is nearer than the own",
    ),
    facts(
        LOCAL_OUTLIER,
        "the own memory of a node is slower or faster than that of the others",
    ),
    facts(FLAT_LATENCY, "every node measures alike from everywhere"),
    facts(
        IMPOSSIBLE_DISTANCE,
        "the firmware's table has values that mean something else",
    ),
    facts(
        ASYMMETRIC_DISTANCES,
        "the firmware's distances depend on the direction",
    ),
    facts(INTERLEAVED_PACKAGES, "one node spans several packages"),
    facts(UNSTEADY, "figures scatter so much that they are doubtful"),
];

pub(crate) const HIDDEN_HOP: &str = "hidden-hop";
pub(crate) const UNDERSTATED: &str = "understated";
pub(crate) const OVERSTATED: &str = "overstated";
pub(crate) const ASYMMETRIC: &str = "asymmetric";
pub(crate) const LOCAL_NOT_NEAREST: &str = "local-not-nearest";
pub(crate) const LOCAL_OUTLIER: &str = "local-outlier";
pub(crate) const FLAT_LATENCY: &str = "flat-latency";
pub(crate) const IMPOSSIBLE_DISTANCE: &str = "impossible-distance";
pub(crate) const ASYMMETRIC_DISTANCES: &str = "asymmetric-distances";
pub(crate) const INTERLEAVED_PACKAGES: &str = "interleaved-packages";
pub(crate) const UNSTEADY: &str = "unsteady";

const fn facts(id: &'static str, meaning: &'static str) -> FindingFacts {
    FindingFacts { id, meaning }
}

/// A finding of this name.
pub(crate) fn finding(id: &'static str, severity: Severity, message: String) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        message,
    }
}
