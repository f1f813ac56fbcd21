//! The CPUs of every thread of running processes (sched_setaffinity(2)), set through the journal.
//! Threads and processes that start later inherit them, and are given back what their process had.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing};
use journal::{Claim, claim_path, deadline};
use linux::proc_stat::{self, ProcessStat};
use linux::{Root, SystemCallError, affinity};
use model::{CpuSet, counted};
use serde::{Deserialize, Serialize};

/// Passes over all threads, since those that are not bound yet may start others.
const PASSES_MAX: usize = 8;
/// `ESRCH` and `EINVAL` (errno(3)).
const NO_SUCH_THREAD: i32 = 3;
const NONE_OF_THEM: i32 = 22;

/// Binds every thread of these processes to `cpus`, and returns the numbers of the changes: none
/// where all of them are bound so.
///
/// # Errors
/// When another numalab is binding one of them, the kernel refuses, or a cpuset leaves a thread
/// only a part of the CPUs. What was bound until then is in the journal ([`Error::Unfinished`]).
pub fn bind(
    root: &Root,
    journal: &Journal,
    target: &str,
    processes: &[ProcessStat],
    cpus: &CpuSet,
) -> Result<Vec<u64>, crate::Error> {
    let claims = processes
        .iter()
        .map(|process| claim_path(&lock_file(process.pid), deadline()));
    let _claims: Vec<Option<Claim>> = claims.collect::<Result<_, _>>()?;
    let mut entries = Vec::new();
    for _ in 0..PASSES_MAX {
        let threads = threads_of(root, processes);
        if threads.iter().all(|thread| thread.before == *cpus) {
            break;
        }
        let change = ThreadsBound {
            target: target.to_owned(),
            cpus: cpus.clone(),
            threads,
        };
        let entry = change.record(journal)?;
        entries.push(entry);
        if let Err(cause) = change.threads.iter().try_for_each(|it| it.bind(cpus)) {
            let is_as_before = change.give_back(root, true).is_ok();
            return Err(match cause {
                crate::Error::Change(cause) => journal.failed(entry, is_as_before, cause).into(),
                cause if is_as_before => journal
                    .mark_undone(entry)
                    .map_or_else(Into::into, |()| cause),
                cause => cause,
            });
        }
    }
    Ok(entries)
}

/// What is locked while threads of a process are bound. Not what a move of its memory locks: both
/// may be undone at once.
fn lock_file(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/status"))
}

/// All threads of processes that still run, with the CPUs that they may use now.
fn threads_of(root: &Root, processes: &[ProcessStat]) -> Vec<BoundThread> {
    let running = processes
        .iter()
        .filter(|process| proc_stat::still_runs(root, process));
    let of_process = running.flat_map(|process| {
        let pid = process.pid;
        let threads = proc_stat::threads(root, pid).into_iter();
        threads.filter_map(move |tid| BoundThread::read(root, pid, tid))
    });
    of_process.collect()
}

/// A thread, and which CPUs it could use before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct BoundThread {
    /// Its process.
    pid: u32,
    /// Its id.
    tid: u32,
    /// When it started: the kernel reuses ids.
    start_ticks: u64,
    /// The CPUs.
    before: CpuSet,
}

impl BoundThread {
    /// Reads a thread as it is now; `None` when it has ended.
    fn read(root: &Root, pid: u32, tid: u32) -> Option<Self> {
        let before = affinity::of_thread(tid).ok()?;
        let start_ticks = proc_stat::read_thread(root, pid, tid).ok()?.start_ticks;
        Some(BoundThread {
            pid,
            tid,
            start_ticks,
            before,
        })
    }

    /// Binds it, and reads back whether it is bound so. A thread that has ended is left alone.
    fn bind(&self, cpus: &CpuSet) -> Result<(), crate::Error> {
        let Some(()) = unless_ended(affinity::bind_process(self.tid, cpus))? else {
            return Ok(());
        };
        match unless_ended(affinity::of_thread(self.tid))? {
            Some(reached) if reached != *cpus => Err(crate::Error::CpusNotHonoured {
                tid: self.tid,
                cpus: cpus.clone(),
                reached,
            }),
            _ => Ok(()),
        }
    }

    /// Gives it back what it had. The kernel remembers a mask that was set when a cpuset grows
    /// later (Linux 6.2, `user_cpus_ptr`), so a thread that had all of its cpuset gets all CPUs.
    fn unbind(&self) -> Result<(), Error> {
        let Some(()) = unless_ended(affinity::unbind_thread(self.tid))? else {
            return Ok(());
        };
        if unless_ended(affinity::of_thread(self.tid))?.is_none_or(|now| now == self.before) {
            return Ok(());
        }
        match affinity::bind_process(self.tid, &self.before) {
            // Its cpuset has none of them any more.
            Err(error) if error.errno() == Some(NONE_OF_THEM) => Ok(()),
            other => Ok(unless_ended(other).map(|_| ())?),
        }
    }
}

