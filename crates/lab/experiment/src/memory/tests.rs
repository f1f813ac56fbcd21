//! Tests plans on machines of many shapes, and results of synthetic runs.

use std::collections::BTreeMap;

use model::exit::ExitCode;
use model::{
    Case, CasePlan, CpuSet, Evidence, KernelFigures, Machine, Measured, Metric, NodeId, NodeSet,
    Outcome, PageKind, Run, RunStatus, StreamKernel, TimerFacts, TimerSource, Topology, Trial,
    Work,
};
use model::{MeasurementEvidence, MemoryEvidence};

use super::{
    BandwidthChoice, CurvePairs, MemoryPlaces, bandwidth_plan, bandwidth_result, curve_plan,
    latency_plan, latency_result, loaded_plan, transfers_plan,
};
use crate::plan::test_hosts::{article_000, memory_only_first, one_node, sparse};
use crate::plan::{Host, Plan};

fn places(machine: &Topology) -> MemoryPlaces {
    MemoryPlaces::of(&Host::new(machine), None).unwrap()
}

fn latency(machine: &Topology) -> Plan {
    latency_plan(&places(machine)).unwrap()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.cases.iter().map(|case| case.name.as_str()).collect()
}

#[test]
fn every_node_with_cpus_measures_every_node_with_memory() {
    let plan = latency(&article_000());
    assert_eq!(plan.cases.len(), 8 * 8 + 1);
    assert_eq!(plan.metric, Metric::NsPerAccess);
    let first = &plan.cases[0];
    // CPU 0 handles interrupts, so another CPU measures.
    assert_eq!(first.name, "from-0-to-0");
    assert_ne!(first.placement.cpus, Some("0".parse().unwrap()));
    // Node 0 has only memory, node 1 only CPUs.
    let names = names(&latency(&memory_only_first())).join(" ");
    assert_eq!(
        names,
        "from-1-to-0 from-1-to-2 from-2-to-0 from-2-to-2 page-walks"
    );
}

#[test]
fn sparse_ids_stay_as_they_are_and_other_packages_are_kept_awake() {
    let machine = sparse();
    let plan = latency(&machine);
    for case in &plan.cases {
        let Work::MemoryLatency(work) = &case.work else {
            panic!("{case:?}");
        };
        let own = case.placement.cpus.clone().unwrap();
        assert!(work.awake_cpus.is_disjoint(&own), "{case:?}");
        let node = machine.node_of_cpu(own.first().unwrap()).unwrap();
        let awake = work.awake_cpus.iter();
        assert!(
            awake
                .clone()
                .all(|cpu| machine.node_of_cpu(cpu) != Some(node))
        );
        let others = machine.cpu_nodes().len() - 1;
        assert_eq!(awake.count(), others, "{case:?}");
    }
}

#[test]
fn page_walks_are_the_first_cell_once_more() {
    let plan = latency(&one_node(4));
    assert_eq!(names(&plan), ["from-0-to-0", "page-walks"]);
    let Work::MemoryLatency(walks) = &plan.cases[1].work else {
        panic!("{plan:?}");
    };
    assert_eq!(
        (walks.page_kind, walks.by_tlb_groups),
        (Some(PageKind::Small), false)
    );
}

#[test]
fn a_node_without_room_has_a_reason_in_place_of_a_cell() {
    let mut machine = article_000();
    machine.nodes[3].free_bytes = Some(1 << 20);
    let plan = latency(&machine);
    assert_eq!(plan.cases.len(), 8 * 7 + 1);
    assert_eq!(plan.skipped.len(), 8);
    let skipped = &plan.skipped[0];
    assert_eq!(skipped.case, "from-0-to-3");
    assert!(
        skipped
            .cannot
            .reason
            .starts_with("not enough memory on node 3: "),
        "{skipped:?}"
    );
}

#[test]
fn a_node_that_a_cpuset_forbids_is_named() {
    let machine = article_000();
    let mut host = Host::new(&machine);
    host.memory_nodes_allowed = Some("0-5".parse().unwrap());
    let cannot = MemoryPlaces::of(&host, None).unwrap_err();
    assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
    assert_eq!(
        cannot.to_string(),
        "this process may not use memory of nodes 6-7: a cpuset or its affinity forbids it; run \
         it where all nodes are allowed, or measure what is allowed with --nodes 0-5"
    );
    host.cpus_allowed = Some("0-9".parse().unwrap());
    let cannot = MemoryPlaces::of(&host, None).unwrap_err().to_string();
    assert!(
        cannot.contains("memory of nodes 6-7 and the CPUs of nodes 1-3,5-7"),
        "{cannot}"
    );
    let only = "0".parse().unwrap();
    assert!(MemoryPlaces::of(&host, Some(&only)).is_ok());
}

