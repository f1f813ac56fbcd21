//! How windows of a round alternate: the length of a turn, and the turns of each case in a block.
//!
//! What disturbs a virtual machine is slow: neighbours take and leave the shared cache for tenths
//! of seconds. The shorter the windows, the more of it two cases have in common, until the lead-ins
//! take the time of the windows.

use instance::Turns;
use model::LogicalReads;
use stats::{Generator, median};

use crate::plan::needs_long_windows;

/// Lead-in of cases with long windows, in seconds, where it cannot be measured.
const LEAD_IN_USUAL_S: f64 = 0.03;
/// Minimum and maximum lead-in before a long window, in seconds.
const LEAD_IN_LONG_S: (f64, f64) = (0.01, 0.2);
/// Minimum lead-in before a short window, in seconds: waking up takes up to 0.1 ms.
const LEAD_IN_SHORT_S_MIN: f64 = 0.0003;
/// Ratio of the lead-in to the time that a case loses while it refills its caches: before a long
/// window and before a short one. If what is lost decays exponentially, an e^-2.5 of it is left.
const TIMES_LOST: (f64, f64) = (4.0, 2.5);
/// Minimum time of a case in a block, in seconds: a cage hands over turns, and a quota is renewed,
/// every 0.1 s.
const BLOCK_S_MIN: f64 = 0.1;
/// What the turns of a case in a block take, in seconds, where all cases have short windows.
const BLOCK_OF_SHORT_S: f64 = 0.15;
/// Minimum ratio of a long window to its lead-in.
const TIMES_LEAD_IN: f64 = 3.0;
/// Period of a CPU quota, in seconds: the kernel's default
/// (`Documentation/scheduler/sched-bwc.rst`), which numalab keeps. With a quota, a window holds
/// whole periods.
const PERIOD_S: f64 = 0.1;
/// A window is so many times as long as a statement: the one that ends first began before it.
const TIMES_STATEMENT: f64 = 25.0;
/// A window is so many times as long as the CPU time to fall asleep and to wake up.
const TIMES_PARK: f64 = 50.0;
/// Lengths of windows to choose from, in windows of a trace.
const CANDIDATES: [usize; 6] = [1, 2, 3, 5, 8, 12];
/// Two costs are alike within this factor, by the chance in so few traces; then the longer window
/// is chosen, which changes less of what it measures.
const ALIKE: f64 = 1.2;

/// The windows of a trace follow one another without lead-ins.
pub(super) const TRACE_WINDOW_S: f64 = 0.001;
/// Number of windows of a trace.
pub(super) const TRACE_WINDOWS: u32 = 48;
/// Number of windows that one case has before the other has as many, in traces of two cases in
/// turn.
pub(super) const RUN_WINDOWS: u32 = 4;

/// What a case did after the other case of the traces had run.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    /// Work per second, by window.
    pub work_per_s: Vec<f64>,
    /// Mean time of a statement.
    pub statement_s: f64,
    /// CPU time to fall asleep and to wake up.
    pub park_cpu_s: f64,
}

/// The turn of a case that alternates with others in short windows, and the lead-in of cases that
/// have long ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turn {
    pub lead_in_s: f64,
    pub window_s: f64,
    pub long_lead_in_s: f64,
}

impl Turn {
    /// The turn where no two cases can have short windows.
    pub(super) const LONG: Turn = Turn {
        lead_in_s: LEAD_IN_USUAL_S,
        window_s: BLOCK_S_MIN,
        long_lead_in_s: LEAD_IN_USUAL_S,
    };

    /// Chooses the turn whose interval is narrowest at equal time, from traces of two cases, each
    /// after one of the other, and from rates in traces in which they change every
    /// [`RUN_WINDOWS`].
    pub(super) fn of(traces: &[Trace], in_turn: &[Vec<f64>]) -> Turn {
        let middle = |of: fn(&Trace) -> f64| {
            let all: Vec<f64> = traces.iter().map(of).collect();
            median(&all).unwrap_or(0.0)
        };
        let lost_s = lost_s(traces);
        let statement_s = middle(|trace| trace.statement_s);
        let long_lead_in_s = (TIMES_LOST.0 * lost_s).clamp(LEAD_IN_LONG_S.0, LEAD_IN_LONG_S.1);
        let lead_in_s = TIMES_LOST.1 * lost_in_turn_s(in_turn).unwrap_or(lost_s);
        let lead_in_s = lead_in_s.max(LEAD_IN_SHORT_S_MIN).max(2.0 * statement_s);
        let lead_in_s = lead_in_s.min(long_lead_in_s);
        let park_cpu_s = middle(|trace| trace.park_cpu_s);
        let window_s_min = (TIMES_STATEMENT * statement_s).max(TIMES_PARK * park_cpu_s);
        let costs = CANDIDATES.iter().filter_map(|&windows| {
            let variance = variance_within(traces, windows, lead_in_s)?;
            Some((windows as f64 * TRACE_WINDOW_S, variance))
        });
        let costs: Vec<(f64, f64)> = costs
            .map(|(window_s, variance)| (window_s, variance * (window_s + lead_in_s)))
            .collect();
        let least = costs.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        let alike = costs.iter().filter(|it| it.1 <= least * ALIKE);
        let window_s = alike.map(|it| it.0).fold(0.0, f64::max).max(window_s_min);
        if window_s == 0.0 || window_s > f64::from(TRACE_WINDOWS) * TRACE_WINDOW_S {
            return Turn {
                lead_in_s: long_lead_in_s,
                window_s: BLOCK_S_MIN,
                long_lead_in_s,
            };
        }
        Turn {
            lead_in_s,
            window_s,
            long_lead_in_s,
        }
    }
}

