//! How the journal names a shared object: by the ids it has while the machine runs.

use linux::proc_maps::ObjectId;
use serde::{Deserialize, Serialize};

/// A shared object: see [`linux::proc_maps::ObjectId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ObjectWords {
    /// Major number of the device.
    pub major: u32,
    /// Minor number of the device.
    pub minor: u32,
    /// Inode, or `shmid`.
    pub inode: u64,
    /// Whether it is a System V segment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_sysv: bool,
    /// The IPC namespace that numbered a System V segment; `None` where it is unknown, as in lines
    /// written before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipc_namespace: Option<u64>,
}

impl From<ObjectId> for ObjectWords {
    fn from(id: ObjectId) -> Self {
        ObjectWords {
            major: id.major,
            minor: id.minor,
            inode: id.inode,
            is_sysv: id.is_sysv,
            ipc_namespace: id.ipc_namespace,
        }
    }
}

impl From<ObjectWords> for ObjectId {
    fn from(words: ObjectWords) -> Self {
        ObjectId {
            major: words.major,
            minor: words.minor,
            inode: words.inode,
            is_sysv: words.is_sysv,
            ipc_namespace: words.ipc_namespace,
        }
    }
}
