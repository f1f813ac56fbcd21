//! Exact tests of runs of simulated and scripted workloads.

use std::collections::VecDeque;

use model::exit::ExitCode;
use model::{
    Calibration, CalibrationPoint, CasePlan, Event, Observer, ObserverError, Outcome, Phase, Run,
    RunStatus, Trial,
};
use stats::ratio_interval;

use super::test_plans::request;
use crate::workloads::{Behaviour, Outlier, Simulated};
use crate::{
    CONFIDENCE, CalibrationSpec, Cancel, Clock, RunError, RunRequest, SimulatedClock, TrialSpec,
    Workload, WorkloadError, execute,
};

/// Records every event as one word.
#[derive(Default)]
struct Journal {
    words: Vec<String>,
    /// Fails at this word.
    fails_at: Option<&'static str>,
    /// Cancels at this word.
    cancels_at: Option<(&'static str, Cancel)>,
}

impl Observer for Journal {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), ObserverError> {
        let word = match event {
            Event::RunStarted {
                run,
                trials_at_most,
            } => {
                assert!(run.cases.iter().all(|case| case.trials.is_empty()));
                assert_eq!(run.status, RunStatus::Unfinished);
                format!("run<={trials_at_most}")
            }
            Event::CalibrationPoint(point) => format!("point {}", point.work_unit),
            Event::Calibrated(calibration) => format!("unit {}", calibration.work_unit),
            Event::TrialStarted {
                case,
                round,
                trials_done,
                seconds_left,
            } => format!("{case}{round} #{trials_done} {seconds_left}s"),
            Event::TrialProgress { phase, value } => match (phase, value) {
                (Phase::Loading, _) => "loading".to_owned(),
                (Phase::WarmingUp, Some(rate)) => format!("warm {rate}"),
                (Phase::WarmingUp, None) => "warm".to_owned(),
                (Phase::Measuring, rate) => format!("at {}", rate.unwrap_or(-1.0)),
            },
            Event::TrialFinished {
                case_index,
                case,
                trial,
            } => match &trial.outcome {
                Outcome::Valid => format!("{case}={case_index}"),
                Outcome::Invalid(_) => format!("{case}=invalid"),
                Outcome::Failed(_) => format!("{case}=failed"),
            },
            Event::RunFinished { status } => format!("{status:?}"),
        };
        if let Some((at, cancel)) = &self.cancels_at
            && *at == word
        {
            cancel.cancel();
        }
        let fails = self.fails_at == Some(word.as_str());
        self.words.push(word);
        match fails {
            true => Err(ObserverError {
                message: "the disk is full".to_owned(),
            }),
            false => Ok(()),
        }
    }
}

impl Journal {
    /// Returns the started trials, as `case round`.
    fn started(&self) -> Vec<&str> {
        let words = self.words.iter().filter_map(|word| word.split_once(" #"));
        words.map(|(trial, _)| trial).collect()
    }
}

fn steady(noise: f64) -> Behaviour {
    Behaviour::steady(1024.0, noise)
}

/// Executes a run with a simulated workload.
fn simulate(request: RunRequest, workload: Simulated, clock: &SimulatedClock) -> (Run, Journal) {
    let mut workload = workload;
    let mut journal = Journal::default();
    let cancel = Cancel::new();
    let run = execute(request, &mut workload, clock, &mut [&mut journal], &cancel).unwrap();
    (run, journal)
}

/// Executes a run in which every case behaves alike.
fn simulate_all(request: RunRequest, behaviour: Behaviour) -> (Run, Journal) {
    let clock = SimulatedClock::new();
    let workload = Simulated::new(clock.clone(), request.seed, behaviour);
    simulate(request, workload, &clock)
}

fn rates(run: &Run, case: usize) -> Vec<f64> {
    run.cases[case]
        .trials
        .iter()
        .filter_map(Trial::valid_value)
        .collect()
}