/// Returns the time that a case loses at the begin of a trace, against the rate that it reaches.
fn lost_s(traces: &[Trace]) -> f64 {
    let half = TRACE_WINDOWS as usize / 2;
    let lost = |trace: &Trace| {
        let (first, second) = trace.work_per_s.split_at_checked(half)?;
        let reached = mean(second).filter(|rate| *rate > 0.0)?;
        Some(first.iter().map(|rate| 1.0 - rate / reached).sum::<f64>() * TRACE_WINDOW_S)
    };
    let lost: Vec<f64> = traces.iter().filter_map(lost).collect();
    median(&lost).unwrap_or(0.0).max(0.0)
}

/// Returns the same at the begin of a turn, from rates of a case in runs of [`RUN_WINDOWS`],
/// between which the other case had as many.
fn lost_in_turn_s(in_turn: &[Vec<f64>]) -> Option<f64> {
    let run = RUN_WINDOWS as usize;
    let lost = |rates: &Vec<f64>| {
        let of_place = |place: usize| {
            let rates: Vec<f64> = rates.iter().skip(place).step_by(run).copied().collect();
            mean(&rates)
        };
        let rates: Option<Vec<f64>> = (0..run).map(of_place).collect();
        let rates = rates?;
        let (first, second) = rates.split_at(run / 2);
        let reached = mean(second).filter(|rate| *rate > 0.0)?;
        Some(first.iter().map(|rate| 1.0 - rate / reached).sum::<f64>() * TRACE_WINDOW_S)
    };
    let lost: Vec<f64> = in_turn.iter().filter_map(lost).collect();
    Some(median(&lost)?.max(0.0))
}

fn mean(rates: &[f64]) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Returns the variance of the logarithm of the ratio of two neighbouring windows with a lead-in
/// between them, in windows of a trace (Allan, "Statistics of Atomic Frequency Standards",
/// Proceedings of the IEEE 54, 1966).
fn variance_within(traces: &[Trace], windows: usize, lead_in_s: f64) -> Option<f64> {
    let gap = (lead_in_s / TRACE_WINDOW_S).ceil() as usize;
    let length = 2 * windows + gap;
    let mut squares = Vec::new();
    for trace in traces {
        let rates = trace.work_per_s.get(gap..).unwrap_or_default();
        for pair in rates.chunks_exact(length) {
            let (one, other) = (mean(&pair[..windows])?, mean(&pair[windows + gap..])?);
            squares.push((one / other).ln().powi(2));
        }
    }
    mean(&squares).filter(|it| it.is_finite())
}

/// The blocks of a round: in each, every case is measured for the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blocks {
    turn: Turn,
    /// Measured time of a case in a block.
    pub case_s: f64,
    pub blocks: u32,
}

/// Lengths of the turns of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Length {
    pub lead_in_s: f64,
    pub window_s: f64,
}

impl Blocks {
    /// Computes the blocks of cases that do `works`, measured for `all_s` each.
    ///
    /// Instance caging does not lengthen blocks: in each, the next sessions have the first turns.
    pub(super) fn of(works: &[&LogicalReads], turn: Turn, all_s: f64) -> Self {
        let least_s = match works.iter().any(|work| needs_long_windows(work)) {
            true => BLOCK_S_MIN.max(turn.long_lead_in_s * TIMES_LEAD_IN),
            false => {
                let laps = BLOCK_OF_SHORT_S / (turn.lead_in_s + turn.window_s);
                (turn.window_s * laps.clamp(1.0, Turns::MAX as f64)).min(BLOCK_S_MIN)
            }
        };
        let has_quota = works.iter().any(|work| work.load.cpu_quota.is_some());
        let (case_s, blocks) = match has_quota {
            // Stretch the blocks so that together they last as long as requested.
            false => {
                let blocks = (all_s / least_s).floor().max(1.0);
                (all_s / blocks, blocks)
            }
            true => {
                let case_s = (least_s / PERIOD_S).ceil() * PERIOD_S;
                (case_s, (all_s / case_s).round().max(1.0))
            }
        };
        Blocks {
            turn,
            case_s,
            blocks: blocks.min(f64::from(u32::MAX)) as u32,
        }
    }

