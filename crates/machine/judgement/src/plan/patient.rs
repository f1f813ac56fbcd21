//! The model of a target: who runs where, and what lies where (docs/doctor.md).

use std::collections::BTreeMap;

use model::{
    BytesByNode, MemoryFigures, NodeId, NodeMatrix, NodeSet, ProcessResidency, Residency,
    SegmentResidency, Topology,
};

use crate::doctor::DoctorInput;
use crate::doctor::uneven_nodes::{Shares, bandwidth_shares, cpu_shares};

/// Distance of local memory, and of remote memory where firmware gives none (ACPI specification,
/// System Locality Information Table; kernel, include/linux/topology.h).
const LOCAL: f64 = 10.0;
const REMOTE: f64 = 20.0;

/// A process with its nodes.
pub(crate) struct User<'a> {
    /// What is known of it.
    pub process: &'a ProcessResidency,
    /// How its CPUs are distributed over the nodes.
    pub runs_on: Shares,
}

/// The target. Processes whose CPUs are unknown are left out.
pub(crate) struct Patient<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// Latencies in ns, if they are known from every node that is used to every node with memory.
    latencies: Option<&'a NodeMatrix>,
    /// Its processes.
    pub users: Vec<User<'a>>,
    /// Its segments of shared memory.
    pub segments: Vec<&'a SegmentResidency>,
    /// Nodes on which all processes may have memory of a database.
    pub allowed: NodeSet,
    /// The part of the bandwidth that each of these nodes has, if it is known.
    pub bandwidth: Option<Shares>,
}

/// Where memory lies, or would.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// The segments of shared memory, in the order of the patient.
    pub shared: Vec<BytesByNode>,
    /// The private memory of its users, in their order.
    pub private: Vec<BytesByNode>,
}

impl<'a> Patient<'a> {
    /// The target of the doctor; `None` without one, or if nothing is known of its CPUs: of a
    /// capture, of those of any process, since what it does not tell may be most of the target.
    pub(crate) fn of(input: &'a DoctorInput) -> Option<Self> {
        let residency = input.residency.as_ref()?;
        let topology = &input.topology;
        let users = users(residency, topology);
        let segments = residency.segments.iter();
        let is_part = input.is_captured && users.len() < residency.processes.len();
        (!users.is_empty() && !is_part).then(|| Patient {
            topology,
            latencies: whole(&input.latencies, &users, topology),
            segments: segments.filter(|it| it.kind.is_shared_memory()).collect(),
            bandwidth: bandwidth_shares(input, &input.allowed_database_nodes()),
            allowed: input.allowed_database_nodes(),
            users,
        })
    }

    /// Where its memory lies now.
    pub(crate) fn layout(&self) -> Layout {
        let shared = self.segments.iter();
        let private = self.users.iter();
        Layout {
            shared: shared.map(|it| it.bytes_by_node.clone()).collect(),
            private: private
                .map(|it| it.process.private_bytes_by_node.clone())
                .collect(),
        }
    }

    /// Nodes on whose CPUs some process may run.
    pub(crate) fn nodes_used(&self) -> NodeSet {
        let users = self.users.iter();
        users
            .flat_map(|user| user.runs_on.keys().copied())
            .collect()
    }

    /// What a layout means for the users.
    pub(crate) fn figures(&self, layout: &Layout) -> MemoryFigures {
        let mut sums = Sums::default();
        let by_all = self.shared_use();
        for bytes in &layout.shared {
            sums.add(self, bytes, &by_all);
        }
        for (user, bytes) in self.users.iter().zip(&layout.private) {
            sums.add(self, bytes, &user.runs_on);
        }
        sums.figures(self.bandwidth.as_ref())
    }

    /// Whether distances are measured latencies; else they are the firmware's.
    pub(crate) fn is_measured(&self) -> bool {
        self.latencies.is_some()
    }