#[test]
fn nodes_that_do_not_exist_are_named() {
    let machine = article_000();
    let nodes: NodeSet = "2,9".parse().unwrap();
    let cannot = MemoryPlaces::of(&Host::new(&machine), Some(&nodes)).unwrap_err();
    assert_eq!(cannot.exit_code, ExitCode::Usage);
    assert!(
        cannot.reason.starts_with("node 9 does not exist:"),
        "{cannot}"
    );
}

#[test]
fn one_cpu_has_a_matrix_and_no_transfers() {
    let machine = one_node(1);
    assert_eq!(latency(&machine).cases.len(), 2);
    let cannot = transfers_plan(&places(&machine)).unwrap_err();
    assert_eq!(cannot.exit_code, ExitCode::MachineCannot);
    let choice = choice(false);
    let cannot = loaded_plan(&Host::new(&machine), &places(&machine), &choice).unwrap_err();
    assert!(
        cannot.reason.contains("no CPU besides the measuring one"),
        "{cannot}"
    );
}

#[test]
fn curves_are_of_the_pairs_asked_for() {
    let machine = article_000();
    let curves = |pairs: &CurvePairs| curve_plan(&Host::new(&machine), &places(&machine), pairs);
    assert_eq!(names(&curves(&CurvePairs::Local).unwrap()), ["from-0-to-0"]);
    assert_eq!(curves(&CurvePairs::All).unwrap().cases.len(), 64);
    let one = CurvePairs::One(NodeId(0), NodeId(7));
    assert_eq!(names(&curves(&one).unwrap()), ["from-0-to-7"]);
    let none = CurvePairs::One(NodeId(8), NodeId(0));
    assert_eq!(curves(&none).unwrap_err().exit_code, ExitCode::Usage);
}

fn choice(is_whole: bool) -> BandwidthChoice {
    BandwidthChoice {
        kernel: StreamKernel::Copy,
        simd: "portable".to_owned(),
        is_whole,
    }
}

#[test]
fn bandwidth_has_sweeps_and_the_whole_machine() {
    let machine = article_000();
    let host = Host::new(&machine);
    let matrix = bandwidth_plan(&host, &places(&machine), &choice(false)).unwrap();
    assert_eq!(matrix.cases.len(), 64);
    let whole = bandwidth_plan(&host, &places(&machine), &choice(true)).unwrap();
    let names = names(&whole).join(" ");
    assert!(names.contains("threads-1-on-0 threads-2-on-0 threads-3-on-0 threads-4-on-0"));
    assert!(
        names.ends_with("all-cpus-local all-cpus-interleaved all-cpus-remote"),
        "{names}"
    );
    let remote = whole.cases.last().unwrap();
    let Work::Stream(work) = &remote.work else {
        panic!("{remote:?}");
    };
    assert!(work.threads.iter().all(|thread| {
        let own = machine.node_of_cpu(thread.cpu).unwrap();
        thread
            .allocation
            .nodes()
            .is_some_and(|nodes| !nodes.contains(own))
    }));
}

/// Returns a run of a plan in which every trial has the value of its case.
fn run_of(machine: &Topology, plan: Plan, value: impl Fn(&CasePlan) -> Option<f64>) -> Run {
    let cases = plan.cases.into_iter().map(|plan| Case {
        trials: (0..5)
            .map(|round| trial(round, &plan, value(&plan)))
            .collect(),
        plan,
    });
    Run {
        id: "r".to_owned(),
        experiment: plan.experiment,
        question: plan.question,
        definition: plan.definition,
        started_at: String::new(),
        status: RunStatus::Settled,
        machine: Some(Machine {
            host: "h".to_owned(),
            kernel: String::new(),
            cpu_model: None,
            hypervisor: None,
            emulated: machine.emulated,
            numalab: String::new(),
            last_level_cache: None,
            working_set: None,
            topology: machine.clone(),
        }),
        seed: 1,
        metric: plan.metric,
        baseline: plan.baseline,
        asks_about_memory: true,
        window_s: Some(0.01),
        calibration: None,
        cases: cases.collect(),
        skipped: plan.skipped.into_iter().map(Into::into).collect(),
    }
}

fn trial(round: u32, plan: &CasePlan, value: Option<f64>) -> Trial {
    let memory = MemoryEvidence {
        page_kind: PageKind::Small,
        page_bytes: 4096,
        policy: String::new(),
        bytes_by_node: BTreeMap::new(),
        bytes_without_node: 0,
    };
    let measurement = MeasurementEvidence {
        cpus_allowed: CpuSet::new(),
        cpus_used: CpuSet::new(),
        memory_before: memory.clone(),
        memory_after: memory,
        run_queue_wait_ns: None,
        numa_pages_migrated: None,
        steal_s: None,
    };
    // A little noise, the same for all cases.
    let value = value.map(|value| value * (1.0 + f64::from(round) / 1000.0));
    Trial {
        round,
        outcome: match value {
            Some(_) => Outcome::Valid,
            None => Outcome::Invalid(format!("{}: a page lies elsewhere", plan.name)),
        },
        report: None,
        measured: value.map(|value| Measured {
            value,
            window_s: Some(0.01),
            warm_up_s: None,
            sessions: None,
            kernel: Some(KernelFigures {
                windows: vec![value],
                overlaps: Vec::new(),
                working_set_bytes: 128 << 20,
                tlb_group_pages: Some(64),
                curve: Vec::new(),
                transfers: Vec::new(),
                load_bytes_per_s: Some(1e9),
                checksum: 0,
                timer: TimerFacts {
                    source: TimerSource::Tsc,
                    ticks_per_s: 1e9,
                    precision_ns: 1.0,
                    overhead_ns: 1.0,
                },
            }),
        }),
        evidence: Evidence {
            measurements: vec![measurement],
            ..Evidence::default()
        },
        warnings: Vec::new(),
    }
}