/// The answer about a thread; `None` if it has ended.
fn unless_ended<T>(answer: Result<T, SystemCallError>) -> Result<Option<T>, SystemCallError> {
    match answer {
        Err(error) if error.errno() == Some(NO_SUCH_THREAD) => Ok(None),
        other => other.map(Some),
    }
}

/// Every thread of some processes was bound to CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadsBound {
    /// The target, as the user named it.
    target: String,
    /// The CPUs.
    cpus: CpuSet,
    /// All threads that there were.
    threads: Vec<BoundThread>,
}

impl Display for ThreadsBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let threads = counted(self.threads.len() as u64, "thread");
        let (target, cpus) = (&self.target, &self.cpus);
        write!(f, "{threads} of {target} bound to CPUs {cpus}")
    }
}

impl Change for ThreadsBound {
    const KIND: &'static str = "threads-bound";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        let pids: BTreeSet<u32> = self.threads.iter().map(|thread| thread.pid).collect();
        Ok(pids
            .into_iter()
            .map(|pid| Thing::file(lock_file(pid)))
            .collect())
    }

    /// It names no file to write, only threads.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(Presence::There)
    }

    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        self.give_back(how.root, how.force)?;
        Ok(None)
    }
}

impl ThreadsBound {
    /// Gives every thread that is bound as this change did what it had before, and those that have
    /// started since what their process had. Leaves what another process has bound since.
    fn give_back(&self, root: &Root, force: bool) -> Result<(), Error> {
        for _ in 0..PASSES_MAX {
            let mut is_done = true;
            let mut others = BTreeMap::new();
            for thread in self.those_of_now(root) {
                let Some(now) = unless_ended(affinity::of_thread(thread.tid))? else {
                    continue;
                };
                if now == thread.before {
                    continue;
                }
                if now == self.cpus || force && self.lists(&thread) {
                    thread.unbind()?;
                    is_done = false;
                } else if self.lists(&thread) {
                    others.insert(thread.tid, now);
                }
            }
            if let Some((tid, now)) = others.first_key_value() {
                return Err(Error::Undo {
                    change: self.to_string(),
                    reason: format!("another process has bound thread {tid} to CPUs {now} since"),
                });
            }
            if is_done {
                break;
            }
        }
        Ok(())
    }

    fn lists(&self, thread: &BoundThread) -> bool {
        let is_it = |it: &BoundThread| (it.tid, it.start_ticks) == (thread.tid, thread.start_ticks);
        self.threads.iter().any(is_it)
    }

