//! What an experiment asks of a machine before any of its cases is planned.

use super::cannot::Cannot;
use super::host::Host;
use super::planner::plan;
use crate::definition::{Definition, Engine, SHIPPED};

/// Refuses a machine on which the experiment would have nothing to ask.
pub(super) fn check(definition: &Definition, host: &Host<'_>) -> Result<(), Cannot> {
    if let (Engine::Postgres, Some(reason)) = (definition.engine, &host.no_postgres) {
        let advice = "install one (Debian: apt-get install postgresql), or name the folder of its \
                      programs with --pg-bin";
        return Err(Cannot::machine(reason.clone(), advice));
    }
    let needs = definition.needs;
    let memory_nodes = host.memory_nodes().len();
    if memory_nodes < needs.memory_nodes as usize {
        let there = match memory_nodes {
            1 => "1 node with memory".to_owned(),
            count => format!("{count} nodes with memory"),
        };
        let needed = needs.memory_nodes;
        return Err(Cannot::machine(
            format!("it needs {needed} nodes with memory, and this process may use {there}"),
            advice_without_nodes(definition, host),
        ));
    }
    let cpus = host.cpus().len();
    if cpus < needs.cpus as usize {
        return Err(Cannot::machine(
            format!(
                "it needs {} CPUs, and this process may use {cpus}",
                needs.cpus
            ),
            "run it on a machine, or in a container, with more CPUs",
        ));
    }
    Ok(())
}

/// A guest that has the nodes, and the experiments that work here.
fn advice_without_nodes(definition: &Definition, host: &Host<'_>) -> String {
    let name = &definition.name;
    let shape = match definition.needs.memory_nodes {
        ..=8 => Some("eight-node"),
        9..=32 => Some("thirty-two-node"),
        _ => None,
    };
    let guest = shape.map(|shape| {
        format!(
            "to see it work, not to measure it, use an emulated machine with nodes: \
             `cargo xtask guest --shape {shape} -- numalab run {name}`"
        )
    });
    let works_here: Vec<&str> = SHIPPED
        .iter()
        .filter(|shipped| {
            let other = shipped
                .definition()
                .ok()
                .filter(|other| other.name != *name);
            other.is_some_and(|other| {
                other.needs.memory_nodes < definition.needs.memory_nodes
                    && plan(&other, host).is_ok()
            })
        })
        .map(|shipped| shipped.name)
        .collect();
    let works_here = match works_here.is_empty() {
        true => None,
        false => Some(format!("what works here: {}", works_here.join(", "))),
    };
    let advice: Vec<String> = guest.into_iter().chain(works_here).collect();
    advice.join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::planner::{availability, plan};
    use super::super::test_hosts::one_node;
    use super::*;
    use crate::find;
    use model::exit::ExitCode;

    #[test]
    fn one_node_cannot_compare_nodes_and_says_what_can_be_done() {
        let machine = one_node(4);
        let host = Host::new(&machine);
        let cannot = availability(&find("local-vs-remote").unwrap(), &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
        assert_eq!(
            cannot.reason,
            "it needs 2 nodes with memory, and this process may use 1 node with memory"
        );
        assert_eq!(
            cannot.advice,
            "to see it work, not to measure it, use an emulated machine with nodes: `cargo xtask \
             guest --shape eight-node -- numalab run local-vs-remote`; what works here: \
             binding-vs-caging, memory-hammer, postgres-binding-vs-quota, spin, work-unit"
        );
        assert_eq!(
            availability(&find("binding-vs-caging").unwrap(), &host),
            Ok(())
        );
    }

    #[test]
    fn one_cpu_cannot_be_limited() {
        let machine = one_node(1);
        let caging = find("binding-vs-caging").unwrap();
        let cannot = plan(&caging, &Host::new(&machine)).unwrap_err();
        assert_eq!(cannot.reason, "it needs 2 CPUs, and this process may use 1");
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    }
}
