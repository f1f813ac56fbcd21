//! The processes of the target, as they begin, execute programs, and end.

use std::collections::HashMap;

use linux::{Root, proc_stat};
use residency::instances;

use crate::address_space::AddressSpace;

/// How many processes are followed over the whole time.
const PROCESSES_MAX: usize = 65536;

/// A title is read when a process is first seen, and again each time its age has doubled: a process
/// of a database gives itself its title after it began.
const TITLE_AGE_FACTOR: u64 = 2;

/// The class of a PostgreSQL server's first process, whose title its children have until they set
/// their own.
const POSTMASTER: &str = "postmaster";

/// One process, from its beginning or the start of the look to its end.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its id.
    pub pid: u32,
    /// `comm`.
    pub name: String,
    /// Its class, as far as it is known.
    pub class: String,
    /// Its mappings.
    pub space: AddressSpace,
    /// Records of it before this time say what is known already.
    pub known_since_ns: u64,
    /// Whether all its threads have ended.
    pub has_ended: bool,
    /// Whether it executed a program of its own since it began.
    has_executed: bool,
    threads: i64,
    title_due_ns: u64,
    first_seen_ns: u64,
}

impl Process {
    /// A process of the target from the beginning of the look.
    pub(crate) fn new(pid: u32, name: &str, class: &str, now_ns: u64) -> Self {
        Process {
            pid,
            name: name.to_owned(),
            class: class.to_owned(),
            space: AddressSpace::default(),
            known_since_ns: 0,
            has_ended: false,
            has_executed: true,
            threads: 1,
            title_due_ns: now_ns,
            first_seen_ns: now_ns,
        }
    }

    /// The same with its state read at `now_ns`.
    pub(crate) fn known_at(self, now_ns: u64, threads: usize, space: AddressSpace) -> Self {
        Process {
            known_since_ns: now_ns,
            threads: threads as i64,
            space,
            ..self
        }
    }

    /// Takes the class from a title that the process has. A title that it has from its parent says
    /// nothing of it.
    fn take_title(&mut self, title: &str) {
        let class = instances::class_of(&self.name, title);
        if class != POSTMASTER || self.has_executed {
            self.class = class;
        }
    }
}

/// All of them; an index stays that of its process for ever.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// In the order in which they were seen.
    pub list: Vec<Process>,
    by_pid: HashMap<u32, usize>,
    /// Titles of processes whose beginning waits to be taken: they may have ended by then.
    early_titles: HashMap<u32, String>,
    /// Whether there were more than are followed.
    pub had_too_many: bool,
}

impl Processes {
    /// The index of a running process of the target.
    pub(crate) fn index(&self, pid: u32) -> Option<usize> {
        self.by_pid.get(&pid).copied()
    }

    /// Follows a process from now on; returns its index.
    pub(crate) fn add(&mut self, process: Process) -> Option<usize> {
        if self.list.len() >= PROCESSES_MAX {
            self.had_too_many = true;
            return None;
        }
        self.by_pid.insert(process.pid, self.list.len());
        self.list.push(process);
        Some(self.list.len() - 1)
    }

    /// A process or thread began. Returns the parent and the child if it is one of the target.
    pub(crate) fn forked(&mut self, pid: u32, parent: u32, at_ns: u64) -> Option<(usize, usize)> {
        let known = self.index(pid);
        let is_thread = pid == parent;
        if known.is_some_and(|index| at_ns < self.list[index].known_since_ns) {
            return None;
        }
        if is_thread {
            self.list[known?].threads += 1;
            return None;
        }
        // The id may have been that of another process, whose end was lost.
        self.by_pid.remove(&pid);
        let parent = self.index(parent)?;
        let from = &self.list[parent];
        let name = from.name.clone();
        let mut child = Process {
            space: from.space.clone(),
            has_executed: false,
            ..Process::new(pid, &name, &name, at_ns)
        };
        if let Some(title) = self.early_titles.remove(&pid) {
            child.take_title(&title);
        }
        Some((parent, self.add(child)?))
    }

    /// A process has a new name, or executes another program.
    pub(crate) fn named(&mut self, index: usize, name: &str, is_exec: bool) {
        let process = &mut self.list[index];
        let is_plain = process.class == process.name;
        name.clone_into(&mut process.name);
        if is_exec {
            process.space.clear();
            process.has_executed = true;
            process.title_due_ns = 0;
            // Its other threads end with the program.
            process.threads = 1;
        }
        if is_exec || is_plain {
            name.clone_into(&mut process.class);
        }
    }

    /// A thread ended.
    pub(crate) fn ended(&mut self, index: usize) {
        let process = &mut self.list[index];
        process.threads -= 1;
        if process.threads <= 0 {
            process.has_ended = true;
            process.space.clear();
            self.by_pid.remove(&process.pid);
        }
    }

    /// Reads the title of a process that has begun, if it is one of the target.
    pub(crate) fn read_early_title(&mut self, root: &Root, pid: u32, parent: u32) {
        if pid != parent && self.by_pid.contains_key(&parent) {
            let title = title_of(root, pid);
            self.early_titles.extend(title.map(|title| (pid, title)));
        }
    }

    /// Reads the titles that are due at this time; `u64::MAX`: all of running processes.
    pub(crate) fn read_titles(&mut self, root: &Root, now_ns: u64) {
        for index in self.by_pid.values() {
            let process = &mut self.list[*index];
            if process.title_due_ns > now_ns {
                continue;
            }
            if let Some(title) = title_of(root, process.pid) {
                process.take_title(&title);
            }
            let age = now_ns.saturating_sub(process.first_seen_ns);
            let due = age.saturating_mul(TITLE_AGE_FACTOR);
            process.title_due_ns = process.first_seen_ns.saturating_add(due);
        }
    }

    /// The running processes, by index.
    pub(crate) fn running(&self) -> impl Iterator<Item = usize> {
        self.by_pid.values().copied()
    }
}

/// The title of a process, if it has one.
fn title_of(root: &Root, pid: u32) -> Option<String> {
    let title = proc_stat::title(root, pid).ok();
    title.filter(|title| !title.is_empty())
}
