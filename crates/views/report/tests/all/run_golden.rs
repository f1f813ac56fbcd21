//! Compares the texts and documents of handmade runs with reviewed golden files.
//!
//! `NUMALAB_BLESS=1 cargo test -p report --test all run_golden` rewrites the files.

use std::fs;
use std::path::Path;

use model::{ParkedEvidence, Run, RunHeader, RunStatus, Sample};
use report::{
    Called, NotRun, SCREEN_LINES, Screen, TextOptions, calibration_text, history_text,
    leading_comparison, run_document, run_text,
};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::run_samples;

const PLAIN: TextOptions = TextOptions {
    width: 80,
    color: false,
};
const WIDE: TextOptions = TextOptions {
    width: 132,
    color: false,
};
const COLOR: TextOptions = TextOptions {
    width: 132,
    color: true,
};

fn check(file: &str, found: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_golden");
    let path = directory.join(file);
    if std::env::var_os("NUMALAB_BLESS").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{file} differs:\n{found}");
}

#[test]
fn texts_are_as_they_were_read() {
    for (name, run) in run_samples::all() {
        check(&format!("{name}.txt"), &run_text(&run, &PLAIN));
    }
    check("normal-wide.txt", &run_text(&run_samples::normal(), &WIDE));
    check(
        "normal-color.txt",
        &run_text(&run_samples::normal(), &COLOR),
    );
}

/// Returns what `numalab show` prints.
fn screen(run: &Run, options: &TextOptions) -> String {
    let mut screen = Screen::new(*options);
    let called = Called {
        run: "last".to_string(),
        again: Some(run.experiment.clone()),
    };
    screen.run(run, &called) + &screen.end(&[], &[])
}

#[test]
fn screens_are_as_they_were_read() {
    for (name, run) in run_samples::all() {
        check(&format!("{name}.screen"), &screen(&run, &PLAIN));
    }
    let normal = run_samples::normal();
    check("normal-color.screen", &screen(&normal, &COLOR));
}

/// As `numalab run` without a name prints them.
#[test]
fn several_runs_share_a_screen() {
    let mut screen = Screen::new(PLAIN);
    let mut text = String::new();
    for run in [run_samples::normal(), run_samples::tied_leaders()] {
        let (id, again) = (run.id.clone(), Some(run.experiment.clone()));
        text += &screen.run(&run, &Called { run: id, again });
    }
    let notes = ["free, quota: 3 sessions share 2 CPUs.".to_string()];
    let nodes = "needs 2 memory nodes (this machine has 1); try a guest";
    let not_run = [
        ("work-unit", "not enough time (run it by name)"),
        ("local-vs-remote", nodes),
        (
            "huge-pages",
            "case huge: node 0 has no pool of 2 MiB pages; set one",
        ),
        ("numa-vs-suma", nodes),
        ("parallel-scan", nodes),
    ];
    let not_run = not_run.map(|(name, reason)| NotRun::new(name, reason));
    text += &screen.end(&notes, &not_run);
    assert!(text.lines().count() <= SCREEN_LINES, "{text}");
    check("several.screen", &text);
}

#[test]
fn every_screen_fits_a_screen() {
    for (name, run) in run_samples::all() {
        let text = screen(&run, &PLAIN);
        assert!(text.lines().count() <= SCREEN_LINES, "{name}:\n{text}");
        for line in text.lines() {
            assert!(line.width() <= PLAIN.width, "{name}: {line}");
        }
    }
}

#[test]
fn the_comparison_that_leads_has_its_interval_or_is_not_shown() {
    let check = |run: Run, expected: Option<&str>| {
        assert_eq!(leading_comparison(&run).as_deref(), expected);
    };
    check(
        run_samples::five_cases(),
        Some("binding-9 1.49 (1.46 to 1.52)"),
    );
    check(
        run_samples::baseline_leads(),
        Some("free 0.73 (0.72 to 0.75)"),
    );
    check(
        run_samples::latency(),
        Some("cpu-node-0-memory-n… 1.69 (1.65 to 1.72)"),
    );
    check(run_samples::stopped_early(), None);
    check(run_samples::emulated(), None);
    check(run_samples::nothing_yet(), None);
}

fn document(run: &Run) -> serde_json::Value {
    serde_json::to_value(run_document(run)).unwrap()
}

#[test]
fn documents_are_as_they_were_read() {
    for (name, run) in [
        ("normal", run_samples::normal()),
        ("interrupted", run_samples::interrupted()),
        ("nothing-yet", run_samples::nothing_yet()),
        ("latency-alone", run_samples::latency_alone()),
    ] {
        let mut json = serde_json::to_string_pretty(&run_document(&run)).unwrap();
        json.push('\n');
        check(&format!("{name}.json"), &json);
    }
}

#[test]
fn the_document_of_an_emulated_machine_has_no_ratio_and_no_rank() {
    let document = document(&run_samples::emulated());
    let expected = json!([{
        "baseline": "binding", "case": "caging",
        "ratio": null, "low": null, "high": null, "confidence": null, "difference_below": null,
        "cost_ratio": null, "cost_low": null, "cost_high": null, "verdict": "emulated",
    }]);
    assert_eq!(document["comparisons"], expected);
    assert_eq!(document["cases"][0]["rank"], json!(null));
    assert_eq!(document["cases"][0]["median"], json!(1_263_991.0));
}

