//! Sessions on simulated targets, whose truth is known.

use super::*;

/// A target that does 1000 units in a CPU second, less or more under placements.
struct Simulated {
    at_s: f64,
    work: f64,
    cpu_s: f64,
    is_in: usize,
    /// Work per CPU second under each placement, as a log ratio.
    gains: Vec<f64>,
    /// Noise of each second, and the level that it wanders around.
    noise: f64,
    level: f64,
    random: Generator,
    said: Vec<String>,
    puts: Vec<usize>,
    /// At a moment, something else happens.
    event: Option<(f64, Event)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Reset,
    Silent,
    Still,
    Slower,
    Veto,
}

impl Simulated {
    fn new(gains: &[f64], noise: f64, seed: u64) -> Self {
        Simulated {
            at_s: 0.0,
            work: 1e9,
            cpu_s: 5.0,
            is_in: 0,
            gains: [0.0].iter().chain(gains).copied().collect(),
            noise,
            level: 0.0,
            random: Generator::new(seed, 1),
            said: Vec::new(),
            puts: Vec::new(),
            event: None,
        }
    }

    fn event(&self) -> Option<Event> {
        let (at_s, event) = self.event?;
        (self.at_s >= at_s).then_some(event)
    }

    fn session(&mut self, change: impl FnOnce(&mut Course)) -> Outcome {
        let mut course = Course {
            names: (0..self.gains.len()).map(|it| format!("p{it}")).collect(),
            by: JudgedBy::Cost,
            window_s: 2.0,
            lead_in_s: 1.0,
            until_s: 1200.0,
            gain: 0.03,
            stop_loss: 0.5,
            is_judged: true,
            seed: self.random.word(),
        };
        change(&mut course);
        let before = [0.0, 5.0].map(|at_s| self.sample(at_s).unwrap());
        session(self, &course, &before).unwrap()
    }
}

impl Subject for Simulated {
    fn now_s(&self) -> f64 {
        self.at_s
    }

    fn put(&mut self, placement: usize) -> Result<(), Halt> {
        self.is_in = placement;
        self.puts.push(placement);
        Ok(())
    }

    fn sample(&mut self, at_s: f64) -> Result<Sample, Halt> {
        let step = (at_s - self.at_s).max(0.0);
        self.level = 0.9 * self.level + self.noise * self.random.normal();
        let slower = if self.event() == Some(Event::Slower) {
            0.5
        } else {
            0.0
        };
        let speed = 1000.0 * (self.gains[self.is_in] + self.level - slower).exp();
        if self.event() != Some(Event::Still) {
            self.work += speed * step / 2.0;
        }
        self.cpu_s += step / 2.0;
        self.at_s = self.at_s.max(at_s);
        match self.event() {
            Some(Event::Veto) => {
                return Err(Halt::End(TryEnd::Vetoed, "another process".to_owned()));
            }
            Some(Event::Reset) => {
                self.work = 0.0;
                self.event = None;
            }
            _ => {}
        }
        Ok(Sample {
            at_s: self.at_s,
            work: (self.event() != Some(Event::Silent)).then_some(self.work as u64),
            mix: None,
            cpu_s: self.cpu_s,
        })
    }

    fn say(&mut self, text: String) {
        self.said.push(text);
    }
}

#[test]
fn a_gain_is_found_with_its_sign_and_in_its_interval() {
    for (gain, verdict) in [
        (0.10, TryVerdict::Better),
        (-0.10, TryVerdict::Worse),
        (0.0, TryVerdict::Equal),
    ] {
        let outcome = Simulated::new(&[gain], 0.005, 3).session(|_| {});
        let found = &outcome.placements[0];
        assert_eq!((outcome.end, found.verdict), (TryEnd::Decided, verdict));
        let (low, high) = found.ratio_low.zip(found.ratio_high).unwrap();
        assert!(low <= gain.exp() && gain.exp() <= high, "{gain}: {found:?}");
        assert_eq!(found.pairs as usize, found.log_ratios.len());
    }
}

#[test]
fn sessions_without_an_effect_rarely_have_a_winner() {
    let wins = (0..200).filter(|seed| {
        let outcome = Simulated::new(&[0.0], 0.03, *seed).session(|course| course.until_s = 300.0);
        let verdict = outcome.placements[0].verdict;
        [TryVerdict::Better, TryVerdict::Worse].contains(&verdict)
    });
    let wins = wins.count();
    println!("{wins} of 200 sessions without an effect have a winner or a loser");
    assert!(wins <= 10, "{wins}");
}

