//! Tests verdicts of cases that alternate on noise that was recorded: half an hour of the same case
//! twice on a virtual machine of two CPUs, whose last-level cache others use, while builds and
//! tests ran beside it now and then. Runs begin at any round of it.

use model::{CasePlan, ParkedEvidence, Phase, Trial};
use stats::{Generator, median};

use super::alternation_tests::{interval, trial};
use super::test_plans::request;
use crate::{Cancel, RoundSpec, SimulatedClock, TrialSpec, Workload, WorkloadError, execute};

/// A line for each block: whether the cases had one memory or two, the round, when it began in
/// seconds, and the reads of each case in thousands per second.
const RECORD: &str = include_str!("recorded-half-hour.tsv");
/// What the two parts of the record begin with.
const MEMORIES: [&str; 2] = ["one", "two"];

/// A recorded round.
struct Recorded {
    began_s: f64,
    /// The rates of both cases, each the mean of its blocks.
    rates: [f64; 2],
}

fn recorded(memories: &str) -> Vec<Recorded> {
    let mut blocks: Vec<(u32, f64, [f64; 2])> = Vec::new();
    for line in RECORD.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split('\t').collect();
        let [of, round, began_s, one, other] = words[..] else {
            panic!("{line:?} has five words");
        };
        let number = |word: &str| word.parse::<f64>().unwrap();
        if of == memories {
            let rates = [number(one), number(other)];
            blocks.push((round.parse().unwrap(), number(began_s), rates));
        }
    }
    let rounds = blocks.chunk_by(|one, other| one.0 == other.0);
    let mean = |round: &[(u32, f64, [f64; 2])], case: usize| {
        round.iter().map(|block| block.2[case]).sum::<f64>() / round.len() as f64
    };
    let rounds = rounds.map(|round| Recorded {
        began_s: round[0].1,
        rates: [mean(round, 0), mean(round, 1)],
    });
    rounds.collect()
}

/// Replays the record from a round on.
struct Replay<'r> {
    rounds: &'r [Recorded],
    next: usize,
    /// Whether the cases have changed places.
    is_swapped: bool,
    /// How much slower the second case is, as a share.
    effect: f64,
    clock: SimulatedClock,
}

impl Workload for Replay<'_> {
    fn trial(
        &mut self,
        _case: &CasePlan,
        _spec: &TrialSpec,
        _live: &mut dyn FnMut(Phase, Option<f64>),
        _cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        unreachable!("cases alternate")
    }

    fn round(
        &mut self,
        cases: &[&CasePlan],
        spec: &RoundSpec<'_>,
        _live: &mut dyn FnMut(Phase, Option<f64>),
        _cancel: &Cancel,
    ) -> Result<Option<Vec<Trial>>, WorkloadError> {
        let now = &self.rounds[self.next % self.rounds.len()];
        self.next += 1;
        let then = &self.rounds[self.next % self.rounds.len()];
        self.clock.advance((then.began_s - now.began_s).max(0.1));
        let trials = cases.iter().map(|case| {
            let is_second = case.name == "b";
            let effect = if is_second { self.effect } else { 0.0 };
            let value = now.rates[usize::from(is_second != self.is_swapped)] * (1.0 - effect);
            trial(spec.trial.round, value, Some(ParkedEvidence::default()))
        });
        Ok(Some(trials.collect()))
    }
}

/// What came of many runs.
struct Found {
    /// Runs that told the cases apart, and runs whose interval misses the effect, in percent.
    told_apart: f64,
    missed: f64,
    /// Medians of the half-width, in percent, and of the rounds.
    half_width: f64,
    rounds: f64,
}

/// Runs that begin at `runs` random rounds of the record.
fn runs(rounds: &[Recorded], runs: u32, effect: f64, time_bound_s: f64) -> Found {
    let mut random = Generator::new(11, 0);
    let mut intervals = Vec::new();
    for seed in 0..runs {
        let clock = SimulatedClock::new();
        let mut request = request(&["a", "b"], u64::from(seed));
        request.alternates = true;
        request.time_bound_s = Some(time_bound_s);
        request.trials_max = 40;
        request.half_width_target = 0.01;
        let mut replay = Replay {
            rounds,
            next: (random.unit() * rounds.len() as f64) as usize,
            is_swapped: random.unit() < 0.5,
            effect,
            clock: clock.clone(),
        };
        let run = execute(request, &mut replay, &clock, &mut [], &Cancel::new()).unwrap();
        let (low, high) = interval(&run, true);
        intervals.push((low, high, run.cases[0].trials.len() as f64));
    }
    let share = |count: usize| count as f64 * 100.0 / f64::from(runs);
    let excludes = |truth: f64| {
        let outside = |it: &&(f64, f64, f64)| it.0 > truth || it.1 < truth;
        share(intervals.iter().filter(outside).count())
    };
    let half_widths: Vec<f64> = intervals
        .iter()
        .map(|it| (it.1.ln() - it.0.ln()) * 50.0)
        .collect();
    let of_run: Vec<f64> = intervals.iter().map(|it| it.2).collect();
    Found {
        told_apart: excludes(1.0),
        missed: excludes(1.0 - effect),
        half_width: median(&half_widths).unwrap(),
        rounds: median(&of_run).unwrap(),
    }
}

#[test]
fn on_recorded_noise_five_of_a_hundred_runs_are_wrong_at_most() {
    for memories in MEMORIES {
        let rounds = recorded(memories);
        assert!(rounds.len() > 300, "{memories}: {}", rounds.len());
        for time_bound_s in [10.0, 20.0] {
            let found = runs(&rounds, 2000, 0.0, time_bound_s);
            println!(
                "{memories}, {time_bound_s} s: {:.1} % false winners, half-width {:.2} %, {} \
                 rounds",
                found.told_apart, found.half_width, found.rounds
            );
            assert!(found.told_apart <= 5.0, "{memories}: {}", found.told_apart);
        }
    }
}

#[test]
fn on_recorded_noise_an_effect_is_found_and_its_size_is_in_the_interval() {
    for (memories, found_min) in [("one", [50.0, 60.0, 85.0]), ("two", [50.0, 60.0, 85.0])] {
        let rounds = recorded(memories);
        for (effect, found_min) in [0.03, 0.05, 0.10].into_iter().zip(found_min) {
            let found = runs(&rounds, 1000, effect, 20.0);
            println!(
                "{memories}, effect {effect}: found in {:.1} %, size missed in {:.1} %",
                found.told_apart, found.missed
            );
            assert!(found.told_apart >= found_min, "{memories}, {effect}");
            assert!(
                found.missed <= 5.0,
                "{memories}, {effect}: {}",
                found.missed
            );
        }
    }
}
