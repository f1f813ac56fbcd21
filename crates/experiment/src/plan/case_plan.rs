//! One case of a definition as work that a machine can carry out, or why it cannot.

use model::{ByteSize, CasePlan, LoadPlan, LogicalReads, Mechanism, Placement, SgaPlan, Work};

use super::cannot::Cannot;
use super::command::plan_command;
use super::host::{GroupSupport, Host};
use super::work::work;
use super::{memory, own_memory};
use crate::definition::{CacheSize, CaseDefinition, Engine, MechanismChoice, WorkChoice};

/// Plans one case.
pub(super) fn plan(
    engine: Engine,
    case: &CaseDefinition,
    host: &Host<'_>,
) -> Result<CasePlan, Cannot> {
    if case.work == WorkChoice::Command {
        return plan_command(engine, case, host);
    }
    let load = plan_load(case, host)?;
    let cpus = host.chosen_cpus(&case.cpus)?;
    let memory_nodes = host.chosen_memory_nodes(&case.memory_nodes)?;
    let asked = SgaPlan {
        cache_bytes: match case.cache {
            CacheSize::Bytes(bytes) => bytes,
            CacheSize::BeyondCaches => host.bytes_beyond_caches(),
        },
        backing: case.backing,
        page_bytes: case.page_bytes,
        allocation: host.chosen_allocation(&case.allocation)?,
    };
    let sga = match case.work {
        WorkChoice::Own(work) => own_memory::sga(work, case, asked, load.sessions, host)?,
        _ => asked,
    };
    check_cache_for_sessions(&sga, &load)?;
    if let (Some(nodes), Some(allowed)) = (sga.allocation.nodes(), &memory_nodes)
        && !nodes.is_subset(allowed)
    {
        return Err(Cannot::usage(
            format!("the SGA is to lie on nodes {nodes}, and memory-nodes allows {allowed}"),
            "let memory-nodes hold the nodes of allocation",
        ));
    }
    memory::check(host, &sga, &load, memory_nodes.as_ref())?;
    let reads = LogicalReads { sga, load };
    let work = match case.work {
        WorkChoice::Own(load) if engine == Engine::Instance => {
            let work = own_memory::work(load, case, host, reads, memory_nodes.as_ref())?;
            Work::OwnMemory(work)
        }
        _ => work(engine, case, host, reads)?,
    };
    let asks_for_something = cpus.is_some() || memory_nodes.is_some();
    Ok(CasePlan {
        name: case.name.clone(),
        about: case.about.clone(),
        placement: Placement {
            cpus,
            memory_nodes,
            mechanism: mechanism(case.mechanism, asks_for_something, host)?,
        },
        work,
    })
}

fn plan_load(case: &CaseDefinition, host: &Host<'_>) -> Result<LoadPlan, Cannot> {
    let sessions = host.count(case.sessions)?;
    let cpu_count = case.cpu_count.map(|count| host.count(count)).transpose()?;
    match cpu_count {
        Some(cpu_count) if cpu_count >= sessions => Err(Cannot::usage(
            format!("caging to {cpu_count} of {sessions} sessions would do nothing"),
            "set fewer in cpu-count, or more sessions",
        )),
        _ => Ok(LoadPlan {
            sessions,
            cpu_count,
            data_bytes: case.data.bytes(),
            update_pct: case.update_pct,
            work_unit: case.work_unit.rows(),
            cpu_quota: case.cpu_quota.map(|count| host.count(count)).transpose()?,
        }),
    }
}

/// Each session reads a table of its own, with its index.
fn check_cache_for_sessions(sga: &SgaPlan, load: &LoadPlan) -> Result<(), Cannot> {
    const BYTES_PER_SESSION_MIN: u64 = 64 << 10;
    let needed = u64::from(load.sessions) * BYTES_PER_SESSION_MIN;
    if sga.cache_bytes >= needed {
        return Ok(());
    }
    let (cache, needed) = (ByteSize(sga.cache_bytes), ByteSize(needed));
    Err(Cannot::usage(
        format!(
            "{} sessions need a cache of {needed}, and it is {cache}",
            load.sessions
        ),
        "set a larger cache, or fewer sessions",
    ))
}

