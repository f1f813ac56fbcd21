//! Identifies the System V segment behind a segment: the table of its IPC namespace, joined by id.

use std::collections::BTreeMap;

use linux::proc_maps::ObjectId;
use linux::sysv_segments::{self, SysvSegment};
use linux::{Root, ipc_namespace};
use model::{SegmentResidency, SysvIdentity};

/// The segments of one namespace by `shmid`; empty where they cannot be read.
type Rows = BTreeMap<u64, SysvSegment>;

/// The tables of all namespaces that were queried so far.
pub(super) struct SysvTable<'a> {
    root: &'a Root,
    own: Option<u64>,
    known: BTreeMap<Option<u64>, Rows>,
}

impl<'a> SysvTable<'a> {
    /// No tables have been read yet.
    pub(super) fn new(root: &'a Root) -> Self {
        SysvTable {
            root,
            own: ipc_namespace::own(root),
            known: BTreeMap::new(),
        }
    }

    /// The row of the segment that is this object, which process `pid` has attached.
    pub(super) fn identity(
        &mut self,
        segment: &SegmentResidency,
        object: ObjectId,
        pid: u32,
    ) -> Option<SysvIdentity> {
        let (root, own) = (self.root, self.own);
        // A capture has one table: that of the namespace of its author.
        let elsewhere = object
            .ipc_namespace
            .filter(|it| root.is_live() && Some(*it) != own);
        let rows = self.known.entry(elsewhere).or_insert_with(|| {
            let read = match elsewhere {
                Some(_) => sysv_segments::read_beside(root, pid),
                None => sysv_segments::read(root),
            };
            read.unwrap_or_default()
        });
        identity(rows, segment, object)
    }
}

/// Finds the row of a segment. The namespace may be in doubt, so name and length must agree, too.
fn identity(rows: &Rows, segment: &SegmentResidency, object: ObjectId) -> Option<SysvIdentity> {
    let row = rows.get(&object.inode)?;
    let is_named_so = segment.name.starts_with(&format!("/SYSV{:08x}", row.key));
    // The length is rounded up to pages when it is mapped.
    let page_bytes = segment.page_bytes.unwrap_or(PAGE_BYTES_MAX);
    let is_long_enough = segment.mapped_bytes < row.bytes.saturating_add(page_bytes);
    (is_named_so && is_long_enough).then(|| SysvIdentity {
        shmid: object.inode,
        ipc_namespace: object.ipc_namespace,
        key: format!("{:#010x}", row.key),
        owner_uid: row.owner_uid,
        creator_pid: row.creator_pid,
        attached: row.attached,
    })
}

/// The largest pages: 16 GiB, on arm64 with base pages of 64 KiB and on POWER (kernel,
/// `Documentation/arch/arm64/hugetlbpage.rst`).
const PAGE_BYTES_MAX: u64 = 16 << 30;

#[cfg(test)]
mod tests {
    use model::SegmentKind;

    use super::*;

    #[test]
    fn a_segment_is_known_by_id_key_and_length() {
        let row = SysvSegment {
            key: 0x85a0_66e4,
            bytes: 2 << 20,
            creator_pid: 7,
            attached: 12,
            owner_uid: 54321,
        };
        for shmid in [0, 3] {
            let rows = [(shmid, row)].into();
            let check_pages = |name: &str, mapped_bytes, inode, page_bytes| {
                let segment = SegmentResidency {
                    name: name.to_owned(),
                    kind: SegmentKind::Sysv,
                    mapped_bytes,
                    page_bytes,
                    ..SegmentResidency::default()
                };
                let object = ObjectId {
                    inode,
                    is_sysv: true,
                    ..ObjectId::default()
                };
                identity(&rows, &segment, object)
            };
            let check = |name: &str, mapped_bytes, inode| {
                check_pages(name, mapped_bytes, inode, Some(4096))
            };
            let name = "/SYSV85a066e4 (deleted)";
            let found = check(name, 2 << 20, shmid).unwrap();
            assert_eq!((found.key.as_str(), found.attached), ("0x85a066e4", 12));
            assert_eq!(check(name, 2 << 20, 4), None);
            assert_eq!(check(name, (2 << 20) + 4096, shmid), None);
            assert_eq!(check_pages(name, 4 << 20, shmid, Some(2 << 20)), None);
            assert!(check_pages(name, 1 << 30, shmid, Some(1 << 30)).is_some());
            assert!(check_pages(name, 16 << 30, shmid, None).is_some());
            assert_eq!(check_pages(name, 17 << 30, shmid, None), None);
            assert_eq!(check("/SYSV00000000 (deleted)", 2 << 20, shmid), None);
        }
    }
}
