//! The changes that numalab makes to a machine, each with what is needed to undo it: the lines of
//! the journal (docs/journal.md).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ObjectWords;

/// A change to something outside our own processes, with what is needed to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A cgroup was made.
    GroupCreated {
        /// Its directory.
        directory: PathBuf,
    },
    /// A controller was enabled for the children of a cgroup (v2, `cgroup.subtree_control`).
    ControllerEnabled {
        /// Directory of the parent.
        directory: PathBuf,
        /// The controller.
        controller: String,
    },
    /// A throw-away database cluster was made; see [`crate::scratch_cluster`].
    ClusterMade {
        /// Its folder.
        directory: PathBuf,
    },
    /// A schema was created in a database of a server that is not ours. Only that server can drop
    /// it, and the binary asks it to.
    SchemaMade {
        /// How to reach the server, without a password.
        server: String,
        /// The schema.
        schema: String,
    },
    /// A file of the kernel (/sys, /proc/sys, a cgroup) was written; see [`crate::kernel_file`].
    FileWritten {
        /// The file.
        path: PathBuf,
        /// What it read before, without the trailing newline.
        before: String,
        /// What was written.
        written: String,
        /// What it read afterwards, where that differs from what was written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<String>,
    },
    /// A named, persistent processor group was created; see [`crate::groups`].
    GroupNamed {
        /// Its name.
        name: String,
        /// Its directories, one for each hierarchy it is in.
        directories: Vec<PathBuf>,
        /// Its systemd unit, if it is a slice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// A process was moved into a processor group.
    MemberMoved {
        /// Its id.
        pid: u32,
        /// When it started: the kernel reuses ids.
        start_ticks: u64,
        /// Directories of the cgroups it was in.
        from: Vec<PathBuf>,
        /// Directories of the group.
        to: Vec<PathBuf>,
    },
    /// A pool of huge pages was resized; see [`crate::pools`].
    PoolResized {
        /// `nr_hugepages` of one node and size.
        path: PathBuf,
        /// Pages before.
        before: u64,
        /// Pages requested; the kernel may stop short of them.
        asked: u64,
    },
    /// The memory policy of a mounted tmpfs was set; see [`crate::mount_policy`].
    MountPolicySet {
        /// Where it is mounted.
        mount_point: String,
        /// Its `mpol=` option before; `None`: it had none.
        before: Option<String>,
        /// Its `mpol=` option since.
        written: String,
    },
    /// The memory policy of a shared object was set; see [`crate::moving`].
    SegmentPolicySet {
        /// The object.
        object: ObjectWords,
        /// Its name in /proc/PID/maps.
        name: String,
        /// The policies it had, by page range.
        before: Vec<PolicyArea>,
        /// The policy of the whole object since.
        written: PolicyWords,
        /// Bytes of it that existed then; later pages were allocated under the new policy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allocated_bytes: Option<u64>,
    },
    /// Pages were moved; [`crate::moving`] lists which ones, and from where.
    PagesMoved {
        /// The target, as the user named it.
        target: String,
        /// The destination, as the user gave it.
        to: String,
        /// Its processes.
        pids: Vec<u32>,
    },
}

/// A memory policy in the kernel's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyWords {
    /// `MPOL_…` with its flags.
    pub mode: i32,
    /// Its nodes.
    pub nodes: model::NodeSet,
}

/// The policy of some pages of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyArea {
    /// Number of the first page in the object.
    pub first: u64,
    /// How many pages.
    pub pages: u64,
    /// Their policy.
    pub policy: PolicyWords,
}

impl Change {
    /// Whether it survives a reboot.
    pub fn outlives_a_boot(&self) -> bool {
        matches!(self, Change::ClusterMade { .. } | Change::SchemaMade { .. })
    }
}
