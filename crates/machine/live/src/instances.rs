//! Which processes are databases, by the names that every command takes; found rarely, because it
//! opens the command line of every candidate.

use std::collections::{BTreeMap, BTreeSet};

use linux::Root;
use linux::process_activity::Activity;
use residency::instances::{Candidate, Database};

/// A database: the processes from which all its others descend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub name: String,
    pub roots: BTreeSet<u32>,
}

/// Finds databases among the processes of a machine.
pub(crate) fn databases(root: &Root, processes: &BTreeMap<u32, Activity>) -> Vec<Found> {
    let candidates = processes.iter().map(|(pid, process)| Candidate {
        pid: *pid,
        name: &process.name,
        parent: process.parent,
    });
    let found = |database: Database| Found {
        name: database.target.to_string(),
        roots: database.roots,
    };
    let databases = residency::instances::databases(root, candidates);
    databases.into_iter().map(found).collect()
}

/// The processes that are one of `roots` or descend from it, ascending.
pub(crate) fn members(roots: &BTreeSet<u32>, processes: &BTreeMap<u32, Activity>) -> Vec<u32> {
    let belongs = |pid: &u32| {
        let mut at = *pid;
        // Parents are read one after the other, and may form a circle while ids are reused.
        for _ in 0..64 {
            if roots.contains(&at) {
                return true;
            }
            match processes.get(&at) {
                Some(process) => at = process.parent,
                None => return false,
            }
        }
        false
    };
    processes.keys().copied().filter(belongs).collect()
}
