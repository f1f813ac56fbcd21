//! Compares the server's own view of its buffers' nodes (18 and later) with numalab's findings.

use model::{NodeId, ServerView};
use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use residency::RangePages;
use server::Error;

use crate::buffers::BufferBlocks;
use crate::error;

/// A page of a buffer as the server sees it: the buffer, from 0, and its node; `None`: unknown.
type ServerPage = (u32, Option<NodeId>);

/// The answer of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Absent,
    WithoutLibnuma,
    NotAsked,
    /// In order of buffers, and of pages in each.
    Pages(Vec<ServerPage>),
}

impl Said {
    /// Queries the view, if wanted, in the database and schema of the extension.
    ///
    /// # Errors
    /// When the role may not read it.
    pub(super) fn of(client: &mut Client, schema: &str, is_wanted: bool) -> Result<Self, Error> {
        let what = || error::client("reading pg_buffercache_numa");
        let sql = "SELECT to_regclass($1) IS NOT NULL";
        let view = format!("{schema}.pg_buffercache_numa");
        let row = client.query_one(sql, &[&view]).map_err(what())?;
        if !row.get::<_, bool>(0) {
            return Ok(Said::Absent);
        }
        let row = client.query_one("SELECT pg_numa_available()", &[]);
        if !row.map_err(what())?.get::<_, bool>(0) {
            return Ok(Said::WithoutLibnuma);
        }
        if !is_wanted {
            return Ok(Said::NotAsked);
        }
        let sql = format!("SELECT bufferid, numa_node FROM {view} ORDER BY bufferid, os_page_num");
        let none = std::iter::empty::<&(dyn ToSql + Sync)>();
        let mut rows = client.query_raw(&sql, none).map_err(what())?;
        let mut pages = Vec::new();
        while let Some(row) = rows.next().map_err(what())? {
            // The view numbers buffers from 1; a negative node is an error of the kernel.
            let buffer = row.get::<_, i32>(0).unsigned_abs().saturating_sub(1);
            let node: Option<i32> = row.get(1);
            let node = node.and_then(|node| u32::try_from(node).ok()).map(NodeId);
            pages.push((buffer, node));
        }
        Ok(Said::Pages(pages))
    }

    /// Compares the answer with what numalab found.
    pub(super) fn compare(&self, blocks: &BufferBlocks, found: &RangePages) -> ServerView {
        let pages = match self {
            Said::Absent => return ServerView::Absent,
            Said::WithoutLibnuma => return ServerView::WithoutLibnuma,
            Said::NotAsked => return ServerView::NotAsked,
            Said::Pages(pages) => pages,
        };
        let (mut both, mut differing, mut unknown) = (0, 0, 0);
        for of_buffer in pages.chunk_by(|(one, _), (other, _)| one == other) {
            let buffer = u64::from(of_buffer[0].0);
            let offset = blocks.offset + buffer * blocks.block_bytes;
            let ours = found.pages_of(offset, blocks.block_bytes);
            let mut ours: Vec<Option<NodeId>> = ours.map(|(node, _)| node).collect();
            let mut theirs: Vec<Option<NodeId>> = of_buffer.iter().map(|it| it.1).collect();
            if ours.len() != theirs.len() {
                // A huge page is one page to the server and many pages here.
                ours.dedup();
                theirs.dedup();
            }
            if ours.len() != theirs.len() {
                differing += theirs.len() as u64;
                continue;
            }
            for pair in ours.iter().zip(&theirs) {
                match pair {
                    (Some(ours), Some(theirs)) => {
                        both += 1;
                        differing += u64::from(ours != theirs);
                    }
                    (None, None) => {}
                    _ => unknown += 1,
                }
            }
        }
        ServerView::Compared {
            pages: both,
            differing,
            unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use linux::proc_maps::Mapping;
    use model::{NodeId, ServerView};
    use residency::RangePages;

    use super::Said;
    use crate::buffers::BufferBlocks;

    fn blocks() -> BufferBlocks {
        BufferBlocks {
            postmaster: 1,
            mapping: Mapping {
                start: 0,
                end: 1 << 20,
                is_accessible: true,
                is_executable: false,
                is_shared: true,
                offset: 0,
                object: Default::default(),
                name: String::new(),
            },
            offset: 4096,
            block_bytes: 8192,
            blocks: 2,
        }
    }

    #[test]
    fn pages_are_compared_one_by_one() {
        let node = |id: u32| Some(NodeId(id));
        let check = |ours: [Option<NodeId>; 4], theirs: &[(u32, Option<NodeId>)], expected| {
            let found = RangePages::of(4096, 1, &ours);
            let (pages, differing, unknown) = expected;
            let compared = Said::Pages(theirs.to_vec()).compare(&blocks(), &found);
            let expected = ServerView::Compared {
                pages,
                differing,
                unknown,
            };
            assert_eq!(compared, expected);
        };
        let small = [(0, node(0)), (0, node(1)), (1, node(1)), (1, None)];
        check([node(0), node(1), node(1), None], &small, (3, 0, 0));
        check([node(0), node(0), node(1), node(1)], &small, (3, 1, 1));
        let huge = [(0, node(1)), (1, node(1))];
        check([node(1), node(1), node(1), node(1)], &huge, (2, 0, 0));
        check([node(1), node(1), node(0), node(0)], &huge, (2, 1, 0));
        check([node(1), node(1), node(0), node(1)], &huge, (1, 1, 0));
        check([None; 4], &[], (0, 0, 0));
    }
}
