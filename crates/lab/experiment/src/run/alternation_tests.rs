//! Tests alternating windows on a simulated machine: it heats up, a neighbour is busy for seconds
//! at a time, single windows are slow, and the hypervisor reports steal time.

use instance::Taken;
use model::{CasePlan, Evidence, Measured, Outcome, ParkedEvidence, Phase, Run, Trial};
use stats::{Generator, median, ratio_of_cases, ratio_of_pairs};

use super::stop_rule::CONFIDENCE;
use super::test_plans::request;
use crate::workloads::quiet_blocks;
use crate::{
    Cancel, Clock, RoundSpec, SimulatedClock, TrialSpec, Workload, WorkloadError, execute,
};

const WINDOW_S: f64 = 0.1;
const LEAD_IN_S: f64 = 0.02;
/// Time to set up a case, in seconds.
const SET_UP_S: f64 = 1.0;
/// Noise between trials: each has its own memory, some better, some worse.
const NOISE_OF_TRIALS: f64 = 0.005;
/// The neighbour's mean busy time and mean quiet time, in seconds, and the share it takes.
const BUSY_S: f64 = 3.0;
const QUIET_S: f64 = 6.0;
const TAKEN: f64 = 0.25;
/// Spontaneously slow windows: their share, and the factor on their rate.
const SLOW: (f64, f64) = (0.1, 0.8);
/// On a skewed machine: standard deviation of the logarithm of a window's rate, and of the time
/// that the neighbour takes from it, so that which blocks are left out is skewed, too.
const SKEW: (f64, f64) = (0.3, 1.0);
/// Slowdown of the machine per second.
const DRIFT_PER_S: f64 = 0.0005;

struct Machine {
    clock: SimulatedClock,
    random: Generator,
    /// When the neighbour next changes state, and whether it is busy.
    until_s: f64,
    busy: bool,
    /// How much slower the second case is, as a share.
    effect: f64,
    is_skewed: bool,
    /// Time of a round after its last block.
    close_s: f64,
}

impl Machine {
    fn new(clock: &SimulatedClock, seed: u64, effect: f64, is_skewed: bool) -> Self {
        Machine {
            clock: clock.clone(),
            random: Generator::new(seed, 77),
            until_s: 0.0,
            busy: false,
            effect,
            is_skewed,
            close_s: 0.0,
        }
    }

    /// Returns the rate of a window and the time that the hypervisor took.
    fn window(&mut self, case: &CasePlan, window_s: f64, noise: f64) -> (f64, Taken) {
        while self.clock.now_s() >= self.until_s {
            self.busy = !self.busy;
            let mean_s = if self.busy { BUSY_S } else { QUIET_S };
            self.until_s += -mean_s * (1.0 - self.random.unit()).ln();
        }
        let mut skew = |deviation: f64| match self.is_skewed {
            true => (deviation * self.random.normal()).exp(),
            false => 1.0,
        };
        let (skew_of_rate, skew_of_steal) = (skew(SKEW.0), skew(SKEW.1));
        let taken = if self.busy { TAKEN } else { 0.0 };
        let taken = (taken * skew_of_steal).min(0.9);
        let slow = match self.random.unit() < SLOW.0 {
            true => SLOW.1,
            false => 1.0,
        };
        let drift = 1.0 - DRIFT_PER_S * self.clock.now_s();
        let of_case = if case.name == "b" {
            1.0 - self.effect
        } else {
            1.0
        };
        self.clock.advance(window_s);
        let rate = 1e6 * of_case * noise * (1.0 - taken) * slow * skew_of_rate * drift;
        let taken = Taken {
            steal_s: Some(taken * window_s * 2.0),
            other_cpu_s: None,
        };
        (rate, taken)
    }

    fn noise(&mut self) -> f64 {
        1.0 + NOISE_OF_TRIALS * self.random.normal()
    }
}

