//! A machine as the document `numalab.topology/1`.

use model::Topology;
use serde::Serialize;

/// Name and version of the document.
pub const TOPOLOGY_FORMAT: &str = "numalab.topology/1";

/// The document: its format, then the fields of [`Topology`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopologyDocument<'t> {
    format: &'static str,
    #[serde(flatten)]
    topology: &'t Topology,
}

/// Returns the document of a machine.
pub fn topology_document(topology: &Topology) -> TopologyDocument<'_> {
    TopologyDocument {
        format: TOPOLOGY_FORMAT,
        topology,
    }
}
