//! The cgroups that the processes of one trial are put into, and what a quota came to.

use std::path::PathBuf;

use linux::Root;
use model::exit::ExitCode;
use model::{Evidence, Mechanism, Placement, QuotaEvidence, TimeModel, WAIT_CPU_QUOTA, Wait};
use numa::cpu_quota::CpuQuota;
use numa::group::Group;
use numa::hierarchy::Hierarchy;
use numa::journal::Journal;

use crate::WorkloadError;

/// The cgroups of one trial.
pub(super) struct TrialGroups {
    group: Option<Group>,
    quota: Option<CpuQuota>,
}

impl TrialGroups {
    /// Makes what the case asks for.
    pub fn create(
        hierarchy: Option<&Hierarchy>,
        placement: &Placement,
        cpu_quota: Option<u32>,
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
        let quota = cpu_quota.map(|cpus| {
            CpuQuota::create(&Root::live(), &name, cpus, directory, journal).map_err(of_numa)
        });
        let quota = quota.transpose()?;
        Ok(TrialGroups { group, quota })
    }

    /// What the processes join, a processor group first.
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

/// Compares the quota with what was asked for, in words where they differ, and names the time for
/// which it stopped the sessions.
pub(super) fn judge_quota(
    asked: Option<u32>,
    found: Option<&QuotaEvidence>,
    time: &mut TimeModel,
) -> Option<String> {
    let asked = asked?;
    match found {
        Some(quota) if (quota.cpus - f64::from(asked)).abs() < 1e-9 => {
            name_quota_wait(time, quota.throttled_s);
            None
        }
        Some(quota) => Some(format!(
            "the quota is {} CPUs, {asked} were asked for",
            quota.cpus
        )),
        None => Some("the CPU quota could not be read back".to_owned()),
    }
}

/// What is left of DB time is the quota's, up to the time for which it kept CPUs from running: a
/// CPU that it stops may have several sessions waiting.
fn name_quota_wait(time: &mut TimeModel, throttled_s: f64) {
    let left_s = time.unaccounted_s();
    if throttled_s > 0.0 && left_s > 0.0 {
        let (count, total_s) = (0, left_s);
        time.waits
            .insert(WAIT_CPU_QUOTA.to_owned(), Wait { count, total_s });
    }
}

#[cfg(test)]
mod tests {
    use model::TimeModel;

    use super::name_quota_wait;

    #[test]
    fn what_is_left_of_db_time_is_the_quotas_only_if_it_stopped_somebody() {
        let time = || TimeModel {
            db_time_s: 6.0,
            db_cpu_s: 2.0,
            cpu_wait_s: 1.0,
            ..TimeModel::default()
        };
        let check = |throttled_s: f64, expected: f64| {
            let mut time = time();
            name_quota_wait(&mut time, throttled_s);
            assert!((time.waits_s() - expected).abs() < 1e-9, "{time:?}");
        };
        check(0.0, 0.0);
        check(1.8, 3.0);
    }
}
