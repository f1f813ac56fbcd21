//! Sessions on recorded noise: an hour of two PostgreSQL beside the builds of this project
//! (`recorded-hour.tsv`), read from any moment on, with effects of which the session knows nothing.

use model::TryVerdict;

use super::*;
use crate::noise::noise;

/// What one of the servers did in each second: transactions, and CPU time in units of 0.1 ms.
struct Hour {
    seconds: Vec<(f64, f64)>,
}

impl Hour {
    /// That of the clients with a rate (0), or of those without (1).
    fn of(server: usize) -> Self {
        let text = include_str!("recorded-hour.tsv");
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        let seconds = rows.map(|row| {
            let figures: Vec<f64> = row.split('\t').map(|it| it.parse().unwrap()).collect();
            (figures[2 * server], figures[2 * server + 1] * 1e-4)
        });
        let seconds: Vec<(f64, f64)> = seconds.collect();
        assert_eq!(seconds.len(), 3600);
        Hour { seconds }
    }
}

/// The server of an hour that begins at some second of it, and has no end.
struct Replayed<'a> {
    hour: &'a Hour,
    begin: usize,
    at_s: f64,
    work: f64,
    cpu_s: f64,
    is_in: usize,
    /// Work per CPU second under the placement, as a log ratio; by the rate if `is_saturated`.
    gain: f64,
    is_saturated: bool,
}

impl Replayed<'_> {
    /// Goes on by a part of one second.
    fn go_on(&mut self, until_s: f64) {
        let second = self.at_s.floor();
        let step = (second + 1.0).min(until_s) - self.at_s;
        let (work, cpu_s) =
            self.hour.seconds[(self.begin + second as usize) % self.hour.seconds.len()];
        let gain = if self.is_in > 0 { self.gain.exp() } else { 1.0 };
        let (more_work, less_cpu) = if self.is_saturated {
            (gain, 1.0)
        } else {
            (1.0, gain)
        };
        self.work += work * step * more_work;
        self.cpu_s += cpu_s * step / less_cpu;
        self.at_s += step;
    }
}

impl Subject for Replayed<'_> {
    fn now_s(&self) -> f64 {
        self.at_s
    }

    fn put(&mut self, placement: usize) -> Result<(), Halt> {
        self.is_in = placement;
        Ok(())
    }

    fn sample(&mut self, at_s: f64) -> Result<Sample, Halt> {
        while self.at_s < at_s {
            self.go_on(at_s);
        }
        Ok(Sample {
            at_s: self.at_s,
            work: Some(self.work as u64),
            mix: None,
            cpu_s: self.cpu_s,
        })
    }

    fn say(&mut self, _: String) {}
}

/// A session of twenty minutes as the command would do it.
fn session_of(hour: &Hour, gain: f64, seed: u64, is_saturated: bool) -> TriedPlacement {
    let mut random = Generator::new(seed, 7);
    let mut subject = Replayed {
        hour,
        begin: random.word() as usize % hour.seconds.len(),
        at_s: 0.0,
        work: 0.0,
        cpu_s: 0.0,
        is_in: 0,
        gain,
        is_saturated,
    };
    let by = if is_saturated {
        JudgedBy::Rate
    } else {
        JudgedBy::Cost
    };
    let watched: Vec<Sample> = (0..=120)
        .map(|second| subject.sample(f64::from(second)).unwrap())
        .collect();
    // As PostgreSQL needs it.
    let windows = noise(&watched, by, None, 20.0);
    let course = Course {
        names: vec!["current".to_owned(), "tried".to_owned()],
        by,
        window_s: windows.window_s,
        lead_in_s: windows.lead_in_s,
        until_s: 1200.0,
        gain: 0.03,
        stop_loss: 0.1,
        is_judged: true,
        seed,
    };
    let mut outcome = session(&mut subject, &course, &watched).unwrap();
    outcome.placements.remove(0)
}

/// What came of many sessions.
#[derive(Debug, Default)]
struct Tally {
    sessions: u32,
    better: u32,
    worse: u32,
    equal: u32,
    stopped: u32,
    has_interval: u32,
    holds: u32,
    pairs: Vec<u32>,
}

fn tally(hour: &Hour, gain: f64, sessions: u32, is_saturated: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..u64::from(sessions) {
        let found = session_of(hour, gain, seed, is_saturated);
        tally.sessions += 1;
        match found.verdict {
            TryVerdict::Better => tally.better += 1,
            TryVerdict::Worse => tally.worse += 1,
            TryVerdict::Equal => tally.equal += 1,
            TryVerdict::Stopped => tally.stopped += 1,
            TryVerdict::Undecided => {}
        }
        if let Some((low, high)) = found.ratio_low.zip(found.ratio_high) {
            tally.has_interval += 1;
            tally.holds += u32::from(low <= gain.exp() && gain.exp() <= high);
        }
        tally.pairs.push(found.pairs);
    }
    tally.pairs.sort_unstable();
    println!(
        "{} {:+5.1} %: better {}, worse {}, equal {}, stopped {}, of {}; interval holds {} of {}; \
         median of pairs {}",
        if is_saturated { "rate" } else { "cost" },
        gain.exp_m1() * 100.0,
        tally.better,
        tally.worse,
        tally.equal,
        tally.stopped,
        tally.sessions,
        tally.holds,
        tally.has_interval,
        tally.pairs[tally.pairs.len() / 2],
    );
    tally
}

#[test]
fn a_thousand_sessions_without_an_effect_rarely_have_a_winner() {
    for (server, is_saturated) in [(0, false), (1, true)] {
        let tally = tally(&Hour::of(server), 0.0, 500, is_saturated);
        assert!(tally.better + tally.worse <= 25, "{tally:?}");
        assert!(tally.holds * 100 >= tally.has_interval * 95, "{tally:?}");
        // Without a rate, neighbours took most of its CPU time for minutes.
        assert!(tally.stopped * 5 <= tally.sessions, "{tally:?}");
    }
}

#[test]
fn gains_are_found_with_their_sign() {
    for (server, is_saturated) in [(0, false), (1, true)] {
        let hour = Hour::of(server);
        for gain in [0.02_f64, 0.05, 0.1, 0.2] {
            for sign in [1.0, -1.0] {
                let gain = sign * gain.ln_1p();
                let tally = tally(&hour, gain, 100, is_saturated);
                let wrong = if gain > 0.0 {
                    tally.worse
                } else {
                    tally.better
                };
                assert!(wrong <= 5, "{tally:?}");
                assert!(tally.holds * 100 >= tally.has_interval * 95, "{tally:?}");
            }
        }
    }
}
