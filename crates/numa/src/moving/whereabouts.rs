//! Finds a shared object of the journal again, in whatever process has it mapped now, or where it
//! has a name.

use linux::map_files::MappedObject;
use linux::proc_maps::{self, Mapping, ObjectId};
use linux::{Root, ipc_namespace, proc_stat, sysv_segments};

use crate::Error;
use crate::ObjectWords;

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
            .filter(|it| it.is_shared && it.object.may_be(&id));
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
    if is_sysv && segment_exists(root, object)? {
        let reason = format!("no process has segment {} attached now", object.inode);
        return Err(unreachable(reason));
    }
    Ok(None)
}

/// Whether the namespace of a segment still has one of its number. A namespace in which no process
/// is left has gone, and its segments with it.
fn segment_exists(root: &Root, object: &ObjectWords) -> Result<bool, Error> {
    let own = ipc_namespace::own(root);
    let segments = match object.ipc_namespace.filter(|it| Some(*it) != own) {
        None => sysv_segments::read(root)?,
        Some(namespace) => {
            let is_in_it = |pid: &u32| ipc_namespace::of_process(root, *pid) == Some(namespace);
            match proc_stat::pids(root)?.into_iter().find(is_in_it) {
                Some(pid) => sysv_segments::read_beside(root, pid)?,
                None => return Ok(false),
            }
        }
    };
    Ok(segments.contains_key(&object.inode))
}
