//! CPU quotas: a cgroup whose processes together get the CPU time of at most so many CPUs (kernel,
//! Documentation/scheduler/sched-bwc.rst), made through the journal.

use std::path::{Path, PathBuf};

use journal::{Change, Journal};
use linux::{Root, control_group};
use model::QuotaEvidence;

use crate::group::{self, GroupCreated, enable_controller};
use crate::hierarchy::{self, Hierarchy};
use crate::{Error, cpu_limit};

/// A quota in force; removed by [`CpuQuota::remove`] or on drop.
#[derive(Debug)]
pub struct CpuQuota {
    directory: PathBuf,
    version: u8,
    journal: Journal,
    /// Its entry in the journal; `None` when the cgroup is a processor group that another process
    /// removes.
    entry: Option<u64>,
}

/// The most CPUs that a quota made here can give: the smallest limit of the cgroup that it is made
/// in and of those above it. `None` where these have none.
///
/// # Errors
/// As [`hierarchy::find_writable`].
pub fn cpus_max(root: &Root) -> Result<Option<f64>, Error> {
    let Hierarchy { parent, mount, .. } = hierarchy::find_writable(root, "cpu")?;
    let above = parent.ancestors().take_while(|it| it.starts_with(&mount));
    Ok(above.filter_map(cpu_limit::limit_of).reduce(f64::min))
}

impl CpuQuota {
    /// Creates a cgroup `name` with the CPU time of `cpus` CPUs. In version 2, where a process is
    /// in one cgroup for all controllers, the quota goes to the processor group `group`, if there
    /// is one.
    ///
    /// # Errors
    /// When no hierarchy has the cpu controller, or it may not be written; nothing is left behind
    /// then.
    pub fn create(
        root: &Root,
        name: &str,
        cpus: u32,
        group: Option<&Path>,
        journal: &Journal,
    ) -> Result<Self, Error> {
        let Hierarchy {
            version, parent, ..
        } = hierarchy::find_writable(root, "cpu")?;
        if version == 2 {
            enable_controller(&parent, "cpu", journal)?;
        }
        let shared = group.filter(|_| version == 2);
        let directory = shared.map_or_else(|| parent.join(name), Path::to_owned);
        let entry = match shared {
            Some(_) => None,
            None => Some(make(&directory, journal)?),
        };
        // From here on dropping the quota removes it, whatever fails.
        let quota = CpuQuota {
            directory,
            version,
            journal: journal.clone(),
            entry,
        };
        cpu_limit::write_limit(&quota.directory, f64::from(cpus))?;
        Ok(quota)
    }

    /// The cgroup to join.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads it back.
    ///
    /// # Errors
    /// When a file is gone or malformed.
    pub fn evidence(&self) -> Result<QuotaEvidence, Error> {
        let (field, unit_s) = match self.version {
            1 => ("throttled_time", 1e-9),
            _ => ("throttled_usec", 1e-6),
        };
        let cpus = cpu_limit::limit_of(&self.directory);
        let stat = control_group::read(&self.directory.join("cpu.stat"))?;
        let throttled = parse_throttled(&stat, field);
        let (cpus, throttled) = cpus.zip(throttled).ok_or_else(|| Error::NoGroups {
            reason: format!("{}: its quota cannot be read", self.directory.display()),
        })?;
        Ok(QuotaEvidence {
            path: self.directory.display().to_string(),
            cpus,
            throttled_s: throttled as f64 * unit_s,
        })
    }

    /// Removes it once its processes are gone.
    ///
    /// # Errors
    /// [`journal::Error::Undo`] when processes remain in it; it is still in the journal then.
    pub fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        group::undo_created(&self.directory)?;
        Ok(self.journal.mark_undone(entry)?)
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // What fails here stays in the journal, for `numalab undo`.
        let _ = self.remove_once();
    }
}

fn make(directory: &Path, journal: &Journal) -> Result<u64, Error> {
    let entry = GroupCreated {
        directory: directory.to_owned(),
    }
    .record(journal)?;
    if let Err(error) = control_group::create(directory) {
        journal.mark_undone(entry)?;
        return Err(error.into());
    }
    Ok(entry)
}

/// How long processes were throttled, in the unit of the field.
///
/// ```text
/// nr_periods 20                 cpu.stat
/// nr_throttled 19
/// throttled_usec 1834211
/// ```
fn parse_throttled(stat: &str, field: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(field));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {

    use linux::Root;

    use super::{cpus_max, parse_throttled};

    #[test]
    fn the_least_quota_above_bounds_one_that_is_made_there() {
        let check = |of_parent: &str, of_above: &str, expected: Option<f64>| {
            let directory = tempfile::tempdir().unwrap();
            let own = "c/cpu/docker/7";
            let files = [
                ("proc/mounts", "cgroup /c/cpu cgroup rw,cpu 0 0\n"),
                ("proc/self/cgroup", "2:cpu,cpuacct:/docker/7\n"),
                (&format!("{own}/cpu.cfs_quota_us"), of_parent),
                (&format!("{own}/cpu.cfs_period_us"), "100000\n"),
                ("c/cpu/docker/cpu.cfs_quota_us", of_above),
                ("c/cpu/docker/cpu.cfs_period_us", "100000\n"),
            ];
            for (path, text) in files {
                let path = directory.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let root = Root::at(directory.path()).unwrap();
            assert_eq!(cpus_max(&root).unwrap(), expected);
        };
        check("150000\n", "-1\n", Some(1.5));
        check("300000\n", "200000\n", Some(2.0));
        check("-1\n", "-1\n", None);
    }

    #[test]
    fn throttling_is_read() {
        let stat = "nr_periods 20\nnr_throttled 19\nthrottled_usec 1834211";
        assert_eq!(parse_throttled(stat, "throttled_usec"), Some(1_834_211));
        assert_eq!(parse_throttled(stat, "throttled_time"), None);
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[a-z_]{0,15} [0-9-]{0,22}\n?", &|stat| {
            parse_throttled(stat, "throttled_time");
        });
    }
}
