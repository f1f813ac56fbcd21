//! Removes a group, and marks the journalled changes that went with it as undone.

use std::path::PathBuf;

use journal::{Change, Entry, Journal, Kind, Kinds, Origin};
use linux::{Root, control_group, systemd};

use super::changes::{GroupNamed, MemberMoved};
use super::controllers::give_back_controllers;
use super::members::must_be_empty;
use super::{change, members};
use crate::group::remove_directory;
use crate::kernel_file::FileWritten;
use crate::{Error, hierarchy};

/// Removes a group that numalab made. With `evict`, first moves its members out: to where they came
/// from as far as the journal knows, else to the parent of the group.
///
/// # Errors
/// When there is no such group, or it has members; it is unchanged then.
pub fn delete(root: &Root, journal: &Journal, name: &str, evict: bool) -> Result<(), Error> {
    if name.starts_with('/') {
        return Err(Error::Group {
            name: name.to_owned(),
            reason: "numalab deletes only groups that it created".to_owned(),
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
    const MEMBERS: Kinds = Kinds(&[&[Kind::of::<MemberMoved>()]]);
    let of_group = |entry: &Entry| {
        let moved = MemberMoved::of(&entry.change);
        moved.is_some_and(|moved| moved.to.first() == directories.first())
    };
    let is_wanted =
        |entry: &Entry| entry.made_by.origin(root) == Origin::ThisBoot && of_group(entry);
    // By force: of a process that was moved on since, nothing is undone.
    for undone in journal::undo(journal, MEMBERS, is_wanted, true)? {
        if let Some(failure) = undone.failure {
            return Err(failure.into());
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
        let change = &entry.change;
        let named = GroupNamed::of(change).is_some_and(|it| it.name == name);
        let written = FileWritten::of(change).is_some_and(|it| was_in_it(&it.path));
        let moved = MemberMoved::of(change).is_some_and(|it| it.to.iter().any(was_in_it));
        if named || written || moved {
            journal.mark_undone(entry.entry)?;
        }
    }
    Ok(())
}
