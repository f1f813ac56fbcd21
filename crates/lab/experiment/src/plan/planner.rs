//! Turns a definition and a machine into cases that can be executed.

use model::{CasePlan, Metric};

use super::cannot::{Cannot, SkippedCase};
use super::host::Host;
use super::work::{check_work_units, metric};
use super::{case_plan, needs, notes};
use crate::definition::Definition;

/// A definition resolved on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the experiment.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// The definition's file, verbatim.
    pub definition: String,
    /// The metric by which cases are compared.
    pub metric: Metric,
    /// Name of the case that the others are compared with; it is one of `cases`.
    pub baseline: String,
    /// Whether the cases differ in where memory lies.
    pub asks_about_memory: bool,
    /// The cases to run, in the order of the definition.
    pub cases: Vec<CasePlan>,
    /// The cases that this machine cannot run.
    pub skipped: Vec<SkippedCase>,
    /// Notes for the reader before the run, in whole sentences.
    pub notes: Vec<String>,
}

/// Plans an experiment for a machine.
///
/// A case that cannot run is skipped, and the plan says why. When that leaves nothing to compare
/// (the baseline cannot run, or fewer than two of several different cases can), the experiment
/// cannot run.
pub fn plan(definition: &Definition, host: &Host) -> Result<Plan, Cannot> {
    needs::check(definition, host)?;
    plan_cases(definition, host)
}

fn plan_cases(definition: &Definition, host: &Host) -> Result<Plan, Cannot> {
    let metric = metric(definition)?;
    check_work_units(definition)?;
    let mut cases = Vec::new();
    let mut skipped = Vec::new();
    let beyond_caches = host.cache_beyond_caches(definition);
    for case in &definition.cases {
        match case_plan::plan(definition.engine, case, beyond_caches, host) {
            Ok(plan) => cases.push(plan),
            Err(cannot) => skipped.push(SkippedCase {
                case: case.name.clone(),
                cannot,
            }),
        }
    }
    let nothing_to_compare = different(&cases) < definition.cases.len().min(2);
    let is_decisive =
        |skipped: &&SkippedCase| nothing_to_compare || skipped.case == definition.baseline;
    if let Some(SkippedCase { case, cannot }) = skipped.iter().find(is_decisive) {
        return Err(Cannot {
            reason: format!("case {case}: {}", cannot.reason),
            ..cannot.clone()
        });
    }
    Ok(Plan {
        experiment: labelled(&definition.name, &cases),
        question: definition.question.clone(),
        definition: definition.text.clone(),
        metric,
        baseline: definition.baseline.clone(),
        asks_about_memory: definition.asks_about_memory,
        notes: notes::of(definition, host, &cases),
        cases,
        skipped,
    })
}

/// The name of a run. With an emulated cost, it says so wherever it is shown, and its figures are
/// those of another experiment.
fn labelled(name: &str, cases: &[CasePlan]) -> String {
    match cases.iter().any(|case| case.emulated_cost().is_some()) {
        true => format!("{name}-emulated-cost"),
        false => name.to_owned(),
    }
}

/// Counts the cases that differ in more than their names: a control repeats another case.
fn different(cases: &[CasePlan]) -> usize {
    let is_new = |(index, case): &(usize, &CasePlan)| {
        !cases[..*index].iter().any(|before| before.is_same_as(case))
    };
    cases.iter().enumerate().filter(is_new).count()
}

#[cfg(test)]
mod tests {
    use model::exit::ExitCode;
    use model::{Allocation, CpuSet, Node, NodeId, NodeSet, ServerKind, Topology, Work};
    use proptest::prelude::*;

    use super::super::test_hosts::{article_000, memory_only_first, one_node, second, sparse};
    use super::*;
    use crate::definition::SHIPPED;
    use crate::find;

    fn set<I: model::Id>(text: &str) -> model::IdSet<I> {
        text.parse().unwrap()
    }