#[test]
fn trials_that_do_not_count_are_in_the_document_with_their_reasons() {
    let document = document(&run_samples::invalid_trials());
    let case = &document["cases"][1];
    let counts = ["trials_valid", "trials_invalid", "trials_failed"].map(|it| &case[it]);
    assert_eq!(counts, [&json!(5), &json!(1), &json!(1)]);
    let invalid = &case["trials"][5];
    assert_eq!(
        (&invalid["valid"], &invalid["outcome"]),
        (&json!(false), &json!("invalid"))
    );
    assert_eq!(invalid["logical_reads_per_s"], json!(1_158_202.0));
    let failed = &case["trials"][6];
    assert_eq!(failed["outcome"], json!("failed"));
    assert_eq!(failed["reason"], json!("session 1 was killed by signal 9"));
    for unknown in ["logical_reads_per_s", "db_time_s", "waits", "samples"] {
        assert_eq!(failed[unknown], json!(null), "{unknown}");
    }
}

#[test]
fn skipped_cases_are_in_the_document() {
    let document = document(&run_samples::skipped());
    assert_eq!(document["skipped"][0]["case"], json!("remote"));
    assert_eq!(document["skipped"].as_array().unwrap().len(), 1);
}

#[test]
fn the_calibration_is_as_it_was_read() {
    let text = calibration_text(&run_samples::too_few_trials(), &PLAIN);
    check("calibration.txt", &text);
    let text = calibration_text(&run_samples::nothing_yet(), &PLAIN);
    assert_eq!(text, "The work unit was not calibrated.\n");
}

#[test]
fn the_history_is_as_it_was_read() {
    let header = |id: &str, status, emulated, lost| RunHeader {
        id: id.to_string(),
        experiment: "binding-vs-caging".to_string(),
        label: None,
        started_at: "2026-11-21T03:04:05+00:00".to_string(),
        status,
        host: Some("dbserver".to_string()),
        emulated,
        cases: 3,
        skipped: lost,
        trials_valid: 15 - lost,
        trials_invalid: lost,
        trials_failed: 0,
    };
    let mut hostile = header("\u{1b}[2J", RunStatus::Failed, None, 15);
    hostile.started_at = "yesterday\n".to_string();
    hostile.host = Some("字幕".repeat(20));
    let headers = [
        header("c102", RunStatus::Settled, Some(false), 0),
        header("b7f3", RunStatus::Interrupted, Some(true), 2),
        hostile,
    ];
    check("history.txt", &history_text(&headers, &WIDE));
    assert_eq!(history_text(&[], &PLAIN), "No run is stored.\n");
}

#[test]
fn the_same_run_is_always_shown_the_same() {
    let run = run_samples::five_cases();
    assert_eq!(run_text(&run, &PLAIN), run_text(&run.clone(), &PLAIN));
}

#[test]
fn other_work_uses_no_more_cpus_than_there_are() {
    let mut run = run_samples::busy();
    // Ticks of 10 ms in windows that are shorter.
    for trial in run.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.evidence.other_cpu_s = trial.evidence.other_cpu_s.map(|seconds| seconds * 100.0);
    }
    let cpus = run.machine.as_ref().unwrap().topology.cpus.len();
    let text = run_text(&run, &WIDE);
    let expected = format!("other work used up to {cpus}.0 CPUs");
    assert!(text.contains(&expected), "{text}");
}

/// A block that is left out has all cases, and what it would change is said.
#[test]
fn blocks_that_are_left_out_are_counted_with_what_they_would_change() {
    let mut run = run_samples::normal();
    let method = |run: &Run| {
        run_text(run, &WIDE)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(!method(&run).contains("left out"));
    let sample = |rate: f64, left_out: bool| Sample {
        at_s: 0.0,
        logical_reads_per_s: rate,
        left_out,
        steal_s: None,
        other_cpu_s: None,
    };
    let baseline = run.baseline.clone();
    for case in &mut run.cases {
        // In the block that is left out, the baseline alone lost a fifth of its work.
        let disturbed = if case.plan.name == baseline {
            80.0
        } else {
            100.0
        };
        for trial in &mut case.trials {
            trial.evidence.parked = Some(ParkedEvidence::default());
            let sessions = trial.measured.as_mut().and_then(|it| it.sessions.as_mut());
            let samples = [
                sample(100.0, false),
                sample(disturbed, true),
                sample(100.0, false),
            ];
            sessions.unwrap().samples = samples.to_vec();
        }
    }
    let trials = run.cases[0].trials.len();
    // 300 / 280 is 7.1 % more than 1.
    let expected = format!(
        "{trials} of {} blocks are left out, because others took CPU time in them; with them, \
         ratios to {baseline} would differ by up to 7.1 %",
        3 * trials
    );
    assert!(method(&run).contains(&expected), "{}", method(&run));
}

#[test]
fn a_load_sweep_is_a_curve_and_no_ranking() {
    let run = run_samples::load_sweep();
    let judged = verdict::judge(&run);
    assert!(judged.cases.iter().all(|case| case.rank.is_none()));
    assert_eq!((judged.winner, judged.comparisons.len()), (None, 0));
    let expected = "a curve, not a ranking: 82.4 ns beside 0.0 GB/s (node-0-no-load) to 251 \
                    ns beside 40.3 GB/s (node-0-pause-0)";
    assert_eq!(report::verdict_sentence(&run, &judged), expected);
    let markdown = report::run_markdown(&run);
    let head = "| case | load | ns | 93.75 % interval | valid |";
    assert!(
        !markdown.contains("rank |") && markdown.contains(head),
        "{markdown}"
    );
    assert!(markdown.contains("| 12.1 GB/s | 97.0 |"), "{markdown}");
}
