//! To and fro in a recording.

use super::{Recorded, View};
use crate::figures;
use crate::input::Request;
use crate::moment::Moment;

/// Moments that are kept to go back to, and processes in them all: what is older is read again.
const PAST_MAX: usize = 60;
const PROCESSES_MAX: usize = 60_000;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

impl View {
    /// How many snapshots before one that is gone to are worth to be kept, so that the user can
    /// step back.
    pub const KEPT_BEFORE: usize = PAST_MAX;

    /// The number of the snapshot that is shown, from 1.
    pub(crate) fn position(&self) -> usize {
        self.snapshots.saturating_sub(self.ahead.len())
    }

    /// Whether moments follow that have been shown already.
    pub(crate) fn is_behind(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Shows the next moment, if the user has been there already; whether that is so.
    pub fn step_forward(&mut self) -> bool {
        let Some(moment) = self.ahead.pop() else {
            return false;
        };
        self.show_next(moment);
        true
    }

    pub(super) fn show_next(&mut self, moment: Moment) {
        self.past.extend(self.shown.replace(moment));
        let processes = |it: &Moment| it.snapshot.processes.len();
        let mut all: usize = self.past.iter().map(processes).sum();
        while self.past.len() > PAST_MAX || all > PROCESSES_MAX {
            all -= self.past.pop_front().as_ref().map_or(0, processes);
        }
    }

    /// Forgets what was seen of the recording.
    pub(super) fn rewind(&mut self) {
        self.history = Default::default();
        self.notices = Default::default();
        self.forecast = (None, None);
        self.past.clear();
        self.ahead.clear();
        self.shown = None;
        self.snapshots = 0;
        self.ended = None;
    }

    pub(super) fn step(&mut self) -> Request {
        match self.step_forward() {
            true => Request::Nothing,
            false => Request::Step,
        }
    }

    pub(super) fn step_back(&mut self) -> Request {
        match self.position().checked_sub(2) {
            Some(before) => self.seek(before),
            None => Request::Nothing,
        }
    }

    /// Goes to the snapshot with this index, and stays there.
    fn seek(&mut self, index: usize) -> Request {
        self.is_paused = true;
        while self.position() > index + 1
            && let Some(before) = self.past.pop_back()
        {
            self.ahead.extend(self.shown.replace(before));
        }
        while self.position() < index + 1 && self.step_forward() {}
        match self.position() == index + 1 {
            true => Request::Nothing,
            false => Request::Seek(index),
        }
    }

    pub(super) fn seek_event_before(&mut self) -> Request {
        let at = self.position();
        self.seek_event(|recorded| {
            let mut events = recorded.events.iter().rev();
            events.find(|(index, _)| index + 1 < at).map(|it| it.0)
        })
    }

    pub(super) fn seek_event_after(&mut self) -> Request {
        let at = self.position();
        self.seek_event(|recorded| {
            let mut events = recorded.events.iter();
            events.find(|(index, _)| index + 1 > at).map(|it| it.0)
        })
    }

    /// Goes to the snapshot that is found; says what happened there.
    fn seek_event(&mut self, find: impl Fn(&Recorded) -> Option<usize>) -> Request {
        let recorded = self.options.replay.as_ref();
        let Some((recorded, index)) = recorded.and_then(|it| Some((it, find(it)?))) else {
            self.note = Some("no further event in this direction".to_owned());
            return Request::Nothing;
        };
        let here = recorded.events.iter().filter(|(at, _)| *at == index);
        let said: Vec<&str> = here.map(|(_, sentence)| sentence.as_str()).collect();
        self.note = Some(said.join("; "));
        self.seek(index)
    }

    /// Goes to the time that was typed.
    pub(super) fn seek_time(&mut self) -> Request {
        let typed = std::mem::take(&mut self.time);
        let recorded = self.options.replay.as_ref();
        let times = recorded.map_or(&[][..], |it| &it.taken_at_s);
        let now_s = times.get(self.position().saturating_sub(1)).copied();
        let wanted = now_s.and_then(|now_s| wanted_s(&typed, times.first().copied()?, now_s));
        let Some(wanted_s) = wanted else {
            self.note = Some(format!(
                "no time: {typed:?}; expected 14:03, 14:03:30, +90 or -90 (seconds)"
            ));
            return Request::Nothing;
        };
        let found = times.iter().position(|it| *it >= wanted_s);
        let index = found.unwrap_or(times.len().saturating_sub(1));
        self.note = found.is_none().then(|| {
            let last = times.last().copied().unwrap_or_default();
            format!("the recording ends at {}", figures::moment(last))
        });
        self.seek(index)
    }
}

/// Returns the moment of a time of day, the first after the recording's beginning, or of seconds
/// from now on.
fn wanted_s(typed: &str, first_s: f64, now_s: f64) -> Option<f64> {
    let typed = typed.trim();
    if typed.starts_with(['+', '-']) {
        let seconds: f64 = typed.parse().ok()?;
        return seconds.is_finite().then_some(now_s + seconds);
    }
    let mut parts = typed.split(':').map(|it| it.parse::<u32>().ok());
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    if hours > 23 || minutes > 59 || seconds > 59 || parts.next().is_some() {
        return None;
    }
    let of_day = f64::from(hours * 3600 + minutes * 60 + seconds);
    let wanted_s = (first_s / DAY_S).floor() * DAY_S + of_day;
    // The seconds of the first snapshot are shown without their fraction.
    let is_before = wanted_s < first_s.floor();
    Some(wanted_s + if is_before { DAY_S } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::wanted_s;
    use proptest::prelude::*;

    #[test]
    fn times_of_the_day_and_seconds_from_now_are_moments() {
        // 2024-02-29 12:34:56.5
        let first_s = 1_709_210_096.5;
        let check = |typed, expected: Option<f64>| {
            let found = wanted_s(typed, first_s, first_s + 10.0);
            assert_eq!(found, expected.map(|it| 1_709_210_096.0 + it), "{typed}");
        };
        check("12:34:56", Some(0.0));
        check("12:35", Some(4.0));
        check(" 00:00 ", Some(41_104.0));
        check("+5", Some(15.5));
        check("-5.5", Some(5.0));
        for typed in [
            "", "12", "24:00", "12:60", "1:2:3:4", "+", "-x", "+inf", "+nan",
        ] {
            check(typed, None);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(typed: String, times in "[0-9:+.e-]{0,12}") {
            wanted_s(&typed, 0.0, 0.0);
            wanted_s(&times, 0.0, 0.0);
        }
    }
}
