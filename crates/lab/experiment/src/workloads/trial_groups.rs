//! The cgroups of the processes of one trial, and the check of its CPU quota.

use std::path::PathBuf;

use journal::Journal;
use linux::Root;
use model::exit::ExitCode;
use model::{Evidence, Mechanism, Placement, QuotaEvidence, counted};
use placement::cpu_quota::CpuQuota;
use placement::group::Group;
use placement::hierarchy::Hierarchy;

use crate::WorkloadError;

/// The cgroups of one trial.
pub(super) struct TrialGroups {
    group: Option<Group>,
    quota: Option<CpuQuota>,
}

impl TrialGroups {
    /// Creates the cgroups that the case requests; `number` distinguishes them from those of
    /// concurrent trials.
    pub(super) fn create(
        hierarchy: Option<&Hierarchy>,
        placement: &Placement,
        cpu_quota: Option<u32>,
        journal: &Journal,
        number: Option<usize>,
    ) -> Result<Self, WorkloadError> {
        let wants_group = placement.mechanism == Mechanism::Group && placement.asks_for_something();
        // Trials that run one at a time share one name, so that their evidence can be compared.
        let name = placement::group::trial_name(number);
        let (cpus, nodes) = (placement.cpus.as_ref(), placement.memory_nodes.as_ref());
        let group = match (wants_group, hierarchy) {
            (false, _) => None,
            (true, None) => {
                return Err(WorkloadError::Fatal {
                    message: "needs a processor group, which cannot be created here".to_owned(),
                    exit_code: ExitCode::MachineCannot,
                });
            }
            (true, Some(hierarchy)) => {
                Some(Group::create(hierarchy, &name, cpus, nodes, journal).map_err(of_numa)?)
            }
        };
        let directory = group.as_ref().map(Group::directory);
        let quota = cpu_quota.map(|cpus| {
            CpuQuota::create(&Root::live(), &name, cpus, directory, journal).map_err(of_numa)
        });
        let quota = quota.transpose()?;
        Ok(TrialGroups { group, quota })
    }

    /// Returns the cgroups that the processes join, a processor group first.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
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

    /// Records the cgroups in the evidence.
    pub(super) fn read_back(&self, evidence: &mut Evidence, warnings: &mut Vec<String>) {
        let mut noted = |error: placement::Error| warnings.push(error.to_string());
        if let Some(group) = &self.group {
            evidence.group = group.evidence().map_err(&mut noted).ok();
        }
        if let Some(quota) = &self.quota {
            evidence.cpu_quota = quota.evidence().map_err(&mut noted).ok();
        }
    }

    /// Removes the cgroups; the processes must have ended.
    pub(super) fn remove(self) -> Result<(), WorkloadError> {
        let quota = self.quota.map_or(Ok(()), CpuQuota::remove);
        let group = self.group.map_or(Ok(()), Group::remove);
        quota.and(group).map_err(of_numa)
    }
}

pub(super) fn of_numa(error: placement::Error) -> WorkloadError {
    let exit_code = match error.is_permission() {
        true => ExitCode::NotPermitted,
        false => ExitCode::WorkloadFailed,
    };
    let message = error.to_string();
    WorkloadError::Fatal { message, exit_code }
}

/// Compares the quota with the request; returns a description where they differ.
///
/// Throttled time is not a separate wait: the kernel counts a throttled session as waiting on a run
/// queue (kernel/sched/stats.h, `sched_info_depart`; kernel/sched/fair.c, `throttle_cfs_rq`), so
/// CPU wait already includes it, and the rest of DB time has another cause.
pub(super) fn quota_contradiction(
    asked: Option<u32>,
    found: Option<&QuotaEvidence>,
) -> Option<String> {
    let asked = asked?;
    match found {
        Some(quota) if (quota.cpus - f64::from(asked)).abs() < 1e-9 => None,
        Some(quota) => Some(format!(
            "the quota is {}, requested {asked}",
            counted(quota.cpus, "CPU")
        )),
        None => Some("could not read back the CPU quota".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use model::QuotaEvidence;

    use super::quota_contradiction;

    #[test]
    fn a_quota_is_what_was_asked_for_or_named() {
        let of = |cpus: f64| QuotaEvidence {
            path: "/g".to_owned(),
            cpus,
            throttled_s: 1.0,
        };
        assert_eq!(quota_contradiction(None, None), None);
        assert_eq!(quota_contradiction(Some(2), Some(&of(2.0))), None);
        let other = quota_contradiction(Some(2), Some(&of(1.5))).unwrap();
        assert_eq!(other, "the quota is 1.5 CPUs, requested 2");
        let none = quota_contradiction(Some(2), None).unwrap();
        assert_eq!(none, "could not read back the CPU quota");
    }
}
