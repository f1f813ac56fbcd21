//! From a definition and a machine to cases that can be executed.

use model::{
    Allocation, ByteSize, CasePlan, LoadPlan, LogicalReads, Mechanism, Metric, ParallelScan,
    Placement, PostgresReads, SgaPlan, Skipped, Work,
};

use super::cannot::Cannot;
use super::host::{GroupSupport, Host};
use super::memory;
use crate::definition::{
    CacheSize, CaseDefinition, Definition, Engine, MechanismChoice, SHIPPED, WorkChoice,
};

/// What a definition means on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the experiment.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// The definition's file, verbatim.
    pub definition: String,
    /// What the cases are compared by.
    pub metric: Metric,
    /// Name of the case that others are compared with; it is one of `cases`.
    pub baseline: String,
    /// Whether the cases differ in where memory lies.
    pub asks_about_memory: bool,
    /// The cases to run, in the order of the definition.
    pub cases: Vec<CasePlan>,
    /// The cases this machine cannot run.
    pub skipped: Vec<Skipped>,
    /// What a reader should know beforehand; whole sentences.
    pub notes: Vec<String>,
}

/// Plans an experiment for a machine.
///
/// A case that cannot run is skipped with its reason. When that leaves nothing to compare (the
/// baseline cannot run, or fewer than two of several cases can), the experiment cannot run.
pub fn plan(definition: &Definition, host: &Host<'_>) -> Result<Plan, Cannot> {
    check_needs(definition, host)?;
    plan_cases(definition, host)
}

/// Whether a machine can run an experiment: the same checks, without the plan.
pub fn availability(definition: &Definition, host: &Host<'_>) -> Result<(), Cannot> {
    plan(definition, host).map(|_| ())
}

