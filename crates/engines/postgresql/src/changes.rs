//! The changes that throw-away clusters and existing servers require.

use journal::Kind;

use crate::connected::SchemaMade;
use crate::scratch_cluster::ClusterMade;

/// The kinds of changes that throw-away clusters and existing servers require.
pub const CHANGES: &[Kind] = &[Kind::of::<ClusterMade>(), Kind::of::<SchemaMade>()];