#[test]
fn of_several_placements_the_best_is_named_and_decided_ones_drop_out() {
    let mut subject = Simulated::new(&[0.05, 0.2, -0.2], 0.005, 5);
    let outcome = subject.session(|_| {});
    assert_eq!(outcome.best(), Some(2));
    let puts = |number: usize| subject.puts.iter().filter(|it| **it == number).count();
    assert!(puts(2) <= puts(1), "{:?}", subject.puts);
    assert_eq!(outcome.placements[2].verdict, TryVerdict::Worse);
}

#[test]
fn the_order_of_pairs_is_a_coin_of_the_seed() {
    let order = |seed| {
        let mut subject = Simulated::new(&[0.0], 0.05, 1);
        subject.session(|course| {
            course.seed = seed;
            course.until_s = 120.0;
        });
        subject.puts
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
    let order = order(1);
    let firsts = order.chunks(2).filter(|pair| pair[0] == 0).count();
    assert!((1..order.len() / 2).contains(&firsts), "{order:?}");
}

#[test]
fn a_great_loss_is_taken_back_at_once() {
    let mut subject = Simulated::new(&[-1.0], 0.005, 1);
    let outcome = subject.session(|course| {
        course.window_s = 60.0;
        course.stop_loss = 0.1;
    });
    assert_eq!(outcome.placements[0].verdict, TryVerdict::Stopped);
    assert_eq!(outcome.end, TryEnd::Decided);
    assert_eq!(subject.puts.last(), Some(&0));
    let since = |window: &TryWindow| subject.at_s - window.at_s;
    assert!(outcome.windows.iter().all(|it| it.placement == "p0"));
    assert!(outcome.windows.last().is_none_or(|it| since(it) < 85.0));
}

#[test]
fn a_loss_that_stays_without_the_placement_is_not_its_fault() {
    let mut subject = Simulated::new(&[0.0], 0.005, 1);
    subject.event = Some((100.0, Event::Slower));
    let outcome = subject.session(|course| {
        course.window_s = 20.0;
        course.stop_loss = 0.1;
    });
    let verdict = outcome.placements[0].verdict;
    assert_eq!(verdict, TryVerdict::Equal, "{:?}", subject.said);
    let said = subject.said.join("\n");
    assert!(said.contains("something else disturbs"), "{said}");
    // One that is to blame goes on being worse, whatever else disturbs.
    let mut subject = Simulated::new(&[-0.5], 0.005, 1);
    subject.event = Some((100.0, Event::Slower));
    let outcome = subject.session(|course| {
        course.window_s = 20.0;
        course.stop_loss = 0.1;
    });
    assert_eq!(outcome.placements[0].verdict, TryVerdict::Stopped);
}

#[test]
fn a_loss_of_a_second_is_not() {
    let outcome = Simulated::new(&[-0.2], 0.005, 1).session(|course| course.stop_loss = 0.1);
    assert_eq!(outcome.placements[0].verdict, TryVerdict::Worse);
}

#[test]
fn bad_counters_make_windows_void_and_end_a_session_that_has_no_others() {
    let with = |event| {
        let mut subject = Simulated::new(&[0.0], 0.02, 4);
        subject.event = Some((30.0, event));
        subject.session(|course| course.until_s = 120.0)
    };
    let why = |outcome: &Outcome| -> Vec<String> {
        outcome
            .windows
            .iter()
            .filter_map(|it| it.void.clone())
            .collect()
    };
    let reset = with(Event::Reset);
    assert!(why(&reset).len() <= 1, "{reset:?}");
    assert_eq!(reset.end, TryEnd::TimeOver);
    assert!(reset.placements[0].pairs > 10);
    for (event, expected) in [
        (Event::Silent, "not be read"),
        (Event::Still, "stood still"),
    ] {
        let outcome = with(event);
        assert_eq!(outcome.end, TryEnd::NoCounter, "{outcome:?}");
        assert!(
            why(&outcome).iter().all(|it| it.contains(expected)),
            "{outcome:?}"
        );
        assert!(outcome.placements[0].pairs >= 3);
    }
}

#[test]
fn a_veto_ends_it_with_what_is_known() {
    let mut subject = Simulated::new(&[0.0], 0.02, 4);
    subject.event = Some((30.0, Event::Veto));
    let outcome = subject.session(|_| {});
    assert_eq!(outcome.end, TryEnd::Vetoed);
    assert_eq!(outcome.because.as_deref(), Some("another process"));
    assert!(outcome.placements[0].pairs >= 3);
}

#[test]
fn on_an_emulated_machine_nothing_wins() {
    let mut subject = Simulated::new(&[0.5], 0.005, 1);
    let outcome = subject.session(|course| {
        course.is_judged = false;
        course.until_s = 120.0;
    });
    assert_eq!(outcome.end, TryEnd::TimeOver);
    assert_eq!(outcome.placements[0].verdict, TryVerdict::Undecided);
    assert!(outcome.placements[0].ratio.unwrap() > 1.5);
    assert_eq!(outcome.best(), None);
}
