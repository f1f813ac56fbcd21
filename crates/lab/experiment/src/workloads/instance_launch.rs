//! Launches the instance of a case: its order and the groups it runs in. `instance_validity`
//! decides whether its trial counts.

use std::path::PathBuf;
use std::time::Duration;

use instance::{Coordinator, InstanceOrder, Running, Task};
use journal::Journal;
use model::exit::ExitCode;
use model::{CasePlan, LogicalReads, OwnMemory, Work};
use placement::hierarchy::Hierarchy;

use super::trial_groups::TrialGroups;
use crate::WorkloadError;

/// Interval at which a running trial checks for cancellation.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Launches instances.
pub(super) struct InstanceLauncher {
    /// Starts their processes.
    pub coordinator: Coordinator,
    /// Where processor groups are created; `None` when no case needs one.
    pub hierarchy: Option<Hierarchy>,
    /// Records the groups, so that a later numalab can remove them.
    pub journal: Journal,
    /// Directory for data files.
    pub data_directory: PathBuf,
}

impl InstanceLauncher {
    /// Creates the groups of a trial; `number` distinguishes them from those of concurrent trials.
    pub(super) fn groups_of(
        &self,
        case: &CasePlan,
        work: &LogicalReads,
        number: Option<usize>,
    ) -> Result<TrialGroups, WorkloadError> {
        let hierarchy = self.hierarchy.as_ref();
        let quota = work.load.cpu_quota;
        TrialGroups::create(hierarchy, &case.placement, quota, &self.journal, number)
    }

    /// Builds the order for the instance of a case.
    pub(super) fn order_of(
        &self,
        case: &CasePlan,
        work: LogicalReads,
        groups: &TrialGroups,
        seed: u64,
        task: Task,
    ) -> InstanceOrder {
        InstanceOrder {
            parent_pid: std::process::id(),
            placement: case.placement.clone(),
            work,
            own: own_memory_of(case).cloned(),
            groups: groups.directories(),
            data_directory: self.data_directory.clone(),
            seed,
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
