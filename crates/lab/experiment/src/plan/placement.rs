//! Chooses how the placement of a case is applied, as far as this process is permitted: processor
//! groups, memory policies, CPU quotas.

use model::{Allocation, Mechanism, NodeSet, Placement, counted};

use super::cannot::Cannot;
use super::host::{Host, Support};
use crate::definition::{CaseDefinition, MechanismChoice};

/// Plans the CPUs and memory nodes of a case.
pub(super) fn plan(case: &CaseDefinition, host: &Host) -> Result<Placement, Cannot> {
    let cpus = host.chosen_cpus(&case.cpus)?;
    let asked = host.chosen_memory_nodes(&case.memory_nodes)?;
    let mechanism = match cpus.is_some() || asked.is_some() {
        true => mechanism(case.mechanism, host)?,
        false => Mechanism::Affinity,
    };
    let memory_nodes = match (mechanism, asked) {
        (Mechanism::Affinity, Some(nodes)) => {
            policy(Allocation::Bind(nodes), &host.memory_nodes(), host)?.nodes()
        }
        (_, asked) => asked,
    };
    Ok(Placement {
        cpus,
        memory_nodes,
        mechanism,
    })
}

/// Returns the allocation for memory of processes with this placement.
pub(super) fn allocation(
    asked: Allocation,
    placement: &Placement,
    host: &Host,
) -> Result<Allocation, Cannot> {
    match &placement.memory_nodes {
        Some(nodes) if placement.mechanism == Mechanism::Group => policy(asked, nodes, host),
        _ => policy(asked, &host.memory_nodes(), host),
    }
}

/// Returns the allocation for processes that may use these nodes. Where memory policies are
/// refused, a process limited to one node needs none.
fn policy(asked: Allocation, usable: &NodeSet, host: &Host) -> Result<Allocation, Cannot> {
    let permitted = host.policies.check(
        "needs a memory policy, which is not available here",
        "in a container, allow it: docker run --cap-add SYS_NICE",
    );
    match (permitted, asked.nodes()) {
        (Ok(()), _) | (_, None) => Ok(asked),
        (Err(_), Some(nodes)) if usable.len() == 1 && nodes == *usable => Ok(Allocation::OsDefault),
        (Err(cannot), _) => Err(cannot),
    }
}

/// Returns the CPU quota of a case, in CPUs.
pub(super) fn cpu_quota(case: &CaseDefinition, host: &Host) -> Result<Option<u32>, Cannot> {
    let Some(quantity) = case.cpu_quota else {
        return Ok(None);
    };
    host.quotas.check(
        "needs a CPU quota, which cannot be set here",
        "run it as root, or where a cgroup with the cpu controller is delegated",
    )?;
    let cpus = host.count(quantity)?;
    match host.quota_cpus_max {
        // A nested group never gets more than its parent, whatever its own quota.
        Some(most) if f64::from(cpus) > most => Err(Cannot::machine(
            format!(
                "needs a quota of {}, but the control group has {most:.2}",
                counted(cpus, "CPU")
            ),
            "raise the quota of this process's control group (cpu.max)",
        )),
        _ => Ok(Some(cpus)),
    }
}

fn mechanism(choice: MechanismChoice, host: &Host) -> Result<Mechanism, Cannot> {
    match (choice, &host.groups) {
        (MechanismChoice::Affinity, _) => Ok(Mechanism::Affinity),
        (_, Support::Available) => Ok(Mechanism::Group),
        (MechanismChoice::Auto, _) => Ok(Mechanism::Affinity),
        (MechanismChoice::Group, groups) => {
            groups.check(
                "needs a processor group, which cannot be created here",
                "set mechanism = \"affinity\", which needs no group and no root",
            )?;
            Ok(Mechanism::Group)
        }
    }
}

#[cfg(test)]
mod tests {
    use model::exit::ExitCode;
    use model::{Allocation, Mechanism, Topology};

    use super::super::planner;
    use super::super::test_hosts::{article_000, one_node, second};
    use super::*;
    use crate::find;

    fn denied(reason: &str) -> Support {
        Support::NotPermitted {
            reason: reason.to_owned(),
        }
    }

    /// Returns a host in a container whose seccomp filter refuses memory policies.
    fn without_policies(machine: &Topology, groups: Support) -> Host {
        Host {
            policies: denied("mbind: not permitted"),
            groups,
            ..Host::new(machine)
        }
    }

