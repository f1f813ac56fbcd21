//! The metrics of described machines, and of machines whose names are hostile.

use std::collections::BTreeMap;

use model::{
    Allocations, InstanceSnapshot, MemorySnapshot, NodeHugePages, NodeId, NodeSnapshot, Pressure,
    Snapshot,
};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serve::{CaseFigures, Expected, Observed, RunFigures, metrics, metrics_text};

const GIB: u64 = 1 << 30;

fn node(id: u32) -> NodeSnapshot {
    NodeSnapshot {
        id: NodeId(id),
        memory_bytes: Some(16 * GIB),
        free_bytes: Some(u64::from(id) * GIB),
        huge_pages: vec![NodeHugePages {
            page_bytes: 2 << 20,
            total: 512,
            free: Some(12),
            surplus: None,
        }],
        allocations: Some(Allocations {
            hit: 1_000_000,
            miss: 5,
            foreign: 7,
        }),
        cpu_busy_s: Some(12.5),
        ..NodeSnapshot::default()
    }
}

fn instance(name: &str) -> InstanceSnapshot {
    InstanceSnapshot {
        name: name.to_owned(),
        pids: vec![17, 18],
        memory: Some(MemorySnapshot {
            bytes_by_node: BTreeMap::from([(NodeId(0), GIB), (NodeId(3), 2 * GIB)]),
            looked_at_s: 90.0,
            ..MemorySnapshot::default()
        }),
    }
}

fn snapshot(instances: Vec<InstanceSnapshot>) -> Snapshot {
    Snapshot {
        taken_at_s: 1_790_000_000.25,
        uptime_s: 100.0,
        nodes: vec![node(0), node(3)],
        pressure: Pressure {
            memory_some: Some(0.125),
            ..Pressure::default()
        },
        instances,
        ..Snapshot::default()
    }
}

fn run(experiment: &str, cases: usize) -> RunFigures {
    let cases = (0..cases).map(|index| CaseFigures {
        name: format!("case {index}"),
        valid: 9,
        invalid: 1,
        failed: 0,
        median: Some(2.5e6),
        interval: None,
    });
    RunFigures {
        experiment: experiment.to_owned(),
        metric: model::Metric::LogicalReadsPerSecond,
        unit: "logical reads/s".to_owned(),
        started_at_s: None,
        cases: cases.collect(),
    }
}

fn text(snapshot: &Snapshot, forecast: &[Expected], runs: &[RunFigures]) -> String {
    metrics_text(&Observed {
        version: "0.0.0",
        snapshot,
        forecast,
        runs: Some(runs),
        exporter: None,
    })
}

/// Returns the series of a document: the name and labels as written, and the value.
fn series(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').unwrap());
    pairs
        .map(|(series, value)| (series.to_owned(), value.parse().unwrap()))
        .collect()
}