    /// The threads of the change that still run, those that its processes have started since, and
    /// those of their descendants, each with what it is to be given back.
    fn those_of_now(&self, root: &Root) -> Vec<BoundThread> {
        let known: BTreeMap<(u32, u64), &CpuSet> = self
            .threads
            .iter()
            .map(|thread| ((thread.tid, thread.start_ticks), &thread.before))
            .collect();
        // The first thread of a process has its id; what it had is for all that started later.
        let mut of_process: BTreeMap<u32, CpuSet> = BTreeMap::new();
        for thread in &self.threads {
            let first = of_process.entry(thread.pid);
            first.or_insert_with(|| thread.before.clone());
        }
        let pids = proc_stat::pids(root).unwrap_or_default();
        let stats = pids
            .into_iter()
            .filter_map(|pid| proc_stat::read(root, pid).ok());
        let mut processes: Vec<ProcessStat> = stats.collect();
        // An id that another process has by now stands for no process of the change.
        processes.retain(|process| {
            let was = (process.pid, process.start_ticks);
            let is_another = of_process.contains_key(&process.pid) && !known.contains_key(&was);
            if is_another {
                of_process.remove(&process.pid);
            }
            !is_another && !process.is_kernel_thread
        });
        loop {
            let inherits = |process: &&ProcessStat| !of_process.contains_key(&process.pid);
            let from_parent = |process: &ProcessStat| {
                let before = of_process.get(&process.parent)?;
                Some((process.pid, before.clone()))
            };
            let born = processes.iter().filter(inherits).filter_map(from_parent);
            let born: Vec<(u32, CpuSet)> = born.collect();
            if born.is_empty() {
                break;
            }
            of_process.extend(born);
        }
        processes.retain(|process| of_process.contains_key(&process.pid));
        let threads = threads_of(root, &processes).into_iter();
        let with_before = threads.map(|mut thread| {
            let listed = known.get(&(thread.tid, thread.start_ticks)).copied();
            thread.before = listed.unwrap_or(&of_process[&thread.pid]).clone();
            thread
        });
        with_before.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use journal::{Kind, Kinds, Undone};

    use super::*;

    const KINDS: Kinds = Kinds(&[&[Kind::of::<ThreadsBound>()]]);

    /// A shell that starts a `sleep` for each line that it reads, and says its id.
    struct Shell {
        child: Child,
        folder: tempfile::TempDir,
        born: Vec<u32>,
    }

    impl Shell {
        fn start() -> Self {
            let script = "while read line; do sleep 1000 & echo $!; done";
            let child = Command::new("sh")
                .args(["-c", script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let folder = tempfile::tempdir().unwrap();
            Shell {
                child,
                folder,
                born: Vec::new(),
            }
        }

        fn start_child(&mut self) -> u32 {
            use std::io::{Read, Write};
            let input = self.child.stdin.as_mut().unwrap();
            input.write_all(b"\n").unwrap();
            let output = self.child.stdout.as_mut().unwrap();
            let mut text = String::new();
            while !text.ends_with('\n') {
                let mut byte = [0];
                output.read_exact(&mut byte).unwrap();
                text.push(byte[0].into());
            }
            self.born.push(text.trim().parse().unwrap());
            self.born[self.born.len() - 1]
        }

        fn journal(&self) -> Journal {
            Journal::in_directory(self.folder.path())
        }

        fn bind(&self, cpus: &CpuSet) -> Result<Vec<u64>, crate::Error> {
            let root = Root::live();
            let stat = proc_stat::read(&root, self.child.id()).unwrap();
            bind(&root, &self.journal(), "the shell", &[stat], cpus)
        }

        fn undo(&self, force: bool) -> Vec<Undone> {
            journal::undo(&self.journal(), KINDS, |_| true, force).unwrap()
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            for pid in &self.born {
                let _ = Command::new("kill").arg(pid.to_string()).status();
            }
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    fn one_and_all() -> Option<(CpuSet, CpuSet)> {
        let all = affinity::of_this_thread().unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        (all.len() > 1).then_some((one, all))
    }

    fn cpus_of(pid: u32) -> CpuSet {
        affinity::of_thread(pid).unwrap()
    }

    #[test]
    fn undo_gives_back_what_threads_had_and_what_their_children_inherited() {
        let Some((one, all)) = one_and_all() else {
            return testing::not_run(
                "undo_gives_back_what_threads_had_and_what_their_children_inherited",
                testing::Need::Hardware,
                "this machine has one CPU",
            );
        };
        let mut shell = Shell::start();
        let pid = shell.child.id();
        assert_eq!(shell.bind(&one).unwrap().len(), 1);
        let born = shell.start_child();
        assert_eq!((cpus_of(pid), cpus_of(born)), (one.clone(), one.clone()));
        assert!(shell.bind(&one).unwrap().is_empty(), "bound already");
        assert!(shell.undo(false)[0].failure.is_none());
        assert_eq!((cpus_of(pid), cpus_of(born)), (all.clone(), all));
        assert!(shell.undo(false).is_empty());
    }

    #[test]
    fn what_another_process_has_bound_since_stays_unless_forced() {
        let Some((one, all)) = one_and_all() else {
            return testing::not_run(
                "what_another_process_has_bound_since_stays_unless_forced",
                testing::Need::Hardware,
                "this machine has one CPU",
            );
        };
        let shell = Shell::start();
        let other: CpuSet = all.iter().skip(1).take(1).collect();
        shell.bind(&one).unwrap();
        affinity::bind_process(shell.child.id(), &other).unwrap();
        let refused = shell.undo(false).remove(0).failure.unwrap().to_string();
        assert!(
            refused.contains(&format!("to CPUs {other} since")),
            "{refused}"
        );
        assert_eq!(cpus_of(shell.child.id()), other);
        assert!(shell.undo(true)[0].failure.is_none());
        assert_eq!(cpus_of(shell.child.id()), all);
    }

    #[test]
    fn changes_of_one_process_are_undone_one_after_the_other() {
        let Some((one, all)) = one_and_all() else {
            return testing::not_run(
                "changes_of_one_process_are_undone_one_after_the_other",
                testing::Need::Hardware,
                "this machine has one CPU",
            );
        };
        let shell = Shell::start();
        let other: CpuSet = all.iter().skip(1).take(1).collect();
        shell.bind(&one).unwrap();
        shell.bind(&other).unwrap();
        assert_eq!(shell.undo(false).len(), 2);
        assert_eq!(cpus_of(shell.child.id()), all);
    }

    #[test]
    fn cpus_that_are_not_there_leave_everything_as_it_was() {
        let shell = Shell::start();
        let before = cpus_of(shell.child.id());
        let refused = shell.bind(&"8000".parse().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("CPUs 8000"), "{refused}");
        assert!(shell.journal().in_force().unwrap().is_empty());
        assert_eq!(cpus_of(shell.child.id()), before);
    }
}
