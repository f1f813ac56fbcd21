//! The window of a trial: collects what the sessions report while they are measured.

use std::time::{Duration, Instant, SystemTime};

use linux::Root;
use linux::machine_counters::{self, MachineCounters};
use model::{CpuSet, Phase, Sample};

use crate::results::MachineGain;
use crate::session::{Command, Event, seconds};
use crate::sessions::{CALL_SLACK, Sessions};
use crate::{Call, Done, Error, Mark, TrialOrder, Watch, Window};

/// Time from setting a window to its start, by which every session must be in its call.
const LEAD_S: f64 = 0.2;
/// How long a session continues after its window, so that no session runs alone at the end of its
/// own.
const TAIL_S: f64 = 0.05;
/// Samples per window.
const WINDOW_SAMPLES: u32 = 20;

/// Result of a window.
pub(crate) struct Measured {
    pub windows: Vec<Window>,
    pub own_hits: Vec<Option<u64>>,
    pub samples: Vec<Sample>,
    before: MachineCounters,
    after: MachineCounters,
}

impl Measured {
    pub(crate) fn machine_gain(&self) -> MachineGain {
        let gain = |before: Option<f64>, after: Option<f64>| Some(after? - before?);
        let migrated = self
            .before
            .numa_pages_migrated
            .zip(self.after.numa_pages_migrated);
        let busy_s = gain(self.before.busy_s, self.after.busy_s);
        let own_s: Option<f64> = self.windows.iter().map(|window| window.cpu_s).sum();
        MachineGain {
            pages_migrated: migrated.map(|(before, after)| after.saturating_sub(before)),
            steal_s: gain(self.before.steal_s, self.after.steal_s),
            other_cpu_s: busy_s
                .zip(own_s)
                .map(|(busy_s, own_s)| (busy_s - own_s).max(0.0)),
        }
    }
}

/// What the sessions reported in their calls.
struct Hearing {
    counted: Vec<u64>,
    marks: Vec<Vec<Mark>>,
    cpus: Vec<CpuSet>,
    done: Vec<Option<(Done, Option<u64>)>>,
}

impl Hearing {
    fn of(sessions: usize) -> Self {
        Hearing {
            counted: vec![0; sessions],
            marks: vec![Vec::new(); sessions],
            cpus: vec![CpuSet::default(); sessions],
            done: vec![None; sessions],
        }
    }

    fn take(&mut self, session: u32, event: Event) {
        let session = session as usize;
        match event {
            Event::Sample { statements } => self.counted[session] = statements,
            Event::Mark(mark) => self.marks[session].push(mark),
            Event::Measured { done, own_hits } => self.done[session] = Some((done, own_hits)),
            _ => {}
        }
    }

    /// Records the CPUs of the sessions that are in their windows.
    fn look_at_cpus(&mut self, root: &Root, tasks: &[Option<u32>]) {
        for ((task, marks), cpus) in tasks.iter().zip(&self.marks).zip(&mut self.cpus) {
            let stat = task.and_then(|task| linux::proc_stat::read(root, task).ok());
            if let (1, Some(cpu)) = (marks.len(), stat.and_then(|stat| stat.last_cpu)) {
                cpus.insert(cpu);
            }
        }
    }

    /// Returns the windows of the sessions. The time of a task that serves several sessions is
    /// divided among them, so that it counts once.
    fn windows(&self, tasks: &[Option<u32>]) -> Vec<Window> {
        let per_session = self.done.iter().zip(&self.marks).zip(&self.cpus).zip(tasks);
        per_session
            .map(|(((done, marks), cpus), task)| {
                let (done, _) = done.unwrap_or_default();
                let seconds = done.window_us as f64 / 1e6;
                let shared = tasks.iter().filter(|it| *it == task).count() as f64;
                let shares = shares(marks, seconds);
                let own = |share: f64| share * seconds / task.map_or(1.0, |_| shared);
                Window {
                    statements: done.counted,
                    seconds,
                    longest_s: done.longest_us as f64 / 1e6,
                    cpu_s: shares.map(|(cpu, _)| own(cpu)),
                    run_queue_s: shares.map(|(_, run_queue)| own(run_queue)),
                    statements_of_call: done.statements,
                    cpus_used: cpus.clone(),
                }
            })
            .collect()
    }
}

/// Returns the shares of wall time on a CPU and on a run queue between the two marks of a session,
/// which are `seconds` apart by the session's own clock.
fn shares(marks: &[Mark], seconds: f64) -> Option<(f64, f64)> {
    let [first, last] = marks else {
        return None;
    };
    let (before, after) = (first.times?, last.times?);
    let wall_s = match first.read_at.zip(last.read_at) {
        Some((first, last)) => last.duration_since(first).as_secs_f64(),
        None => seconds,
    };
    let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / 1e9 / wall_s;
    Some((
        share(before.on_cpu_ns, after.on_cpu_ns),
        share(before.run_queue_ns, after.run_queue_ns),
    ))
}