/// A trial that counts; its windows alternated if it was parked.
pub(super) fn trial(round: u32, value: f64, parked: Option<ParkedEvidence>) -> Trial {
    Trial {
        round,
        outcome: Outcome::Valid,
        measured: Some(Measured {
            value,
            window_s: Some(1.0),
            warm_up_s: None,
            sessions: None,
            kernel: None,
        }),
        report: None,
        evidence: Evidence {
            parked,
            ..Evidence::default()
        },
        warnings: Vec::new(),
    }
}

impl Workload for Machine {
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        _live: &mut dyn FnMut(Phase, Option<f64>),
        _cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        self.clock.advance(SET_UP_S);
        let noise = self.noise();
        let windows = (spec.window_s / WINDOW_S) as u32;
        let rates = (0..windows).map(|_| self.window(case, WINDOW_S, noise).0);
        let value = rates.sum::<f64>() / f64::from(windows);
        Ok(trial(spec.round, value, None))
    }

    fn round(
        &mut self,
        cases: &[&CasePlan],
        spec: &RoundSpec<'_>,
        _live: &mut dyn FnMut(Phase, Option<f64>),
        _cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        self.clock.advance(SET_UP_S * cases.len() as f64);
        let noises: Vec<f64> = cases.iter().map(|_| self.noise()).collect();
        let mut order: Vec<usize> = (0..cases.len()).collect();
        let mut random = Generator::new(spec.order_seed, 0);
        let mut rates = vec![Vec::new(); cases.len()];
        let mut blocks = Vec::new();
        for block in 0..(spec.trial.window_s / WINDOW_S) as u32 {
            if block >= 2 && (spec.is_over)() {
                break;
            }
            random.shuffle(&mut order);
            let mut block = Vec::new();
            for index in &order {
                self.clock.advance(LEAD_IN_S);
                let (rate, taken) = self.window(cases[*index], WINDOW_S, noises[*index]);
                rates[*index].push(rate);
                block.push(taken);
            }
            blocks.push(block);
        }
        self.clock.advance(self.close_s);
        let kept = quiet_blocks(&blocks);
        let value = |rates: &Vec<f64>| {
            let kept: Vec<f64> = rates
                .iter()
                .zip(&kept)
                .filter_map(|(rate, kept)| kept.then_some(*rate))
                .collect();
            kept.iter().sum::<f64>() / kept.len() as f64
        };
        let parked = Some(ParkedEvidence::default());
        let trials = rates
            .iter()
            .map(|it| trial(spec.trial.round, value(it), parked));
        Ok(Some(trials.collect()))
    }
}

/// Runs two cases under the stop rule; the second is slower by `effect`.
fn run(
    seed: u64,
    alternates: bool,
    (effect, is_skewed): (f64, bool),
    time_bound_s: Option<f64>,
    trials_max: u32,
) -> Run {
    let clock = SimulatedClock::new();
    let mut request = request(&["a", "b"], seed);
    request.alternates = alternates;
    request.time_bound_s = time_bound_s;
    request.trials_max = trials_max;
    let mut machine = Machine::new(&clock, seed, effect, is_skewed);
    execute(request, &mut machine, &clock, &mut [], &Cancel::new()).unwrap()
}

/// Returns the ends of the interval of the ratio of the second case to the first.
pub(super) fn interval(run: &Run, alternates: bool) -> (f64, f64) {
    let values = |case: usize| -> Vec<Option<f64>> {
        let trials = run.cases[case].trials.iter();
        trials.map(Trial::valid_value).collect()
    };
    let ratio = if alternates {
        ratio_of_pairs
    } else {
        ratio_of_cases
    };
    let found = ratio(&values(1), &values(0), CONFIDENCE).unwrap().interval;
    (found.low, found.high)
}

/// Returns the percentages of runs whose interval excludes 1, and whose interval misses the truth.
fn rates(runs: u64, machine: (f64, bool), trials_max: u32) -> (f64, f64) {
    let (mut excludes, mut misses) = (0u32, 0u32);
    let truth = 1.0 - machine.0;
    for seed in 0..runs {
        let (low, high) = interval(&run(seed, true, machine, None, trials_max), true);
        excludes += u32::from(low > 1.0 || high < 1.0);
        misses += u32::from(low > truth || high < truth);
    }
    let of_hundred = |count: u32| f64::from(count) * 100.0 / runs as f64;
    (of_hundred(excludes), of_hundred(misses))
}

