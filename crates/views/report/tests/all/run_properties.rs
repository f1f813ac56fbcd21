//! Properties of any run: it renders harmlessly and deterministically, and is judged by the rules.

use model::{ImportedWork, ParkedEvidence, Run, Work};
use proptest::prelude::*;
use report::{
    ANSWER_WORDS, Called, SCREEN_LINES, Screen, TextOptions, calibration_text, comparison_view,
    run_document, run_text, run_view,
};
use unicode_width::UnicodeWidthStr;
use verdict::{Selection, Verdict, compare_runs, judge};

use crate::arbitrary;
use crate::run_samples;

/// Returns a run whose windows alternated; `rounds` are the rates of its three cases.
fn alternated(rounds: &[[f64; 3]]) -> Run {
    let of_case = |case: usize| rounds.iter().map(|round| round[case]).collect();
    let mut run = with_rates(&[of_case(0), of_case(1), of_case(2)]);
    for case in &mut run.cases {
        for (round, trial) in (0..).zip(&mut case.trials) {
            trial.round = round;
            trial.evidence.parked = Some(ParkedEvidence::default());
        }
    }
    run
}

/// Returns a run that can be judged; `rates` are the trials of each case.
fn with_rates(rates: &[Vec<f64>]) -> Run {
    let mut run = run_samples::normal();
    let case = run.cases[0].clone();
    let cases = rates.iter().enumerate().map(|(index, rates)| {
        let mut case = case.clone();
        case.plan.name = format!("case {index}");
        let trials = rates.iter().map(|rate| {
            let mut trial = case.trials[0].clone();
            let measured = trial.measured.as_mut().unwrap();
            measured.value = *rate;
            trial
        });
        case.trials = trials.collect();
        case
    });
    run.cases = cases.collect();
    run.baseline = "case 0".to_string();
    run
}

