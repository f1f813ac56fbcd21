//! Finds a shared object of the journal again, in whatever process has it mapped now, or where it
//! has a name.

use linux::map_files::MappedObject;
use linux::proc_maps::{self, Mapping, ObjectId};
use linux::{Root, proc_stat, sysv_segments};

use crate::Error;
use crate::journal::ObjectWords;

/// Where an object is mapped: the processes and their mappings.
pub(super) fn mappings(root: &Root, object: &ObjectWords) -> Result<Vec<(u32, Mapping)>, Error> {
    let id = ObjectId::from(*object);
    let mut found = Vec::new();
    for pid in proc_stat::pids(root)? {
        // A process that ends meanwhile, or may not be read, has nothing to show.
        let Ok(maps) = proc_maps::read(root, pid) else {
            continue;
        };
        let of_object = maps
            .list
            .into_iter()
            .filter(|it| it.is_shared && it.object == id);
        found.extend(of_object.map(|mapping| (pid, mapping)));
    }
    Ok(found)
}

/// Opens the object; `None` when it is gone.
///
/// # Errors
/// [`Error::Undo`] when it exists but cannot be reached.
pub(super) fn object(
    root: &Root,
    object: &ObjectWords,
    name: &str,
) -> Result<Option<MappedObject>, Error> {
    let mappings = mappings(root, object)?;
    let mut refusal = None;
    for (pid, mapping) in &mappings {
        match MappedObject::open(root, *pid, mapping) {
            Ok(found) => return Ok(Some(found)),
            Err(error) => refusal = Some(error.to_string()),
        }
    }
    let unreachable = |reason: String| Error::Undo {
        change: format!("what was done to {name}"),
        reason,
    };
    if let Some(reason) = refusal {
        return Err(unreachable(reason));
    }
    if let Some(found) = MappedObject::open_named(name, object.major, object.minor, object.inode) {
        return Ok(Some(found));
    }
    let is_sysv = name.starts_with("/SYSV");
    if is_sysv && sysv_segments::read(root)?.contains_key(&object.inode) {
        let reason = format!("no process has segment {} attached now", object.inode);
        return Err(unreachable(reason));
    }
    Ok(None)
}
