//! What the kernel's NUMA balancing did to shared memory while numalab let it.

use serde::{Deserialize, Serialize};

use crate::{BytesByNode, NodeSet};

/// A balancing: planned or executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BalanceReport {
    /// The target, as the user named it.
    pub target: String,
    /// How it ended.
    pub end: BalanceEnd,
    /// The nodes among which the kernel may move pages.
    pub nodes: NodeSet,
    /// The longest that it may take, in seconds.
    pub seconds_max: f64,
    /// The kernel may move this many bytes in a second; then it is stopped until the next one.
    pub bytes_per_s_max: u64,
    /// Pages that stay where they are for this long have settled, in seconds; 10 in documents of
    /// older versions, which do not state it.
    #[serde(default = "ten_seconds")]
    pub settled_after_s: f64,
    /// The segments.
    pub segments: Vec<BalancedSegment>,
    /// How long the kernel was let, in seconds; `None` for a plan.
    pub seconds: Option<f64>,
    /// What was seen meanwhile, oldest first.
    pub samples: Vec<BalanceSample>,
    /// Whether the kernel goes on: the policy that lets it was kept.
    pub is_kept: bool,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

fn ten_seconds() -> f64 {
    10.0
}

/// How a balancing ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalanceEnd {
    /// Only planned.
    #[default]
    Planned,
    /// Pages stay where they are by now.
    Settled,
    /// Pages move back and forth.
    PingPong,
    /// The kernel saw no use of any page.
    NoFaults,
    /// The time was over.
    TimeOver,
    /// Interrupted by the user.
    Interrupted,
    /// All processes of the target ended.
    TargetEnded,
}

/// A segment of shared memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BalancedSegment {
    /// Its name.
    pub name: String,
    /// Its kind, for people: `System V`.
    pub kind: String,
    /// Size of its pages.
    pub page_bytes: u64,
    /// The nodes of the CPUs on which the processes that have it mapped may run.
    pub near_nodes: NodeSet,
    /// Bytes by node before.
    pub bytes_by_node_before: BytesByNode,
    /// Bytes by node afterwards; `None` for a plan, or if its memory is gone.
    pub bytes_by_node_after: Option<BytesByNode>,
    /// Bytes that lie on another node than before; `None` as above.
    pub bytes_elsewhere: Option<u64>,
    /// The policy before, in the notation of numa_maps.
    pub policy_before: String,
    /// The policy that lets the kernel move its pages.
    pub policy_meanwhile: String,
    /// The policy afterwards; `None` as above.
    pub policy_after: Option<String>,
}

/// What was seen since the sample before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BalanceSample {
    /// When, in seconds since the begin.
    pub at_s: f64,
    /// NUMA hint faults of the whole machine (/proc/vmstat, `numa_hint_faults`).
    pub hint_faults: u64,
    /// Those on the node of the CPU (`numa_hint_faults_local`).
    pub hint_faults_local: u64,
    /// Bytes that NUMA balancing moved on the whole machine (`numa_pages_migrated`).
    pub bytes_migrated: u64,
    /// Pages of the segments that were looked at, always the same ones.
    pub pages_watched: u64,
    /// Those that lie on another node than in the sample before.
    pub pages_changed: u64,
    /// Those of them that came back to a node on which they have been.
    pub pages_returned: u64,
    /// How long the kernel was stopped because it had moved enough, in seconds.
    pub stopped_s: f64,
}

impl BalanceReport {
    /// The share of hint faults on the node of the CPU, 0 to 1, among these samples; `None` without
    /// a fault.
    pub fn local_share(samples: &[BalanceSample]) -> Option<f64> {
        let sum = |of: fn(&BalanceSample) -> u64| {
            let figures = samples.iter().map(of);
            figures.fold(0, u64::saturating_add)
        };
        let (faults, local) = (sum(|it| it.hint_faults), sum(|it| it.hint_faults_local));
        (faults > 0).then(|| local as f64 / faults as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_an_older_version_has_settled_after_ten_seconds() {
        let new = BalanceReport {
            settled_after_s: 60.0,
            ..BalanceReport::default()
        };
        let mut document = serde_json::to_value(&new).unwrap();
        let read = |document| serde_json::from_value::<BalanceReport>(document).unwrap();
        assert_eq!(read(document.clone()), new);
        document.as_object_mut().unwrap().remove("settled_after_s");
        assert_eq!(read(document).settled_after_s, 10.0);
    }

    #[test]
    fn a_share_of_no_faults_is_unknown() {
        let sample = |hint_faults, hint_faults_local| BalanceSample {
            hint_faults,
            hint_faults_local,
            ..BalanceSample::default()
        };
        assert_eq!(BalanceReport::local_share(&[]), None);
        assert_eq!(BalanceReport::local_share(&[sample(0, 0)]), None);
        let share = BalanceReport::local_share(&[sample(0, 0), sample(30, 10), sample(10, 10)]);
        assert_eq!(share, Some(0.5));
    }
}