/// Sets the window, receives events, and waits until every session's call has ended.
pub(crate) fn window(
    root: &Root,
    sessions: &Sessions,
    order: &TrialOrder,
    hits: f64,
    watch: &mut Watch<'_>,
) -> Result<Measured, Error> {
    let sample_s = order.window_s / f64::from(WINDOW_SAMPLES);
    let starts = seconds(SystemTime::now()) + LEAD_S;
    let ends = starts + order.window_s;
    let call = Call {
        starts,
        ends,
        until: ends + TAIL_S,
        sample_s,
    };
    sessions.tell(Command::Measure {
        work_unit: order.work_unit,
        call,
    });
    let mut hearing = Hearing::of(sessions.len());
    let begun = Instant::now() + Duration::from_secs_f64(LEAD_S);
    listen(sessions, &mut hearing, begun, watch.cancelled)?;
    let before = machine_counters::read(root)?;
    let samples = samples(root, sessions, &mut hearing, (begun, sample_s), hits, watch)?;
    let after = machine_counters::read(root)?;
    finish(sessions, &mut hearing, watch.cancelled)?;
    let own_hits = hearing
        .done
        .iter()
        .map(|done| done.and_then(|(_, own_hits)| own_hits));
    Ok(Measured {
        own_hits: own_hits.collect(),
        windows: hearing.windows(&sessions.tasks),
        samples,
        before,
        after,
    })
}

/// Receives events during the window: takes live samples, and records the CPUs that sessions use.
fn samples(
    root: &Root,
    sessions: &Sessions,
    hearing: &mut Hearing,
    (begun, sample_s): (Instant, f64),
    hits: f64,
    watch: &mut Watch<'_>,
) -> Result<Vec<Sample>, Error> {
    let mut samples = Vec::with_capacity(WINDOW_SAMPLES as usize);
    let (mut counted, mut at) = (0, begun);
    for number in 1..=WINDOW_SAMPLES {
        let until = begun + Duration::from_secs_f64(sample_s * f64::from(number));
        listen(sessions, hearing, until, watch.cancelled)?;
        hearing.look_at_cpus(root, &sessions.tasks);
        let now = hearing.counted.iter().sum::<u64>();
        let since_s = at.elapsed().as_secs_f64();
        let logical_reads_per_s = now.saturating_sub(counted) as f64 * hits / since_s;
        (counted, at) = (now, Instant::now());
        let at_s = begun.elapsed().as_secs_f64();
        samples.push(Sample {
            at_s,
            logical_reads_per_s,
            ..Sample::default()
        });
        (watch.live)(Phase::Measuring, Some(logical_reads_per_s));
    }
    Ok(samples)
}

/// Waits until every session's call has ended.
fn finish(
    sessions: &Sessions,
    hearing: &mut Hearing,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let deadline = Instant::now() + CALL_SLACK;
    while hearing.done.iter().any(Option::is_none) {
        let Some((session, event)) = sessions.next(deadline, cancelled)? else {
            let (what, seconds) = ("the call of a session", CALL_SLACK.as_secs());
            return Err(Error::Late { what, seconds });
        };
        hearing.take(session, event);
    }
    Ok(())
}

/// Receives events until a point in time.
fn listen(
    sessions: &Sessions,
    hearing: &mut Hearing,
    until: Instant,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), Error> {
    while let Some((session, event)) = sessions.next(until, cancelled)? {
        hearing.take(session, event);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use linux::schedstat::ScheduleTimes;

    use super::{Mark, shares};

    #[test]
    fn shares_are_of_the_time_between_the_marks() {
        let now = Instant::now();
        let mark = |read_at: Option<u64>, on_cpu_ms: u64, run_queue_ms: u64| Mark {
            read_at: read_at.map(|ms| now + Duration::from_millis(ms)),
            times: Some(ScheduleTimes {
                on_cpu_ns: on_cpu_ms * 1_000_000,
                run_queue_ns: run_queue_ms * 1_000_000,
            }),
        };
        let check = |marks: &[Mark], expected| assert_eq!(shares(marks, 2.0), expected);
        check(
            &[mark(None, 100, 50), mark(None, 1300, 750)],
            Some((0.6, 0.35)),
        );
        check(
            &[mark(Some(0), 100, 50), mark(Some(1000), 700, 400)],
            Some((0.6, 0.35)),
        );
        check(&[mark(None, 1, 1)], None);
        let unread = Mark {
            read_at: None,
            times: None,
        };
        check(&[unread, mark(None, 1, 1)], None);
    }
}
