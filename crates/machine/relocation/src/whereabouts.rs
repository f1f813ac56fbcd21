//! Finds a shared object of the journal again: in any process that has it mapped or open now, or by
//! its name.

use model::counted;
use std::io;

use journal::Error;
use linux::map_files::MappedObject;
use linux::proc_maps::{self, Mapping, ObjectId};
use linux::{Root, capabilities, data_files, ipc_namespace, proc_stat, sysv_segments};

use super::object_words::ObjectWords;

/// An object, and the mappings of it by process.
pub(super) struct Whereabouts {
    pub object: MappedObject,
    pub mappings: Vec<(u32, Mapping)>,
}

/// The processes that have an object mapped, as far as this user may see.
#[derive(Default)]
struct Look {
    mappings: Vec<(u32, Mapping)>,
    /// Processes whose mappings this user may not see.
    processes_closed: usize,
}

fn look(root: &Root, object: &ObjectWords) -> Result<Look, Error> {
    // With the capability, a process is only refused by a rule that holds for every user: nothing
    // was moved there.
    let sees_all = capabilities::may_see_others(root);
    let id = ObjectId::from(*object);
    let mut look = Look::default();
    for pid in proc_stat::pids(root)? {
        let maps = match proc_maps::read(root, pid) {
            Ok(maps) => maps,
            Err(error) if is_refused(&error) && !sees_all => {
                look.processes_closed += 1;
                continue;
            }
            // A process that has ended by now maps nothing.
            Err(_) => continue,
        };
        let is_of_object = |it: &Mapping| it.is_shared && it.object.may_be(&id);
        let of_object = maps.list.into_iter().filter(is_of_object);
        look.mappings
            .extend(of_object.map(|mapping| (pid, mapping)));
    }
    Ok(look)
}

fn is_refused(error: &linux::Error) -> bool {
    match error {
        linux::Error::Read { cause, .. } => cause.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// Opens the object; `None` when it is gone.
///
/// # Errors
/// [`Error::Undo`] when it exists, or may exist, and cannot be reached.
pub(super) fn object(
    root: &Root,
    object: &ObjectWords,
    name: &str,
) -> Result<Option<MappedObject>, Error> {
    Ok(find(root, object, name)?.map(|found| found.object))
}

/// As [`object`], with the processes that have it mapped.
///
/// # Errors
/// As [`object`].
pub(super) fn find(
    root: &Root,
    object: &ObjectWords,
    name: &str,
) -> Result<Option<Whereabouts>, Error> {
    let look = look(root, object)?;
    let mut refusal = None;
    for (pid, mapping) in &look.mappings {
        match MappedObject::open(root, *pid, mapping) {
            Ok(object) => {
                let mappings = look.mappings;
                return Ok(Some(Whereabouts { object, mappings }));
            }
            Err(error) => refusal = Some(error.to_string()),
        }
    }
    let unreachable = |reason: String| Error::Undo {
        change: format!("the changes to {name}"),
        reason,
    };
    if let Some(reason) = refusal {
        return Err(unreachable(reason));
    }
    let named = MappedObject::open_named(name, object.major, object.minor, object.inode);
    let found = match named {
        None => held_open(root, object)?,
        named => named,
    };
    if let Some(object) = found {
        let mappings = Vec::new();
        return Ok(Some(Whereabouts { object, mappings }));
    }
    let is_sysv = name.starts_with("/SYSV");
    if is_sysv && segment_exists(root, object)? {
        let reason = format!("no process has segment {} attached now", object.inode);
        return Err(unreachable(reason));
    }
    // Moving it took the permission to see who maps it; without that, it may still exist.
    match look.processes_closed {
        0 => Ok(None),
        closed => Err(unreachable(format!(
            "the mappings of {} are not visible without CAP_SYS_PTRACE, and it \
             may be one of them",
            counted(closed, "process")
        ))),
    }
}

/// Opens an object that a process has open and none has mapped, as far as this user may see.
fn held_open(root: &Root, object: &ObjectWords) -> Result<Option<MappedObject>, Error> {
    let id = ObjectId::from(*object);
    if id.is_sysv {
        return Ok(None);
    }
    for pid in proc_stat::pids(root)? {
        // A process that has ended by now holds nothing, and one that may not be seen was counted.
        let files = data_files::open_in(root, pid).unwrap_or_default();
        let file = files.into_iter().find(|file| file.object == id);
        let path = file.map(|file| file.path.display().to_string());
        let open = |path: String| {
            MappedObject::open_named(&path, object.major, object.minor, object.inode)
        };
        if let Some(object) = path.and_then(open) {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// Whether the namespace of a segment still has one with its number. A namespace without processes
/// is gone, and its segments with it.
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

#[cfg(test)]
mod tests {
    use linux::Root;
    use linux::data_files::{self, DataFile};
    use linux::shared_memory::{ObjectKind, SharedMemory, Ticket};
    use testing::{Need, not_run};

    use super::object;
    use crate::object_words::ObjectWords;

    /// No file system has such an inode.
    const NOWHERE: ObjectWords = ObjectWords {
        major: 0,
        minor: 4095,
        inode: u64::MAX,
        is_sysv: false,
        ipc_namespace: None,
    };

    #[test]
    fn an_object_that_is_open_and_not_mapped_is_not_gone() {
        let page = linux::process::page_bytes();
        let memory = SharedMemory::create(ObjectKind::Memfd, page as usize, page).unwrap();
        let Ticket::Descriptor(descriptor) = memory.ticket() else {
            unreachable!("a memfd has a descriptor");
        };
        let root = Root::live();
        let of_this = |file: &DataFile| file.path.ends_with(descriptor.to_string());
        let open = data_files::open_in(&root, std::process::id()).unwrap();
        let file = open.into_iter().find(of_this).unwrap();
        let words = ObjectWords::from(file.object);
        let name = "/memfd:numalab-sga";
        assert_eq!(object(&root, &words, name).unwrap().unwrap().bytes, page);
        drop(memory);
        assert!(object(&root, &words, name).unwrap().is_none());
    }

    #[test]
    fn what_may_not_be_seen_is_not_gone() {
        let find = || object(&Root::live(), &NOWHERE, "/memfd:it");
        if !linux::process::is_root() {
            let test = "what_may_not_be_seen_is_not_gone";
            return not_run(test, Need::Root, "only root may become another user");
        }
        assert!(find().unwrap().is_none());
        let seen = linux::process::as_user(65_534, 65_534, find).unwrap();
        let error = seen.unwrap_err().to_string();
        assert!(error.contains("CAP_SYS_PTRACE"), "{error}");
    }
}