fn check_needs(definition: &Definition, host: &Host<'_>) -> Result<(), Cannot> {
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

fn plan_cases(definition: &Definition, host: &Host<'_>) -> Result<Plan, Cannot> {
    let metric = metric(definition)?;
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    for case in &definition.cases {
        match plan_case(definition.engine, case, host) {
            Ok(plan) => cases.push(plan),
            Err(cannot) => skipped.push((case.name.as_str(), cannot)),
        }
    }
    let nothing_to_compare = cases.len() < definition.cases.len().min(2);
    let decisive = |(name, _): &&(&str, Cannot)| nothing_to_compare || *name == definition.baseline;
    if let Some((name, cannot)) = skipped.iter().find(decisive) {
        return Err(Cannot {
            reason: format!("case {name}: {}", cannot.reason),
            ..cannot.clone()
        });
    }
    Ok(Plan {
        experiment: definition.name.clone(),
        question: definition.question.clone(),
        definition: definition.text.clone(),
        metric,
        baseline: definition.baseline.clone(),
        asks_about_memory: definition.asks_about_memory,
        notes: notes(definition, host, &cases),
        cases,
        skipped: skipped
            .into_iter()
            .map(|(name, cannot)| Skipped {
                case: name.to_owned(),
                reason: cannot.to_string(),
            })
            .collect(),
    })
}

fn plan_case(engine: Engine, case: &CaseDefinition, host: &Host<'_>) -> Result<CasePlan, Cannot> {
    let load = plan_load(case, host)?;
    let cpus = host.chosen_cpus(&case.cpus)?;
    let memory_nodes = host.chosen_memory_nodes(&case.memory_nodes)?;
    let sga = SgaPlan {
        cache_bytes: match case.cache {
            CacheSize::Bytes(bytes) => bytes,
            CacheSize::BeyondCaches => host.bytes_beyond_caches(),
        },
        backing: case.backing,
        page_bytes: case.page_bytes,
        allocation: host.chosen_allocation(&case.allocation)?,
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
    let asks_for_something = cpus.is_some() || memory_nodes.is_some();
    Ok(CasePlan {
        name: case.name.clone(),
        about: case.about.clone(),
        placement: Placement {
            cpus,
            memory_nodes,
            mechanism: mechanism(case.mechanism, asks_for_something, host)?,
        },
        work: work(engine, case, host, LogicalReads { sga, load })?,
    })
}

/// What the embedded instance does.
fn instance_work(case: &CaseDefinition, instance: LogicalReads) -> Result<Work, Cannot> {
    match (case.work, instance.load.cpu_count) {
        (WorkChoice::LogicalReads, _) => Ok(Work::LogicalReads(instance)),
        (WorkChoice::ParallelScan, Some(_)) => Err(Cannot::usage(
            "the workers of a parallel scan are not caged",
            "leave cpu-count out, or set fewer sessions",
        )),
        (WorkChoice::ParallelScan, None) => Ok(Work::ParallelScan(ParallelScan {
            instance,
            stealing: case.stealing,
        })),
    }
}

/// What the cases are compared by: they must all do the same.
fn metric(definition: &Definition) -> Result<Metric, Cannot> {
    let first = definition.cases.first().map(|case| case.work);
    if let Some(other) = definition
        .cases
        .iter()
        .find(|case| Some(case.work) != first)
    {
        return Err(Cannot::usage(
            format!(
                "case {} does other work than the first, and nothing compares both",
                other.name
            ),
            "give all cases the same `work`",
        ));
    }
    Ok(match first {
        Some(WorkChoice::ParallelScan) => Metric::BytesPerSecond,
        _ => Metric::LogicalReadsPerSecond,
    })
}

/// What reads, with what only it has.
fn work(
    engine: Engine,
    case: &CaseDefinition,
    host: &Host<'_>,
    reads: LogicalReads,
) -> Result<Work, Cannot> {
    let prewarm_cpus = host.chosen_cpus(&case.prewarm_cpus)?;
    let cpu_quota = case.cpu_quota.map(|count| host.count(count)).transpose()?;
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    match engine {
        Engine::Instance if prewarm_cpus.is_some() || cpu_quota.is_some() => refuse(
            "cpu-quota and prewarm-cpus are for a server, and the embedded instance is none",
            "set engine = \"postgres\", or leave these keys out",
        ),
        Engine::Instance => instance_work(case, reads),
        Engine::Postgres if case.work != WorkChoice::LogicalReads => refuse(
            "sessions of PostgreSQL do logical reads and no other work",
            "leave work out, or set engine = \"instance\"",
        ),
        Engine::Postgres if reads.load.cpu_count.is_some() => refuse(
            "PostgreSQL has no instance caging",
            "set cpu-quota in place of cpu-count: the kernel then does the limiting",
        ),
        Engine::Postgres if reads.load.data_bytes.is_some() => refuse(
            "the data of a PostgreSQL server is what its shared buffers hold",
            "leave data out",
        ),
        Engine::Postgres if matches!(reads.sga.allocation, Allocation::PerNode(_)) => refuse(
            "PostgreSQL has no pool for each node",
            "set another allocation",
        ),
        Engine::Postgres => Ok(Work::Postgres(PostgresReads {
            reads,
            prewarm_cpus,
            cpu_quota,
        })),
    }
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

fn mechanism(
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

/// What a reader should know before the run.
fn notes(definition: &Definition, host: &Host<'_>, cases: &[CasePlan]) -> Vec<String> {
    let mut notes = Vec::new();
    if definition.asks_about_memory && host.topology.emulated == Some(true) {
        notes.push(
            "This machine is emulated: its nodes are equally far, so no winner will be named."
                .to_owned(),
        );
    }
    for case in cases {
        let Some(work) = case.instance() else {
            continue;
        };
        let cpus = case
            .placement
            .cpus
            .as_ref()
            .map_or(host.cpus().len(), model::CpuSet::len);
        let load = &work.load;
        let running = load.cpu_count.unwrap_or(load.sessions) as usize;
        if running > cpus {
            let name = &case.name;
            let unit = if cpus == 1 { "CPU" } else { "CPUs" };
            notes.push(format!(
                "Case {name}: {running} sessions share {cpus} {unit}."
            ));
        }
        if let Some(caches) = host.caches_that_hide(work.sga.cache_bytes) {
            notes.push(format!(
                "Case {}: the buffer cache ({}) is not much larger than the processor's caches \
                 ({}), which may answer in place of memory.",
                case.name,
                ByteSize(work.sga.cache_bytes),
                ByteSize(caches)
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::super::test_hosts::{article_000, memory_only_first, one_node, sparse};
    use super::*;
    use crate::find;
    use model::exit::ExitCode;
    use model::{CpuSet, Node, NodeId, NodeSet, Topology};
    use proptest::prelude::*;

    fn set<I: model::Id>(text: &str) -> model::IdSet<I> {
        text.parse().unwrap()
    }

    /// One line for each case: CPUs, memory nodes, allocation, sessions, cpu-count.
    fn summary(plan: &Plan) -> Vec<String> {
        let shown = |set: Option<String>| set.unwrap_or_else(|| "-".to_owned());
        let line = |case: &CasePlan| {
            let cpus = shown(case.placement.cpus.as_ref().map(CpuSet::to_string));
            let nodes = shown(case.placement.memory_nodes.as_ref().map(NodeSet::to_string));
            let work = case.instance().unwrap();
            let allocation = match &work.sga.allocation {
                Allocation::OsDefault => "os-default".to_owned(),
                Allocation::Interleave(nodes) => format!("interleave:{nodes}"),
                Allocation::Bind(nodes) => format!("bind:{nodes}"),
                other => format!("{other:?}"),
            };
            let cpu_count = shown(work.load.cpu_count.map(|count| count.to_string()));
            let sessions = work.load.sessions;
            let name = &case.name;
            format!("{name}: cpus {cpus} mems {nodes} {allocation} {sessions}/{cpu_count}")
        };
        plan.cases.iter().map(line).collect()
    }

    fn check(experiment: &str, machine: &Topology, expected: &[&str]) {
        let plan = plan(&find(experiment).unwrap(), &Host::new(machine)).unwrap();
        assert_eq!(summary(&plan), expected);
        assert_eq!(plan.skipped, []);
    }

    #[test]
    fn article_001_is_planned_as_its_author_set_it_up() {
        check(
            "binding-vs-caging",
            &article_000(),
            &[
                "free: cpus - mems - interleave:0-7 9/-",
                "caging: cpus - mems - interleave:0-7 9/6",
                "binding: cpus 1-6 mems 0 bind:0 9/-",
                "binding-and-caging: cpus 1-9 mems 0 bind:0 9/6",
                "binding-no-pressure: cpus 1-9 mems 0 bind:0 9/-",
            ],
        );
    }

    #[test]
    fn postgres_is_limited_by_a_quota() {
        let machine = article_000();
        let definition = find("postgres-binding-vs-quota").unwrap();
        let plan = plan(&definition, &Host::new(&machine)).unwrap();
        let quotas: Vec<Option<u32>> = plan
            .cases
            .iter()
            .map(|case| match &case.work {
                Work::Postgres(work) => work.cpu_quota,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(quotas, [None, Some(6), None, Some(6), None]);
        let mut host = Host::new(&machine);
        host.no_postgres = Some("no PostgreSQL was found in PATH".to_owned());
        let cannot = availability(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
        assert!(cannot.advice.contains("--pg-bin"), "{cannot}");
    }

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
            let plan = plan(&definition, &Host::new(&article_000())).unwrap();
            let reasons: Vec<&str> = plan.skipped.iter().map(|it| it.reason.as_str()).collect();
            assert!(reasons[0].contains(expected), "{reasons:?}");
        };
        check(
            "binding-vs-caging",
            "postgres",
            "PostgreSQL has no instance caging",
        );
        check("postgres-binding-vs-quota", "instance", "are for a server");
    }

    #[test]
    fn article_000_is_planned_as_its_author_set_it_up() {
        check(
            "local-vs-remote",
            &article_000(),
            &[
                "local: cpus 1-9 mems 0 bind:0 8/-",
                "remote: cpus 1-9 mems 4 bind:4 8/-",
            ],
        );
    }

    #[test]
    fn a_laptop_with_two_cpus_gets_three_sessions_and_a_limit_of_one() {
        let machine = one_node(2);
        check(
            "binding-vs-caging",
            &machine,
            &[
                "free: cpus - mems - interleave:0 3/-",
                "caging: cpus - mems - interleave:0 3/1",
                "binding: cpus 1 mems 0 bind:0 3/-",
                "binding-and-caging: cpus 0-1 mems 0 bind:0 3/1",
                "binding-no-pressure: cpus 0-1 mems 0 bind:0 3/-",
            ],
        );
        let plan = plan(&find("binding-vs-caging").unwrap(), &Host::new(&machine)).unwrap();
        assert_eq!(
            plan.notes,
            [
                "Case free: 3 sessions share 2 CPUs.",
                "Case binding: 3 sessions share 1 CPU.",
                "Case binding-no-pressure: 3 sessions share 2 CPUs.",
            ]
        );
    }

    #[test]
    fn memory_without_cpus_can_be_the_remote_node() {
        check(
            "local-vs-remote",
            &memory_only_first(),
            &[
                "local: cpus 2-3 mems 2 bind:2 2/-",
                "remote: cpus 2-3 mems 0 bind:0 2/-",
            ],
        );
        check(
            "local-vs-remote",
            &sparse(),
            &[
                "local: cpus 0-3 mems 2 bind:2 4/-",
                "remote: cpus 0-3 mems 9 bind:9 4/-",
            ],
        );
    }

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
             binding-vs-caging, postgres-binding-vs-quota"
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

    /// Two cases of which the second is as given.
    fn second(case: &str) -> Definition {
        let cpus = if case.contains("cpus = ") {
            ""
        } else {
            "cpus = \"first-node\""
        };
        let text = format!(
            "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"q\"\n\
             baseline = \"a\"\nasks-about-memory = true\n[load]\nsessions = 4\n\
             [[case]]\nname = \"a\"\nabout = \"a\"\n\
             [[case]]\nname = \"b\"\nabout = \"b\"\n{cpus}\n{case}\n\
             [[case]]\nname = \"c\"\nabout = \"c\"\n"
        );
        Definition::parse("mine.toml", &text).unwrap()
    }

    #[test]
    fn a_case_that_cannot_run_is_skipped_with_its_reason_and_advice() {
        let machine = article_000();
        let skipped = |case: &str| {
            let plan = plan(&second(case), &Host::new(&machine)).unwrap();
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
    fn a_baseline_that_cannot_run_ends_it() {
        let machine = article_000();
        let mut definition = second("cpus = \"500\"");
        definition.baseline = "b".to_owned();
        let cannot = plan(&definition, &Host::new(&machine)).unwrap_err();
        assert!(cannot.reason.starts_with("case b: CPUs 500 are not online"));
    }

    #[test]
    fn fewer_than_two_cases_compare_nothing() {
        let machine = article_000();
        let mut definition = second("cpus = \"500\"");
        definition.cases.pop();
        let cannot = plan(&definition, &Host::new(&machine)).unwrap_err();
        assert!(cannot.reason.starts_with("case b: CPUs 500 are not online"));
        definition.cases.pop();
        assert_eq!(
            plan(&definition, &Host::new(&machine)).unwrap().cases.len(),
            1
        );
    }

    #[test]
    fn groups_are_used_where_they_can_be_made() {
        let machine = article_000();
        let mechanism_of = |case: &str, groups: GroupSupport| {
            let mut host = Host::new(&machine);
            host.groups = groups;
            plan(&second(case), &host).unwrap().cases[1]
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
        let cannot = plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
        assert_eq!(
            cannot.to_string(),
            "case b: no processor group can be made: /sys/fs/cgroup is read-only; \
             set mechanism = \"affinity\", which needs no group and no root"
        );
        host.groups = GroupSupport::Missing {
            reason: "no cpuset controller".to_owned(),
        };
        let cannot = plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    }

    #[test]
    fn an_emulated_machine_is_told_that_it_has_no_answer() {
        let mut machine = article_000();
        machine.emulated = Some(true);
        let notes = |name| {
            plan(&find(name).unwrap(), &Host::new(&machine))
                .unwrap()
                .notes
        };
        assert!(notes("local-vs-remote")[0].starts_with("This machine is emulated"));
    }

    fn any_machine() -> impl Strategy<Value = Topology> {
        let node = (
            0u32..64,
            prop::collection::vec(0u32..200, 0..12),
            0u64..1024,
        );
        let nodes = prop::collection::vec(node, 1..6);
        let distances = prop::option::of(prop::collection::vec(
            prop::collection::vec(0u32..256, 0..7),
            0..7,
        ));
        (nodes, distances).prop_map(|(nodes, distances)| {
            let nodes: Vec<Node> = nodes
                .into_iter()
                .map(|(id, cpus, mib)| Node {
                    id: NodeId(id),
                    cpus: cpus.into_iter().map(model::CpuId).collect(),
                    memory_bytes: Some(mib << 20),
                    free_bytes: Some(mib << 20),
                    ..Node::default()
                })
                .collect();
            Topology {
                cpus: nodes.iter().flat_map(|node| node.cpus.iter()).collect(),
                nodes,
                distances,
                ..Topology::default()
            }
        })
    }

    proptest! {
        #[test]
        fn any_machine_gets_a_plan_it_can_carry_out_or_a_reason(machine in any_machine()) {
            let host = Host::new(&machine);
            for shipped in SHIPPED {
                let definition = shipped.definition().unwrap();
                match plan(&definition, &host) {
                    Err(cannot) => prop_assert!(!cannot.reason.is_empty()),
                    Ok(plan) => {
                        prop_assert!(plan.cases.len() >= 2);
                        prop_assert!(plan.cases.iter().any(|case| case.name == plan.baseline));
                        for case in &plan.cases {
                            let cpus = case.placement.cpus.clone().unwrap_or(set("0"));
                            prop_assert!(!cpus.is_empty());
                            let work = case.instance().or_else(|| case.logical_reads()).unwrap();
                            let caged = work.load.cpu_count;
                            prop_assert!(caged.is_none_or(|count| count < work.load.sessions));
                            if let Some(nodes) = work.sga.allocation.nodes() {
                                prop_assert!(nodes.is_subset(&machine.memory_nodes()));
                                prop_assert!(!nodes.is_empty());
                            }
                        }
                    }
                }
            }
        }
    }
}
