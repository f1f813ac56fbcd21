//! CPU quotas: a cgroup whose processes together get no more CPU time than so many CPUs give
//! (kernel, Documentation/scheduler/sched-bwc.rst), made through the journal.

use std::path::{Path, PathBuf};

use linux::{Root, control_group};
use model::QuotaEvidence;

use crate::Error;
use crate::group;
use crate::journal::{Change, Journal};

/// The period that quotas refer to; the kernel's default.
const PERIOD_US: u64 = 100_000;

/// A quota that is in force; removed by [`CpuQuota::remove`], or when dropped.
#[derive(Debug)]
pub struct CpuQuota {
    directory: PathBuf,
    version: u8,
    journal: Journal,
    /// Its entry in the journal; `None` when the cgroup is a processor group that somebody else
    /// removes.
    entry: Option<u64>,
}

impl CpuQuota {
    /// Makes a cgroup `name` with the CPU time of `cpus` CPUs. In version 2, where a process is in
    /// one cgroup for all controllers, the processor group `group` gets the quota, if there is one.
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
        let (version, parent) = hierarchy(root)?;
        if version == 2 {
            enable(&parent, journal)?;
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
        let quota_us = u64::from(cpus) * PERIOD_US;
        let write =
            |file: &str, value: String| control_group::write(&quota.directory.join(file), &value);
        if version == 1 {
            write("cpu.cfs_period_us", PERIOD_US.to_string())?;
            write("cpu.cfs_quota_us", quota_us.to_string())?;
        } else {
            write("cpu.max", format!("{quota_us} {PERIOD_US}"))?;
        }
        Ok(quota)
    }

    /// The cgroup to join.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads it back.
    ///
    /// # Errors
    /// When a file is gone or not what the kernel writes.
    pub fn evidence(&self) -> Result<QuotaEvidence, Error> {
        let read = |file: &str| control_group::read(&self.directory.join(file));
        let (limit, throttled) = if self.version == 1 {
            let (quota, period) = (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?);
            (format!("{quota} {period}"), "throttled_time")
        } else {
            (read("cpu.max")?, "throttled_usec")
        };
        let stat = read("cpu.stat")?;
        let parsed = parse(&limit, &stat, throttled);
        let (quota_us, period_us, throttled) = parsed.ok_or_else(|| Error::NoGroups {
            reason: format!("{}: its quota is {limit:?}", self.directory.display()),
        })?;
        let unit_s = if self.version == 1 { 1e-9 } else { 1e-6 };
        Ok(QuotaEvidence {
            path: self.directory.display().to_string(),
            cpus: quota_us as f64 / period_us as f64,
            throttled_s: throttled as f64 * unit_s,
        })
    }

    /// Removes it once its processes are gone.
    ///
    /// # Errors
    /// [`Error::Undo`] when processes stay in it; it is still in the journal then.
    pub fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else {
            return Ok(());
        };
        group::undo(&created(&self.directory))?;
        self.journal.mark_undone(entry)
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // What fails here stays in the journal, and `numalab undo` takes it back.
        let _ = self.remove_once();
    }
}

fn created(directory: &Path) -> Change {
    Change::GroupCreated {
        directory: directory.to_owned(),
    }
}

fn make(directory: &Path, journal: &Journal) -> Result<u64, Error> {
    let entry = journal.record(created(directory))?;
    if let Err(error) = control_group::create(directory) {
        journal.mark_undone(entry)?;
        return Err(error.into());
    }
    Ok(entry)
}

/// The quota and the period in µs, and how long processes were kept from running, in the unit of
/// the field.
///
/// ```text
/// 200000 100000                 cpu.max, or quota and period of version 1
/// nr_periods 20                 cpu.stat
/// nr_throttled 19
/// throttled_usec 1834211
/// ```
fn parse(limit: &str, stat: &str, throttled: &str) -> Option<(u64, u64, u64)> {
    let (quota, period) = limit.split_once(' ')?;
    let period: u64 = period.parse().ok().filter(|period| *period > 0)?;
    let line = stat.lines().find_map(|line| line.strip_prefix(throttled));
    Some((quota.parse().ok()?, period, line?.trim().parse().ok()?))
}

/// The version of the hierarchy with the cpu controller, and the cgroup of this process in it.
fn hierarchy(root: &Root) -> Result<(u8, PathBuf), Error> {
    let mounts = root.read("proc/mounts")?;
    let own = root.read("proc/self/cgroup")?;
    // cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
    for (_, line) in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, mount, kind, options, ..] = fields[..] else {
            continue;
        };
        let version = match kind {
            "cgroup" if options.split(',').any(|option| option == "cpu") => 1,
            "cgroup2" => 2,
            _ => continue,
        };
        // 4:cpu,cpuacct:/ or, in version 2, 0::/
        let path = own.lines().find_map(|(_, line)| {
            let mut fields = line.splitn(3, ':').skip(1);
            let mut controllers = fields.next()?.split(',');
            let is_it = controllers.any(|name| name == if version == 1 { "cpu" } else { "" });
            fields.next().filter(|_| is_it)
        });
        let parent = root
            .path(mount)
            .join(path.unwrap_or("/").trim_start_matches('/'));
        let offered = control_group::read(&parent.join("cgroup.controllers"));
        let has_it = offered.is_ok_and(|names| names.split(' ').any(|name| name == "cpu"));
        if version == 1 || has_it {
            return Ok((version, parent));
        }
    }
    let reason = "no cgroup hierarchy with the cpu controller is mounted".to_owned();
    Err(Error::NoGroups { reason })
}

/// Makes the cpu controller available to the children of `parent`, journalled if it was not.
fn enable(parent: &Path, journal: &Journal) -> Result<(), Error> {
    let file = parent.join("cgroup.subtree_control");
    if control_group::read(&file)?
        .split(' ')
        .any(|name| name == "cpu")
    {
        return Ok(());
    }
    let entry = journal.record(Change::ControllerEnabled {
        directory: parent.to_owned(),
        controller: "cpu".to_owned(),
    })?;
    if let Err(error) = control_group::write(&file, "+cpu") {
        journal.mark_undone(entry)?;
        return Err(error.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[test]
    fn quota_period_and_throttling_are_read() {
        let stat = "nr_periods 20\nnr_throttled 19\nthrottled_usec 1834211";
        let expected = Some((200_000, 100_000, 1_834_211));
        assert_eq!(parse("200000 100000", stat, "throttled_usec"), expected);
        for limit in ["max 100000", "1", "1 0", ""] {
            assert_eq!(parse(limit, stat, "throttled_usec"), None, "{limit}");
        }
        assert_eq!(parse("1 1", "nr_periods 1", "throttled_time"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(limit in "[0-9a-z ]{0,30}", stat in "[a-z_]{0,15} [0-9-]{0,22}\n?") {
            parse(&limit, &stat, "throttled_time");
        }
    }
}
