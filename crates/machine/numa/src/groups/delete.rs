//! Removes a group, and marks the journalled changes that went with it as undone.

use std::path::PathBuf;

use linux::{Root, control_group, systemd};

use super::create::must_be_empty;
use super::{change, members};
use crate::group::{self, remove_directory};
use crate::journal::{Change, Journal};
use crate::{Error, hierarchy, limits};

/// Removes a group that numalab made. With `evict`, first moves its members out: to where they came
/// from as far as the journal knows, else to the parent of the group.
///
/// # Errors
/// When there is no such group, or it has members; it is unchanged then.
pub fn delete(root: &Root, journal: &Journal, name: &str, evict: bool) -> Result<(), Error> {
    if name.starts_with('/') {
        return Err(Error::Group {
            name: name.to_owned(),
            reason: "only groups that numalab has made are deleted".to_owned(),
        });
    }
    let group = change::find(root, journal, name)?;
    if evict && group.unit.is_none() {
        move_out(root, journal, &group.directories)?;
    }
    must_be_empty(root, name, &group.directories)?;
    if let Some(unit) = &group.unit {
        systemd::remove_slice(unit, group.directories.first().map(PathBuf::as_path))?;
    } else {
        for directory in group.directories.iter().rev() {
            remove_directory(directory)?;
        }
    }
    strike_off(root, journal, name, &group.directories)?;
    give_back_controllers(root, journal)
}

fn move_out(root: &Root, journal: &Journal, directories: &[PathBuf]) -> Result<(), Error> {
    for entry in journal.of_this_boot(root)?.iter().rev() {
        if let Change::MemberMoved { to, .. } = &entry.change
            && to.first() == directories.first()
        {
            limits::check(entry)?;
            super::undo(&entry.change)?;
            journal.mark_undone(entry.entry)?;
        }
    }
    for (directory, controller) in directories.iter().zip(["cpuset", "cpu"]) {
        let parent = hierarchy::find_controller(root, controller)?.parent;
        for pid in members(directory) {
            let moved = control_group::write(&parent.join("cgroup.procs"), &pid.to_string());
            // A process that has ended by now is out, too.
            if moved.is_err() && linux::process::exists(pid) {
                moved?;
            }
        }
    }
    Ok(())
}

/// Marks the changes that went with the group as undone.
fn strike_off(
    root: &Root,
    journal: &Journal,
    name: &str,
    directories: &[PathBuf],
) -> Result<(), Error> {
    let was_in_it = |path: &PathBuf| {
        directories
            .iter()
            .any(|directory| path.starts_with(directory))
    };
    for entry in journal.of_this_boot(root)? {
        let went = match &entry.change {
            Change::GroupNamed { name: of, .. } => of == name,
            Change::FileWritten { path, .. } => was_in_it(path),
            Change::MemberMoved { to, .. } => to.iter().any(was_in_it),
            Change::GroupCreated { .. } | Change::ControllerEnabled { .. } => false,
            #[allow(
                unreachable_patterns,
                reason = "other kinds of changes are of no group"
            )]
            _ => false,
        };
        if went {
            journal.mark_undone(entry.entry)?;
        }
    }
    Ok(())
}

/// Disables the controllers that were enabled for groups once the last group is gone. One that
/// another cgroup uses by now stays enabled, and in the journal.
fn give_back_controllers(root: &Root, journal: &Journal) -> Result<(), Error> {
    let in_force = journal.of_this_boot(root)?;
    let is_group = |change: &Change| {
        matches!(
            change,
            Change::GroupNamed { .. } | Change::GroupCreated { .. }
        )
    };
    if in_force.iter().any(|entry| is_group(&entry.change)) {
        return Ok(());
    }
    for entry in in_force.iter().rev() {
        if matches!(entry.change, Change::ControllerEnabled { .. })
            && limits::check(entry).is_ok()
            && group::undo(&entry.change).is_ok()
        {
            journal.mark_undone(entry.entry)?;
        }
    }
    Ok(())
}
