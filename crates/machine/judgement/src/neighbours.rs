//! Which programs use the CPUs while a machine is watched, and which of them are databases.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use linux::proc_stat::{self, ProcessStat};
use linux::{Error, Root, process_cpu_time};
use residency::instances;

/// Programs that use less are not named, in CPUs.
const NAMED_CPUS_MIN: f64 = 0.05;
/// A database that uses less is not at work: on a machine with a run queue it gets little.
const AT_WORK_CPUS_MIN: f64 = 0.01;
/// At most so many programs are named.
const NAMED_MAX: usize = 3;

/// CPU times of all processes when the watch began, in ns.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    before: BTreeMap<u32, u64>,
}

/// What others used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbours {
    /// The programs that used most, by name as the kernel has it, with the CPUs that all its
    /// processes used.
    pub programs: Vec<(String, f64)>,
    /// The databases among them, as commands take them.
    pub databases: Vec<String>,
}

impl Watch {
    /// Begins to watch.
    ///
    /// # Errors
    /// When /proc cannot be listed.
    pub fn begin(root: &Root) -> Result<Self, Error> {
        let begun = Instant::now();
        let pids = proc_stat::pids(root)?.into_iter();
        // A process that has ended meanwhile uses nothing.
        let time = |pid| Some((pid, process_cpu_time::of_process(root, pid).ok()??));
        let before = pids.filter_map(time).collect();
        Ok(Watch { begun, before })
    }

    /// Returns what other processes used since then.
    ///
    /// # Errors
    /// When /proc cannot be listed.
    pub fn end(&self, root: &Root) -> Result<Neighbours, Error> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let mut used: BTreeMap<u32, (ProcessStat, f64)> = BTreeMap::new();
        for pid in proc_stat::pids(root)? {
            if pid == std::process::id() {
                continue;
            }
            let (Ok(stat), Ok(Some(ns))) = (
                proc_stat::read(root, pid),
                process_cpu_time::of_process(root, pid),
            ) else {
                continue;
            };
            let before = self.before.get(&pid).copied().unwrap_or(0);
            let cpus = ns.saturating_sub(before) as f64 / 1e9 / seconds;
            used.insert(pid, (stat, cpus));
        }
        Ok(Neighbours {
            programs: programs(&used),
            databases: databases(root, &used)?,
        })
    }
}

/// The programs that used most.
fn programs(used: &BTreeMap<u32, (ProcessStat, f64)>) -> Vec<(String, f64)> {
    let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
    for (stat, cpus) in used.values() {
        *by_name.entry(&stat.name).or_default() += cpus;
    }
    let named = by_name
        .into_iter()
        .filter(|(_, cpus)| *cpus >= NAMED_CPUS_MIN);
    let mut programs: Vec<(String, f64)> =
        named.map(|(name, cpus)| (name.to_owned(), cpus)).collect();
    programs.sort_by(|one, other| other.1.total_cmp(&one.1));
    programs.truncate(NAMED_MAX);
    programs
}

/// The databases that were at work.
fn databases(root: &Root, used: &BTreeMap<u32, (ProcessStat, f64)>) -> Result<Vec<String>, Error> {
    let found = instances::databases_of_machine(root)?.into_iter();
    let busy = found.filter(|database| {
        let ours = used
            .keys()
            .filter(|pid| descends(**pid, &database.roots, used));
        let cpus: f64 = ours.map(|pid| used[pid].1).sum();
        cpus >= AT_WORK_CPUS_MIN
    });
    Ok(busy.map(|database| database.target.to_string()).collect())
}

/// Whether a process is one of these or descends from one.
fn descends(pid: u32, roots: &BTreeSet<u32>, used: &BTreeMap<u32, (ProcessStat, f64)>) -> bool {
    let mut next = pid;
    // A process cannot have more ancestors than there are processes.
    for _ in 0..=used.len() {
        if roots.contains(&next) {
            return true;
        }
        match used.get(&next) {
            Some((stat, _)) if stat.parent != next => next = stat.parent,
            _ => return false,
        }
    }
    false
}

impl Neighbours {
    /// The programs in words: `postgres 0.9, cc1 0.2`; `None` where none is worth naming.
    pub fn words(&self) -> Option<String> {
        let words = self.programs.iter();
        let words: Vec<String> = words
            .map(|(name, cpus)| format!("{name} {cpus:.1}"))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use linux::Root;

    use super::Watch;

    #[test]
    fn a_program_that_is_busy_is_named_with_the_cpus_that_it_uses() {
        let root = Root::live();
        let watch = Watch::begin(&root).unwrap();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let is_named = loop {
            std::thread::sleep(Duration::from_millis(100));
            let found = watch.end(&root).unwrap();
            let is_named = found.programs.iter().any(|(name, _)| name == "sh");
            if is_named || begun.elapsed() > Duration::from_secs(60) {
                break is_named;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_named);
    }
}
