//! Takes snapshots on a thread of its own: a look at a large process must not hold up keys.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use live::{Attention, Sampler};
use model::Snapshot;
use model::exit::ExitCode;

use crate::databases::looks::DatabaseLooks;
use crate::failure::Failure;

/// How often, and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Seconds between snapshots.
    pub interval_s: f64,
    /// The last one; `None` for no end.
    pub count: Option<u64>,
}

/// A snapshot.
#[derive(Debug)]
pub(crate) struct Sample {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Whether the process that is the target has ended.
    pub has_ended: bool,
}

/// Snapshots of this machine, as they are taken. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Sampling {
    samples: Receiver<Result<Sample, live::Error>>,
    attention: Sender<Attention>,
}

impl Sampling {
    /// Begins to take snapshots.
    pub(crate) fn start(
        sampler: Sampler,
        databases: DatabaseLooks,
        pace: Pace,
    ) -> Result<Self, Failure> {
        // Whoever does not read, while stopped with Ctrl-Z for example, finds one snapshot.
        let (samples, receiver) = sync_channel(1);
        let (attention, orders) = channel();
        let thread = Builder::new().name("snapshots".to_owned());
        let started = thread.spawn(move || {
            take_all((sampler, databases), pace, &samples, &orders);
        });
        started.map_err(|cause| {
            Failure::new(ExitCode::Bug, format!("cannot start a thread: {cause}"))
        })?;
        Ok(Self {
            samples: receiver,
            attention,
        })
    }

    /// Says what a reader looks at; if something else is open than before, the next snapshot comes
    /// at once.
    pub(crate) fn attend(&self, attention: Attention) {
        // The thread has ended: there are no next snapshots.
        let _ = self.attention.send(attention);
    }

    /// Waits at most so long for the next snapshot. `Ok(None)` when none came in time.
    ///
    /// # Errors
    /// `Err(None)` after the last one, and the cause when one cannot be taken.
    pub(crate) fn next(&self, within: Duration) -> Result<Option<Sample>, Option<Failure>> {
        match self.samples.recv_timeout(within) {
            Ok(sample) => Ok(Some(sample.map_err(Failure::from)?)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(None),
        }
    }
}

fn take_all(
    (mut sampler, mut databases): (Sampler, DatabaseLooks),
    pace: Pace,
    samples: &SyncSender<Result<Sample, live::Error>>,
    orders: &Receiver<Attention>,
) {
    let interval = Duration::from_secs_f64(pace.interval_s);
    let mut due = Instant::now();
    let mut taken = 0;
    loop {
        let snapshot = sampler.take();
        let has_ended = sampler.has_ended();
        let sample = snapshot.map(|mut snapshot| {
            databases.complete(&mut snapshot);
            Sample {
                snapshot,
                has_ended,
            }
        });
        let is_last = sample.is_err() || has_ended;
        taken += 1;
        if samples.send(sample).is_err() || is_last || pace.count == Some(taken) {
            return;
        }
        // What was missed is left out.
        while due <= Instant::now() {
            due += interval;
        }
        while let Some(wait) = due.checked_duration_since(Instant::now()) {
            match orders.recv_timeout(wait) {
                Ok(attention) if sampler.attend(&attention) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
