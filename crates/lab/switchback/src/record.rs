//! Records a running target as it is: windows one after the other, each kept once it has ended.

use model::{RecordEnd, RecordReport, RecordWindow, TryEnd};

use crate::Error;
use crate::sample::{Halt, Sample, Subject};
use crate::window::unreadable;

/// A record whose windows did not count for so long from its begin ends.
const SILENT_MAX_S: f64 = 60.0;

/// What else is asked while a target is recorded.
pub struct Beside<'a> {
    /// Seconds that all CPUs of the machine have been busy.
    pub machine_busy_s: &'a dyn Fn() -> Option<f64>,
    /// Keeps what there is, after each window.
    pub keep: &'a mut dyn FnMut(&RecordReport),
}

/// Records windows of `report.window_s` for `report.seconds_asked`, and completes the report.
///
/// # Errors
/// When the target cannot be looked at. What was recorded until then is in the report.
pub fn record(
    subject: &mut impl Subject,
    report: &mut RecordReport,
    mut beside: Beside<'_>,
) -> Result<(), Error> {
    let ended = windows(subject, report, &mut beside);
    report.seconds = subject.now_s();
    let (end, because) = match ended {
        Ok(end) => (end, None),
        Err(Halt::Failed(error)) => return Err(error),
        Err(Halt::End(end, because)) => (
            match end {
                TryEnd::Interrupted => RecordEnd::Interrupted,
                TryEnd::Vetoed => RecordEnd::Changed,
                _ => RecordEnd::TargetEnded,
            },
            Some(because),
        ),
    };
    report.end = end;
    report.end_because = because.or_else(|| match end {
        RecordEnd::NoCounter => report.windows.last()?.void.clone(),
        _ => None,
    });
    Ok(())
}

fn windows(
    subject: &mut impl Subject,
    report: &mut RecordReport,
    beside: &mut Beside<'_>,
) -> Result<RecordEnd, Halt> {
    let begin_s = subject.now_s();
    let count = (report.seconds_asked / report.window_s).floor().max(1.0) as usize;
    let mut last = subject.sample(begin_s)?;
    let mut busy = (beside.machine_busy_s)();
    while report.windows.len() < count {
        // A window begins with the look that ended the one before.
        let mut samples = vec![last];
        for second in 1..=report.window_s.ceil() as u32 {
            let moment = last.at_s + f64::from(second).min(report.window_s);
            samples.push(subject.sample(moment)?);
        }
        last = samples[samples.len() - 1];
        let busy_before = std::mem::replace(&mut busy, (beside.machine_busy_s)());
        report.windows.push(RecordWindow {
            machine_busy_s: busy.zip(busy_before).map(|(now, then)| now - then),
            ..window(&samples)
        });
        report.seconds = subject.now_s() - begin_s;
        (beside.keep)(report);
        let is_silent = report.windows.iter().all(|it| it.work.unwrap_or(0) == 0);
        if is_silent && report.seconds >= SILENT_MAX_S.min(report.seconds_asked) {
            return Ok(RecordEnd::NoCounter);
        }
    }
    Ok(RecordEnd::TimeOver)
}

