//! What the kernel would balance: the segments, and among which nodes.

use linux::object_policy::RawPolicy;
use linux::{Root, numa_scan, proc_status};
use model::{BytesByNode, NodeSet, Topology};
use placement::Destination;
use residency::instances::Target;

use super::{end, places};
use crate::chunk_log::ChunkLine;
use crate::error::{MoveError, NoBalancing};
use crate::memory::{Part, Source};
use crate::policy;
use crate::reader::Reader;
use crate::survey::{Choice, Survey, survey};

/// Bit of kernel.numa_balancing: pages follow the CPUs that use them (kernel,
/// Documentation/admin-guide/sysctl/kernel.rst; 2 alone only promotes from slower memory).
const BALANCING_NORMAL: u32 = 1;

/// The segments of a target that the kernel can balance.
#[derive(Debug)]
pub struct BalancePlan {
    /// The processes.
    pub pids: Vec<u32>,
    /// The nodes among which the kernel may move pages.
    pub nodes: NodeSet,
    /// Pages that stay where they are for this long have settled, in seconds.
    pub settled_after_s: f64,
    /// The segments.
    pub segments: Vec<BalanceSegment>,
    /// What is left alone, and why.
    pub notes: Vec<String>,
}

/// One segment, with the places of its pages.
#[derive(Debug)]
pub struct BalanceSegment {
    /// The memory.
    pub part: Part,
    /// Bytes by node.
    pub before: BytesByNode,
    /// Its policy, in the notation of numa_maps.
    pub policy: String,
    /// The places of its pages.
    pub(super) places: Vec<ChunkLine>,
}

impl BalanceSegment {
    /// The nodes of the CPUs on which the processes that have it mapped may run.
    pub fn near_nodes(&self) -> NodeSet {
        self.part.pattern.nodes()
    }
}

/// Finds the shared memory of a target. Reads no page; what of it the kernel can balance,
/// [`plan_balance`] says.
///
/// # Errors
/// When there is no such target or segment, or none of it may be read.
pub fn survey_shared(
    root: &Root,
    target: &Target,
    topology: &Topology,
    segments: &[String],
) -> Result<Survey, MoveError> {
    let choice = Choice {
        shared: true,
        private: false,
        segments: segments.to_vec(),
    };
    survey(root, target, topology, &Destination::NearCpus, &choice)
}

/// Makes the plan; looks at every page of the survey once.
///
/// # Errors
/// When the kernel does not balance, or refuses to say where pages are.
pub fn plan_balance(
    root: &Root,
    target: &Target,
    topology: &Topology,
    survey: Survey,
) -> Result<BalancePlan, MoveError> {
    let pids = survey.pids();
    let mut plan = BalancePlan {
        nodes: nodes(root, topology, &pids)?,
        settled_after_s: end::settled_after_s(numa_scan::period_max_s(root)),
        pids,
        segments: Vec::new(),
        notes: survey.notes,
    };
    let none = |reason| MoveError::NoBalancing {
        target: target.to_string(),
        reason,
    };
    check(topology, &plan.nodes).map_err(none)?;
    let mut reader = Reader::new(root);
    for part in survey.parts {
        let Source::Window(_, object) = &part.source else {
            let sentence = format!(
                "{}: the kernel does not balance huge pages of a pool",
                part.name
            );
            plan.notes.push(sentence);
            continue;
        };
        let policy = policy::of_object(object)?;
        let places = places::read(&mut reader, &part)?;
        let before = places::bytes_by_node(&places);
        if before.is_empty() {
            continue;
        }
        plan.segments.push(BalanceSegment {
            part,
            before,
            policy,
            places,
        });
    }
    match plan.segments.is_empty() {
        true => Err(none(NoBalancing::NoSmallPages)),
        false => Ok(plan),
    }
}

/// Whether this kernel balances the memory of these nodes.
fn check(topology: &Topology, nodes: &NodeSet) -> Result<(), NoBalancing> {
    match topology.settings.numa_balancing {
        _ if nodes.len() < 2 => Err(NoBalancing::OneNode),
        None => Err(NoBalancing::Missing),
        Some(value) if value & BALANCING_NORMAL == 0 => Err(NoBalancing::Off(value)),
        Some(_) => Ok(()),
    }
}

/// The nodes with memory that numalab and every process of the target may use: under the policy,
/// new pages are allocated on these nodes only.
fn nodes(root: &Root, topology: &Topology, pids: &[u32]) -> Result<NodeSet, MoveError> {
    let own = proc_status::allowed(root, std::process::id())?.memory_nodes;
    let mut nodes: NodeSet = topology
        .memory_nodes()
        .iter()
        .filter(|it| own.contains(*it))
        .collect();
    for pid in pids {
        // A process that has ended by now forbids nothing.
        if let Ok(allowed) = proc_status::allowed(root, *pid) {
            nodes = nodes
                .iter()
                .filter(|it| allowed.memory_nodes.contains(*it))
                .collect();
        }
    }
    Ok(nodes)
}

impl BalancePlan {
    /// The policy that lets the kernel move pages.
    pub fn policy(&self) -> String {
        self.raw_policy().to_string()
    }

    pub(super) fn raw_policy(&self) -> RawPolicy {
        RawPolicy::balancing(&self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use model::KernelSettings;

    use super::*;

    #[test]
    fn a_kernel_that_does_not_balance_is_told_of() {
        let check = |numa_balancing, nodes: &str| {
            let settings = KernelSettings {
                numa_balancing,
                ..KernelSettings::default()
            };
            let topology = Topology {
                settings,
                ..Topology::default()
            };
            check(&topology, &nodes.parse().unwrap())
        };
        assert_eq!(check(Some(1), "0-1"), Ok(()));
        assert_eq!(check(Some(3), "0,5"), Ok(()));
        assert_eq!(check(Some(0), "0-1"), Err(NoBalancing::Off(0)));
        assert_eq!(check(Some(2), "0-1"), Err(NoBalancing::Off(2)));
        assert_eq!(check(None, "0-1"), Err(NoBalancing::Missing));
        assert_eq!(check(Some(1), "3"), Err(NoBalancing::OneNode));
    }
}
