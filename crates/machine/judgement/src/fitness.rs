//! Whether a machine is fit to be measured: how much of its CPUs other processes use, and how much
//! of them this process may use.

use model::counted;
use std::thread;
use std::time::{Duration, Instant};

use linux::machine_counters::{self, MachineCounters};
use linux::{Error, Root, load_average};

/// From this share of all CPU time on, other processes disturb a measurement: a quarter of the
/// windows then meets another program on the CPU, its sibling or the memory.
pub const BUSY_SHARE_MAX: f64 = 0.25;
/// From this share of all CPU time on, the hypervisor takes too much: a window of 0.2 ms then is
/// interrupted for 10 ms at a time.
pub const STOLEN_SHARE_MAX: f64 = 0.05;
/// From this many other tasks per CPU on, there is a run queue.
pub const RUNNABLE_PER_CPU_MAX: f64 = 0.5;

/// Samples of the run queue while the machine is watched.
const LOOKS: u32 = 20;

/// The state of a machine while nothing was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitness {
    /// CPUs of the machine.
    pub cpus: usize,
    /// CPUs that other processes kept busy, on average.
    pub busy_cpus: Option<f64>,
    /// CPUs that the hypervisor took away, on average.
    pub stolen_cpus: Option<f64>,
    /// Other tasks that ran or could run, on average.
    pub runnable_tasks: Option<f64>,
    /// CPUs that the quota of this process's control group allows; `None` without one.
    pub quota_cpus: Option<f64>,
}

/// What is known of a machine with this many CPUs without watching it: the quota of this process.
///
/// # Errors
/// When a file of the control groups is malformed.
pub fn glance(root: &Root, cpus: usize) -> Result<Fitness, Error> {
    Ok(Fitness {
        cpus,
        busy_cpus: None,
        stolen_cpus: None,
        runnable_tasks: None,
        quota_cpus: quota_cpus(root)?,
    })
}

