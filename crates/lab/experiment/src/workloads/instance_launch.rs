//! Launches the instance of a case: its order, the groups it runs in, and the key of its segment.
//! `instance_validity` decides whether its trial counts.

use std::path::PathBuf;
use std::time::Duration;

use instance::{Coordinator, InstanceOrder, Running, ScratchSegment, Task};
use journal::Journal;
use model::exit::ExitCode;
use model::{Backing, CasePlan, LogicalReads, OwnMemory, Work};
use placement::hierarchy::Hierarchy;

use super::trial_groups::{TrialGroups, of_numa};
use crate::WorkloadError;

/// Interval at which a running trial checks for cancellation.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Launches instances.
pub(super) struct InstanceLauncher {
    /// Starts their processes.
    pub coordinator: Coordinator,
    /// Where processor groups are created; `None` when no case needs one.
    pub hierarchy: Option<Hierarchy>,
    /// Records groups and segments, so that a later numalab can remove them.
    pub journal: Journal,
    /// Directory for data files.
    pub data_directory: PathBuf,
}

/// What a trial needs outside its processes, all of it in the journal.
pub(super) struct Prepared {
    pub groups: TrialGroups,
    segment: Option<ScratchSegment>,
}

impl Prepared {
    /// Removes it; the processes must have ended.
    pub(super) fn remove(self) -> Result<(), WorkloadError> {
        self.groups.remove()
    }
}

impl InstanceLauncher {
    /// Prepares a trial; `number` distinguishes it from concurrent trials.
    pub(super) fn prepare(
        &self,
        case: &CasePlan,
        work: &LogicalReads,
        number: Option<usize>,
    ) -> Result<Prepared, WorkloadError> {
        let hierarchy = self.hierarchy.as_ref();
        let quota = work.load.cpu_quota;
        let segment = (work.sga.backing == Backing::Sysv)
            .then(|| ScratchSegment::announce(&self.journal, number.unwrap_or(0)))
            .transpose()
            .map_err(|error| of_numa(error.into()))?;
        let groups = TrialGroups::create(hierarchy, &case.placement, quota, &self.journal, number)?;
        Ok(Prepared { groups, segment })
    }

    /// Builds the order for the instance of a case.
    pub(super) fn order_of(
        &self,
        case: &CasePlan,
        work: LogicalReads,
        prepared: &Prepared,
        seed: u64,
        task: Task,
    ) -> InstanceOrder {
        InstanceOrder {
            parent_pid: std::process::id(),
            placement: case.placement.clone(),
            work,
            own: own_memory_of(case).cloned(),
            groups: prepared.groups.directories(),
            segment_key: prepared.segment.as_ref().map(ScratchSegment::key),
            data_directory: self.data_directory.clone(),
            seed,
            shared: None,
            task,
        }
    }

    /// Starts an instance.
    ///
    /// # Errors
    /// As [`Coordinator::start`].
    pub(super) fn start(&self, order: &InstanceOrder) -> Result<Running, instance::Error> {
        self.coordinator.start(order)
    }
}

/// Returns the instance's work.
pub(super) fn work_of(case: &CasePlan) -> Result<&LogicalReads, WorkloadError> {
    case.instance().ok_or_else(|| WorkloadError::Fatal {
        message: format!("case {:?} cannot run on the instance", case.name),
        exit_code: ExitCode::Bug,
    })
}

/// Returns the work of its sessions in their own memory.
pub(super) fn own_memory_of(case: &CasePlan) -> Option<&OwnMemory> {
    match &case.work {
        Work::OwnMemory(work) => Some(&work.own),
        _ => None,
    }
}

/// Returns the error that ends a run for lack of permission.
pub(super) fn not_permitted(message: String) -> WorkloadError {
    WorkloadError::Fatal {
        message,
        exit_code: ExitCode::NotPermitted,
    }
}