    #[test]
    fn groups_are_used_where_they_can_be_made() {
        let machine = article_000();
        let mechanism_of = |case: &str, groups: Support| {
            let mut host = Host::new(&machine);
            host.groups = groups;
            planner::plan(&second(case), &host).unwrap().cases[1]
                .placement
                .mechanism
        };
        let available = || Support::Available;
        let denied = || denied("/sys/fs/cgroup is read-only");
        assert_eq!(mechanism_of("", available()), Mechanism::Group);
        assert_eq!(mechanism_of("", denied()), Mechanism::Affinity);
        assert_eq!(
            mechanism_of("mechanism = \"affinity\"", available()),
            Mechanism::Affinity
        );
        assert_eq!(
            mechanism_of("mechanism = \"group\"", available()),
            Mechanism::Group
        );
        // No placement is requested, so no group is created.
        assert_eq!(
            mechanism_of("mechanism = \"group\"\ncpus = \"inherited\"", denied()),
            Mechanism::Affinity
        );
    }

    #[test]
    fn a_group_that_may_not_be_made_says_what_works_without_root() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.groups = denied("/sys/fs/cgroup is read-only");
        let mut definition = second("mechanism = \"group\"");
        definition.baseline = "b".to_owned();
        let cannot = planner::plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
        assert_eq!(
            cannot.to_string(),
            "case b: needs a processor group, which cannot be created here; \
             /sys/fs/cgroup is read-only; \
             set mechanism = \"affinity\", which needs no group and no root"
        );
        host.groups = Support::Missing {
            reason: "no cpuset controller".to_owned(),
        };
        let cannot = planner::plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    }

    #[test]
    fn cases_with_a_quota_are_skipped_where_none_can_be_set() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.quotas = denied("/c/cpu is read-only");
        let plan = planner::plan(&find("binding-vs-caging").unwrap(), &host).unwrap();
        let names = plan.skipped.iter().map(|skipped| skipped.case.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["quota", "binding-and-quota"]);
        assert_eq!(
            plan.skipped[0].cannot.to_string(),
            "needs a CPU quota, which cannot be set here; /c/cpu is read-only; \
             run it as root, or where a cgroup with the cpu controller is delegated"
        );
    }

    #[test]
    fn a_quota_must_be_within_that_of_the_container() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        let definition = find("binding-vs-caging").unwrap();
        host.quota_cpus_max = Some(6.0);
        assert_eq!(planner::plan(&definition, &host).unwrap().skipped, []);
        host.quota_cpus_max = Some(4.0);
        let plan = planner::plan(&definition, &host).unwrap();
        let reason = &plan.skipped[0].cannot.reason;
        assert_eq!(
            reason,
            "needs a quota of 6 CPUs, but the control group has 4.00"
        );
    }

    #[test]
    fn one_node_needs_no_memory_policy() {
        let machine = one_node(4);
        let host = without_policies(&machine, denied("read-only"));
        for name in ["binding-vs-caging", "memory-hammer", "work-unit"] {
            let plan = planner::plan(&find(name).unwrap(), &host).unwrap();
            for case in &plan.cases {
                assert_eq!(case.placement.memory_nodes, None, "{case:?}");
                let work = case.instance().unwrap();
                assert_eq!(work.sga.allocation, Allocation::OsDefault, "{case:?}");
            }
            let note = "Memory policies are not available here (mbind: not permitted): cases that \
                        take all memory from one node run without one.";
            assert_eq!(plan.notes.first().map(String::as_str), Some(note));
        }
    }

    #[test]
    fn several_nodes_need_a_memory_policy_or_a_group() {
        let machine = article_000();
        let binding = find("binding-vs-caging").unwrap();
        let host = without_policies(&machine, denied("read-only"));
        let cannot = planner::plan(&binding, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
        assert_eq!(
            cannot.to_string(),
            "case free: needs a memory policy, which is not available here; mbind: not permitted; \
             in a container, allow it: docker run --cap-add SYS_NICE"
        );
        // The cpuset of a group restricts its memory to the one node.
        let host = without_policies(&machine, Support::Available);
        let plan = planner::plan(&binding, &host).unwrap();
        let names = plan.skipped.iter().map(|skipped| skipped.case.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["free", "caging", "quota"]);
        for case in &plan.cases {
            let nodes = case.placement.memory_nodes.as_ref().unwrap();
            assert_eq!(
                (case.placement.mechanism, nodes.len()),
                (Mechanism::Group, 1)
            );
            let work = case.instance().unwrap();
            assert_eq!(work.sga.allocation, Allocation::OsDefault);
        }
    }
}
