//! The cure the other way round: the CPUs go to the memory, which stays where it is.

use model::{BytesByNode, CpuSet, CpusOfCure, Node, NodeId};
use placement::{Cpus, TargetPlacement};

use super::candidate::Candidate;
use super::on_cpus::on_cpus;
use super::patient::Patient;
use crate::doctor::DoctorInput;

/// Memory is at home on a node above this share of it.
const HOME_SHARE: f64 = 0.9;

/// All threads on the CPUs of the node on which nearly all memory is; `None` where there is no such
/// node, a cpuset forbids its CPUs, they run there anyway, or the database used more CPUs than it
/// has.
pub(crate) fn candidate(input: &DoctorInput, patient: &Patient<'_>) -> Option<Candidate> {
    let home = home(patient)?;
    let node = patient.topology.node(home)?;
    let allowed = cpus_allowed(input, patient, &node.cpus);
    let runs_there = |it: &CpuSet| it.difference(&allowed).is_empty();
    let is_there = patient.users.iter().all(|it| runs_there(&it.process.cpus));
    if allowed.is_empty() || is_there {
        return None;
    }
    let cpus = of_now(patient, allowed, input.cpus_used);
    if cpus.used.is_some() && !cpus.fits() {
        return None;
    }
    let moved = on_cpus(input, &cpus.cpus);
    let then = Patient::of(&moved)?;
    // Distances of two kinds cannot be compared.
    (then.is_measured() == patient.is_measured()).then(|| Candidate {
        cure: TargetPlacement {
            cpus: Some(named(node, &cpus.cpus)),
            ..TargetPlacement::default()
        },
        cpus: Some(cpus),
        moves_private: false,
        layout: patient.layout(),
        figures: then.figures(&patient.layout()),
        bytes_to_move: 0,
    })
}

/// The node on which nearly all memory is.
fn home(patient: &Patient<'_>) -> Option<NodeId> {
    let layout = patient.layout();
    let mut by_node = BytesByNode::new();
    for (node, bytes) in layout.shared.iter().chain(&layout.private).flatten() {
        *by_node.entry(*node).or_default() += bytes;
    }
    let sum: u64 = by_node.values().sum();
    let (node, bytes) = by_node.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    (bytes as f64 >= HOME_SHARE * sum as f64).then_some(node)
}

/// Those of these CPUs that the cpusets of all processes allow.
fn cpus_allowed(input: &DoctorInput, patient: &Patient<'_>, cpus: &CpuSet) -> CpuSet {
    let users = patient.users.iter();
    let cpusets = users.filter_map(|user| input.cpuset_cpus.get(&user.process.pid));
    cpusets.fold(cpus.clone(), |cpus, cpuset| cpus.intersection(cpuset))
}

/// These CPUs beside those that the processes may use now.
pub(crate) fn of_now(patient: &Patient<'_>, cpus: CpuSet, used: Option<f64>) -> CpusOfCure {
    let users = patient.users.iter();
    let now: CpuSet = users.flat_map(|it| it.process.cpus.iter()).collect();
    CpusOfCure {
        of: now.len(),
        cpus,
        used,
    }
}

/// CPUs of a node as a user names them: by the node if they are all of it.
fn named(node: &Node, cpus: &CpuSet) -> Cpus {
    match node.cpus == *cpus {
        true => Cpus::OfNodes([node.id].into_iter().collect()),
        false => Cpus::These(cpus.clone()),
    }
}
