//! `/proc/PID/task/TID/sched`: what the kernel's NUMA balancing did for a thread since it started
//! (kernel/sched/debug.c, `sched_show_numa`; kernels without CONFIG_SCHED_DEBUG before 6.15 have no
//! such file).

use crate::proc_stat::{thread_directory, threads};
use crate::{Root, TextFile};

/// Maximum number of threads that are asked: each file takes the kernel some 20 µs.
const THREADS_MAX: usize = 4096;

/// What balancing did for threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balanced {
    /// `total_numa_faults`: pages of recent hinting faults. It is halved with each scan of the
    /// memory (kernel/sched/fair.c, `task_numa_placement`): 0 says that nothing is looked at now.
    pub faults: u64,
    /// `numa_pages_migrated`: pages that were moved to the thread since it started.
    pub pages_moved: u64,
    /// How many threads said so.
    pub threads: usize,
}

impl Balanced {
    /// The sum of two.
    pub fn and(self, other: Self) -> Self {
        Balanced {
            faults: self.faults.saturating_add(other.faults),
            pages_moved: self.pages_moved.saturating_add(other.pages_moved),
            threads: self.threads + other.threads,
        }
    }
}

/// Sums what the threads of a process say; `None` where none says anything.
pub fn balanced(root: &Root, pid: u32) -> Option<Balanced> {
    let threads = threads(root, pid).into_iter().take(THREADS_MAX);
    let said = threads.filter_map(|tid| {
        let file = root.read_optional(&format!("{}/sched", thread_directory(pid, tid)));
        // A thread that has ended by now says nothing.
        of(&file.ok()??)
    });
    said.reduce(Balanced::and)
}

fn of(file: &TextFile) -> Option<Balanced> {
    let value = |name: &str| {
        let mut lines = file.lines();
        lines.find_map(|(_, line)| {
            let (key, value) = line.split_once(':')?;
            (key.trim_end() == name).then(|| value.trim().parse().ok())?
        })
    };
    Some(Balanced {
        faults: value("total_numa_faults")?,
        pages_moved: value("numa_pages_migrated")?,
        threads: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHED: &str = "postgres (934, #threads: 1)\n\
                         -------------------------\n\
                         mm->numa_scan_seq                            :                   12\n\
                         numa_pages_migrated                          :                  300\n\
                         numa_preferred_nid                           :                    1\n\
                         total_numa_faults                            :                 1200\n";

    #[test]
    fn the_threads_of_a_process_are_summed() {
        let directory = tempfile::tempdir().unwrap();
        for (tid, text) in [
            (934, SCHED),
            (935, SCHED),
            (936, "total_numa_faults : many\n"),
        ] {
            let folder = directory.path().join(format!("proc/934/task/{tid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("sched"), text).unwrap();
        }
        std::fs::write(directory.path().join("proc/934/sched"), SCHED).unwrap();
        let root = Root::at(directory.path()).unwrap();
        let sum = balanced(&root, 934).unwrap();
        assert_eq!((sum.faults, sum.pages_moved, sum.threads), (2400, 600, 2));
        assert_eq!(balanced(&root, 935), None);
    }
}
