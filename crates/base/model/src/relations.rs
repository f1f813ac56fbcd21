//! The words of `numalab inspect --relations`: which tables and indexes of a PostgreSQL server the
//! shared buffers hold, and on which nodes.

use serde::{Deserialize, Serialize};

use crate::BytesByNode;

/// The blocks in the shared buffers of a server, by relation and node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relations {
    /// Version of the server, as it says it.
    pub server_version: String,
    /// Size of a block, and of a buffer.
    pub block_bytes: u64,
    /// Size of the pages that the buffers are in; `None` when no process shows it.
    pub page_bytes: Option<u64>,
    /// Shared buffers.
    pub buffers: u64,
    /// Those of them that hold a block.
    pub buffers_used: u64,
    /// Bytes of the used ones by node.
    pub bytes_by_node: BytesByNode,
    /// Bytes of the used ones whose node is not known.
    pub bytes_without_node: u64,
    /// Every relation with a block there, the largest first.
    pub relations: Vec<RelationResidency>,
    /// Databases that have blocks there and did not let us look up names.
    pub databases_without_names: Vec<String>,
    /// What the server's own view says.
    pub server_view: ServerView,
}

/// One table, index or other relation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RelationResidency {
    /// Its database; `None` for those that all share.
    pub database: Option<String>,
    /// Schema and name; `None` when there is no entry for it (dropped, or being made).
    pub name: Option<String>,
    /// `table`, `index`, `toast table` ...; `None` as for the name.
    pub kind: Option<String>,
    /// Name of its file.
    pub filenode: u32,
    /// Buffers that hold a block of it.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those by node.
    pub bytes_by_node: BytesByNode,
    /// Those whose node is not known.
    pub bytes_without_node: u64,
    /// Bytes that the fullest node has beyond an even share of the memory nodes.
    pub bytes_beyond_even: u64,
}

/// What `pg_buffercache_numa` says, compared page by page with what we found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum ServerView {
    /// The server has none: it is older than 18, or its extension is.
    #[default]
    Absent,
    /// It was built without libnuma, or the kernel has no NUMA.
    WithoutLibnuma,
    /// It has one, and was not asked.
    NotAsked,
    /// It was asked.
    Compared {
        /// Pages that both know.
        pages: u64,
        /// Those of them for which they name different nodes.
        differing: u64,
        /// Pages whose node only one of them knows.
        unknown: u64,
    },
}
