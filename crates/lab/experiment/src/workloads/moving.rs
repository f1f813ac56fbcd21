//! Moving the memory of a server that has loaded its tables, as `numalab move` does.

use std::collections::BTreeSet;

use journal::Journal;
use linux::{Root, proc_stat};
use model::Allocation;
use model::exit::ExitCode;
use placement::Destination;
use relocation::{Choice, MoveError, Pace};
use residency::instances::Target;
use server::Error;

use crate::Cancel;

/// Where to move, and what of it is in the journal until the server has ended.
pub(super) struct Moving<'a> {
    to: Destination,
    journal: &'a Journal,
    cancel: &'a Cancel,
    entries: Vec<u64>,
}

/// Returns the destination of a move; `None` where a move has none such.
pub(crate) fn destination(allocation: &Allocation) -> Option<Destination> {
    match allocation {
        Allocation::Interleave(nodes) => Some(Destination::Interleave(Some(nodes.clone()))),
        Allocation::WeightedInterleave(nodes) => {
            Some(Destination::WeightedInterleave(Some(nodes.clone())))
        }
        Allocation::Prefer(node) => Some(Destination::Node(*node)),
        Allocation::Bind(nodes) if nodes.len() == 1 => nodes.first().map(Destination::Node),
        Allocation::Bind(_) | Allocation::PerNode(_) | Allocation::OsDefault => None,
    }
}

impl<'a> Moving<'a> {
    /// `None` if memory stays where it is.
    pub(super) fn new(
        to: Option<&Allocation>,
        journal: &'a Journal,
        cancel: &'a Cancel,
    ) -> Option<Self> {
        Some(Moving {
            to: destination(to?)?,
            journal,
            cancel,
            entries: Vec::new(),
        })
    }

    /// Moves the memory of the server that has these processes.
    pub(super) fn carry_out(&mut self, pids: &[u32]) -> Result<(), Error> {
        let root = Root::live();
        for pid in first_of(&root, pids) {
            let target = Target::Process(pid);
            let moved = self.carry_out_one(&root, &target);
            moved.map_err(|error| refused(&target, &error))?;
        }
        Ok(())
    }

    fn carry_out_one(&mut self, root: &Root, target: &Target) -> Result<(), MoveError> {
        let topology = topology::read(root)?;
        let choice = Choice {
            shared: true,
            private: true,
            segments: Vec::new(),
        };
        let survey = relocation::survey(root, target, &topology, &self.to, &choice)?;
        let claims = relocation::claim(root, &survey)?;
        let plan = relocation::plan(root, survey)?;
        relocation::check_room(root, &plan, &topology)?;
        let mut pace = Pace {
            bytes_per_s: None,
            of_others: linux::capabilities::may_move_pages_of_others(root),
            stop: &|| self.cancel.is_cancelled(),
            watch: &mut |_| {},
        };
        let names = (target.to_string(), self.to.to_string());
        let names = (names.0.as_str(), names.1.as_str());
        let moved = relocation::carry_out(root, &plan, &claims, names, self.journal, &mut pace);
        if let Err(MoveError::Unfinished { entries, .. }) = &moved {
            self.entries.extend(entries);
        }
        self.entries.extend(moved?.entries);
        Ok(())
    }

    /// Strikes the moves off the journal, once the server has ended and its memory is gone.
    pub(super) fn forget(self) -> Result<(), journal::Error> {
        let mut entries = self.entries.into_iter();
        entries.try_for_each(|entry| self.journal.mark_undone(entry))
    }
}

/// The processes that no other of them has started: moving one moves its descendants.
fn first_of(root: &Root, pids: &[u32]) -> BTreeSet<u32> {
    let is_child = |pid: u32| {
        let stat = proc_stat::read(root, pid);
        stat.is_ok_and(|stat| pids.contains(&stat.parent))
    };
    let pids = pids.iter().copied();
    pids.filter(|pid| !is_child(*pid)).collect()
}

fn refused(target: &Target, error: &MoveError) -> Error {
    let exit_code = match error.is_permission() {
        true => ExitCode::NotPermitted,
        false => ExitCode::WorkloadFailed,
    };
    let what = format!("moving the memory of the server, process {target}");
    Error::new(exit_code, format!("{what}: {error}"))
}
