//! Records made up: the same target, before and after.

use model::{Machine, NodeId, RecordWindow, RecordedTarget, RunStatus, Topology};

use super::*;
use crate::TextOptions;
use crate::record_comparison_text;

/// A record of 40 windows in which a unit takes `cost_s` of CPU time, on average.
fn record(id: &str, cost_s: f64, change: impl FnOnce(&mut LiveRun, &mut RecordReport)) -> LiveRun {
    // Noise that alternates: neither slow nor large.
    let window = |number: u32| RecordWindow {
        seconds: 5.0,
        work: Some(1000),
        cpu_s: Some(
            1000.0
                * cost_s
                * if (number / 4).is_multiple_of(2) {
                    0.99
                } else {
                    1.01
                },
        ),
        mix: Some(5000),
        machine_busy_s: Some(2.0),
        ..RecordWindow::default()
    };
    let mut report = RecordReport {
        target: "redis:6379".to_owned(),
        unit: "command".to_owned(),
        mix_unit: Some("reads".to_owned()),
        end: RecordEnd::TimeOver,
        windows: (0..40).map(window).collect(),
        begin: RecordedTarget {
            bytes_by_node: [(NodeId(0), 1 << 30)].into(),
            ..RecordedTarget::default()
        },
        ..RecordReport::default()
    };
    let mut run = LiveRun {
        id: id.to_owned(),
        label: None,
        started_at: "2026-11-21T03:45:12+01:00".to_owned(),
        status: RunStatus::Bounded,
        machine: Machine {
            host: "db1".to_owned(),
            kernel: "6.12.95".to_owned(),
            cpu_model: None,
            hypervisor: None,
            emulated: Some(false),
            numalab: "0.1.0".to_owned(),
            last_level_cache: None,
            working_set: None,
            topology: Topology::default(),
        },
        measured: LiveMeasured::Record(RecordReport::default()),
    };
    change(&mut run, &mut report);
    run.measured = LiveMeasured::Record(report);
    run
}

fn compare(first: LiveRun, second: LiveRun) -> RecordComparison {
    compare_records(&[first], &[second]).unwrap()
}

#[test]
fn a_gain_has_its_interval_and_nothing_else_has_changed() {
    let found = compare(record("1", 1e-3, |_, _| {}), record("2", 0.8e-3, |_, _| {}));
    let FigureCompared {
        ratio,
        ratio_low,
        ratio_high,
        no_interval,
    } = &found.cost;
    assert!((ratio.unwrap() - 1.25).abs() < 1e-9, "{found:?}");
    assert!(
        ratio_low.unwrap() > 1.2 && ratio_high.unwrap() < 1.3,
        "{found:?}"
    );
    assert_eq!(*no_interval, None);
    assert_eq!(found.rate.ratio, Some(1.0));
    // It used a fifth less of a CPU, and that is all.
    assert_eq!(found.changed, ["CPUs that it used -20 %"]);
    assert!(found.unchanged_moved.unwrap() < 0.01, "{found:?}");
    assert!(found.is_below(1.5) && !found.is_below(1.2));
    let text = record_comparison_text(&found, ["before", "after"], &TextOptions::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "after compared with before",
        "Not randomised: something else may have changed, too.",
        "work per CPU second of the target (commands): +25.0 % (+2",
        "%): differs",
        "work per second: +0.0 % (+0.0 to +0.0 %): no difference shown",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn what_else_has_changed_is_listed() {
    let before = record("1", 1e-3, |_, report| {
        report.server_settings = [("huge_pages".to_owned(), "off".to_owned())].into();
    });
    let after = record("2", 1e-3, |run, report| {
        run.machine.kernel = "6.18.1".to_owned();
        report.server_settings = [("huge_pages".to_owned(), "on".to_owned())].into();
        report.end = RecordEnd::Interrupted;
        report.begin.bytes_by_node = [(NodeId(0), 1 << 29), (NodeId(1), 1 << 29)].into();
        for window in &mut report.windows {
            window.work = Some(1500);
            window.cpu_s = window.cpu_s.map(|cpu_s| cpu_s * 1.5);
            window.machine_busy_s = Some(7.0);
        }
    });
    let found = compare(before, after);
    assert_eq!(
        found.changed,
        [
            "load (commands per second) +50 %",
            "mix (reads per command) -33 %",
            "CPUs that it used +50 %",
            "CPUs that others used 0.20 → 1.10",
            "memory on node 0 100 % → 50 %",
            "memory on node 1 0 % → 50 %",
            "huge_pages off → on",
            "kernel 6.12.95 → 6.18.1",
        ]
    );
    assert!(found.notes[0].starts_with("2 ended early"), "{found:?}");
}

#[test]
fn what_means_nothing_has_no_interval() {
    let why = |first: LiveRun, second: LiveRun| compare(first, second).cost.no_interval.unwrap();
    let usual = || record("1", 1e-3, |_, _| {});
    let emulated = record("2", 0.5e-3, |run, _| run.machine.emulated = Some(true));
    assert!(why(usual(), emulated).contains("emulated"));
    let short = record("2", 1e-3, |_, report| report.windows.truncate(19));
    assert!(why(usual(), short).contains("fewer than 20"));
    let asleep = record("2", 0.0, |_, _| {});
    assert!(why(usual(), asleep).contains("its CPU time"));
    // Slower in its second half: neighbouring batches are alike.
    let slow = record("2", 1e-3, |_, report| {
        for window in &mut report.windows[20..] {
            window.cpu_s = window.cpu_s.map(|cpu_s| cpu_s * 1.2);
        }
    });
    let found = compare(usual(), slow);
    assert!(found.cost.no_interval.unwrap().contains("too slow"));
    assert!((found.unchanged_moved.unwrap() - 0.2).abs() < 0.01);
    let other = record("2", 1e-3, |_, report| report.unit = "statement".to_owned());
    let error = compare_records(&[usual()], &[other]).unwrap_err();
    assert!(
        error.contains("one counts commands, another statements"),
        "{error}"
    );
}

#[test]
fn cost_decides_unless_all_were_saturated() {
    let saturated = |id: &str| record(id, 1e-3, |_, report| report.judged_by = JudgedBy::Rate);
    assert_eq!(
        compare(saturated("1"), saturated("2")).judged_by,
        JudgedBy::Rate
    );
    let mixed = compare(saturated("1"), record("2", 1e-3, |_, _| {}));
    assert_eq!(mixed.judged_by, JudgedBy::Cost);
    assert!(mixed.notes[0].contains("saturated in a part"), "{mixed:?}");
}