#[test]
fn observers_are_told_everything_in_order() {
    let mut request = request(&["a", "b"], 1);
    request.trials_max = 6;
    let (_, journal) = simulate_all(request, steady(0.0));
    let words: Vec<&str> = journal.words.iter().map(String::as_str).collect();
    let (head, rest) = words.split_at(10);
    assert_eq!(
        head,
        [
            "run<=12",
            "point 1",
            "point 2",
            "point 4",
            "point 8",
            "point 16",
            "point 32",
            "point 64",
            "point 128",
            "unit 128"
        ]
    );
    // Before the first trial, the estimate is 7 s per trial; a trial takes 3.5 s.
    let trial =
        |started: &'static str, finished| [started, "loading", "warm 1024", "at 1024", finished];
    let expected = [
        trial("b0 #0 84s", "b=1"),
        trial("a0 #1 38.5s", "a=0"),
        trial("b1 #2 35s", "b=1"),
        trial("a1 #3 31.5s", "a=0"),
        trial("a2 #4 28s", "a=0"),
        trial("b2 #5 24.5s", "b=1"),
        trial("b3 #6 21s", "b=1"),
        trial("a3 #7 17.5s", "a=0"),
        trial("b4 #8 14s", "b=1"),
        trial("a4 #9 10.5s", "a=0"),
    ];
    let (trials, end) = rest.split_at(rest.len() - 1);
    assert_eq!(trials, expected.concat());
    assert_eq!(end, ["Settled"]);
}