/// Watches a machine with this many CPUs for a while, asleep.
///
/// # Errors
/// When a file of /proc or of the control groups is malformed.
pub fn look(root: &Root, cpus: usize, duration: Duration) -> Result<Fitness, Error> {
    let before = machine_counters::read(root)?;
    let begun = Instant::now();
    let mut runnable = Vec::new();
    for _ in 0..LOOKS {
        thread::sleep(duration / LOOKS);
        let tasks = load_average::runnable_tasks(root)?;
        // This task itself is running.
        runnable.extend(tasks.map(|tasks| f64::from(tasks.saturating_sub(1))));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let after = machine_counters::read(root)?;
    let gain =
        |of: fn(&MachineCounters) -> Option<f64>| Some((of(&after)? - of(&before)?) / seconds);
    let mean = runnable.iter().sum::<f64>() / runnable.len() as f64;
    Ok(Fitness {
        busy_cpus: gain(|counters| counters.busy_s),
        stolen_cpus: gain(|counters| counters.steal_s),
        runnable_tasks: (!runnable.is_empty()).then_some(mean),
        ..glance(root, cpus)?
    })
}

impl Fitness {
    /// Why a measurement that keeps this many CPUs busy cannot be trusted here, each with a remedy;
    /// empty when the machine is fit.
    pub fn doubts(&self, cpus_needed: usize) -> Vec<String> {
        let quota = self.quota_doubt(cpus_needed);
        self.load_doubts().into_iter().chain(quota).collect()
    }

    /// Those of [`Fitness::doubts`] that come of what others do: cases that take turns have that in
    /// common.
    pub fn load_doubts(&self) -> Vec<String> {
        let cpus = self.cpus.max(1) as f64;
        let mut doubts = Vec::new();
        if let Some(busy) = self.busy_cpus.filter(|busy| *busy > cpus * BUSY_SHARE_MAX) {
            doubts.push(format!(
                "other processes keep {busy:.1} of {} busy (limit {:.1}); stop them, or \
                 wait until they finish",
                counted(cpus, "CPU"),
                cpus * BUSY_SHARE_MAX
            ));
        }
        let runnable = self.runnable_tasks;
        if let Some(tasks) = runnable.filter(|tasks| *tasks > cpus * RUNNABLE_PER_CPU_MAX) {
            doubts.push(format!(
                "{tasks:.1} other tasks are runnable on {} (limit {:.1}); stop them, or \
                 wait until they finish",
                counted(cpus, "CPU"),
                cpus * RUNNABLE_PER_CPU_MAX
            ));
        }
        let stolen = self.stolen_cpus;
        if let Some(stolen) = stolen.filter(|stolen| *stolen > cpus * STOLEN_SHARE_MAX) {
            doubts.push(format!(
                "the hypervisor takes {stolen:.2} of {} (steal; limit {:.2}); give the \
                 guest dedicated CPUs",
                counted(cpus, "CPU"),
                cpus * STOLEN_SHARE_MAX
            ));
        }
        doubts
    }

    /// That of [`Fitness::doubts`] that comes of this process's own limit.
    pub fn quota_doubt(&self, cpus_needed: usize) -> Option<String> {
        let quota = self.quota_cpus?;
        (quota < cpus_needed as f64).then(|| {
            format!(
                "the control group of this process has a quota of {quota:.2} CPUs, but \
                 {cpus_needed} are needed at once; raise it (cpu.max)"
            )
        })
    }

    /// What others use, in words: `1.2 of 2 CPUs`.
    pub fn used_words(&self) -> String {
        let used = self.busy_cpus.unwrap_or(0.0) + self.stolen_cpus.unwrap_or(0.0);
        format!("{used:.1} of {}", counted(self.cpus as f64, "CPU"))
    }
}

/// The smallest quota of this process's control group and of those above it, in CPUs.
fn quota_cpus(root: &Root) -> Result<Option<f64>, Error> {
    let Some(groups) = root.read_optional("proc/self/cgroup")? else {
        return Ok(None);
    };
    let mut least: Option<f64> = None;
    for (_, line) in groups.lines() {
        // Real lines: `0::/user.slice` (v2) and `4:cpu,cpuacct:/docker/4f` (v1).
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let quota = match controllers {
            "" => least_above(path, |group| quota_v2(root, group))?,
            _ if controllers.split(',').any(|name| name == "cpu") => {
                least_above(path, |group| quota_v1(root, group))?
            }
            _ => None,
        };
        least = match (least, quota) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    Ok(least)
}

/// The smallest quota of a group and of those above it, up to the root of the hierarchy.
fn least_above(
    path: &str,
    mut quota: impl FnMut(&str) -> Result<Option<f64>, Error>,
) -> Result<Option<f64>, Error> {
    let mut group = path.trim_end_matches('/');
    let mut least: Option<f64> = None;
    loop {
        // A path that leads out of what a container sees tells nothing.
        let found = match group.contains("..") {
            true => None,
            false => quota(group)?,
        };
        least = found.map_or(least, |found| Some(least.map_or(found, |it| it.min(found))));
        match group.rfind('/') {
            Some(end) => group = &group[..end],
            None => return Ok(least),
        }
    }
}

/// `max 100000` or `150000 100000`: quota and period in µs (kernel, cgroup-v2.rst, "cpu.max").
fn quota_v2(root: &Root, group: &str) -> Result<Option<f64>, Error> {
    let mut found = None;
    for mount in ["sys/fs/cgroup", "sys/fs/cgroup/unified"] {
        if let Some(file) = root.read_optional(&format!("{mount}{group}/cpu.max"))? {
            let words: Vec<&str> = file.text().split_ascii_whitespace().collect();
            found = match words.as_slice() {
                ["max", ..] => None,
                [quota, period] => Some(cpus_of(&file, quota, period)?),
                _ => return Err(file.malformed(1, "a quota and a period", file.text())),
            };
        }
    }
    Ok(found)
}

/// `cpu.cfs_quota_us` is -1 without a quota (kernel, sched-bwc.rst).
fn quota_v1(root: &Root, group: &str) -> Result<Option<f64>, Error> {
    for mount in ["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"] {
        let path = format!("{mount}{group}/cpu.cfs_quota_us");
        let Some(quota) = root.read_optional(&path)? else {
            continue;
        };
        if quota.text().trim() == "-1" {
            return Ok(None);
        }
        let period = root.read(&format!("{mount}{group}/cpu.cfs_period_us"))?;
        let period = period.text().trim().to_owned();
        return cpus_of(&quota, quota.text().trim(), &period).map(Some);
    }
    Ok(None)
}

fn cpus_of(file: &linux::TextFile, quota: &str, period: &str) -> Result<f64, Error> {
    let number = |word: &str| word.parse::<u64>().ok().filter(|number| *number > 0);
    let cpus = number(quota).zip(number(period));
    cpus.map(|(quota, period)| quota as f64 / period as f64)
        .ok_or_else(|| file.malformed(1, "microseconds", &format!("{quota} {period}")))
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use proptest::prelude::*;

    use super::{Fitness, quota_cpus};

    const QUIET: Fitness = Fitness {
        cpus: 8,
        busy_cpus: Some(0.2),
        stolen_cpus: Some(0.0),
        runnable_tasks: Some(0.1),
        quota_cpus: None,
    };

    #[test]
    fn a_quiet_machine_is_fit() {
        assert_eq!(QUIET.doubts(2), Vec::<String>::new());
        let unknown = Fitness {
            busy_cpus: None,
            stolen_cpus: None,
            runnable_tasks: None,
            ..QUIET
        };
        assert_eq!(unknown.doubts(2), Vec::<String>::new());
    }

    fn check(change: fn(&mut Fitness), expected: &str) {
        let mut fitness = QUIET;
        change(&mut fitness);
        let doubts = fitness.doubts(2);
        assert_eq!(doubts.len(), 1, "{doubts:?}");
        assert!(doubts[0].starts_with(expected), "{doubts:?}");
    }

    #[test]
    fn whatever_is_above_its_bound_is_named() {
        check(
            |it| it.busy_cpus = Some(3.0),
            "other processes keep 3.0 of 8 CPUs busy",
        );
        check(
            |it| it.runnable_tasks = Some(9.0),
            "9.0 other tasks are runnable on 8 CPUs",
        );
        check(
            |it| it.stolen_cpus = Some(0.5),
            "the hypervisor takes 0.50 of 8",
        );
        check(
            |it| it.quota_cpus = Some(1.5),
            "the control group of this process has a quota of",
        );
    }

    fn quota(files: &[(&str, &str)]) -> Result<Option<f64>, linux::Error> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        quota_cpus(&Root::at(directory.path()).unwrap())
    }

    #[test]
    fn the_smallest_quota_above_a_group_counts() {
        assert_eq!(quota(&[("proc/stat", "")]).unwrap(), None);
        let v2 = [
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ];
        assert_eq!(quota(&v2).unwrap(), Some(1.5));
        let v1 = [
            ("proc/self/cgroup", "4:cpu,cpuacct:/d\n3:cpuset:/\n"),
            ("sys/fs/cgroup/cpu/d/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/d/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
        ];
        assert_eq!(quota(&v1).unwrap(), Some(0.5));
    }

    proptest! {
        #[test]
        fn any_files_are_a_quota_or_an_error(group in "[0-9:a-z/.\n]{0,40}", max in ".{0,20}") {
            let files = [("proc/self/cgroup", &*group), ("sys/fs/cgroup/cpu.max", &*max)];
            let quota = quota(&files);
            prop_assert!(quota.is_err() || quota.unwrap().is_none_or(|cpus| cpus > 0.0));
        }
    }
}
