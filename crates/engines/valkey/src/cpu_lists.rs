//! The CPU lists that a server is started with, compared with what its threads may use: a list
//! outside of the cpuset is cut or ignored by the server, without a word.

use std::collections::BTreeMap;

use linux::{Root, proc_stat, proc_status};
use model::{CpuSet, cpu_words};

/// The settings with a list, and the names of the threads that follow it (docs/threads.md). The
/// first thread follows that of the server.
const LISTS: [(&str, &str); 2] = [("server-cpulist", "io_thd_"), ("bio-cpulist", "bio_")];

/// The lists of a server.
#[derive(Debug, Default)]
pub(crate) struct CpuLists(Vec<(&'static str, &'static str, CpuSet)>);

impl CpuLists {
    /// Takes the lists from the settings of a plan. Lists with steps (`0-7:2`) are not compared.
    pub(crate) fn of(settings: &BTreeMap<String, String>) -> Self {
        let value = |of: &str| {
            let mut settings = settings.iter();
            let found = settings.find(|(name, _)| name.replace('_', "-").eq_ignore_ascii_case(of));
            found.and_then(|(_, value)| value.parse().ok())
        };
        let lists = LISTS.into_iter();
        let lists = lists.filter_map(|(name, threads)| Some((name, threads, value(name)?)));
        Self(lists.collect())
    }

    /// Returns each thread that may use other CPUs than its list names, in words.
    pub(crate) fn contradictions(&self, root: &Root, pid: u32) -> Vec<String> {
        let threads = match self.0.is_empty() {
            true => Vec::new(),
            false => proc_stat::threads(root, pid),
        };
        let mut found = Vec::new();
        for tid in threads {
            let thread = proc_stat::read_thread(root, pid, tid);
            let allowed = proc_status::allowed_of_thread(root, pid, tid);
            let (Ok(thread), Ok(allowed)) = (thread, allowed) else {
                continue;
            };
            let is_first = tid == pid;
            let list = self.0.iter().find(|(name, threads, _)| match is_first {
                true => *name == LISTS[0].0,
                false => thread.name.starts_with(threads),
            });
            if let Some((name, _, cpus)) = list.filter(|(_, _, cpus)| *cpus != allowed.cpus) {
                found.push(format!(
                    "{name} is {cpus}, and thread {} may use {}",
                    thread.name,
                    cpu_words(allowed.cpus)
                ));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_elsewhere_than_their_list_are_named() {
        let directory = tempfile::tempdir().unwrap();
        for (tid, name, cpus) in [
            (7, "redis-server", "0-1"),
            (8, "io_thd_1", "0-3"),
            (9, "bio_lazy_free", "0-3"),
            (10, "jemalloc_bg_thd", "0-3"),
        ] {
            let thread = directory.path().join(format!("proc/7/task/{tid}"));
            std::fs::create_dir_all(&thread).unwrap();
            let zeros = "0 ".repeat(40);
            std::fs::write(thread.join("stat"), format!("{tid} ({name}) S 1 {zeros}")).unwrap();
            let lists = format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t0\n");
            std::fs::write(thread.join("status"), lists).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        let check = |settings: &[(&str, &str)], expected: &[&str]| {
            let settings = settings.iter();
            let settings = settings.map(|(name, value)| ((*name).into(), (*value).into()));
            let found = CpuLists::of(&settings.collect()).contradictions(&root, 7);
            assert_eq!(found, expected);
        };
        check(&[], &[]);
        check(&[("bio_cpulist", "0-3"), ("io-threads", "2")], &[]);
        check(
            &[("server-cpulist", "0-1"), ("bio-cpulist", "2")],
            &[
                "server-cpulist is 0-1, and thread io_thd_1 may use CPUs 0-3",
                "bio-cpulist is 2, and thread bio_lazy_free may use CPUs 0-3",
            ],
        );
        check(&[("server-cpulist", "0-7:2")], &[]);
    }
}
