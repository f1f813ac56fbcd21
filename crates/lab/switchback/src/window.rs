//! What a window says: work and CPU time between its samples, and whether it counts.

use model::{JudgedBy, TryWindow};

use crate::Sample;

/// What a window says, as logarithms that are larger where it is better.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Work per CPU second of the target; `None` where it used none.
    pub cost: Option<f64>,
    /// Work per second.
    pub rate: f64,
}

impl Figures {
    /// The figure that judges.
    pub(crate) fn by(&self, by: JudgedBy) -> Option<f64> {
        match by {
            JudgedBy::Cost => self.cost,
            JudgedBy::Rate => Some(self.rate),
        }
    }

    /// The figure that does not.
    pub(crate) fn other(&self, by: JudgedBy) -> Option<f64> {
        match by {
            JudgedBy::Cost => Some(self.rate),
            JudgedBy::Rate => self.cost,
        }
    }

    /// Between two samples, whose work is known and has grown.
    pub(crate) fn between(first: &Sample, last: &Sample) -> Option<Self> {
        let work = last.work?.checked_sub(first.work?)?;
        let (seconds, cpu_s) = (last.at_s - first.at_s, last.cpu_s - first.cpu_s);
        if work == 0 || seconds <= 0.0 {
            return None;
        }
        let units = work as f64;
        Some(Figures {
            cost: (cpu_s > 0.0).then(|| (units / cpu_s).ln()),
            rate: (units / seconds).ln(),
        })
    }
}

/// Why the counter of work says nothing in these samples; `None` if it does.
pub(crate) fn unreadable(samples: &[Sample]) -> Option<&'static str> {
    let ends = [samples.first()?.work, samples.last()?.work];
    if ends.contains(&None) {
        return Some("the counter of work could not be read");
    }
    let known = samples.iter().filter_map(|sample| sample.work);
    (!known.is_sorted()).then_some("the counter of work went backwards: it was reset")
}

/// Why the samples of a window do not count; `None` if they do. The rule knows no placement.
pub(crate) fn void(samples: &[Sample], by: JudgedBy) -> Option<&'static str> {
    let (first, last) = (samples.first()?, samples.last()?);
    if let Some(why) = unreadable(samples) {
        return Some(why);
    }
    if first.work == last.work {
        return Some("the counter of work stood still");
    }
    let has_cpu = samples.is_sorted_by(|one, next| one.cpu_s <= next.cpu_s);
    match by {
        JudgedBy::Cost if !has_cpu => Some("CPU time of processes that ended was lost"),
        JudgedBy::Cost if last.cpu_s <= first.cpu_s => Some("the target used no CPU time"),
        _ => None,
    }
}

/// A change of the mix by more than this is named.
const MIX_SHIFT: f64 = 0.1;

/// Names a shift of the mix between the first half of the windows and the second.
pub(crate) fn mix_note(windows: &[TryWindow]) -> Option<String> {
    let known = windows.iter().filter(|window| window.void.is_none());
    let mixes: Vec<f64> = known.filter_map(|window| window.mix).collect();
    let (first, second) = mixes.split_at(mixes.len() / 2);
    let (first, second) = (stats::median(first)?, stats::median(second)?);
    let shift = second / first - 1.0;
    (shift.abs() > MIX_SHIFT).then(|| {
        format!(
            "the mix of work changed meanwhile, by {:+.0} %: from {first:.1} to {second:.1} for \
             each unit",
            shift * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(Option<u64>, f64)]) -> Vec<Sample> {
        let sample = |(at, (work, cpu_s)): (usize, &(Option<u64>, f64))| Sample {
            at_s: at as f64,
            work: *work,
            mix: None,
            cpu_s: *cpu_s,
        };
        of.iter().enumerate().map(sample).collect()
    }

    #[test]
    fn a_window_that_says_nothing_does_not_count() {
        let check = |of: &[(Option<u64>, f64)], by, expected: Option<&str>| {
            let found = void(&samples(of), by);
            match (found, expected) {
                (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
                _ => assert_eq!(found, expected, "{of:?}"),
            }
        };
        let (cost, rate) = (JudgedBy::Cost, JudgedBy::Rate);
        check(&[(Some(1), 0.0), (Some(5), 0.5)], cost, None);
        check(&[(Some(1), 0.0), (None, 0.1), (Some(5), 0.5)], cost, None);
        check(
            &[(None, 0.0), (Some(5), 0.5)],
            cost,
            Some("could not be read"),
        );
        check(&[(Some(5), 0.0), (Some(5), 0.5)], cost, Some("stood still"));
        let reset = [(Some(5), 0.0), (Some(1), 0.2), (Some(9), 0.5)];
        check(&reset, cost, Some("backwards"));
        check(&[(Some(1), 1.0), (Some(5), 1.0)], cost, Some("no CPU time"));
        check(&[(Some(1), 1.0), (Some(5), 1.0)], rate, None);
        let lost = [(Some(1), 1.0), (Some(3), 0.5), (Some(5), 1.5)];
        check(&lost, cost, Some("lost"));
        check(&lost, rate, None);
    }

    #[test]
    fn figures_are_logarithms_of_work() {
        let samples = samples(&[(Some(0), 0.0), (Some(100), 0.5)]);
        let found = Figures::between(&samples[0], &samples[1]).unwrap();
        assert!((found.rate - 100f64.ln()).abs() < 1e-12);
        assert!((found.by(JudgedBy::Cost).unwrap() - 200f64.ln()).abs() < 1e-12);
        assert_eq!(Figures::between(&samples[1], &samples[0]), None);
    }

    #[test]
    fn a_mix_that_shifts_is_named() {
        let windows = |mixes: [f64; 4]| {
            let window = |mix: f64| TryWindow {
                mix: Some(mix),
                ..TryWindow::default()
            };
            mixes.map(window)
        };
        assert_eq!(mix_note(&windows([5.0, 5.1, 5.0, 5.2])), None);
        let note = mix_note(&windows([5.0, 5.0, 8.0, 8.0])).unwrap();
        assert!(note.contains("+60 %"), "{note}");
        assert_eq!(mix_note(&[]), None);
    }
}
