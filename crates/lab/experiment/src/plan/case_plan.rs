//! Plans one case of a definition for a machine, or says why it cannot run there.

use instance::{SgaLayout, SgaSize};
use model::{ByteSize, CasePlan, LoadPlan, LogicalReads, SgaPlan, Work, counted, node_words};
use server::TablesPlan;

use super::cannot::Cannot;
use super::command::plan_command;
use super::host::Host;
use super::kernel::plan_kernel;
use super::work::{check_extra_work, emulated_cost, work};
use super::{memory, own_memory, placement};
use crate::definition::{CacheSize, CaseDefinition, Engine, WorkChoice};

/// Plans one case; `beyond_caches` is the size of a buffer cache beyond the processor's caches.
pub(super) fn plan(
    engine: Engine,
    case: &CaseDefinition,
    beyond_caches: u64,
    host: &Host,
) -> Result<CasePlan, Cannot> {
    check_extra_work(engine, case)?;
    if case.work == WorkChoice::Command {
        return plan_command(engine, case, host);
    }
    if let WorkChoice::Kernel(kernel) = case.work {
        return plan_kernel(kernel, engine, case, host);
    }
    let load = plan_load(case, host)?;
    let placement = placement::plan(case, host)?;
    let memory_nodes = placement.memory_nodes.as_ref();
    let asked = SgaPlan {
        cache_bytes: match case.cache {
            CacheSize::Bytes(bytes) => bytes,
            CacheSize::BeyondCaches => beyond_caches,
        },
        backing: case.backing,
        page_bytes: case.page_size.bytes(host.topology.base_page_bytes()),
        allocation: placement::allocation(
            host.chosen_allocation(&case.allocation)?,
            &placement,
            host,
        )?,
    };
    let sga = match case.work {
        WorkChoice::Own(work) => own_memory::sga(work, case, asked, load.sessions, host)?,
        _ => asked,
    };
    check_cache_for_sessions(&sga, &load)?;
    if case.work == WorkChoice::LogicalReads {
        check_work_unit(engine, &sga, &load)?;
    }
    if let (Some(nodes), Some(allowed)) = (sga.allocation.nodes(), memory_nodes)
        && !nodes.is_subset(allowed)
    {
        return Err(Cannot::usage(
            format!(
                "allocation places the SGA on {}, but memory-nodes allows {allowed}",
                node_words(nodes)
            ),
            "include the nodes of allocation in memory-nodes",
        ));
    }
    memory::check(host, &sga, &load, memory_nodes)?;
    let reads = LogicalReads { sga, load };
    let work = match case.work {
        WorkChoice::Own(load) if engine == Engine::Instance => {
            let work = own_memory::work(load, case, host, reads, &placement)?;
            Work::OwnMemory(work)
        }
        _ => work(engine, case, host, reads)?,
    };
    Ok(CasePlan {
        name: case.name.clone(),
        about: case.about.clone(),
        placement,
        work,
    })
}

fn plan_load(case: &CaseDefinition, host: &Host) -> Result<LoadPlan, Cannot> {
    let sessions = host.count(case.sessions)?;
    let cpu_count = case.cpu_count.map(|count| host.count(count)).transpose()?;
    match cpu_count {
        Some(cpu_count) if cpu_count >= sessions => Err(Cannot::usage(
            format!(
                "caging to {cpu_count} of {} has no effect",
                counted(sessions, "session")
            ),
            "set a smaller cpu-count, or more sessions",
        )),
        _ => Ok(LoadPlan {
            sessions,
            cpu_count,
            data_bytes: case.data.bytes(),
            update_pct: case.update_pct,
            handicap_pct: f64::from(case.handicap) / 100.0,
            emulated_cost: emulated_cost(case, &host.topology)?,
            work_unit: case.work_unit.rows(),
            cpu_quota: placement::cpu_quota(case, host)?,
        }),
    }
}

/// Checks that the cache has room for a table and its index for each session.
fn check_cache_for_sessions(sga: &SgaPlan, load: &LoadPlan) -> Result<(), Cannot> {
    const BYTES_PER_SESSION_MIN: u64 = 64 << 10;
    let needed = u64::from(load.sessions) * BYTES_PER_SESSION_MIN;
    if sga.cache_bytes >= needed {
        return Ok(());
    }
    let (cache, needed) = (ByteSize(sga.cache_bytes), ByteSize(needed));
    Err(Cannot::usage(
        format!(
            "the cache for {} must be {needed} or more, but it is {cache}",
            counted(load.sessions, "session")
        ),
        "set a larger cache, or fewer sessions",
    ))
}

