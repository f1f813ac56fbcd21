//! Compares machines, group by group.

use std::collections::{BTreeMap, BTreeSet};

use model::{FactKind, FleetComparison, FleetFinding, FleetGroup, FleetMember};

use crate::facts::{Fact, MEMORY, NODES};
use crate::majority::{Agreement, agreement};
use crate::{Figure, FleetMachine, GroupBy, figures};

/// Compares the machines of each group. Of machines with one name, the last is compared.
pub fn compare(machines: &[FleetMachine], by: &GroupBy) -> FleetComparison {
    let named: BTreeMap<&str, &FleetMachine> =
        machines.iter().map(|it| (it.host.as_str(), it)).collect();
    let mut groups: BTreeMap<String, Vec<&FleetMachine>> = BTreeMap::new();
    for (host, machine) in &named {
        groups
            .entry(by.group(host, &machine.model))
            .or_default()
            .push(machine);
    }
    let mut groups: Vec<FleetGroup> = groups
        .into_iter()
        .map(|(name, machines)| group(name, &machines))
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.machines.len()));
    FleetComparison {
        grouped_by: by.word().to_owned(),
        machines: named.len() as u32,
        groups,
    }
}

fn group(name: String, machines: &[&FleetMachine]) -> FleetGroup {
    let member = |machine: &&FleetMachine| FleetMember {
        host: machine.host.clone(),
        run: machine.run.clone(),
        started_at: machine.started_at.clone(),
    };
    let mut group = FleetGroup {
        name,
        machines: machines.iter().map(member).collect(),
        ..FleetGroup::default()
    };
    let host = |machine: usize| machines[machine].host.clone();
    let usual = with_usual_nodes(machines);
    for known in by_fact(machines, &usual).values() {
        match agreement(known, &host) {
            Agreement::Equal => {}
            Agreement::Odd(findings) => group.findings.extend(findings),
            Agreement::Split(split) => group.splits.push(split),
        }
    }
    let comparable =
        |(index, machine): (usize, &&FleetMachine)| usual.contains(&index) && !machine.emulated;
    let measured: Vec<Option<&[Figure]>> = machines
        .iter()
        .enumerate()
        .map(|it| comparable(it).then_some(it.1.figures.as_slice()))
        .collect();
    let judged = figures::judge(&measured, &host);
    group.findings.extend(judged.findings);
    (group.figures, group.pairs) = (judged.figures, judged.pairs);
    let without = measured
        .iter()
        .enumerate()
        .filter(|(_, it)| it.is_none_or(<[Figure]>::is_empty));
    group.without_figures = without.map(|(machine, _)| host(machine)).collect();
    leave_out_what_follows(&mut group.findings);
    group.findings.sort_by(worse_first);
    group.splits.sort_by_key(|split| split.kind);
    group
}

/// The machines with the nodes that most have; all where there is no such value. What is of a node
/// of another machine is of another node.
fn with_usual_nodes(machines: &[&FleetMachine]) -> BTreeSet<usize> {
    let nodes_of = |machine: &FleetMachine| {
        let nodes = machine.facts.iter().find(|fact| fact.name == NODES);
        nodes.map(|fact| fact.value.clone())
    };
    let mut by_nodes: BTreeMap<Option<String>, BTreeSet<usize>> = BTreeMap::new();
    for (index, machine) in machines.iter().enumerate() {
        by_nodes.entry(nodes_of(machine)).or_default().insert(index);
    }
    let largest = by_nodes
        .into_values()
        .max_by_key(BTreeSet::len)
        .unwrap_or_default();
    match 2 * largest.len() > machines.len() {
        true => largest,
        false => BTreeSet::new(),
    }
}

/// Each fact with the machines that have it.
fn by_fact<'f>(
    machines: &[&'f FleetMachine],
    usual: &BTreeSet<usize>,
) -> BTreeMap<(FactKind, &'f str), Vec<(usize, &'f Fact)>> {
    let mut facts: BTreeMap<(FactKind, &str), Vec<(usize, &Fact)>> = BTreeMap::new();
    for (index, machine) in machines.iter().enumerate() {
        let comparable = |fact: &&Fact| !fact.is_of_node || usual.contains(&index);
        for fact in machine.facts.iter().filter(comparable) {
            let known = facts.entry((fact.kind, fact.name.as_str())).or_default();
            known.push((index, fact));
        }
    }
    facts
}

/// The memory of a machine is less if that of a node is: one finding says both.
fn leave_out_what_follows(findings: &mut Vec<FleetFinding>) {
    let is_memory = |it: &&FleetFinding| it.kind == FactKind::Memory && it.fact != MEMORY;
    let of_nodes = findings.iter().filter(is_memory);
    let hosts: BTreeSet<String> = of_nodes.flat_map(|it| it.hosts.iter().cloned()).collect();
    for finding in findings.iter_mut().filter(|it| it.fact == MEMORY) {
        finding.hosts.retain(|host| !hosts.contains(host));
    }
    findings.retain(|finding| !finding.hosts.is_empty());
}

/// By kind; of figures first those that are worse than the group's, by how much.
fn worse_first(one: &FleetFinding, other: &FleetFinding) -> std::cmp::Ordering {
    let figure = |it: &FleetFinding| {
        let figure = it.figure.as_ref();
        figure.map_or((true, 0.0), |it| (it.is_worse, it.ratio.ln().abs()))
    };
    let ((is_worse, far), (other_is_worse, other_far)) = (figure(one), figure(other));
    let kinds = one.kind.cmp(&other.kind);
    kinds
        .then(other_is_worse.cmp(&is_worse))
        .then(other_far.total_cmp(&far))
        .then_with(|| one.fact.cmp(&other.fact))
        .then_with(|| one.hosts.cmp(&other.hosts))
}