    /// Returns the one turn in a block of a case that alternates with no other inside it. A group
    /// that slept spends its unused quota until its period ends, so with a quota the lead-in lasts
    /// at least one period.
    pub(super) fn alone(&self, work: &LogicalReads) -> Length {
        let lead_in_s = match work.load.cpu_quota {
            Some(_) => self.turn.long_lead_in_s.max(PERIOD_S),
            None => self.turn.long_lead_in_s,
        };
        Length {
            lead_in_s,
            window_s: self.case_s,
        }
    }

    /// Returns the turns in a block of each of several cases that alternate inside it: in each lap
    /// every case has one, in random order.
    pub(super) fn together(
        &self,
        cases: usize,
        turns_max: usize,
        random: &mut Generator,
    ) -> (Length, Vec<Vec<u32>>) {
        let laps = (self.case_s / self.turn.window_s).round();
        let laps = laps.clamp(1.0, turns_max as f64) as u32;
        let mut order: Vec<usize> = (0..cases).collect();
        let mut turns = vec![Vec::new(); cases];
        for lap in 0..laps {
            random.shuffle(&mut order);
            for (place, case) in (0u32..).zip(&order) {
                turns[*case].push(lap * cases as u32 + place);
            }
        }
        let length = Length {
            lead_in_s: self.turn.lead_in_s,
            window_s: self.case_s / f64::from(laps),
        };
        (length, turns)
    }
}

#[cfg(test)]
mod tests {
    use model::{Allocation, Backing, LoadPlan, SgaPlan};

    use super::*;

    fn work(sessions: u32, cpu_count: Option<u32>, cpu_quota: Option<u32>) -> LogicalReads {
        LogicalReads {
            sga: SgaPlan {
                cache_bytes: 1 << 20,
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::OsDefault,
            },
            load: LoadPlan {
                sessions,
                cpu_count,
                cpu_quota,
                ..LoadPlan::default()
            },
        }
    }

    /// Traces whose noise has parts that last a window, and parts that last a trace; a case loses
    /// `lost_s` at the begin of a trace.
    fn traces(of_window: f64, of_trace: f64, lost_s: f64) -> Vec<Trace> {
        let mut random = Generator::new(5, 0);
        let mut trace = || {
            let level = of_trace * random.normal();
            let mut rate = |window: u32| {
                let left_s = f64::from(window) * TRACE_WINDOW_S;
                let lost = (lost_s - left_s).clamp(0.0, TRACE_WINDOW_S) / TRACE_WINDOW_S;
                (level + of_window * random.normal()).exp() * (1.0 - lost)
            };
            Trace {
                work_per_s: (0..TRACE_WINDOWS).map(&mut rate).collect(),
                statement_s: 3e-6,
                park_cpu_s: 1e-5,
            }
        };
        (0..16).map(|_| trace()).collect()
    }

    /// Rates of a case in runs of [`RUN_WINDOWS`], at the begin of which it loses `lost_s`.
    fn in_turn(lost_s: f64) -> Vec<Vec<f64>> {
        let rate = |window: u32| match window % RUN_WINDOWS {
            0 => 1.0 - lost_s / TRACE_WINDOW_S,
            _ => 1.0,
        };
        vec![(0..TRACE_WINDOWS).map(rate).collect(); 6]
    }

    #[test]
    fn slow_noise_makes_windows_short_and_fast_noise_makes_them_long() {
        let slow = Turn::of(&traces(0.01, 0.3, 0.0), &in_turn(0.0));
        assert!(slow.window_s <= 0.012, "{slow:?}");
        assert_eq!(slow.lead_in_s, LEAD_IN_SHORT_S_MIN);
        // White noise: no length is better than another but for its lead-in.
        let fast = Turn::of(&traces(0.1, 0.0, 0.0), &in_turn(0.0008));
        assert!(fast.window_s >= 0.008, "{fast:?}");
        assert!((0.0019..0.0021).contains(&fast.lead_in_s), "{fast:?}");
    }

