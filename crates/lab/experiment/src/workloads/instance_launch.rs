//! How the instance of a case is launched: what is asked of it, and the groups it runs in. Whether
//! its trial counts is `instance_validity`'s.

use std::path::PathBuf;
use std::time::Duration;

use instance::{Coordinator, InstanceOrder, Running, Task};
use model::exit::ExitCode;
use model::{CasePlan, LogicalReads, OwnMemory, Work};
use numa::hierarchy::Hierarchy;
use numa::journal::Journal;

use super::trial_groups::TrialGroups;
use crate::WorkloadError;

/// How often a trial under way looks whether it is to be cancelled.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What instances are launched with.
pub(super) struct InstanceLauncher {
    /// What starts their processes.
    pub coordinator: Coordinator,
    /// Where processor groups are made; `None` when no case needs one.
    pub hierarchy: Option<Hierarchy>,
    /// Where groups are noted, so that whoever comes later can remove them.
    pub journal: Journal,
    /// On whose file system data files are made.
    pub data_directory: PathBuf,
}

impl InstanceLauncher {
    /// Makes the groups of a trial; `number` tells them from those of trials beside it.
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

    /// What an instance of a case is asked for.
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

/// What the instance is asked for.
pub(super) fn work_of(case: &CasePlan) -> Result<&LogicalReads, WorkloadError> {
    case.instance().ok_or_else(|| WorkloadError::Fatal {
        message: format!("case {:?} cannot run on the instance", case.name),
        exit_code: ExitCode::Bug,
    })
}

/// What its sessions do in memory of their own.
pub(super) fn own_memory_of(case: &CasePlan) -> Option<&OwnMemory> {
    match &case.work {
        Work::OwnMemory(work) => Some(&work.own),
        _ => None,
    }
}

/// The end of a run of which no trial may be made.
pub(super) fn not_permitted(message: String) -> WorkloadError {
    WorkloadError::Fatal {
        message,
        exit_code: ExitCode::NotPermitted,
    }
}
