//! Runs for tests.

use proptest::prelude::*;
use report::{
    CaseView, ComparedRun, ComparisonView, PairView, RunView, TimeShare, TrialView, Validity,
};
use verdict::Verdict;

fn trial(round: u32, value: f64, validity: Validity) -> TrialView {
    let is_valid = validity == Validity::Valid;
    TrialView {
        round,
        validity,
        reason: (!is_valid).then(|| "the CPUs differ".to_owned()),
        value: Some(value),
        shown: Some(format!("{value:.2}")),
        windows: Vec::new(),
    }
}

fn case(name: &str, median: f64) -> CaseView {
    let share = |name: &str, ns_per_read: f64| TimeShare {
        name: name.to_owned(),
        ns_per_read,
        shown: format!("{ns_per_read} ns"),
    };
    CaseView {
        name: name.to_owned(),
        about: "one of two".to_owned(),
        asked: "CPUs 0-1".to_owned(),
        rank: "1".to_owned(),
        median: format!("{median:.2}"),
        middle: "median",
        interval: "4.60 to 4.70".to_owned(),
        valid: "1 of 2".to_owned(),
        ratio: "1.49 (1.47 to 1.51)".to_owned(),
        cost: "0.67 (0.66 to 0.68)".to_owned(),
        verdict: "faster".to_owned(),
        load: "-".to_owned(),
        median_value: Some(median),
        interval_values: Some((median * 0.98, median * 1.02)),
        trials: vec![
            trial(0, median, Validity::Valid),
            trial(1, 3.1, Validity::Valid),
        ],
        time: vec![share("DB CPU", 200.0), share("CPU wait", 20.0)],
        evidence: vec!["memory on node 0".to_owned()],
    }
}

/// A run of two cases, one trial of which does not count.
pub(crate) fn view() -> RunView {
    let mut cases = vec![case("near", 4.62), case("far", 3.1)];
    cases[0].trials[1] = trial(1, 3.1, Validity::Invalid);
    cases[0].trials[0].windows = vec![4.5, 4.7];
    RunView {
        id: "20261123-1".to_owned(),
        experiment: "local-vs-remote".to_owned(),
        question: "Is near memory faster?".to_owned(),
        which: "20261123-1 of local-vs-remote".to_owned(),
        machine: "db1, 2 nodes".to_owned(),
        method: Some("windows of 2.0 s".to_owned()),
        host: Some("db1".to_owned()),
        started: "2026-11-23 03:04 UTC".to_owned(),
        answer: "near is 1.49 times faster".to_owned(),
        sureness: "95 % intervals, 2 trials of each case".to_owned(),
        verdict: "near is 1.49 times faster than far, in full".to_owned(),
        warnings: vec!["2 CPUs are shared".to_owned()],
        unit: "M logical reads/s".to_owned(),
        unit_is: 1e6,
        confidence: "95 %".to_owned(),
        against: "times far".to_owned(),
        is_curve: false,
        curves: Vec::new(),
        cases,
        reasons: vec!["near reads are cheaper".to_owned()],
        skipped: vec![("huge".to_owned(), "no huge pages".to_owned())],
        has_costs: true,
        is_emulated: false,
        definition: "format = \"numalab.experiment/1\"".to_owned(),
    }
}

fn compared(id: &str, machine: &str) -> ComparedRun {
    ComparedRun {
        id: id.to_owned(),
        question: "Is near memory faster?".to_owned(),
        host: Some("db1".to_owned()),
        started: "2026-11-23 03:04 UTC".to_owned(),
        facts: [
            ("run", format!("{id} of local-vs-remote")),
            ("experiment", "local-vs-remote".to_owned()),
            ("question", "Is near memory faster?".to_owned()),
            ("machine", machine.to_owned()),
            ("method", "windows of 2.0 s".to_owned()),
        ],
        warnings: vec!["2 CPUs are shared".to_owned()],
        definition: "format = \"numalab.experiment/1\"".to_owned(),
    }
}

/// A comparison of two cases of two runs.
pub(crate) fn comparison() -> ComparisonView {
    let cases = [case("near", 4.62), case("far", 3.1)];
    let cells = [
        "near",
        "4.62",
        "far",
        "3.10",
        "0.671 (0.65 to 0.69)",
        "slower",
    ];
    ComparisonView {
        verdict: "far has 32.9 % less than near".to_owned(),
        answer: "far has 32.9 % less than near".to_owned(),
        warnings: vec!["the two did not run side by side".to_owned()],
        unit: "M logical reads/s".to_owned(),
        confidence: Some("95 %".to_owned()),
        estimate: "medians of trials",
        confidence_of_figures: "95 %".to_owned(),
        pairs: vec![PairView {
            cells: cells.map(str::to_owned),
            verdict: Verdict::Slower,
            sentence: "far has 32.9 % less than near".to_owned(),
            cases,
        }],
        only_first: Vec::new(),
        only_second: vec!["huge".to_owned()],
        runs: [compared("20261123-1", "db1"), compared("20261123-2", "db2")],
        is_emulated: false,
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["<b>evil</b>.{0,200}", ".{0,80}", "[a-z-]{1,20}"]
}

fn any_case() -> impl Strategy<Value = CaseView> {
    let value = prop_oneof![0.1..1000.0, 1e-6..1e12, Just(5.0)];
    let trials = prop::collection::vec((value, 0..3u8), 0..12);
    (
        any_name(),
        trials,
        prop::collection::vec((any_name(), 0.1..1e6), 0..20),
    )
        .prop_map(|(name, trials, time)| {
            let validities = [Validity::Valid, Validity::Invalid, Validity::Failed];
            let trials = trials.iter().zip(0..);
            let trials: Vec<TrialView> = trials
                .map(|((value, validity), round)| {
                    trial(round, *value, validities[usize::from(*validity)])
                })
                .collect();
            let time = time.into_iter().map(|(name, ns_per_read)| TimeShare {
                name,
                ns_per_read,
                shown: format!("{ns_per_read:.1} ns"),
            });
            CaseView {
                median_value: trials.first().and_then(|trial| trial.value),
                interval_values: None,
                time: time.collect(),
                trials,
                ..case(&name, 1.0)
            }
        })
}

/// Any run.
pub(crate) fn any_view() -> impl Strategy<Value = RunView> {
    let cases = prop::collection::vec(any_case(), 0..8);
    (cases, any_name()).prop_map(|(cases, text)| RunView {
        cases,
        verdict: text.clone(),
        unit: text.chars().take(20).collect(),
        warnings: vec![text],
        ..view()
    })
}

/// Any comparison.
pub(crate) fn any_comparison() -> impl Strategy<Value = ComparisonView> {
    let pairs = prop::collection::vec((any_case(), any_case(), any_name()), 0..5);
    (pairs, any_name()).prop_map(|(pairs, text)| {
        let view = comparison();
        let pairs = pairs.into_iter().map(|(first, second, text)| PairView {
            cells: std::array::from_fn(|_| text.clone()),
            verdict: Verdict::Undecided,
            sentence: text,
            cases: [first, second],
        });
        ComparisonView {
            pairs: pairs.collect(),
            verdict: text.clone(),
            only_first: vec![text.clone()],
            warnings: vec![text.clone()],
            runs: [compared(&text, &text), compared("20261123-2", "db2")],
            ..view
        }
    })
}