/// What carries a placement out.
pub(super) fn mechanism(
    choice: MechanismChoice,
    asks_for_something: bool,
    host: &Host<'_>,
) -> Result<Mechanism, Cannot> {
    let without_group = "set mechanism = \"affinity\", which needs no group and no root";
    match (choice, &host.groups) {
        _ if !asks_for_something => Ok(Mechanism::Affinity),
        (MechanismChoice::Affinity, _) => Ok(Mechanism::Affinity),
        (_, GroupSupport::Available { .. }) => Ok(Mechanism::Group),
        (MechanismChoice::Auto, _) => Ok(Mechanism::Affinity),
        (MechanismChoice::Group, GroupSupport::NotPermitted { reason }) => {
            let reason = format!("no processor group can be made: {reason}");
            Err(Cannot::not_permitted(reason, without_group))
        }
        (MechanismChoice::Group, GroupSupport::Missing { reason }) => {
            let reason = format!("no processor group can be made: {reason}");
            Err(Cannot::machine(reason, without_group))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::planner;
    use super::super::test_definitions::second;
    use super::super::test_hosts::article_000;
    use super::*;
    use crate::definition::Definition;
    use crate::find;
    use model::Skipped;
    use model::exit::ExitCode;

    #[test]
    fn an_engine_refuses_the_keys_of_another() {
        let check = |experiment: &str, engine: &str, expected: &str| {
            let definition = find(experiment).unwrap();
            let definition = Definition {
                engine: match engine {
                    "postgres" => Engine::Postgres,
                    _ => Engine::Instance,
                },
                ..definition
            };
            let reason = match planner::plan(&definition, &Host::new(&article_000())) {
                Ok(plan) => plan.skipped[0].reason.clone(),
                Err(cannot) => cannot.to_string(),
            };
            assert!(reason.contains(expected), "{reason}");
        };
        check(
            "binding-vs-caging",
            "postgres",
            "PostgreSQL has no instance caging",
        );
        check("postgres-shared-buffers", "instance", "is for a server");
    }

    #[test]
    fn a_case_that_cannot_run_is_skipped_with_its_reason_and_advice() {
        let machine = article_000();
        let skipped = |case: &str| {
            let plan = planner::plan(&second(case), &Host::new(&machine)).unwrap();
            assert_eq!(plan.cases.len(), 2);
            plan.skipped[0].clone()
        };
        let Skipped { case, reason } = skipped("page-size = \"2MiB\"");
        assert_eq!(case, "b");
        assert!(
            reason.starts_with("node 0 has no pool of 2 MiB pages; use"),
            "{reason}"
        );
        assert_eq!(
            skipped("cache = \"16TiB\"").reason,
            "the SGA needs 16.16 TiB on nodes 0-7, where 1.01 TiB are free; \
             free memory there, or set a smaller `cache`"
        );
        assert_eq!(
            skipped("memory-nodes = \"0\"\nallocation = \"bind:7\"").reason,
            "the SGA is to lie on nodes 7, and memory-nodes allows 0; \
             let memory-nodes hold the nodes of allocation"
        );
        assert_eq!(
            skipped("sessions = 6\ncpu-count = \"readers\"").reason,
            "caging to 9 of 6 sessions would do nothing; \
             set fewer in cpu-count, or more sessions"
        );
        assert_eq!(
            skipped("sessions = 100\ncache = \"1MiB\"").reason,
            "100 sessions need a cache of 6.25 MiB, and it is 1 MiB; \
             set a larger cache, or fewer sessions"
        );
        assert_eq!(
            skipped("allocation = \"weighted-interleave:all\"").reason,
            "this kernel has no weighted interleave, which came with Linux 6.9; \
             set allocation = \"interleave:…\", or boot a newer kernel"
        );
        assert_eq!(
            skipped("allocation = \"prefer:0-1\"").reason,
            "one node can be preferred, and nodes 0-1 are asked for; \
             name one node, or use bind: or interleave:"
        );
        assert!(
            skipped("cpus = \"500\"")
                .reason
                .starts_with("CPUs 500 are not online")
        );
        assert!(
            skipped("memory-nodes = \"8\"")
                .reason
                .starts_with("nodes 8 have no memory")
        );
    }

    #[test]
    fn groups_are_used_where_they_can_be_made() {
        let machine = article_000();
        let mechanism_of = |case: &str, groups: GroupSupport| {
            let mut host = Host::new(&machine);
            host.groups = groups;
            planner::plan(&second(case), &host).unwrap().cases[1]
                .placement
                .mechanism
        };
        let available = || GroupSupport::Available { cgroup_version: 2 };
        let denied = || GroupSupport::NotPermitted {
            reason: "/sys/fs/cgroup is read-only".to_owned(),
        };
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
        // Nothing is asked for, so nothing is made.
        assert_eq!(
            mechanism_of("mechanism = \"group\"\ncpus = \"inherited\"", denied()),
            Mechanism::Affinity
        );
    }

    #[test]
    fn a_group_that_may_not_be_made_says_what_works_without_root() {
        let machine = article_000();
        let mut host = Host::new(&machine);
        host.groups = GroupSupport::NotPermitted {
            reason: "/sys/fs/cgroup is read-only".to_owned(),
        };
        let mut definition = second("mechanism = \"group\"");
        definition.baseline = "b".to_owned();
        let cannot = planner::plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
        assert_eq!(
            cannot.to_string(),
            "case b: no processor group can be made: /sys/fs/cgroup is read-only; \
             set mechanism = \"affinity\", which needs no group and no root"
        );
        host.groups = GroupSupport::Missing {
            reason: "no cpuset controller".to_owned(),
        };
        let cannot = planner::plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    }
}
