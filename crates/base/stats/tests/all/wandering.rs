//! What is said to run out of what only wanders, and how often the time is right: simulated days
//! of a machine's memory. `cargo test -p stats --test all wandering -- --nocapture` prints figures.

use stats::{Depletion, Generator, depletion};

const DAY_S: f64 = 86_400.0;
/// Between two snapshots.
const STEP_S: f64 = 5.0;
/// Snapshots of ten minutes.
const HISTORY: usize = 120;
/// Snapshots between two looks.
const LOOKS_EVERY: usize = 24;
/// Eight nodes with memory and two pools of huge pages.
const SERIES: usize = 24;
/// What a node has; half of it is left on the average.
const NODE: f64 = 100.0;

/// How free memory goes up and down.
#[derive(Debug, Clone, Copy)]
enum Wandering {
    /// A random walk with steps of this size.
    Walk(f64),
    /// The same with steps of no finite variance.
    WildWalk(f64),
    /// Independent values around a constant.
    Noise(f64),
    /// A walk that is drawn back to where it began, within some seconds.
    Reverting(f64),
    /// Bursts that begin so many seconds apart, take memory for so many, and give it back at once.
    Bursts(f64, f64),
    /// Steps up and down, so many seconds apart.
    Steps(f64),
    /// A speed that is kept for some seconds.
    Drifting(f64),
}

/// One quantity of a simulated machine.
struct Simulated {
    kind: Wandering,
    generator: Generator,
    level: f64,
    /// Per second.
    speed: f64,
    /// Seconds that the burst will last.
    burst_s: f64,
    taken: f64,
}

impl Simulated {
    fn new(kind: Wandering, seed: u64, stream: usize) -> Self {
        Simulated {
            kind,
            generator: Generator::new(seed, stream as u64),
            level: NODE / 2.0,
            speed: 0.0,
            burst_s: 0.0,
            taken: 0.0,
        }
    }

    fn happens_every(&mut self, seconds: f64) -> bool {
        self.generator.unit() < STEP_S / seconds
    }

    /// What is left after another step.
    fn next(&mut self) -> f64 {
        let normal = self.generator.normal();
        match self.kind {
            Wandering::Walk(size) => self.level += size * normal,
            Wandering::WildWalk(size) => self.level += size * normal / self.generator.unit().sqrt(),
            Wandering::Noise(size) => self.level = NODE / 2.0 + size * normal,
            Wandering::Reverting(seconds) => {
                let pull = STEP_S / seconds;
                self.level += pull * (NODE / 2.0 - self.level) + (200.0 * pull).sqrt() * normal;
            }
            Wandering::Bursts(every, lasts) => {
                self.burst(every, lasts);
                self.level = NODE / 2.0 - self.taken + 0.1 * normal;
            }
            Wandering::Steps(every) => {
                let step = if self.happens_every(every) { 5.0 } else { 0.1 };
                self.level += step * normal;
            }
            Wandering::Drifting(seconds) => {
                let pull = STEP_S / seconds;
                self.speed += (2.0 * pull).sqrt() * normal * 10.0 / seconds - pull * self.speed;
                self.level += STEP_S * self.speed + pull / 10.0 * (NODE / 2.0 - self.level);
            }
        }
        self.level = self.level.clamp(0.01 * NODE, 0.99 * NODE);
        self.level
    }

    fn burst(&mut self, every: f64, lasts: f64) {
        if self.burst_s > 0.0 {
            self.taken += self.speed * STEP_S.min(self.burst_s);
            self.burst_s -= STEP_S;
        } else {
            self.taken = 0.0;
            if self.happens_every(every) {
                self.burst_s = -lasts * self.generator.unit().ln();
                self.speed = 10.0 * self.generator.unit() / lasts;
            }
        }
    }
}

/// What a look after `at` snapshots says of a quantity.
fn look(series: &[f64], at: usize, compared: usize) -> Option<Depletion> {
    let points = (at - HISTORY..at).map(|index| (index as f64 * STEP_S, series[index]));
    let points: Vec<(f64, f64)> = points.collect();
    let before = series[..at - HISTORY].iter().copied().reduce(f64::min);
    depletion(&points, before, compared)
}

/// The share of looks of a day at a machine that announce anything.
fn announced(kind: Wandering, seed: u64) -> f64 {
    let count = (DAY_S / STEP_S) as usize;
    let series = (0..SERIES).map(|stream| {
        let mut simulated = Simulated::new(kind, seed, stream);
        (0..count).map(|_| simulated.next()).collect()
    });
    let series: Vec<Vec<f64>> = series.collect();
    let looks: Vec<usize> = (HISTORY..count).step_by(LOOKS_EVERY).collect();
    let says_anything = |at: &&usize| series.iter().any(|it| look(it, **at, SERIES).is_some());
    looks.iter().filter(says_anything).count() as f64 / looks.len() as f64
}

#[test]
fn of_a_machine_that_only_wanders_19_of_20_looks_announce_nothing() {
    for kind in [
        Wandering::Walk(0.1),
        Wandering::Walk(0.5),
        Wandering::Walk(1.5),
        Wandering::WildWalk(0.2),
        Wandering::Noise(2.0),
        Wandering::Reverting(60.0),
        Wandering::Reverting(600.0),
        Wandering::Reverting(3600.0),
        Wandering::Bursts(300.0, 20.0),
        Wandering::Bursts(300.0, 60.0),
        Wandering::Bursts(600.0, 120.0),
        Wandering::Steps(30.0),
        Wandering::Steps(120.0),
        Wandering::Steps(600.0),
        Wandering::Drifting(30.0),
        Wandering::Drifting(120.0),
    ] {
        let share = announced(kind, 1);
        println!(
            "{kind:?}: {:.1} % of looks announce anything",
            100.0 * share
        );
        assert!(share <= 0.05, "{kind:?}: {share}");
    }
}

/// What a look at a walk that loses `rate` in a second says, and when it was used up.
fn used_up(rate: f64, size: f64, seed: u64) -> (Option<Depletion>, f64) {
    let mut generator = Generator::new(seed, 7);
    let mut left = NODE / 2.0 + rate * HISTORY as f64 * STEP_S;
    let mut series = Vec::new();
    while left > 0.0 {
        series.push(left);
        left += size * generator.normal() - rate * STEP_S;
    }
    let found = (series.len() > HISTORY).then(|| look(&series, HISTORY, SERIES));
    let after = (series.len() + 1 - HISTORY.min(series.len())) as f64 * STEP_S;
    (found.flatten(), after)
}

#[test]
fn the_interval_holds_the_time_when_it_is_used_up() {
    // Half of a node in about 17 minutes, and in 83.
    for (rate, size) in [(0.05, 0.05), (0.05, 0.2), (0.01, 0.02)] {
        let looks = (0..1000).map(|seed| used_up(rate, size, seed));
        let looks = looks.filter_map(|(found, after)| Some((found?, after)));
        let looks: Vec<(Depletion, f64)> = looks.collect();
        let holds = |(found, after): &&(Depletion, f64)| (found.low..=found.high).contains(after);
        let share = looks.iter().filter(holds).count() as f64 / looks.len() as f64;
        println!(
            "{rate} a second, steps of {size}: {} of 1000 announced, held in {share}",
            looks.len()
        );
        assert!(
            looks.len() >= 900 && share >= 0.95,
            "{rate} {size}: {share}"
        );
    }
}
