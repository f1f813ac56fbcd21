//! The cgroups that the server of one trial is put into.

use std::path::PathBuf;

use linux::Root;
use model::exit::ExitCode;
use model::{Evidence, Mechanism, Placement, PostgresReads};
use numa::cpu_quota::CpuQuota;
use numa::group::Group;
use numa::hierarchy::Hierarchy;
use numa::journal::Journal;

use crate::WorkloadError;

/// The cgroups of one trial.
pub(super) struct ServerGroups {
    group: Option<Group>,
    quota: Option<CpuQuota>,
}

impl ServerGroups {
    /// Makes what the case asks for.
    pub fn create(
        hierarchy: Option<&Hierarchy>,
        placement: &Placement,
        work: &PostgresReads,
        journal: &Journal,
    ) -> Result<Self, WorkloadError> {
        let wants_group = placement.mechanism == Mechanism::Group && placement.asks_for_something();
        // One trial at a time, so one name will do, and evidence of trials can be compared.
        let name = format!("numalab-{}", std::process::id());
        let (cpus, nodes) = (placement.cpus.as_ref(), placement.memory_nodes.as_ref());
        let group = match (wants_group, hierarchy) {
            (false, _) => None,
            (true, None) => {
                return Err(WorkloadError::Fatal {
                    message: "a processor group is needed, and none can be made".to_owned(),
                    exit_code: ExitCode::MachineCannot,
                });
            }
            (true, Some(hierarchy)) => {
                Some(Group::create(hierarchy, &name, cpus, nodes, journal).map_err(of_numa)?)
            }
        };
        let directory = group.as_ref().map(Group::directory);
        let quota = work.cpu_quota.map(|cpus| {
            CpuQuota::create(&Root::live(), &name, cpus, directory, journal).map_err(of_numa)
        });
        let quota = quota.transpose()?;
        Ok(ServerGroups { group, quota })
    }

    /// What the server joins.
    pub fn directories(&self) -> Vec<PathBuf> {
        let group = self
            .group
            .as_ref()
            .map(|group| group.directory().to_owned());
        let quota = self
            .quota
            .as_ref()
            .map(|quota| quota.directory().to_owned());
        let mut directories: Vec<PathBuf> = group.into_iter().chain(quota).collect();
        directories.dedup();
        directories
    }

    /// Notes in the evidence what they are.
    pub fn read_back(&self, evidence: &mut Evidence, warnings: &mut Vec<String>) {
        let mut noted = |error: numa::Error| warnings.push(error.to_string());
        if let Some(group) = &self.group {
            evidence.group = group.evidence().map_err(&mut noted).ok();
        }
        if let Some(quota) = &self.quota {
            evidence.cpu_quota = quota.evidence().map_err(&mut noted).ok();
        }
    }

    /// Removes them; the processes must have ended.
    pub fn remove(self) -> Result<(), WorkloadError> {
        let quota = self.quota.map_or(Ok(()), CpuQuota::remove);
        let group = self.group.map_or(Ok(()), Group::remove);
        quota.and(group).map_err(of_numa)
    }
}

fn of_numa(error: numa::Error) -> WorkloadError {
    let exit_code = match error.is_permission() {
        true => ExitCode::NotPermitted,
        false => ExitCode::WorkloadFailed,
    };
    let message = error.to_string();
    WorkloadError::Fatal { message, exit_code }
}
