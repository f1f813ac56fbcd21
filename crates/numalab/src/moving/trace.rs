//! The trace of a live move: how far it is, and what the machine does meanwhile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::{Root, proc_uptime};
use live::perfetto::{self, Track};
use live::{Sampler, Scope};
use model::Snapshot;
use model::exit::ExitCode;
use residency::instances::Target;

use crate::databases::looks::DatabaseLooks;
use crate::failure::Failure;
use crate::files::requested_files;
use crate::output;
use crate::watching::{Pace, Sampling};

/// Seconds between snapshots: a move takes seconds to minutes.
const INTERVAL_S: f64 = 0.25;
/// Points of the track of what was moved are at least so far apart, in seconds: /proc/uptime has
/// hundredths.
const POINTS_APART_S: f64 = 0.05;

/// A trace that is being made.
pub(crate) struct MoveTrace {
    file: PathBuf,
    sampling: Sampling,
    moved: Vec<(f64, u64)>,
    snapshots: Vec<Snapshot>,
}

impl MoveTrace {
    /// Begins a trace with a snapshot from before the move.
    pub(crate) fn begin(file: &Path, target: &Target) -> Result<Self, Failure> {
        requested_files::check_writable(Some(&file.to_owned()))?;
        let sampler = Sampler::new(Root::live(), Scope::Target(target.clone()))?;
        let pace = Pace {
            interval_s: INTERVAL_S,
            count: None,
        };
        let sampling = Sampling::start(sampler, DatabaseLooks::in_background(), pace)?;
        let mut trace = Self {
            file: file.to_owned(),
            sampling,
            moved: Vec::new(),
            snapshots: Vec::new(),
        };
        trace.take(Duration::from_secs(10));
        trace.add(0);
        Ok(trace)
    }

    /// So many bytes have been moved by now.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.take(Duration::ZERO);
        let Ok(Some(now_s)) = proc_uptime::read(&Root::live()) else {
            return;
        };
        let last = self.moved.last().map(|(at, _)| *at);
        if last.is_none_or(|last| now_s - last >= POINTS_APART_S) {
            self.moved.push((now_s, bytes));
        }
    }

    /// Takes the snapshots that there are; waits for the first.
    fn take(&mut self, mut within: Duration) {
        // A target that ends is reported by the move.
        while let Ok(Some(sample)) = self.sampling.next(within) {
            self.snapshots.push(sample.snapshot);
            within = Duration::ZERO;
        }
    }

    /// Writes the trace, with a snapshot from after the move.
    pub(crate) fn finish(mut self, bytes: u64) -> Result<(), Failure> {
        self.take(Duration::from_secs_f64(2.0 * INTERVAL_S));
        if let Ok(Some(now_s)) = proc_uptime::read(&Root::live()) {
            self.moved.push((now_s, bytes));
        }
        let track = Track {
            name: "bytes moved".to_owned(),
            points: self.moved,
        };
        let busiest = perfetto::busiest(self.snapshots.iter().cloned());
        let mut trace = Vec::new();
        let written = perfetto::write(&busiest, self.snapshots.into_iter(), &[track], &mut trace);
        written.map_err(|cause| {
            Failure::new(ExitCode::Bug, format!("cannot make the trace: {cause}"))
        })?;
        requested_files::write(&self.file, &trace)?;
        let file = self.file.display();
        output::talk(&format!("wrote {file}; open it in Perfetto"));
        Ok(())
    }
}
