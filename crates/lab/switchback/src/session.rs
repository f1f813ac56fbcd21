//! A session: pairs of windows in the order of a coin, a look after each, and its end.

use model::{JudgedBy, TriedPlacement, TryEnd, TryVerdict, TryWindow};
use stats::Generator;

use crate::Error;
use crate::arm::{Arm, Measured};
use crate::sample::{Halt, Sample, Subject};
use crate::window::{Figures, mix_note, void};

/// The stream of the seed that the coins are drawn from.
const COINS: u64 = 43;
/// The chance that a session without an effect ends with a winner or a loser.
const ERROR_MAX: f64 = 0.05;
/// Void blocks in a row after which a session ends.
const VOID_MAX: u32 = 3;
/// Seconds that a placement must be worse by the stop-loss, one after the other.
const STOP_LOSS_S: f64 = 10.0;
/// A placement that was to blame for a loss so often, one after the other, is not tried again.
const LOSSES_MAX: u32 = 2;

/// What a session does.
#[derive(Clone, Debug)]
pub struct Course {
    /// The placements by their numbers; the first is the current one.
    pub names: Vec<String>,
    /// The figure that judges.
    pub by: JudgedBy,
    /// The length of a window, in seconds.
    pub window_s: f64,
    /// Seconds before each window that do not count.
    pub lead_in_s: f64,
    /// The session ends at this moment.
    pub until_s: f64,
    /// The smallest gain that is worth it: 0.03.
    pub gain: f64,
    /// A placement that is worse by this is taken back at once: 0.1.
    pub stop_loss: f64,
    /// Whether figures mean anything: not on an emulated machine.
    pub is_judged: bool,
    /// The seed of the coins.
    pub seed: u64,
}

/// What came of a session.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: TryEnd,
    /// What made it end, unless that is a decision.
    pub because: Option<String>,
    /// The placements but the current one, in their order.
    pub placements: Vec<TriedPlacement>,
    /// Every window.
    pub windows: Vec<TryWindow>,
    /// The lead-in, which may have been doubled.
    pub lead_in_s: f64,
    /// What else is to be said.
    pub notes: Vec<String>,
}

impl Outcome {
    /// The number of the placement with the largest gain among those that are better.
    pub fn best(&self) -> Option<usize> {
        let better = self.placements.iter().zip(1..);
        let better = better.filter(|(it, _)| it.verdict == TryVerdict::Better);
        let best = better.max_by(|(one, _), (other, _)| {
            let ratio = |it: &TriedPlacement| it.ratio.unwrap_or(0.0);
            ratio(one).total_cmp(&ratio(other))
        });
        best.map(|(_, number)| number)
    }
}

/// Runs a session. Whatever it has put into force stays: the caller takes it back. `before` are
/// samples of the target as it was found.
///
/// # Errors
/// When a placement cannot be put into force.
pub fn session(
    subject: &mut impl Subject,
    course: &Course,
    before: &[Sample],
) -> Result<Outcome, Error> {
    let known = before.first().zip(before.last());
    let reference = known.and_then(|(first, last)| Figures::between(first, last));
    let arms = (1..course.names.len()).map(|number| Arm::new(number, &course.names[number]));
    let mut session = Session {
        subject,
        course,
        lead_in_s: course.lead_in_s,
        arms: arms.collect(),
        windows: Vec::new(),
        coins: Generator::new(course.seed, COINS),
        block: 0,
        void_in_a_row: 0,
        reference,
        is_restarted: false,
        notes: Vec::new(),
    };
    let (end, because) = match session.run() {
        Ok(end) => end,
        Err(Halt::End(end, because)) => (end, Some(because)),
        Err(Halt::Failed(error)) => return Err(error),
    };
    Ok(session.outcome(end, because))
}

/// What came of a window.
enum Came {
    Counts(Measured),
    Void,
    Loss,
}

struct Session<'a, S: Subject> {
    subject: &'a mut S,
    course: &'a Course,
    lead_in_s: f64,
    arms: Vec<Arm>,
    windows: Vec<TryWindow>,
    coins: Generator,
    block: u32,
    void_in_a_row: u32,
    /// The latest figures of the current placement, of an earlier block: what counts as a loss must
    /// not depend on the order within a block.
    reference: Option<Figures>,
    is_restarted: bool,
    notes: Vec<String>,
}

