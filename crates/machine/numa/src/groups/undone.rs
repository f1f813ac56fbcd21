//! Undoes the journalled changes of named groups.

use std::path::{Path, PathBuf};

use linux::{Root, control_group, proc_stat, systemd};

use super::create::must_be_empty;
use super::members;
use crate::Error;
use crate::group::remove_directory;
use crate::journal::Change;

/// Undoes one change. Safe to call twice.
///
/// # Errors
/// [`Error::Undo`] when a group has members, which it names.
pub(crate) fn undo(change: &Change) -> Result<(), Error> {
    match change {
        Change::GroupNamed {
            name,
            directories,
            unit,
        } => {
            let refused = |error: Error| Error::Undo {
                change: change.to_string(),
                reason: error.to_string(),
            };
            must_be_empty(&Root::live(), name, directories).map_err(refused)?;
            if let Some(unit) = unit {
                let cgroup = directories.first().map(PathBuf::as_path);
                return Ok(systemd::remove_slice(unit, cgroup)?);
            }
            directories
                .iter()
                .rev()
                .try_for_each(|directory| remove_directory(directory))
        }
        Change::MemberMoved {
            pid,
            start_ticks,
            from,
            to,
        } => {
            let stat = proc_stat::read(&Root::live(), *pid);
            let is_there = stat.is_ok_and(|stat| stat.start_ticks == *start_ticks);
            // A process that was moved elsewhere since, or has ended, is left alone.
            let pairs = to
                .iter()
                .zip(from)
                .filter(|(to, _)| is_there && members(to).contains(pid));
            for (to, from) in pairs {
                let parent = to.parent().unwrap_or(Path::new("/"));
                let back = if from.is_dir() { from } else { parent };
                control_group::write(&back.join("cgroup.procs"), &pid.to_string())?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
