//! What a line of the journal can request at all. The journal is acted on, also by root. Should a
//! line ever come from another writer, it can only undo what numalab itself could have changed.

use std::path::Path;

use linux::kernel_place::{self, KernelPlace};
use linux::{sysfs_huge_pages, systemd};

use crate::Error;
use crate::groups::GroupName;
use crate::journal::{Change, Entry};
use crate::{kernel_file, scratch_cluster};

/// Prefix of the names of cgroups for one command or trial.
const OWN_GROUPS: &str = "numalab-";
/// The controllers that numalab enables.
const CONTROLLERS: [&str; 2] = ["cpuset", "cpu"];

/// Whether what a change made still exists and can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    There,
    Gone,
}

/// Refuses changes that numalab never makes.
///
/// # Errors
/// [`Error::NotOurs`].
pub(crate) fn check(entry: &Entry) -> Result<Presence, Error> {
    let refusal = match &entry.change {
        Change::GroupCreated { directory } => {
            let is_ours = name_of(directory).starts_with(OWN_GROUPS);
            (!is_ours || !is_cgroup(directory)?).then(|| shown(directory))
        }
        Change::ControllerEnabled {
            directory,
            controller,
        } => {
            let is_ours = CONTROLLERS.contains(&controller.as_str());
            (!is_ours || !is_cgroup(directory)?).then(|| shown(directory))
        }
        Change::FileWritten { path, .. } => {
            let place = place(path)?;
            if place == KernelPlace::Gone {
                return Ok(Presence::Gone);
            }
            let is_ours = kernel_file::is_ours(path) && place == KernelPlace::ControlGroup;
            (!is_ours).then(|| shown(path))
        }
        Change::PoolResized { path, .. } => {
            let place = place(path)?;
            if place == KernelPlace::Gone {
                return Ok(Presence::Gone);
            }
            let is_ours = sysfs_huge_pages::is_count_file(path) && place == KernelPlace::Sysfs;
            (!is_ours).then(|| shown(path))
        }
        Change::GroupNamed {
            name,
            directories,
            unit,
        } => named_group(name, directories, unit.as_deref())?,
        Change::MemberMoved { from, to, .. } => {
            let mut other = None;
            for directory in from.iter().chain(to) {
                if !is_cgroup(directory)? {
                    other = Some(shown(directory));
                }
            }
            other
        }
        Change::ClusterMade { directory } => {
            let is_ours = scratch_cluster::is_name_of(directory, entry.made_by.pid);
            (!is_ours).then(|| shown(directory))
        }
        // These name no file to write: a mount is looked up among the tmpfs mounts and gets a
        // policy, memory is identified by its object or process, a schema by its comment.
        Change::MountPolicySet { .. }
        | Change::SegmentPolicySet { .. }
        | Change::PagesMoved { .. }
        | Change::SchemaMade { .. } => None,
    };
    match refusal {
        None => Ok(Presence::There),
        Some(what) => Err(Error::NotOurs {
            change: entry.change.to_string(),
            what,
        }),
    }
}

/// The part of a named group that is not ours, if any.
fn named_group(
    name: &str,
    directories: &[std::path::PathBuf],
    unit: Option<&str>,
) -> Result<Option<String>, Error> {
    if name.parse::<GroupName>().is_err() {
        return Ok(Some(format!("{name:?}")));
    }
    if let Some(unit) = unit.filter(|unit| *unit != systemd::slice_of(name)) {
        return Ok(Some(format!("the unit {unit:?}")));
    }
    for directory in directories {
        let is_ours = [Some(name), unit].contains(&Some(&*name_of(directory)));
        if !is_ours || !is_cgroup(directory)? {
            return Ok(Some(shown(directory)));
        }
    }
    Ok(None)
}

fn name_of(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Whether a directory is a cgroup, or may have been one before it was removed or unmounted.
fn is_cgroup(directory: &Path) -> Result<bool, Error> {
    let above = || directory.parent().map_or(Ok(KernelPlace::Gone), place);
    Ok(match place(directory)? {
        KernelPlace::ControlGroup => true,
        KernelPlace::Gone => above()? != KernelPlace::Elsewhere,
        KernelPlace::Sysfs | KernelPlace::Elsewhere => false,
    })
}

fn place(path: &Path) -> Result<KernelPlace, Error> {
    kernel_place::of(path).map_err(|cause| Error::Folder {
        action: "look at",
        path: path.to_owned(),
        cause,
    })
}