/// A window of these samples. One in which nothing was done counts: users may rest.
fn window(samples: &[Sample]) -> RecordWindow {
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let void = unreadable(samples);
    let grown = |one: Option<u64>, other: Option<u64>| other?.checked_sub(one?);
    let has_cpu = samples.is_sorted_by(|one, next| one.cpu_s <= next.cpu_s);
    RecordWindow {
        at_s: first.at_s,
        seconds: last.at_s - first.at_s,
        work: grown(first.work, last.work).filter(|_| void.is_none()),
        cpu_s: has_cpu.then_some(last.cpu_s - first.cpu_s),
        mix: grown(first.mix, last.mix),
        machine_busy_s: None,
        void: void.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that does `work_of` this second, and ends at `until`.
    struct Simulated<W: Fn(u64) -> Option<u64>> {
        now_s: f64,
        work_of: W,
        end: Option<(f64, TryEnd)>,
    }

    impl<W: Fn(u64) -> Option<u64>> Subject for Simulated<W> {
        fn now_s(&self) -> f64 {
            self.now_s
        }

        fn put(&mut self, _: usize) -> Result<(), Halt> {
            unreachable!("a record changes nothing")
        }

        fn sample(&mut self, at_s: f64) -> Result<Sample, Halt> {
            self.now_s = self.now_s.max(at_s);
            if let Some((_, end)) = self.end.filter(|(until_s, _)| self.now_s >= *until_s) {
                return Err(Halt::End(end, "so".to_owned()));
            }
            Ok(Sample {
                at_s: self.now_s,
                work: (self.work_of)(self.now_s as u64),
                mix: None,
                cpu_s: self.now_s / 4.0,
            })
        }

        fn say(&mut self, _: String) {}
    }

    fn recorded(
        work_of: impl Fn(u64) -> Option<u64>,
        end: Option<(f64, TryEnd)>,
    ) -> (RecordReport, usize) {
        let mut subject = Simulated {
            now_s: 0.0,
            work_of,
            end,
        };
        let mut report = RecordReport {
            seconds_asked: 100.0,
            window_s: 5.0,
            ..RecordReport::default()
        };
        let mut kept = 0;
        let beside = Beside {
            machine_busy_s: &|| Some(3.0),
            keep: &mut |report| kept = report.windows.len(),
        };
        record(&mut subject, &mut report, beside).unwrap();
        (report, kept)
    }

    #[test]
    fn windows_follow_each_other_until_the_time_is_over() {
        let (report, kept) = recorded(|second| Some(second * 7), None);
        assert_eq!(
            (report.end, report.end_because),
            (RecordEnd::TimeOver, None)
        );
        assert_eq!(
            (report.windows.len(), kept, report.seconds),
            (20, 20, 100.0)
        );
        let last = &report.windows[19];
        assert_eq!(
            (last.at_s, last.work, last.cpu_s),
            (95.0, Some(35), Some(1.25))
        );
        assert_eq!((&last.void, last.machine_busy_s), (&None, Some(0.0)));
    }

    #[test]
    fn what_ends_a_record_leaves_the_windows_before() {
        for (end, expected) in [
            (TryEnd::TargetEnded, RecordEnd::TargetEnded),
            (TryEnd::Interrupted, RecordEnd::Interrupted),
            (TryEnd::Vetoed, RecordEnd::Changed),
        ] {
            let (report, kept) = recorded(|second| Some(second * 7), Some((33.0, end)));
            assert_eq!((report.end, report.windows.len(), kept), (expected, 6, 6));
            assert_eq!(report.end_because.as_deref(), Some("so"));
        }
    }

    #[test]
    fn a_counter_that_stands_still_ends_it_and_one_that_rests_does_not() {
        let (report, _) = recorded(|_| Some(9), None);
        assert_eq!(
            (report.end, report.windows.len()),
            (RecordEnd::NoCounter, 12)
        );
        let (report, _) = recorded(|_| None, None);
        assert_eq!(report.end, RecordEnd::NoCounter);
        let why = report.end_because.unwrap();
        assert!(why.contains("could not be read"), "{why}");
        let (report, _) = recorded(|second| Some(second.min(50)), None);
        assert_eq!(
            (report.end, report.windows.len()),
            (RecordEnd::TimeOver, 20)
        );
        assert_eq!(
            (report.windows[19].work, &report.windows[19].void),
            (Some(0), &None)
        );
    }

    #[test]
    fn a_window_whose_counter_was_reset_does_not_count() {
        let (report, _) = recorded(
            |second| Some(if second < 12 { 100 + second } else { second }),
            None,
        );
        let void = report.windows.iter().filter(|it| it.void.is_some());
        let void: Vec<f64> = void.map(|it| it.at_s).collect();
        assert_eq!(void, [10.0]);
        assert_eq!(report.windows[2].work, None);
    }
}