#[test]
fn every_figure_is_found_under_its_conventional_name() {
    let forecast = [Expected {
        node: 3,
        resource: "memory".to_owned(),
        seconds: 600.0,
        interval: (500.0, 700.0),
    }];
    let text = text(
        &snapshot(vec![instance("postgres:/data")]),
        &forecast,
        &[run("local-vs-remote", 1)],
    );
    let series = series(&text);
    let check = |name: &str, expected: f64| {
        assert_eq!(series.get(name), Some(&expected), "{name} in\n{text}");
    };
    #[expect(clippy::cast_precision_loss, reason = "exact")]
    let gib = GIB as f64;
    check(r#"numalab_node_memory_free_bytes{node="3"}"#, 3.0 * gib);
    check(
        r#"numalab_node_allocations_total{node="0",kind="miss"}"#,
        5.0,
    );
    check(
        r#"numalab_node_huge_pages_free{node="0",page_size="2097152"}"#,
        12.0,
    );
    check(
        r#"numalab_pressure_ratio{resource="memory",kind="some"}"#,
        0.125,
    );
    let memory =
        r#"numalab_instance_memory_bytes{database="postgres:/data",node="3",source="numa-maps"}"#;
    check(memory, 2.0 * gib);
    check(
        r#"numalab_instance_memory_age_seconds{database="postgres:/data"}"#,
        10.0,
    );
    check(
        r#"numalab_forecast_exhausted_seconds{node="3",resource="memory"}"#,
        600.0,
    );
    let labels = r#"{experiment="local-vs-remote",case="case 0"}"#;
    check(
        &format!("numalab_run_median_logical_reads_per_second{labels}"),
        2.5e6,
    );
}

#[test]
fn figures_of_runs_are_in_the_unit_of_their_name() {
    let shown = |metric: model::Metric, median: f64, unit: &str| {
        let mut run = run("e", 1);
        (run.metric, run.unit) = (metric, unit.to_owned());
        run.cases[0].median = Some(median);
        run.cases[0].interval = Some((median * 0.5, median * 2.0));
        series(&text(&Snapshot::default(), &[], &[run]))
    };
    let check = |found: &BTreeMap<String, f64>, name: &str, expected: f64| {
        let value = found.get(name).copied().unwrap_or(f64::NAN);
        assert!((value / expected - 1.0).abs() < 1e-12, "{name}: {found:?}");
    };
    let labels = r#"{experiment="e",case="case 0"}"#;
    let found = shown(model::Metric::NsPerAccess, 80.0, "ns");
    check(
        &found,
        &format!("numalab_run_median_access_seconds{labels}"),
        80e-9,
    );
    check(
        &found,
        &format!("numalab_run_low_access_seconds{labels}"),
        40e-9,
    );
    check(
        &found,
        &format!("numalab_run_high_access_seconds{labels}"),
        160e-9,
    );
    let found = shown(model::Metric::BytesPerSecond, 5e9, "GB/s");
    check(
        &found,
        &format!("numalab_run_median_bytes_per_second{labels}"),
        5e9,
    );
    let found = shown(model::Metric::Gain, 7.0, "tpm");
    let labels = r#"{experiment="e",case="case 0",unit="tpm"}"#;
    check(&found, &format!("numalab_run_median_gain{labels}"), 7.0);
}

#[test]
fn what_is_unknown_is_absent_and_not_zero() {
    let text = text(&Snapshot::default(), &[], &[run("x", 1)]);
    for absent in [
        "steal",
        "pressure",
        "node_memory",
        "run_low",
        "start_timestamp",
        "forecast",
    ] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
    let node = NodeSnapshot::default();
    let snapshot = Snapshot {
        nodes: vec![node],
        ..Snapshot::default()
    };
    let text = self::text(&snapshot, &[], &[]);
    assert!(!text.contains("numalab_node_memory"), "{text}");
    assert!(text.contains("numalab_node_cpus{node=\"0\"} 0\n"), "{text}");
}

#[test]
fn many_instances_and_cases_are_counted_instead_of_shown() {
    let many = (0..1000).map(|index| instance(&format!("cgroup:/{index}")));
    let runs: Vec<RunFigures> = (0..50).map(|index| run(&format!("e{index}"), 30)).collect();
    let text = text(&snapshot(many.collect()), &[], &runs);
    let series = series(&text);
    assert_eq!(series["numalab_instances"], 1000.0);
    assert_eq!(series["numalab_instances_left_out"], 968.0);
    assert_eq!(series["numalab_run_cases_left_out"], 1400.0);
    assert!(series.len() < 1000, "{}", series.len());
}

#[test]
fn every_metric_has_its_help_and_type_once_and_before_its_samples() {
    let text = text(&snapshot(vec![instance("a")]), &[], &[run("x", 3)]);
    let headers: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("# HELP"))
        .collect();
    let mut unique = headers.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), headers.len());
    let mut current = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            current = rest.split(' ').next().unwrap();
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert_eq!(name, current);
            assert!(metrics().any(|metric| metric.name == name));
        }
    }
}

proptest! {
    #[test]
    fn no_name_adds_a_line_or_a_series(names in proptest::collection::vec(any::<String>(), 0..6)) {
        let instances: Vec<_> = names.iter().map(|name| instance(name)).collect();
        let shown = instances.len();
        let text = text(&snapshot(instances), &[], &[]);
        let found = text.lines().filter(|line| line.starts_with("numalab_instance_processes{"));
        let mut found: Vec<&str> = found.collect();
        prop_assert!(found.len() <= shown);
        let lines = found.len();
        found.dedup();
        prop_assert_eq!(found.len(), lines);
        for line in text.lines() {
            prop_assert!(line.starts_with('#') || line.starts_with("numalab_"), "{:?}", line);
            prop_assert!(!line.contains(|it: char| it.is_control()), "{:?}", line);
        }
    }
}