/// Checks that a statement reads no more rows than one table has.
fn check_work_unit(engine: Engine, sga: &SgaPlan, load: &LoadPlan) -> Result<(), Cannot> {
    let rows = match engine {
        Engine::Server(kind) => Some(TablesPlan::of(kind, sga, load).rows_per_table()),
        // Another check reports why such an SGA is impossible.
        _ => SgaLayout::new(&SgaSize::of(sga, load))
            .ok()
            .map(|layout| layout.rows_per_table()),
    };
    match (load.work_unit, rows) {
        (Some(asked), Some(rows)) if asked > rows => Err(Cannot::usage(
            format!(
                "a statement reads {}, but a table has {rows}",
                counted(asked, "row")
            ),
            "set a smaller work-unit, a larger cache, or fewer sessions",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use model::{ServerKind, Skipped};

    use super::super::planner;
    use super::super::test_hosts::{article_000, second};
    use super::*;
    use crate::definition::Definition;
    use crate::find;

    #[test]
    fn an_engine_refuses_the_keys_of_another() {
        let check = |experiment: &str, engine: &str, expected: &str| {
            let definition = find(experiment).unwrap();
            let definition = Definition {
                engine: match engine {
                    "postgres" => Engine::Server(ServerKind::named("postgres")),
                    _ => Engine::Instance,
                },
                ..definition
            };
            let reason = match planner::plan(&definition, &Host::new(&article_000())) {
                Ok(plan) => plan.skipped[0].cannot.reason.clone(),
                Err(cannot) => cannot.to_string(),
            };
            assert!(reason.contains(expected), "{reason}");
        };
        check(
            "binding-vs-caging",
            "postgres",
            "PostgreSQL has no instance caging",
        );
        check(
            "postgres-shared-buffers",
            "instance",
            "applies only to a PostgreSQL server",
        );
    }

    #[test]
    fn an_sga_has_base_pages_of_the_machine_whatever_their_size() {
        for base in [4 << 10, 16 << 10, 64 << 10] {
            let mut machine = article_000();
            machine.page_bytes = Some(base);
            let plan = planner::plan(&second(""), &Host::new(&machine)).unwrap();
            for case in &plan.cases {
                assert_eq!(case.instance().unwrap().sga.page_bytes, base);
            }
            let asked = planner::plan(&second("page-size = \"4KiB\""), &Host::new(&machine));
            let skipped = asked.unwrap().skipped;
            let reasons: Vec<String> = skipped.iter().map(|it| it.cannot.to_string()).collect();
            match base {
                4096 => assert!(reasons.is_empty(), "{reasons:?}"),
                _ => assert!(
                    reasons[0].ends_with("set page-size = \"base\"")
                        && reasons[0].starts_with("needs 4 KiB pages (the smallest here: "),
                    "{reasons:?}"
                ),
            }
        }
    }

    #[test]
    fn a_case_that_cannot_run_is_skipped_with_its_reason_and_advice() {
        let machine = article_000();
        let skipped = |case: &str| {
            let plan = planner::plan(&second(case), &Host::new(&machine)).unwrap();
            assert_eq!(plan.cases.len(), 2);
            Skipped::from(plan.skipped[0].clone())
        };
        let Skipped { case, reason } = skipped("page-size = \"2MiB\"");
        assert_eq!(case, "b");
        assert!(
            reason.starts_with("node 0 has no pool of 2 MiB pages; use"),
            "{reason}"
        );
        assert_eq!(
            skipped("cache = \"16TiB\"").reason,
            "the SGA needs 16.14 TiB on nodes 0-7 (1.01 TiB free); \
             free memory there, or set a smaller `cache`"
        );
        assert_eq!(
            skipped("memory-nodes = \"0\"\nallocation = \"bind:7\"").reason,
            "allocation places the SGA on node 7, but memory-nodes allows 0; include the nodes \
             of allocation in memory-nodes"
        );
        assert_eq!(
            skipped("sessions = 6\ncpu-count = \"readers\"").reason,
            "caging to 9 of 6 sessions has no effect; \
             set a smaller cpu-count, or more sessions"
        );
        assert_eq!(
            skipped("sessions = 100\ncache = \"1MiB\"").reason,
            "the cache for 100 sessions must be 6.25 MiB or more, but it is 1 MiB; set a larger \
             cache, or fewer sessions"
        );
        assert_eq!(
            skipped("sessions = 3\ncache = \"64MiB\"\nwork-unit = 8192").reason,
            "a statement reads 8192 rows, but a table has 2723; set a smaller work-unit, a larger \
             cache, or fewer sessions"
        );
        assert_eq!(
            skipped("allocation = \"weighted-interleave:all\"").reason,
            "needs weighted interleave (Linux 6.9 or later); \
             set allocation = \"interleave:…\", or boot a newer kernel"
        );
        assert_eq!(
            skipped("allocation = \"prefer:0-1\"").reason,
            "prefer: takes one node, not nodes 0-1; \
             name one node, or use bind: or interleave:"
        );
        assert!(
            skipped("cpus = \"500\"")
                .reason
                .starts_with("offline or not allowed: CPU 500")
        );
        assert!(
            skipped("memory-nodes = \"8\"")
                .reason
                .starts_with("no memory that this process may use on node 8")
        );
    }
}