#[test]
fn the_order_of_trials_follows_from_the_seed_alone() {
    let order = |seed, noise| {
        let (_, journal) = simulate_all(request(&["a", "b", "c"], seed), steady(noise));
        journal
            .started()
            .into_iter()
            .take(15)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(order(1, 0.0), order(1, 0.05));
    assert_ne!(order(1, 0.0), order(2, 0.0));
    for round in order(1, 0.0).chunks(3) {
        let mut cases: Vec<&str> = round.iter().map(String::as_str).collect();
        cases.sort_unstable();
        let number = &cases[0][1..];
        assert_eq!(cases, ["a", "b", "c"].map(|case| format!("{case}{number}")));
    }
}

#[test]
fn the_same_request_gives_the_same_run() {
    let run = || simulate_all(request(&["a", "b"], 11), steady(0.03)).0;
    assert_eq!(run(), run());
}

#[test]
fn quiet_cases_settle_after_the_least_trials_and_noisy_ones_go_on() {
    let (run, _) = simulate_all(request(&["a", "b"], 3), steady(0.0));
    assert_eq!(run.status, RunStatus::Settled);
    assert_eq!(run.cases.trials_of_each(), [5, 5]);

    let (run, _) = simulate_all(request(&["a", "b"], 3), steady(0.2));
    assert_eq!(run.status, RunStatus::Bounded);
    assert_eq!(run.cases.trials_of_each(), [12, 12]);

    let clock = SimulatedClock::new();
    let mut middling = request(&["a", "b"], 3);
    middling.trials_max = 100;
    let workload = Simulated::new(clock.clone(), 3, steady(0.0)).with_case("b", steady(0.03));
    let (run, _) = simulate(middling, workload, &clock);
    assert_eq!(run.status, RunStatus::Settled);
    // Each round holds each case, even one that needs no more trials.
    let [a, b] = run.cases.trials_of_each();
    assert!(a == b && a > 5 && a < 100, "{a} {b}");
}

/// The number of trials of each of two cases.
trait TrialsOfEach {
    fn trials_of_each(&self) -> [usize; 2];
}

impl TrialsOfEach for Vec<model::Case> {
    fn trials_of_each(&self) -> [usize; 2] {
        [self[0].trials.len(), self[1].trials.len()]
    }
}

#[test]
fn a_round_that_would_overrun_the_time_bound_is_not_begun() {
    // Calibration takes 4 s, a round of two trials 7 s: five rounds end at 39 s, six at 46 s.
    let run = |bound_s| {
        let mut request = request(&["a", "b"], 3);
        request.time_bound_s = Some(bound_s);
        simulate_all(request, steady(0.2)).0
    };
    let at_45 = run(45.9);
    assert_eq!(
        (at_45.status, at_45.cases.trials_of_each()),
        (RunStatus::Bounded, [5, 5])
    );
    let at_46 = run(46.0);
    assert_eq!(
        (at_46.status, at_46.cases.trials_of_each()),
        (RunStatus::Bounded, [6, 6])
    );
}

#[test]
fn the_time_bound_cuts_even_the_least_trials_short() {
    let mut request = request(&["a", "b"], 3);
    request.time_bound_s = Some(20.0);
    // 4 s calibration; trials begin at 4, 7.5, 11, 14.5 and 18 s. The next would begin at 21.5 s.
    let (run, journal) = simulate_all(request, steady(0.0));
    assert_eq!(run.status, RunStatus::Bounded);
    assert_eq!(journal.started().len(), 5);
    assert!(journal.words.iter().all(|word| !word.contains(" -")));
}

#[test]
fn cases_for_which_there_is_no_time_are_left_out_after_the_first_round() {
    let trials = |leaves_out| {
        let mut request = request(&["a", "b", "c", "d", "e"], 3);
        // 4 s calibration, 17.5 s for the first round. 50.5 s are left: four trials of three cases.
        request.time_bound_s = Some(72.0);
        request.leaves_out = leaves_out;
        let (run, _) = simulate_all(request, steady(0.2));
        let trials: Vec<usize> = run.cases.iter().map(|it| it.trials.len()).collect();
        (run.status, trials)
    };
    assert_eq!(trials(true), (RunStatus::Bounded, vec![5, 5, 5, 1, 1]));
    assert_eq!(trials(false), (RunStatus::Bounded, vec![4; 5]));
}

/// A workload with scripted outcomes for each case; after the script all trials are valid.
struct Scripted {
    script: Vec<(&'static str, VecDeque<Outcome>)>,
    clock: SimulatedClock,
    specs: Vec<(String, TrialSpec)>,
    /// An error in place of the trial with this number.
    error_at: Option<(usize, WorkloadError)>,
}

impl Scripted {
    fn new(clock: &SimulatedClock, script: &[(&'static str, &str)]) -> Self {
        let outcome = |letter| match letter {
            'v' => Outcome::Valid,
            'i' => Outcome::Invalid("a page lies elsewhere".to_owned()),
            _ => Outcome::Failed("killed".to_owned()),
        };
        Scripted {
            script: script
                .iter()
                .map(|(case, letters)| (*case, letters.chars().map(outcome).collect()))
                .collect(),
            clock: clock.clone(),
            specs: Vec::new(),
            error_at: None,
        }
    }
}

impl Workload for Scripted {
    fn rows_per_table(&mut self, case: &CasePlan) -> Option<u32> {
        match case.name.as_str() {
            "a" => Some(4000),
            _ => Some(1000),
        }
    }

    fn calibrate(
        &mut self,
        case: &CasePlan,
        spec: &CalibrationSpec,
        on_point: &mut dyn FnMut(CalibrationPoint),
        cancel: &Cancel,
    ) -> Result<Option<Calibration>, WorkloadError> {
        assert_eq!(case.name, "a", "calibration is made on the baseline");
        let of_the_others = Some(1000);
        assert_eq!(
            spec.rows_max, of_the_others,
            "every case gets the work unit"
        );
        on_point(CalibrationPoint {
            work_unit: 7,
            logical_reads_per_s: 1.0,
        });
        match cancel.is_cancelled() {
            true => Err(WorkloadError::Cancelled),
            false => Ok(Some(Calibration {
                work_unit: 7,
                plateau_reached: true,
                points: Vec::new(),
            })),
        }
    }

    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        if let Some((number, error)) = &self.error_at
            && *number == self.specs.len()
        {
            return Err(error.clone());
        }
        live(Phase::Measuring, None);
        if cancel.is_cancelled() {
            return Err(WorkloadError::Cancelled);
        }
        self.specs.push((case.name.clone(), *spec));
        let mut valid = Simulated::new(self.clock.clone(), 0, steady(0.0));
        let mut trial = valid.trial(case, spec, &mut |_, _| {}, cancel)?;
        let script = self.script.iter_mut().find(|(name, _)| *name == case.name);
        if let Some(outcome) = script.and_then(|(_, outcomes)| outcomes.pop_front()) {
            trial.outcome = outcome;
        }
        Ok(trial)
    }
}

fn run_script(script: &[(&'static str, &str)]) -> (Run, Journal, Scripted) {
    let clock = SimulatedClock::new();
    let mut workload = Scripted::new(&clock, script);
    let mut journal = Journal::default();
    let observers: &mut [&mut dyn Observer] = &mut [&mut journal];
    let request = request(&["a", "b"], 5);
    let run = execute(request, &mut workload, &clock, observers, &Cancel::new()).unwrap();
    (run, journal, workload)
}

#[test]
fn trials_that_do_not_count_are_repeated_in_further_rounds() {
    let (run, journal, _) = run_script(&[("a", "vvivf"), ("b", "")]);
    assert_eq!(run.status, RunStatus::Settled);
    assert_eq!((rates(&run, 0).len(), rates(&run, 1).len()), (5, 7));
    assert_eq!(run.cases.trials_of_each(), [7, 7]);
    let uncounted = ["a=invalid", "a=failed"];
    let told = journal
        .words
        .iter()
        .filter(|word| uncounted.contains(&word.as_str()));
    assert_eq!(told.count(), 2);
}

#[test]
fn a_case_that_never_counts_ends_and_the_run_goes_on() {
    let (run, ..) = run_script(&[("b", "ififififif")]);
    assert_eq!(run.status, RunStatus::Bounded);
    assert_eq!(run.cases.trials_of_each(), [5, 3]);
    // Three in a row end a case even after valid trials, which are kept.
    let (run, ..) = run_script(&[("b", "vvviiiiiii")]);
    assert_eq!(run.status, RunStatus::Bounded);
    assert_eq!(run.cases.trials_of_each(), [6, 6]);
    assert_eq!(rates(&run, 1).len(), 3);
}

#[test]
fn trials_that_do_not_count_are_bounded_even_when_scattered() {
    let (run, ..) = run_script(&[("b", "iiviivivvvvvvvvvvv")]);
    assert_eq!(run.cases.trials_of_each(), [7, 7]);
    assert_eq!(rates(&run, 1).len(), 2);
    assert_eq!(run.status, RunStatus::Bounded);
}

#[test]
fn a_run_without_any_valid_trial_has_failed() {
    let (run, journal, _) = run_script(&[("a", "iii"), ("b", "fff")]);
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(journal.words.last().unwrap(), "Failed");
}

#[test]
fn cases_of_a_round_get_the_same_data_and_rounds_different() {
    let (_, _, workload) = run_script(&[]);
    let specs = &workload.specs;
    for pair in specs.chunks(2) {
        assert_ne!(pair[0].0, pair[1].0);
        assert_eq!(pair[0].1, pair[1].1);
        assert_eq!((pair[0].1.work_unit, pair[0].1.window_s), (Some(7), 2.0));
    }
    assert_eq!(specs[2].1.round, 1);
    assert_ne!(specs[0].1.seed, specs[2].1.seed);
}

/// Executes a script in which the journal cancels or fails.
fn run_journal(mut journal: Journal, cancel: &Cancel) -> (Result<Run, RunError>, Vec<String>) {
    let clock = SimulatedClock::new();
    let mut workload = Scripted::new(&clock, &[]);
    let observers: &mut [&mut dyn Observer] = &mut [&mut journal];
    let run = execute(
        request(&["a", "b"], 5),
        &mut workload,
        &clock,
        observers,
        cancel,
    );
    (run, journal.words)
}

#[test]
fn an_interrupted_run_keeps_its_finished_trials() {
    for (at, finished) in [
        ("run<=24", 0),
        ("point 7", 0),
        ("unit 7", 0),
        ("at -1", 0),
        ("a=0", 1),
    ] {
        let cancel = Cancel::new();
        let journal = Journal {
            cancels_at: Some((at, cancel.clone())),
            ..Journal::default()
        };
        let (run, words) = run_journal(journal, &cancel);
        let run = run.unwrap();
        assert_eq!(run.status, RunStatus::Interrupted, "{at}");
        let trials: usize = run.cases.iter().map(|case| case.trials.len()).sum();
        // Case a may come after case b in the first round.
        assert!(
            trials == finished || (at == "a=0" && trials == 2),
            "{at}: {trials}"
        );
        assert_eq!(words.last().unwrap(), "Interrupted");
        assert!(!cancel.child().is_cancelled() || cancel.is_cancelled());
    }
}

#[test]
fn an_observer_that_fails_ends_the_run_and_the_others_are_told() {
    for at in ["run<=24", "point 7", "unit 7", "at -1", "a=0", "Settled"] {
        let mut failing = Journal {
            fails_at: Some(at),
            ..Journal::default()
        };
        let mut other = Journal::default();
        let clock = SimulatedClock::new();
        let mut workload = Scripted::new(&clock, &[]);
        let observers: &mut [&mut dyn Observer] = &mut [&mut failing, &mut other];
        let cancel = Cancel::new();
        let error = execute(
            request(&["a", "b"], 5),
            &mut workload,
            &clock,
            observers,
            &cancel,
        );
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), "the disk is full", "{at}");
        assert!(matches!(error, RunError::Observer { .. }));
        assert_eq!(failing.words, other.words);
        let expected_end = if at == "Settled" { "Settled" } else { "Failed" };
        assert_eq!(other.words.last().unwrap(), expected_end, "{at}");
        assert!(
            !cancel.is_cancelled(),
            "the caller's flag is not ours to raise"
        );
    }
}

#[test]
fn a_workload_that_cannot_go_on_ends_the_run_with_what_it_has() {
    let clock = SimulatedClock::new();
    let mut workload = Scripted::new(&clock, &[]);
    workload.error_at = Some((
        3,
        WorkloadError::Fatal {
            message: "cannot make a processor group: read-only file system".to_owned(),
            exit_code: ExitCode::NotPermitted,
        },
    ));
    let mut journal = Journal::default();
    let observers: &mut [&mut dyn Observer] = &mut [&mut journal];
    let request = request(&["a", "b"], 5);
    let error = execute(request, &mut workload, &clock, observers, &Cancel::new()).unwrap_err();
    let RunError::Workload {
        message,
        exit_code,
        run,
    } = error
    else {
        panic!("{error:?}");
    };
    assert!(message.starts_with("cannot make a processor group"));
    assert_eq!(exit_code, ExitCode::NotPermitted);
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(
        run.cases
            .iter()
            .map(|case| case.trials.len())
            .sum::<usize>(),
        3
    );
    assert_eq!(journal.words.last().unwrap(), "Failed");
}

#[test]
fn a_request_that_makes_no_sense_is_refused_before_anything_happens() {
    let refused = |change: fn(&mut RunRequest)| {
        let mut request = request(&["a", "b"], 5);
        change(&mut request);
        let clock = SimulatedClock::new();
        let mut workload = Scripted::new(&clock, &[]);
        let mut journal = Journal::default();
        let observers: &mut [&mut dyn Observer] = &mut [&mut journal];
        let error = execute(request, &mut workload, &clock, observers, &Cancel::new());
        assert!(journal.words.is_empty() && clock.now_s() == 0.0);
        error.unwrap_err().to_string()
    };
    assert_eq!(
        refused(|request| request.trials_min = 0),
        "a run needs at least 1 trial"
    );
    assert_eq!(
        refused(|request| request.trials_max = 4),
        "the maximum of 4 trials is below the minimum of 5"
    );
    assert!(refused(|request| request.window_s = f64::NAN).starts_with("the window"));
    assert!(refused(|request| request.warm_up_s_max = 0.5).starts_with("the maximum warm-up"));
    assert!(
        refused(|request| request.half_width_target = 0.0).starts_with("the target half-width")
    );
    assert!(refused(|request| request.time_bound_s = Some(0.0)).starts_with("the time limit"));
    assert!(refused(|request| request.plan.baseline = "c".to_owned()).starts_with("the baseline"));
}

/// Returns the share of seeds for which a run of two cases has a winner, that is, the interval of
/// the ratio excludes 1.
fn winners(seeds: u64, a: Behaviour, b: Behaviour) -> f64 {
    let names_a_winner = |seed: &u64| {
        let clock = SimulatedClock::new();
        let workload = Simulated::new(clock.clone(), *seed, a).with_case("b", b);
        let (run, _) = simulate(request(&["a", "b"], *seed), workload, &clock);
        let interval = ratio_interval(&rates(&run, 1), &rates(&run, 0), CONFIDENCE);
        !interval.unwrap().contains(1.0)
    };
    (0..seeds).filter(names_a_winner).count() as f64 / seeds as f64
}

/// The stop rule depends on the data, so this checks the guarantee of crate `stats` again with it.
#[test]
fn the_same_case_twice_is_a_tie_in_19_of_20_runs() {
    let seeds = 1_000;
    // Runs end after 5 to 12 trials, so the stop rule decides.
    for noise in [0.01, 0.02] {
        let share = winners(seeds, steady(noise), steady(noise));
        println!("A/A runs, noise {noise}: {share} false winners");
        assert!(share <= 0.05, "{share}");
    }
    let disturbed = Behaviour {
        drift_per_trial: -0.002,
        outlier: Some(Outlier {
            share: 0.1,
            factor: 0.8,
        }),
        ..steady(0.02)
    };
    let share = winners(seeds, disturbed, disturbed);
    println!("A/A runs, drift and outliers: {share} false winners");
    assert!(share <= 0.05, "{share}");
}

#[test]
fn a_true_effect_of_ten_percent_is_found() {
    let seeds = 1_000;
    let found = winners(seeds, steady(0.02), Behaviour::steady(1126.4, 0.02));
    println!("10 % in 2 % noise: found in {found}");
    assert!(found >= 0.95, "{found}");
}
