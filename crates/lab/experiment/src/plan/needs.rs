//! Checks what an experiment needs of a machine before any case is planned.

use model::{counted, shell_word};

use super::cannot::Cannot;
use super::host::Host;
use crate::definition::{CaseDefinition, Definition, Engine, WorkChoice};

/// Refuses a machine on which the experiment makes no sense.
pub(super) fn check(definition: &Definition, host: &Host) -> Result<(), Cannot> {
    if let Engine::Server(kind) = definition.engine
        && let Some(advice) = host.missing_servers.get(&kind)
    {
        return Err(Cannot::machine(
            format!("needs {}, and none is installed", kind.name()),
            advice,
        ));
    }
    evidence(definition, host)?;
    let needs = definition.needs;
    let of_machine = host.topology.memory_nodes().len();
    let shortage = shortage(needs.memory_nodes, host.memory_nodes().len(), of_machine);
    if let Some(there) = shortage {
        let needed = needs.memory_nodes;
        let reason = format!("needs {} ({there})", counted(needed, "memory node"));
        return Err(Cannot::machine(reason, advice_without_nodes(definition)));
    }
    if let Some(there) = shortage_of_cpus(needs.cpus, host) {
        let reason = format!("needs {} ({there})", counted(needs.cpus, "CPU"));
        let advice = "run it on a machine, or in a container, with more CPUs";
        return Err(Cannot::machine(reason, advice));
    }
    Ok(())
}

fn shortage_of_cpus(needed: u32, host: &Host) -> Option<String> {
    shortage(needed, host.cpus().len(), host.topology.cpus.len())
}

/// Describes what is available, if it is less than needed.
fn shortage(needed: u32, usable: usize, of_machine: usize) -> Option<String> {
    (usable < needed as usize).then(|| match usable == of_machine {
        true => format!("this machine has {usable}"),
        false => format!("this process may use {usable} of {of_machine}"),
    })
}

/// Checks that placements can be read back: without evidence no trial counts.
fn evidence(definition: &Definition, host: &Host) -> Result<(), Cannot> {
    // The policy of an external program is read back before it starts, without numa_maps.
    let is_program = |case: &CaseDefinition| case.work == WorkChoice::Command;
    if !definition.cases.iter().all(is_program) {
        host.evidence.check(
            "no trial would count: the kernel does not show placement",
            "run it where /proc shows numa_maps and schedstat, such as outside this container",
        )?;
    }
    if let Engine::Server(kind) = definition.engine {
        host.evidence_of_others.check(
            &format!("no trial would count: pages of {} are hidden", kind.name()),
            "run it as root; in a container: docker run --cap-add SYS_NICE",
        )?;
    }
    Ok(())
}

/// Suggests an emulated guest with enough nodes, if there is one.
fn advice_without_nodes(definition: &Definition) -> String {
    let name = &definition.name;
    let shape = match definition.needs.memory_nodes {
        ..=8 => Some("eight-node"),
        9..=32 => Some("thirty-two-node"),
        _ => None,
    };
    let guest = shape.map(|shape| {
        format!(
            "try it, without measuring, in an emulated guest: cargo xtask guest --shape {shape} \
             -- numalab run {}",
            shell_word(name)
        )
    });
    guest.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::host::Support;
    use super::super::planner::plan;
    use super::super::test_hosts::{article_000, one_node};
    use super::*;
    use crate::find;
    use model::exit::ExitCode;

    #[test]
    fn one_node_cannot_compare_nodes_and_says_what_can_be_done() {
        let machine = one_node(4);
        let host = Host::new(&machine);
        let cannot = plan(&find("local-vs-remote").unwrap(), &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
        assert_eq!(cannot.reason, "needs 2 memory nodes (this machine has 1)");
        assert_eq!(
            cannot.advice,
            "try it, without measuring, in an emulated guest: cargo xtask guest --shape \
             eight-node -- numalab run local-vs-remote"
        );
        plan(&find("binding-vs-caging").unwrap(), &host).unwrap();
    }

    #[test]
    fn one_cpu_cannot_be_limited() {
        let machine = one_node(1);
        let caging = find("binding-vs-caging").unwrap();
        let cannot = plan(&caging, &Host::new(&machine)).unwrap_err();
        assert_eq!(cannot.reason, "needs 2 CPUs (this machine has 1)");
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    }

    #[test]
    fn a_process_that_may_use_less_than_there_is_is_told() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.memory_nodes_allowed = Some("3".parse().unwrap());
        let cannot = plan(&find("local-vs-remote").unwrap(), &host).unwrap_err();
        let expected = "needs 2 memory nodes (this process may use 1 of 8)";
        assert_eq!(cannot.reason, expected);
    }

    #[test]
    fn nothing_is_measured_whose_placement_could_not_be_read_back() {
        let machine = one_node(4);
        let check = |change: fn(&mut Host), experiment: &str, expected: &str| {
            let mut host = Host::new(&machine);
            change(&mut host);
            let cannot = plan(&find(experiment).unwrap(), &host).unwrap_err();
            assert!(cannot.reason.contains(expected), "{cannot}");
        };
        fn hidden() -> Support {
            Support::Missing {
                reason: "/proc/self/numa_maps is missing".to_owned(),
            }
        }
        check(
            |it| it.evidence = hidden(),
            "spin",
            "the kernel does not show placement",
        );
        let server = "postgres-binding-vs-quota";
        check(
            |it| it.evidence_of_others = hidden(),
            server,
            "pages of PostgreSQL are hidden",
        );
        let mut host = Host::new(&machine);
        host.evidence_of_others = hidden();
        plan(&find("spin").unwrap(), &host).unwrap();
    }
}
