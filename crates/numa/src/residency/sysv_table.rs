//! Which System V segment a segment is: the table of the IPC namespace, joined by id.

use std::collections::BTreeMap;

use linux::Root;
use linux::sysv_segments::{self, SysvSegment};
use model::{SegmentKind, SegmentResidency, SysvIdentity};

/// The table, empty where it cannot be read.
pub(super) struct SysvTable(BTreeMap<u64, SysvSegment>);

impl SysvTable {
    /// Reads it.
    pub fn read(root: &Root) -> Self {
        SysvTable(sysv_segments::read(root).unwrap_or_default())
    }

    /// The row of a segment with this inode. Another IPC namespace has ids of its own, so name and
    /// length must agree, too.
    pub fn identity(&self, segment: &SegmentResidency, inode: Option<u64>) -> Option<SysvIdentity> {
        let shmid = inode.filter(|_| segment.kind == SegmentKind::Sysv)?;
        let row = self.0.get(&shmid)?;
        let is_named_so = segment.name.starts_with(&format!("/SYSV{:08x}", row.key));
        let is_long_enough = segment.mapped_bytes < row.bytes.saturating_add(HUGE_PAGE_BYTES_MAX);
        (is_named_so && is_long_enough).then(|| SysvIdentity {
            shmid,
            key: format!("{:#010x}", row.key),
            owner_uid: row.owner_uid,
            creator_pid: row.creator_pid,
            attached: row.attached,
        })
    }
}

/// The length is rounded up to pages when it is mapped; the largest are of 1 GiB.
const HUGE_PAGE_BYTES_MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests {
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
        let table = SysvTable([(3, row)].into());
        let segment = |name: &str, mapped_bytes| SegmentResidency {
            name: name.to_owned(),
            kind: SegmentKind::Sysv,
            mapped_bytes,
            ..SegmentResidency::default()
        };
        let name = "/SYSV85a066e4 (deleted)";
        let found = table.identity(&segment(name, 2 << 20), Some(3)).unwrap();
        assert_eq!((found.key.as_str(), found.attached), ("0x85a066e4", 12));
        assert_eq!(table.identity(&segment(name, 2 << 20), Some(4)), None);
        assert_eq!(table.identity(&segment(name, 4 << 30), Some(3)), None);
        assert_eq!(
            table.identity(&segment("/SYSV00000000", 2 << 20), Some(3)),
            None
        );
    }
}
