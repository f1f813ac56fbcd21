//! Orders the shipped experiments by how relevant they are to a machine.

use super::host::Host;
use crate::Error;
use crate::definition::{Definition, SHIPPED};

/// Returns the shipped experiments, the most relevant to the machine first: with several memory
/// nodes what remote memory costs, with one node which CPU limit is cheapest.
///
/// # Errors
/// Only if a shipped file does not parse, which is a bug in numalab.
pub fn shipped_in_order(host: &Host) -> Result<Vec<Definition>, Error> {
    let definitions = SHIPPED.iter().map(|shipped| shipped.definition());
    let mut definitions: Vec<Definition> = definitions.collect::<Result<_, _>>()?;
    let is_first = match host.memory_nodes().len() {
        ..=1 => limits_cpus,
        _ => is_about_memory,
    };
    definitions.sort_by_key(|definition| !is_first(definition));
    Ok(definitions)
}

/// Returns whether any case limits CPU.
fn limits_cpus(definition: &Definition) -> bool {
    let mut cases = definition.cases.iter();
    cases.any(|case| case.cpu_count.is_some() || case.cpu_quota.is_some())
}

/// Returns whether cases differ in where memory lies, and none limits CPU.
fn is_about_memory(definition: &Definition) -> bool {
    definition.asks_about_memory && !limits_cpus(definition)
}

#[cfg(test)]
mod tests {
    use super::super::planner::plan;
    use super::super::test_hosts::{article_000, memory_only_first, one_node, sparse};
    use super::*;
    use model::Topology;

    /// Returns the experiments that a machine can run, in order.
    fn asked(machine: &Topology) -> Vec<String> {
        let host = Host::new(machine);
        let shipped = shipped_in_order(&host).unwrap();
        assert_eq!(shipped.len(), SHIPPED.len());
        let can_run = shipped.into_iter().filter(|it| plan(it, &host).is_ok());
        can_run.map(|definition| definition.name).collect()
    }

    #[test]
    fn several_nodes_are_asked_about_memory_first() {
        for machine in [article_000(), memory_only_first(), sparse()] {
            assert_eq!(asked(&machine)[0], "local-vs-remote");
        }
        let asked = asked(&article_000());
        let place = |name: &str| asked.iter().position(|it| it == name).unwrap();
        for about_memory in ["memory-hammer", "parallel-scan", "shm-fill"] {
            assert!(
                place(about_memory) < place("binding-vs-caging"),
                "{asked:?}"
            );
        }
    }

    #[test]
    fn one_node_is_asked_about_cpu_limits_first() {
        let asked = asked(&one_node(4));
        assert_eq!(
            asked[..3],
            [
                "binding-vs-caging",
                "mariadb-binding-vs-quota",
                "postgres-binding-vs-quota"
            ]
        );
    }

    #[test]
    fn a_process_that_may_use_one_of_several_nodes_is_asked_about_cpu_limits() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.memory_nodes_allowed = Some("3".parse().unwrap());
        let shipped = shipped_in_order(&host).unwrap();
        assert_eq!(shipped[0].name, "binding-vs-caging");
    }
}