fn any_rates() -> impl Strategy<Value = Vec<Vec<f64>>> {
    // Close enough together that ties are common.
    let rates = prop::collection::vec(900.0..1100.0f64, 0..9);
    let scaled = (rates, prop_oneof![Just(1.0), 0.5..2.0f64]);
    let scaled = scaled.prop_map(|(rates, scale)| rates.iter().map(|it| it * scale).collect());
    prop::collection::vec(scaled, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_run_renders_and_cannot_disturb_the_terminal(
        run in arbitrary::run(),
        width in prop_oneof![0..200usize, Just(usize::MAX)],
    ) {
        let plain = TextOptions { width, color: false };
        let text = run_text(&run, &plain);
        let disturbing = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}".contains(c);
        prop_assert!(!text.contains(disturbing), "{text:?}");
        prop_assert!(!calibration_text(&run, &plain).contains(disturbing));
        prop_assert_eq!(&text, &run_text(&run, &plain));
        prop_assert!(text.lines().last().unwrap().starts_with("Verdict: "));

        let color = TextOptions { width, color: true };
        let mut painted = run_text(&run, &color);
        for code in ["0", "1", "31", "32", "33"] {
            painted = painted.replace(&format!("\u{1b}[{code}m"), "");
        }
        prop_assert_eq!(painted, text);
    }

    #[test]
    fn any_runs_fit_a_screen(
        runs in prop::collection::vec(arbitrary::run(), 1..4),
        width in 60..140usize,
        notes in prop::collection::vec(".{0,200}", 0..4),
    ) {
        let mut screen = Screen::new(TextOptions { width, color: false });
        let mut text = String::new();
        for run in &runs {
            let again = Some(run.experiment.clone());
            text += &screen.run(run, &Called { run: run.id.clone(), again });
        }
        text += &screen.end(&notes, &[]);
        prop_assert!(text.lines().count() <= SCREEN_LINES, "{text}");
        for line in text.lines() {
            prop_assert!(line.width() <= width, "{} > {width}: {text}", line.width());
        }
        let disturbing = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}".contains(c);
        prop_assert!(!text.contains(disturbing), "{text:?}");
    }

    #[test]
    fn any_unit_of_an_import_cannot_disturb_the_terminal(unit in ".{0,40}") {
        let mut run = run_samples::normal();
        run.cases[0].plan.work = Work::Imported(ImportedWork {
            files: vec!["a.csv".to_owned()],
            unit: Some(format!("{unit}\r\u{9b}2J")),
            in_rounds: false,
        });
        let text = run_text(&run, &TextOptions::default());
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let mut screen = Screen::new(TextOptions::default());
        let text = screen.run(&run, &Called { run: run.id.clone(), again: None });
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }

    #[test]
    fn any_run_has_an_answer_that_is_read_at_a_glance(
        run in arbitrary::run(), rates in any_rates(),
    ) {
        for run in [run, with_rates(&rates)] {
            let view = run_view(&run);
            let words = view.answer.split_whitespace().count();
            prop_assert!((1..=ANSWER_WORDS).contains(&words), "{}", view.answer);
        }
    }

    #[test]
    fn any_run_has_a_document(run in arbitrary::run()) {
        let text = serde_json::to_string(&run_document(&run)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&document["format"], "numalab.run/1");
        for (case, shown) in run.cases.iter().zip(document["cases"].as_array().unwrap()) {
            prop_assert_eq!(shown["name"].as_str(), Some(case.plan.name.as_str()));
            prop_assert_eq!(shown["trials"].as_array().unwrap().len(), case.trials.len());
        }
    }

    #[test]
    fn no_winner_without_an_interval_that_excludes_one(rates in any_rates()) {
        let run = with_rates(&rates);
        let judgement = judge(&run);
        for comparison in &judgement.comparisons {
            let enough = |index: usize| rates[index].len() >= verdict::TRIALS_ENOUGH;
            let has_enough = enough(0) && enough(comparison.case_index);
            prop_assert_eq!(comparison.ratio.is_some(), has_enough);
            let expected = match comparison.ratio {
                None => Verdict::Undecided,
                Some(it) if it.interval.contains(1.0) => Verdict::Tie,
                Some(it) if it.ratio > 1.0 => Verdict::Faster,
                Some(_) => Verdict::Slower,
            };
            prop_assert_eq!(comparison.verdict, expected);
        }
        if judgement.cases.len() > 2 {
            let has_winner = judgement.winner.is_some();
            let said = report::verdict_sentence(&run, &judgement);
            prop_assert_eq!(said.contains("is fastest of"), has_winner);
        }
        let rank = |index: usize| judgement.cases[index].rank;
        let firsts = (0..rates.len()).filter(|index| rank(*index).is_some_and(|it| it.worst == 1));
        prop_assert_eq!(firsts.collect::<Vec<_>>(), Vec::from_iter(judgement.winner));
        // A tie shares a rank with the baseline; a faster case is not last, and a slower one not
        // first.
        for comparison in &judgement.comparisons {
            let (Some(baseline), Some(case)) = (rank(0), rank(comparison.case_index)) else {
                continue;
            };
            match comparison.verdict {
                Verdict::Faster => prop_assert!(case.worst < rates.len() as u32, "{case:?}"),
                Verdict::Slower => prop_assert!(case.best > 1, "{case:?}"),
                _ => prop_assert!(case.best <= baseline.worst && baseline.best <= case.worst),
            }
        }
    }

    /// Figures and ratios of one table are one estimate: quotients of figures are the ratios.
    #[test]
    fn figures_of_cases_that_alternate_have_the_ratios_that_are_shown(
        rounds in prop::collection::vec(prop::array::uniform3(100.0..10_000.0f64), 5..9),
    ) {
        let run = alternated(&rounds);
        let judgement = judge(&run);
        prop_assert!(judgement.is_of_rounds);
        let shown = |index: usize| judgement.cases[index].shown.unwrap();
        for comparison in &judgement.comparisons {
            let ratio = comparison.ratio.unwrap().ratio;
            let quotient = shown(comparison.case_index) / shown(0);
            prop_assert!((quotient / ratio - 1.0).abs() < 1e-9, "{quotient} {ratio}");
        }
        let order = verdict::order(&run, &judgement);
        prop_assert!(order.is_sorted_by(|one, next| shown(*one) >= shown(*next)));
    }

    /// The same of two runs, by medians, and of two cases of one, by means of rounds: in the table,
    /// in the picture, and in the ratio that is the answer.
    #[test]
    fn a_comparison_has_one_estimate(
        rounds in prop::collection::vec(prop::array::uniform3(100.0..10_000.0f64), 5..9),
        others in prop::collection::vec(prop::array::uniform3(100.0..10_000.0f64), 5..9),
        is_one_run: bool,
    ) {
        let (first, mut second) = (alternated(&rounds), alternated(&others));
        second.id = format!("{}-2", first.id);
        let second = if is_one_run { &first } else { &second };
        let [one, other] = [Some("case 0"), Some("case 1")].map(|it| it.filter(|_| is_one_run));
        let found = compare_runs(
            Selection { run: &first, case: one },
            Selection { run: second, case: other },
        );
        let found = found.unwrap();
        let view = comparison_view(&found, &first, second);
        prop_assert_eq!(found.is_of_rounds, is_one_run);
        prop_assert_eq!(view.estimate.contains("geometric means"), is_one_run);
        prop_assert_eq!(found.pairs.len(), view.pairs.len());
        for (pair, shown) in found.pairs.iter().zip(&view.pairs) {
            let figures = [&pair.first, &pair.second].map(|case| case.shown.unwrap());
            let ratio = pair.ratio.unwrap().ratio;
            let quotient = figures[1] / figures[0];
            prop_assert!((quotient / ratio - 1.0).abs() < 1e-9, "{quotient} {ratio}");
            for ((case, figure), cell) in shown.cases.iter().zip(figures).zip([1, 3]) {
                prop_assert_eq!(&case.median, &shown.cells[cell]);
                let drawn = case.median_value.unwrap() * first.metric.facts().shown_unit_is;
                prop_assert!((drawn / figure - 1.0).abs() < 1e-9, "{drawn} {figure}");
                prop_assert_eq!(case.middle, if is_one_run { "mean" } else { "median" });
            }
        }
    }

    #[test]
    fn an_emulated_machine_never_has_a_winner(rates in any_rates(), by_topology: bool) {
        let mut run = with_rates(&rates);
        if by_topology {
            run.machine.as_mut().unwrap().topology.emulated = Some(true);
        } else {
            run.machine.as_mut().unwrap().emulated = Some(true);
        }
        let judgement = judge(&run);
        prop_assert!(judgement.cases.iter().all(|case| case.rank.is_none()));
        for comparison in &judgement.comparisons {
            prop_assert_eq!(comparison.verdict, Verdict::Emulated);
            prop_assert_eq!(comparison.ratio, None);
        }
        prop_assert!(report::verdict_sentence(&run, &judgement).contains("emulated"));
        prop_assert!(report::run_warnings(&run, &judgement)[0].contains("emulated"));
    }
}