    #[test]
    fn a_lead_in_is_as_long_as_what_a_case_loses_before_windows_of_its_length() {
        // After 48 ms of another case it loses 4 ms, and after 4 ms, 0.2 ms.
        let turn = Turn::of(&traces(0.01, 0.3, 0.004), &in_turn(0.0002));
        assert!((0.0004..0.0006).contains(&turn.lead_in_s), "{turn:?}");
        assert!((0.015..0.017).contains(&turn.long_lead_in_s), "{turn:?}");
        // What was not seen is taken for as long as the former.
        for nothing in [vec![], vec![vec![]], vec![vec![0.0; 48]]] {
            let turn = Turn::of(&traces(0.01, 0.3, 0.004), &nothing);
            assert!((0.009..0.011).contains(&turn.lead_in_s), "{turn:?}");
        }
    }

    #[test]
    fn a_window_holds_many_statements() {
        let of = |traces: &[Trace]| Turn::of(traces, &in_turn(0.0));
        let mut long = traces(0.01, 0.3, 0.0);
        long.iter_mut().for_each(|it| it.statement_s = 0.0004);
        let turn = of(&long);
        assert!(turn.window_s >= 0.01, "{turn:?}");
        long.iter_mut().for_each(|it| it.statement_s = 0.01);
        assert_eq!(of(&long).window_s, BLOCK_S_MIN);
        let nothing = |trace: &mut Trace| trace.work_per_s.fill(0.0);
        long.iter_mut().for_each(nothing);
        assert_eq!(of(&long).window_s, BLOCK_S_MIN);
        assert_eq!(of(&[]).window_s, BLOCK_S_MIN);
    }

    #[test]
    fn blocks_are_short_but_hold_periods() {
        let turn = |long_lead_in_s| Turn {
            lead_in_s: 0.001,
            window_s: 0.005,
            long_lead_in_s,
        };
        let check = |works: &[&LogicalReads], lead_in_s, all_s, expected: (f64, u32)| {
            let found = Blocks::of(works, turn(lead_in_s), all_s);
            let close = (found.case_s - expected.0).abs() < 1e-9;
            assert!(close && found.blocks == expected.1, "{found:?}");
        };
        let free = work(2, None, None);
        check(&[&free, &free], 0.02, 2.0, (0.1, 20));
        check(&[&free, &free], 0.05, 2.0, (0.1, 20));
        check(
            &[&free, &work(4, Some(2), None)],
            0.05,
            2.0,
            (2.0 / 13.0, 13),
        );
        check(&[&free, &free], 0.02, 0.25, (0.125, 2));
        let short = Turn {
            window_s: 0.001,
            ..turn(0.02)
        };
        let found = Blocks::of(&[&free, &free], short, 0.48);
        assert_eq!(found.blocks, 10);
        check(&[&free, &free], 0.02, 0.05, (0.05, 1));
        check(&[&free, &work(4, Some(2), None)], 0.02, 2.0, (0.1, 20));
        let of_quota = work(4, None, Some(2));
        check(&[&free, &of_quota], 0.02, 2.0, (0.1, 20));
        check(&[&free, &of_quota], 0.06, 2.0, (0.2, 10));
        check(&[&free, &of_quota], 0.02, 0.25, (0.1, 3));
        let blocks = Blocks::of(&[&free, &of_quota], turn(0.02), 2.0);
        assert_eq!(blocks.alone(&free).lead_in_s, 0.02);
        assert_eq!(blocks.alone(&of_quota).lead_in_s, 0.1);
    }

    #[test]
    fn every_case_has_one_turn_in_each_lap() {
        let free = work(2, None, None);
        let turn = Turn {
            lead_in_s: 0.001,
            window_s: 0.005,
            long_lead_in_s: 0.01,
        };
        let blocks = Blocks::of(&[&free], turn, 0.8);
        let mut random = Generator::new(1, 0);
        let (length, turns) = blocks.together(3, 48, &mut random);
        assert!((length.window_s - 0.005).abs() < 1e-9, "{length:?}");
        let mut all: Vec<u32> = turns.concat();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<u32>>());
        for turns in &turns {
            let laps: Vec<u32> = turns.iter().map(|turn| turn / 3).collect();
            assert_eq!(laps, (0..20).collect::<Vec<u32>>());
        }
        assert_ne!(turns[0], (0..20).map(|lap| 3 * lap).collect::<Vec<u32>>());
        let (length, turns) = blocks.together(2, 4, &mut random);
        assert_eq!(turns[0].len(), 4);
        assert!((length.window_s - 0.025).abs() < 1e-9, "{length:?}");
    }
}