/// Returns latencies like those of article 002: 53 ns locally, 211 to 217 ns to two nodes, 248 ns
/// to the last.
fn ns_of_article_002(case: &CasePlan) -> Option<f64> {
    let nodes = super::names::cell_of(&case.name);
    Some(match nodes {
        Some((from, to)) if from == to => 53.0,
        Some((from, to)) if from.0.abs_diff(to.0) == 3 => 248.0,
        Some(_) => 214.0,
        None => 90.0,
    })
}

fn four_nodes() -> Topology {
    let mut machine = article_000();
    machine.nodes.truncate(4);
    machine.distances = Some(
        (0..4)
            .map(|from| {
                (0..4)
                    .map(|to| Some(if from == to { 10 } else { 21 }))
                    .collect()
            })
            .collect(),
    );
    machine.cpus = machine
        .nodes
        .iter()
        .flat_map(|node| node.cpus.iter())
        .collect();
    machine
}

#[test]
fn a_run_says_what_the_firmware_hides() {
    let machine = four_nodes();
    let run = run_of(&machine, latency(&machine), ns_of_article_002);
    let result = latency_result(&[run]);
    assert!(
        result.findings.iter().any(|it| it.id == "hidden-hop"),
        "{:?}",
        result.findings
    );
    assert_eq!(result.method.as_ref().unwrap().rounds, 5);
    assert!(
        result
            .matrix
            .rows()
            .all(|(_, cells)| cells.iter().all(|it| it.low.is_some()))
    );
    let walks = result.page_walks.unwrap();
    assert!(walks.ns_with > walks.ns_without);
}

#[test]
fn an_emulated_machine_has_figures_and_no_classes() {
    let mut machine = four_nodes();
    machine.emulated = Some(true);
    let run = run_of(&machine, latency(&machine), ns_of_article_002);
    let result = latency_result(&[run]);
    assert_eq!(result.matrix.cpu_nodes().len(), 4);
    assert!(result.hop_classes.is_empty() && result.links.is_empty());
    assert!(!result.findings.iter().any(|it| it.id == "hidden-hop"));
}

#[test]
fn a_cell_whose_trials_do_not_count_has_their_reason() {
    let machine = four_nodes();
    let run = run_of(&machine, latency(&machine), |case| {
        (case.name != "from-1-to-2").then_some(100.0)
    });
    let result = latency_result(&[run]);
    let cell = result.matrix.cell(NodeId(1), NodeId(2)).unwrap();
    assert_eq!(cell.value, None);
    let reason = cell.absent_because.as_deref().unwrap();
    assert!(
        reason.starts_with("the placement was not honoured: from-1-to-2"),
        "{reason}"
    );
}

#[test]
fn more_threads_have_a_knee_and_the_whole_machine_its_rows() {
    let machine = four_nodes();
    let host = Host::new(&machine);
    let plan = bandwidth_plan(&host, &places(&machine), &choice(true)).unwrap();
    let run = run_of(&machine, plan, |case| {
        let Work::Stream(work) = &case.work else {
            return None;
        };
        Some(1e9 * (work.threads.len() as f64).min(4.0))
    });
    let result = bandwidth_result(&[run]).unwrap();
    assert_eq!(result.sweeps.len(), 4);
    assert!(
        result
            .sweeps
            .iter()
            .all(|sweep| sweep.knee_threads == Some(4))
    );
    assert_eq!(result.whole_machine.len(), 3);
    assert_eq!(result.matrix.cpu_nodes().len(), 4);
}

#[test]
fn ladders_begin_without_load() {
    let machine = four_nodes();
    let host = Host::new(&machine);
    let plan = loaded_plan(&host, &places(&machine), &choice(false)).unwrap();
    let run = run_of(&machine, plan, |_| Some(100.0));
    let result = bandwidth_result(&[run]).unwrap();
    assert_eq!(result.ladders.len(), 4);
    for ladder in &result.ladders {
        assert_eq!(ladder.points[0].delay, None);
        assert_eq!(ladder.points.last().unwrap().delay, Some(0));
        assert_eq!(ladder.cpu_node, ladder.memory_node);
        assert!(ladder.load_threads > 0);
    }
}