impl<S: Subject> Session<'_, S> {
    fn run(&mut self) -> Result<(TryEnd, Option<String>), Halt> {
        let mut block_s = 0.0_f64;
        loop {
            let open = self
                .arms
                .iter()
                .filter(|arm| arm.verdict == TryVerdict::Undecided);
            let open: Vec<usize> = open.map(|arm| arm.number).collect();
            if open.is_empty() {
                return Ok((TryEnd::Decided, None));
            }
            let least_s = (open.len() + 1) as f64 * (self.course.window_s + self.lead_in_s);
            let begin_s = self.subject.now_s();
            // A block takes at least as long as the one before.
            if begin_s + least_s.max(block_s) > self.course.until_s {
                return Ok((TryEnd::TimeOver, None));
            }
            self.block += 1;
            self.block(&open)?;
            block_s = self.subject.now_s() - begin_s;
            if self.void_in_a_row >= VOID_MAX {
                let because = self.windows.iter().rev().find_map(|it| it.void.clone());
                return Ok((TryEnd::NoCounter, because));
            }
        }
    }

    /// A window of the current placement and of each open one, in the order of a coin, and a look.
    fn block(&mut self, open: &[usize]) -> Result<(), Halt> {
        let mut order: Vec<usize> = [0].into_iter().chain(open.iter().copied()).collect();
        self.coins.shuffle(&mut order);
        let mut measured: Vec<Option<Measured>> = vec![None; self.course.names.len()];
        for number in order {
            self.subject.put(number)?;
            match self.window(number)? {
                Came::Counts(window) => {
                    measured[number] = Some(window);
                    if number > 0 {
                        self.arm(number).losses = 0;
                    }
                }
                Came::Void => {}
                Came::Loss => return self.loss(number),
            }
        }
        if let Some(current) = measured[0] {
            self.reference = Some(current.whole);
        }
        let mut counts = false;
        for number in open {
            let Some((window, current)) = measured[*number].zip(measured[0]) else {
                continue;
            };
            counts = true;
            let by = self.course.by;
            self.arm(*number).add(&window, &current, by);
        }
        self.void_in_a_row = if counts { 0 } else { self.void_in_a_row + 1 };
        for number in open {
            let (confidence, block) = (self.confidence(), self.block);
            let least_gain = self.course.is_judged.then_some(self.course.gain);
            if let Some(seen) = self.arm(*number).look(least_gain, confidence) {
                self.subject.say(format!("pair {block}: {seen}"));
            }
        }
        self.restart_if_late();
        Ok(())
    }

    /// That of one interval among those of all placements.
    fn confidence(&self) -> f64 {
        1.0 - ERROR_MAX / self.arms.len().max(1) as f64
    }

    fn arm(&mut self, number: usize) -> &mut Arm {
        &mut self.arms[number - 1]
    }

    /// Lead-in and window under the placement that is in force.
    fn window(&mut self, number: usize) -> Result<Came, Halt> {
        let begin_s = self.subject.now_s();
        let from_s = begin_s + self.lead_in_s;
        let to_s = from_s + self.course.window_s;
        let half_s = f64::midpoint(from_s, to_s);
        let mut moments: Vec<f64> = (0..)
            .map(|second| begin_s + f64::from(second))
            .take_while(|moment| *moment < to_s - 0.1)
            .filter(|moment| [from_s, half_s].iter().all(|it| (it - moment).abs() > 0.1))
            .chain([from_s, half_s, to_s])
            .collect();
        moments.sort_unstable_by(f64::total_cmp);
        let mut samples = Vec::new();
        for moment in &moments {
            samples.push(self.subject.sample(*moment)?);
            // Where the current placement stands still, the window is void.
            if number == 0 && self.is_worse(&samples) {
                self.reference = lately(&samples).or(self.reference);
                return Ok(Came::Loss);
            }
            if number > 0 && self.is_loss(&samples) {
                return Ok(Came::Loss);
            }
        }
        let at = |moment: f64| moments.partition_point(|it| *it < moment);
        let (from, half) = (at(from_s), at(half_s));
        Ok(self.conclude(number, &samples[from..], half - from))
    }

    /// Goes back at once, and looks who is to blame. The block does not count: neither does one in
    /// which the current placement was worse, or the rule would depend on the placement.
    fn loss(&mut self, number: usize) -> Result<(), Halt> {
        let name = &self.course.names[number];
        let was_worse = format!(
            "{name} was worse by more than {:.0} % in each of {STOP_LOSS_S:.0} seconds",
            self.course.stop_loss * 100.0
        );
        let pair = self.block;
        if number == 0 {
            self.subject.say(format!(
                "{was_worse} than before: something else disturbs it, and pair {pair} does not \
                 count"
            ));
            return Ok(());
        }
        self.subject.say(format!("{was_worse}: back at once"));
        self.subject.put(0)?;
        if self.stays_worse()? {
            self.subject.say(format!(
                "it is as bad without it: something else disturbs the target, and pair {pair} does \
                 not count"
            ));
            return Ok(());
        }
        let arm = self.arm(number);
        arm.losses += 1;
        if arm.losses >= LOSSES_MAX {
            arm.verdict = TryVerdict::Stopped;
            return Ok(());
        }
        self.subject.say(format!(
            "it is better without it: one more loss in its next window ends it; pair {pair} does \
             not count"
        ));
        Ok(())
    }

    /// Whether it is a loss still under the current placement, which is then what to expect of it.
    fn stays_worse(&mut self) -> Result<bool, Halt> {
        let begin_s = self.subject.now_s();
        let seconds = (self.lead_in_s + STOP_LOSS_S).ceil() as u32;
        let samples: Vec<Sample> = (0..=seconds)
            .map(|second| self.subject.sample(begin_s + f64::from(second)))
            .collect::<Result<_, Halt>>()?;
        let stays = self.is_loss(&samples);
        if stays {
            self.reference = lately(&samples).or(self.reference);
        }
        Ok(stays)
    }

    /// Keeps a window, whose half is at sample `half`.
    fn conclude(&mut self, number: usize, samples: &[Sample], half: usize) -> Came {
        let (first, last) = (samples[0], samples[samples.len() - 1]);
        let whole = Figures::between(&first, &last);
        let void = void(samples, self.course.by);
        let grown = |one: Option<u64>, other: Option<u64>| other?.checked_sub(one?);
        let work = grown(first.work, last.work);
        let mix = grown(first.mix, last.mix).zip(work.filter(|work| *work > 0));
        if let Some(why) = void {
            let name = &self.course.names[number];
            self.subject
                .say(format!("a window of {name} does not count: {why}"));
        }
        self.windows.push(TryWindow {
            at_s: first.at_s,
            placement: self.course.names[number].clone(),
            pair: self.block,
            seconds: last.at_s - first.at_s,
            work,
            cpu_s: Some(last.cpu_s - first.cpu_s),
            mix: mix.map(|(mix, work)| mix as f64 / work as f64),
            void: void.map(str::to_owned),
        });
        match (void, whole) {
            (None, Some(whole)) => Came::Counts(Measured {
                whole,
                early: Figures::between(&first, &samples[half]),
                late: Figures::between(&samples[half], &last),
            }),
            _ => Came::Void,
        }
    }

    /// Whether the target did nothing in the last seconds, or was worse in each of them.
    fn is_loss(&self, samples: &[Sample]) -> bool {
        let is_still = last_seconds(samples).is_some_and(|rest| {
            let last = rest[rest.len() - 1].work;
            rest.iter().all(|it| it.work.is_some() && it.work == last)
        });
        is_still || self.is_worse(samples)
    }

    /// Whether each of the last seconds was worse than the current placement lately.
    fn is_worse(&self, samples: &[Sample]) -> bool {
        let (Some(reference), Some(rest)) = (self.reference, last_seconds(samples)) else {
            return false;
        };
        let least = (1.0 - self.course.stop_loss).ln();
        let each = |of: fn(&Figures) -> Option<f64>| {
            rest.windows(2).all(|pair| {
                let now = Figures::between(&pair[0], &pair[1]).and_then(|it| of(&it));
                now.zip(of(&reference))
                    .is_some_and(|(now, then)| now - then < least)
            })
        };
        each(|it| Some(it.rate)) || each(|it| it.cost)
    }

    /// Starts again with twice the lead-in, once, if pairs differ between the halves of their
    /// windows.
    fn restart_if_late(&mut self) {
        let is_late = |arm: &Arm| arm.is_late(1.0 - ERROR_MAX);
        if self.is_restarted || !self.arms.iter().any(is_late) {
            return;
        }
        self.is_restarted = true;
        self.lead_in_s *= 2.0;
        let lead_in = self.lead_in_s;
        self.arms.iter_mut().for_each(Arm::restart);
        for window in self.windows.iter_mut().filter(|it| it.void.is_none()) {
            window.void = Some("the lead-in was too short".to_owned());
        }
        self.subject.say(format!(
            "pairs differ between the halves of their windows: all start again with a lead-in of \
             {lead_in:.0} s"
        ));
    }

    fn outcome(mut self, end: TryEnd, because: Option<String>) -> Outcome {
        self.notes.extend(mix_note(&self.windows));
        let confidence = self.confidence();
        Outcome {
            end,
            because,
            placements: self.arms.iter().map(|arm| arm.tried(confidence)).collect(),
            windows: self.windows,
            lead_in_s: self.lead_in_s,
            notes: self.notes,
        }
    }
}

/// The samples of the last seconds that a loss takes; `None` if there are fewer.
fn last_seconds(samples: &[Sample]) -> Option<&[Sample]> {
    let until_s = samples.last()?.at_s - STOP_LOSS_S;
    let begin = samples.iter().rposition(|it| it.at_s <= until_s)?;
    Some(&samples[begin..])
}

/// What the last seconds say; `None` if nothing was done in them.
fn lately(samples: &[Sample]) -> Option<Figures> {
    let rest = last_seconds(samples)?;
    Figures::between(rest.first()?, rest.last()?)
}

#[cfg(test)]
mod recorded_noise_tests;
#[cfg(test)]
mod tests;
