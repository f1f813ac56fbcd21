//! The shared objects of a target, each opened once, through any process that still has it.

use std::collections::BTreeMap;

use linux::Root;
use linux::map_files::MappedObject;
use linux::proc_maps::{Mapping, ObjectId};

use super::process_maps::ProcessMaps;

/// The objects that could be opened.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<ObjectId, MappedObject>);

impl Objects {
    /// Opens every object of which some process has a shared mapping.
    pub(super) fn open(root: &Root, processes: &[ProcessMaps]) -> Self {
        let mut objects = BTreeMap::new();
        for process in processes {
            for mapping in shared(process) {
                if !objects.contains_key(&mapping.object)
                    && let Ok(object) = MappedObject::open(root, process.pid, mapping)
                {
                    objects.insert(mapping.object, object);
                }
            }
        }
        Objects(objects)
    }

    /// An object, if it could be opened.
    pub(super) fn get(&self, id: ObjectId) -> Option<&MappedObject> {
        self.0.get(&id)
    }
}

/// The mappings of shared objects of a process.
pub(super) fn shared(process: &ProcessMaps) -> impl Iterator<Item = &Mapping> {
    let shared = process.mappings.iter().filter(|mapping| mapping.is_shared);
    shared.filter(|mapping| mapping.has_object())
}
