//! The journalled changes of named groups, and how they are undone.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use journal::{Change, Journal, Presence, ProcessIdentity, TakeBack, Thing, is_cgroup};
use linux::{Root, control_group, proc_stat, systemd};
use serde::{Deserialize, Serialize};

use super::members::must_be_empty;
use super::{GroupName, members};
use crate::group::remove_directory;

/// A named, persistent processor group was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupNamed {
    /// Its name.
    pub name: String,
    /// Its directories, one for each hierarchy it is in.
    pub directories: Vec<PathBuf>,
    /// Its systemd unit, if it is a slice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl Display for GroupNamed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "processor group {}", self.name)
    }
}

impl Change for GroupNamed {
    const KIND: &'static str = "group-named";

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, journal::Error> {
        let foreign = self.foreign_part()?;
        Ok(foreign.map_or(Presence::There, Presence::NotOurs))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, journal::Error> {
        let GroupNamed {
            name,
            directories,
            unit,
        } = self;
        must_be_empty(&Root::live(), name, directories).map_err(|error| journal::Error::Undo {
            change: self.to_string(),
            reason: error.to_string(),
        })?;
        match unit {
            Some(unit) => systemd::remove_slice(unit, directories.first().map(PathBuf::as_path))?,
            None => directories
                .iter()
                .rev()
                .try_for_each(|directory| remove_directory(directory))?,
        }
        Ok(None)
    }
}

impl GroupNamed {
    /// The part of it that numalab would not have made, if any.
    fn foreign_part(&self) -> Result<Option<String>, journal::Error> {
        let (name, unit) = (&*self.name, self.unit.as_deref());
        if name.parse::<GroupName>().is_err() {
            return Ok(Some(format!("{name:?}")));
        }
        if let Some(unit) = unit.filter(|unit| *unit != systemd::slice_of(name)) {
            return Ok(Some(format!("the unit {unit:?}")));
        }
        for directory in &self.directories {
            let is_ours = [Some(name), unit].contains(&Some(&*name_of(directory)));
            if !is_ours || !is_cgroup(directory)? {
                return Ok(Some(directory.display().to_string()));
            }
        }
        Ok(None)
    }

    /// Refuses a group that numalab would not have made.
    ///
    /// # Errors
    /// [`journal::Error::NotOurs`].
    pub(super) fn must_be_ours(&self) -> Result<(), journal::Error> {
        match self.foreign_part()? {
            None => Ok(()),
            Some(what) => Err(journal::Error::NotOurs {
                change: self.to_string(),
                what,
            }),
        }
    }
}

fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// A process was moved into a processor group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemberMoved {
    /// Its id.
    pub pid: u32,
    /// When it started: the kernel reuses ids.
    pub start_ticks: u64,
    /// Directories of the cgroups it was in.
    pub from: Vec<PathBuf>,
    /// Directories of the group.
    pub to: Vec<PathBuf>,
}

impl Display for MemberMoved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let to: Vec<_> = self.to.iter().map(|it| it.display().to_string()).collect();
        write!(f, "process {} moved into {}", self.pid, to.join(" and "))
    }
}

impl Change for MemberMoved {
    const KIND: &'static str = "member-moved";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, journal::Error> {
        let (pid, start) = (self.pid, self.start_ticks);
        let name = format!("the cgroup of process {pid}, started at {start}");
        Ok([Thing::unlocked(name)].into())
    }

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, journal::Error> {
        for directory in self.from.iter().chain(&self.to) {
            if !is_cgroup(directory)? {
                return Ok(Presence::NotOurs(directory.display().to_string()));
            }
        }
        Ok(Presence::There)
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, journal::Error> {
        let pid = self.pid;
        let stat = proc_stat::read(&Root::live(), pid);
        let is_there = stat.is_ok_and(|stat| stat.start_ticks == self.start_ticks);
        // A process that was moved elsewhere since, or has ended, is left alone.
        let pairs = self
            .to
            .iter()
            .zip(&self.from)
            .filter(|(to, _)| is_there && members(to).contains(&pid));
        for (to, from) in pairs {
            let parent = to.parent().unwrap_or(Path::new("/"));
            let back = if from.is_dir() { from } else { parent };
            control_group::write(&back.join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(None)
    }
}
