//! Joins what the server and the kernel report about the shared buffers.

use std::path::PathBuf;

use linux::Root;
use model::{Relations, Residency};
use residency::nodes_of_range;

use super::{ask, tally};
use server::Error;

use crate::buffers::BufferBlocks;
use crate::local::LocalServer;

/// What to inspect.
#[derive(Clone, Debug)]
pub struct RelationsOrder {
    /// The data directory.
    pub data: PathBuf,
    /// The role to connect as; `None`: the one named like the connecting user.
    pub role: Option<String>,
    /// Whether to query the server's own view, which touches every page.
    pub with_server_view: bool,
}

/// Inspects the relations. `residency` is that of the server's processes.
///
/// # Errors
/// When the server cannot be queried (the error has the statement or grant that would permit it),
/// or none of its processes may be read.
pub fn relations(
    root: &Root,
    order: &RelationsOrder,
    residency: &Residency,
) -> Result<Relations, Error> {
    let server = LocalServer::of(&order.data, order.role.as_deref())?;
    let answers = server.ask(|door| ask::ask(door, order.with_server_view))?;
    let blocks = BufferBlocks::find(root, &answers.allocation, server.pid())?;
    let pids: Vec<u32> = residency.processes.iter().map(|it| it.pid).collect();
    let range = (blocks.offset, blocks.blocks * blocks.block_bytes);
    let pages = nodes_of_range(root, blocks.postmaster, &blocks.mapping, &pids, range)
        .map_err(placement::Error::from)?;
    let segments = &residency.segments;
    let segment = segments.iter().find(|it| it.name == blocks.mapping.name);
    Ok(Relations {
        page_bytes: segment.and_then(|segment| segment.page_bytes),
        server_view: answers.server_view.compare(&blocks, &pages),
        ..tally::tally(&answers, &blocks, &pages, &residency.memory_nodes)
    })
}
