//! The page cache of data files that no process maps, because databases read(2) them: inspected on
//! request. Maps only cached pages, for a moment; reads none in, and the kernel does not count that
//! as a use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use linux::data_files::{self, DataFile};
use linux::map_files::MappedObject;
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::ObjectId;
use linux::{Root, SystemCallError};

use super::frames::Lookup;
use super::gaps::Gaps;
use super::kind::kind_of;
use super::tally::Tally;
use super::unmapped::Unmapped;
use crate::instances::{Member, Target};

/// `ENODEV`: a file that has no pages which could be mapped (`mmap(2)`).
const NO_MAPPING: i32 = 19;

/// Files, and the processes that have each open.
pub(super) type DataFiles = BTreeMap<ObjectId, (DataFile, BTreeSet<u32>)>;

/// The data files of a target, and the processes that have each open: files that its processes have
/// open, and for a PostgreSQL cluster all files in its directory.
pub(super) fn of_target(
    root: &Root,
    target: &Target,
    members: &[Member],
    gaps: &mut Gaps,
) -> DataFiles {
    let mut found = DataFiles::new();
    if let Target::Postgres(directory) = target {
        match data_files::below(root, Path::new(directory)) {
            Ok(files) => {
                let files = files.into_iter();
                found.extend(files.map(|file| (file.object, (file, BTreeSet::new()))));
            }
            Err(error) => gaps.add(format!("data files: {error}")),
        }
    }
    for member in members {
        let pid = member.stat.pid;
        match data_files::open_in(root, pid) {
            Ok(files) => {
                for file in files {
                    let entry = found.entry(file.object);
                    entry
                        .or_insert_with(|| (file, BTreeSet::new()))
                        .1
                        .insert(pid);
                }
            }
            Err(error) => gaps.process(pid, &error),
        }
    }
    found
}

/// A pass over cached pages.
pub(super) struct Cache<'a, 'b> {
    /// Size of a base page.
    pub page_bytes: u64,
    /// The nodes of frames.
    pub frames: &'a mut Lookup<'b>,
    /// Buffer for entries.
    pub entries: &'a mut Vec<PagemapEntry>,
    /// The tallies so far.
    pub segments: &'a mut BTreeMap<ObjectId, Tally>,
}

impl Cache<'_, '_> {
    /// Adds the cached pages of these files that were not counted before.
    pub(super) fn add(&mut self, files: DataFiles, gaps: &mut Gaps) {
        let Ok(pagemap) = Pagemap::open_own() else {
            return;
        };
        for (id, (file, pids)) in files {
            match self.file(id, &file, &pagemap) {
                Ok(()) => {}
                Err(error) if error.errno() == Some(NO_MAPPING) => continue,
                Err(error) => gaps.add(format!("the cache of {}: {error}", file.name)),
            }
            if let Some(tally) = self.segments.get_mut(&id) {
                tally.pids.extend(pids);
            }
        }
    }

    fn file(
        &mut self,
        id: ObjectId,
        file: &DataFile,
        pagemap: &Pagemap,
    ) -> Result<(), SystemCallError> {
        let kind = kind_of(&file.name, false, false);
        // Named shared memory is inspected as shared memory.
        if kind.is_shared_memory() {
            return Ok(());
        }
        let Some(object) = MappedObject::open_to_look(&file.path)? else {
            return Ok(());
        };
        let page_bytes = self.page_bytes;
        let tally = self.segments.entry(id).or_insert_with(|| Tally {
            name: file.name.clone(),
            kind,
            object: Some(id),
            page_bytes: Some(page_bytes),
            ..Tally::default()
        });
        let mut look = Unmapped {
            object: &object,
            page_bytes,
            pagemap,
            frames: self.frames,
            entries: self.entries,
        };
        look.at(tally)
    }
}
