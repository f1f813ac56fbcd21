//! Which relation each block of the shared buffers holds, for who knows something about the pages
//! under the blocks.

use linux::Root;
use linux::proc_maps::ObjectId;
use model::RelationResidency;

use super::look::RelationsOrder;
use super::{ask, tally};
use server::Error;

use crate::buffers::BufferBlocks;
use crate::local::LocalServer;

/// The blocks of the shared buffers and what they hold.
#[derive(Clone, Debug)]
pub struct BufferMap {
    /// The shared memory that has the buffers.
    pub object: ObjectId,
    /// Offset of the first block in it.
    pub offset: u64,
    /// Size of a block.
    pub block_bytes: u64,
    /// The relations, with their names and no figures.
    pub relations: Vec<RelationResidency>,
    /// The used blocks, numbered from 0, each with the index of its relation.
    pub blocks: Vec<(u32, u32)>,
}

/// Asks the server what its buffers hold. Touches no page of them.
///
/// # Errors
/// When the server cannot be queried (the error has the statement or grant that would permit it).
pub fn buffer_map(root: &Root, order: &RelationsOrder) -> Result<BufferMap, Error> {
    let server = LocalServer::of(&order.data, order.role.as_deref())?;
    let answers = server.ask(|door| ask::ask(door, false))?;
    let blocks = BufferBlocks::find(root, &answers.allocation, server.pid())?;
    let files = answers.contents.files.iter();
    Ok(BufferMap {
        object: blocks.mapping.object,
        offset: blocks.offset,
        block_bytes: blocks.block_bytes,
        relations: files
            .map(|file| tally::named(*file, &answers.names))
            .collect(),
        blocks: answers.contents.buffers,
    })
}