/// Returns the trials of each case, and how long the run took, under this time bound, if a round
/// takes `close_s` after its last block.
fn bounded(cases: &[&str], bound_s: f64, close_s: f64) -> (Vec<usize>, f64) {
    let clock = SimulatedClock::new();
    let mut request = request(cases, 3);
    request.alternates = true;
    request.time_bound_s = Some(bound_s);
    request.trials_max = 5;
    let mut machine = Machine::new(&clock, 3, 0.0, false);
    machine.close_s = close_s;
    let run = execute(request, &mut machine, &clock, &mut [], &Cancel::new()).unwrap();
    let trials = run.cases.iter().map(|it| it.trials.len()).collect();
    (trials, clock.now_s())
}

#[test]
fn where_time_is_short_rounds_have_fewer_windows_and_then_fewer_cases() {
    // A round takes 6.8 s, and 2.5 s with the fewest windows.
    let (trials, took_s) = bounded(&["a", "b"], 20.0, 0.0);
    assert_eq!(trials, [5, 5]);
    assert!(took_s < 22.0, "{took_s}");
    // Four cases take at least 5 s, two of them 2.5 s.
    let (trials, took_s) = bounded(&["a", "b", "c", "d"], 15.0, 0.0);
    assert_eq!(trials, [5, 5, 1, 1]);
    assert!(took_s < 16.0, "{took_s}");
    // The runner sees in advance that there is no time for four.
    let (trials, _) = bounded(&["a", "b", "c", "d"], 8.0, 0.0);
    assert_eq!(trials, [5, 5, 0, 0]);
    // At twice the time bound, the run ends even without its minimum rounds.
    let (trials, took_s) = bounded(&["a", "b"], 2.0, 0.0);
    assert_eq!(trials, [2, 2]);
    assert!(took_s < 6.0, "{took_s}");
}

#[test]
fn the_same_case_twice_has_a_winner_in_five_of_a_hundred_runs_at_most() {
    for is_skewed in [false, true] {
        for trials_max in [5, 8, 12, 20, 40] {
            let (winners, _) = rates(600, (0.0, is_skewed), trials_max);
            println!(
                "at most {trials_max} rounds, skewed {is_skewed}: {winners:.1} % false winners"
            );
            assert!(winners <= 5.0, "{trials_max} rounds: {winners} %");
        }
    }
}

#[test]
fn an_effect_is_found_and_its_size_is_in_the_interval() {
    for (effect, found_min) in [(0.03, 30.0), (0.05, 60.0), (0.10, 95.0)] {
        let (found, missed) = rates(300, (effect, false), 20);
        println!("effect {effect}: found in {found:.1} %, size missed in {missed:.1} %");
        assert!(found >= found_min, "{effect}: {found} %");
        assert!(missed <= 5.0, "{effect}: {missed} %");
    }
}

#[test]
fn at_equal_time_the_interval_is_a_third_as_wide_on_a_noisy_machine() {
    let width = |alternates: bool| {
        let widths: Vec<f64> = (0..60)
            .map(|seed| {
                let run = run(seed, alternates, (0.0, false), Some(60.0), 20);
                let (low, high) = interval(&run, alternates);
                high.ln() - low.ln()
            })
            .collect();
        median(&widths).unwrap()
    };
    let (one_by_one, alternating) = (width(false), width(true));
    println!(
        "half-widths: {:.3} one by one, {:.3} alternating",
        one_by_one / 2.0,
        alternating / 2.0
    );
    assert!(
        alternating * 3.0 <= one_by_one,
        "{alternating} against {one_by_one}"
    );
}

#[test]
fn no_case_is_left_out_while_rounds_can_have_fewer_windows() {
    let cases = ["a", "b", "c", "d"];
    let (trials, took_s) = bounded(&cases, 40.0, 2.0);
    assert_eq!(trials, [5; 4]);
    assert!(took_s < 40.0 + 2.0, "{took_s}");
}