    /// Returns one line for each case: CPUs, memory nodes, allocation, sessions, cpu-count.
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
                "quota: cpus - mems - interleave:0-7 9/-",
                "binding: cpus 1-6 mems 0 bind:0 9/-",
                "binding-and-caging: cpus 1-9 mems 0 bind:0 9/6",
                "binding-and-quota: cpus 1-9 mems 0 bind:0 9/-",
                "binding-no-pressure: cpus 1-9 mems 0 bind:0 9/-",
                "binding-again: cpus 1-6 mems 0 bind:0 9/-",
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
                Work::Server(_, work) => work.cpu_quota,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(quotas, [None, Some(6), None, Some(6), None, None]);
        let mut host = Host::new(&machine);
        let advice = "no PostgreSQL was found in PATH; name its folder with --pg-bin".to_owned();
        host.missing_servers
            .insert(ServerKind::named("postgres"), advice);
        let cannot = super::plan(&definition, &host).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
        assert!(cannot.advice.contains("--pg-bin"), "{cannot}");
    }

    #[test]
    fn article_000_is_planned_as_its_author_set_it_up() {
        check(
            "local-vs-remote",
            &article_000(),
            &[
                "local: cpus 1-9 mems 0 bind:0 8/-",
                "local-again: cpus 1-9 mems 0 bind:0 8/-",
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
                "quota: cpus - mems - interleave:0 3/-",
                "binding: cpus 1 mems 0 bind:0 3/-",
                "binding-and-caging: cpus 0-1 mems 0 bind:0 3/1",
                "binding-and-quota: cpus 0-1 mems 0 bind:0 3/-",
                "binding-no-pressure: cpus 0-1 mems 0 bind:0 3/-",
                "binding-again: cpus 1 mems 0 bind:0 3/-",
            ],
        );
        let plan = plan(&find("binding-vs-caging").unwrap(), &Host::new(&machine)).unwrap();
        assert_eq!(
            plan.notes,
            [
                "free, quota, binding-and-quota, binding-no-pressure: 3 sessions share 2 CPUs.",
                "binding, binding-again: 3 sessions share 1 CPU.",
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
                "local-again: cpus 2-3 mems 2 bind:2 2/-",
                "remote: cpus 2-3 mems 0 bind:0 2/-",
            ],
        );
        check(
            "local-vs-remote",
            &sparse(),
            &[
                "local: cpus 0-3 mems 2 bind:2 4/-",
                "local-again: cpus 0-3 mems 2 bind:2 4/-",
                "remote: cpus 0-3 mems 9 bind:9 4/-",
            ],
        );
    }

    #[test]
    fn a_baseline_that_cannot_run_ends_it() {
        let machine = article_000();
        let mut definition = second("cpus = \"500\"");
        definition.baseline = "b".to_owned();
        let cannot = plan(&definition, &Host::new(&machine)).unwrap_err();
        assert!(
            cannot
                .reason
                .starts_with("case b: offline or not allowed: CPU 500")
        );
    }

    #[test]
    fn fewer_than_two_cases_compare_nothing() {
        let machine = article_000();
        let mut definition = second("cpus = \"500\"");
        definition.cases.pop();
        let cannot = plan(&definition, &Host::new(&machine)).unwrap_err();
        assert!(
            cannot
                .reason
                .starts_with("case b: offline or not allowed: CPU 500")
        );
        definition.cases.pop();
        assert_eq!(
            plan(&definition, &Host::new(&machine)).unwrap().cases.len(),
            1
        );
    }

    fn any_machine() -> impl Strategy<Value = Topology> {
        let node = (
            0u32..64,
            prop::collection::vec(0u32..200, 0..12),
            0u64..1024,
        );
        let nodes = prop::collection::vec(node, 1..6);
        let distances = prop::option::of(prop::collection::vec(
            prop::collection::vec(prop::option::of(0u32..256), 0..7),
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