    /// The latency of an access in ns, if it is known.
    fn latency_ns(&self, from: NodeId, to: NodeId) -> Option<f64> {
        self.latencies?.value(from, to)
    }

    /// The distance of an access, as a multiple of a local one: by latencies, of the nearest memory
    /// of that node.
    fn distance(&self, from: NodeId, to: NodeId) -> f64 {
        if let Some(latencies) = self.latencies {
            let row = latencies.memory_nodes().iter();
            let row = row.filter_map(|node| latencies.value(from, *node));
            let local = latencies.value(from, from);
            let local = local.unwrap_or_else(|| row.fold(f64::INFINITY, f64::min));
            return latencies.value(from, to).unwrap_or(local) / local;
        }
        let default = if from == to { LOCAL } else { REMOTE };
        self.topology.distance(from, to).map_or(default, f64::from) / LOCAL
    }

    /// From which nodes shared memory is accessed: from every process alike.
    pub(crate) fn shared_use(&self) -> Shares {
        let mut shares = Shares::new();
        for (node, share) in self.users.iter().flat_map(|user| &user.runs_on) {
            *shares.entry(*node).or_default() += share / self.users.len() as f64;
        }
        shares
    }
}

/// The latencies, if they are positive and none is missing that the model could ask for.
fn whole<'a>(
    latencies: &'a NodeMatrix,
    users: &[User<'_>],
    topology: &Topology,
) -> Option<&'a NodeMatrix> {
    let used = users.iter().flat_map(|user| user.runs_on.keys());
    let mut pairs = used.flat_map(|from| {
        let to = topology.memory_nodes();
        to.iter().map(|to| (*from, to)).collect::<Vec<_>>()
    });
    let is_known = |(from, to)| latencies.value(from, to).is_some_and(|ns| ns > 0.0);
    pairs.all(is_known).then_some(latencies)
}

fn users<'a>(residency: &'a Residency, topology: &Topology) -> Vec<User<'a>> {
    let user = |process: &'a ProcessResidency| {
        let runs_on = cpu_shares(&process.cpus, topology);
        (!runs_on.is_empty()).then_some(User { process, runs_on })
    };
    residency.processes.iter().filter_map(user).collect()
}

/// Sums over bytes, for the mean of an access.
#[derive(Default)]
struct Sums {
    by_node: BTreeMap<NodeId, f64>,
    all: f64,
    remote: f64,
    distance: f64,
    ns: Option<f64>,
}

impl Sums {
    fn add(&mut self, patient: &Patient<'_>, bytes: &BytesByNode, used_from: &Shares) {
        for (to, bytes) in bytes {
            let bytes = *bytes as f64;
            *self.by_node.entry(*to).or_default() += bytes;
            self.all += bytes;
            for (from, share) in used_from {
                self.distance += bytes * share * patient.distance(*from, *to);
                self.remote += bytes * share * f64::from(u8::from(from != to));
                let ns = patient.latency_ns(*from, *to);
                self.ns = ns.map(|ns| self.ns.unwrap_or(0.0) + bytes * share * ns);
            }
        }
    }

    fn figures(&self, bandwidth: Option<&Shares>) -> MemoryFigures {
        let all = self.all.max(1.0);
        // A node of which nothing is known is as fast as the mean of the others.
        let load = |of: &Shares, node: &NodeId, bytes: f64| {
            let mean = 1.0 / of.len() as f64;
            bytes / all / of.get(node).copied().unwrap_or(mean)
        };
        let busiest = |of: &Shares| {
            let loads = self.by_node.iter().map(|(node, it)| load(of, node, *it));
            loads.fold(0.0, f64::max)
        };
        MemoryFigures {
            remote_share: self.remote / all,
            relative_access: self.distance / all,
            fullest_share: self.by_node.values().copied().fold(0.0, f64::max) / all,
            latency_ns: self.ns.map(|ns| ns / all),
            busiest_load: bandwidth.map(busiest),
        }
    }
}
