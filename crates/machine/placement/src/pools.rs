//! Huge-page pools, by node and size: set through the journal, and what an SGA needs of them.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use journal::{
    Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing, claim_path, deadline,
    kernel_place,
};
use linux::kernel_place::KernelPlace;
use linux::{Root, control_group, proc_buddyinfo, sysfs_huge_pages, sysfs_nodes};
use model::{NodeId, PoolChange, PoolNeed, PoolOfNode, Topology, counted};
use serde::{Deserialize, Serialize};

use crate::destination::Pattern;
use crate::pool_reservations;

/// Sets the pool of one node and size to `asked` pages, through the journal. Where the kernel stops
/// short, asks it to compact the node's memory and tries once more.
///
/// # Errors
/// When the journal or the file cannot be written, or another numalab is changing it; as
/// [`Error::Unfinished`] where the kernel has changed the pool before it failed.
pub fn set(
    journal: &Journal,
    node: NodeId,
    page_bytes: u64,
    asked: u64,
) -> Result<PoolChange, Error> {
    let path = sysfs_huge_pages::count_file(node, page_bytes);
    let _claim = claim_path(&path, deadline())?;
    let before = persistent(&path)?;
    let mut change = PoolChange {
        node,
        page_bytes,
        before,
        asked,
        reached: before,
        compacted: false,
    };
    if before == asked {
        return Ok(change);
    }
    let entry = PoolResized {
        path: path.clone(),
        before,
        asked,
    }
    .record(journal)?;
    if let Err(error) = resize(&path, node, &mut change) {
        let is_as_before = persistent(&path).is_ok_and(|now| now == before);
        return Err(journal.failed(entry, is_as_before, error));
    }
    if change.reached == before {
        journal.mark_undone(entry)?;
    }
    Ok(change)
}

/// Writes the size, twice if the kernel stops short.
fn resize(path: &Path, node: NodeId, change: &mut PoolChange) -> Result<(), Error> {
    let asked = change.asked;
    control_group::write(path, &asked.to_string())?;
    change.reached = persistent(path)?;
    if change.reached < asked {
        change.compacted = control_group::write(&sysfs_nodes::compact_file(node), "1").is_ok();
        control_group::write(path, &asked.to_string())?;
        change.reached = persistent(path)?;
    }
    Ok(())
}

/// A pool of huge pages was resized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PoolResized {
    /// `nr_hugepages` of one node and size.
    path: PathBuf,
    /// Pages before.
    before: u64,
    /// Pages requested; the kernel may stop short of them.
    asked: u64,
}

impl Display for PoolResized {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (path, before, asked) = (self.path.display(), self.before, self.asked);
        write!(f, "{path}: {} for {before}", counted(asked, "page"))
    }
}

impl Change for PoolResized {
    const KIND: &'static str = "pool-resized";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        Ok([Thing::file(&self.path)].into())
    }

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        let place = kernel_place(&self.path)?;
        let is_ours = sysfs_huge_pages::is_count_file(&self.path) && place == KernelPlace::Sysfs;
        Ok(match place {
            KernelPlace::Gone => Presence::Gone,
            _ => Presence::there_if(is_ours, self.path.display()),
        })
    }

    /// Restores the former size of the pool, unless it is gone or has that size already. Any size
    /// between the former and the requested one is ours: the kernel may have been stopped on its
    /// way.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let (path, before, asked) = (&self.path, self.before, self.asked);
        if !path.exists() {
            return Ok(None);
        }
        let refused = |reason| Error::Undo {
            change: self.to_string(),
            reason,
        };
        let now = persistent(path)?;
        if now == before {
            return Ok(None);
        }
        if !how.force && !(before.min(asked)..=before.max(asked)).contains(&now) {
            return Err(refused(format!("another process has set {now} since")));
        }
        control_group::write(path, &before.to_string())?;
        match persistent(path)? {
            reached if reached == before => Ok(None),
            reached => Err(refused(format!(
                "the kernel reached only {}",
                counted(reached, "page")
            ))),
        }
    }
}

/// Persistent pages of a pool: all but the surplus pages, which go as soon as they are free.
fn persistent(path: &Path) -> Result<u64, Error> {
    let number = |path: &Path| -> Result<u64, Error> {
        let text = control_group::read(path)?;
        let expected = "a number".to_owned();
        text.parse().map_err(|_| {
            let (path, found) = (path.to_owned(), format!("{text:?}"));
            let line = 1;
            Error::Read(linux::Error::Malformed {
                path,
                line,
                expected,
                found,
            })
        })
    };
    let surplus = path.with_file_name("surplus_hugepages");
    let surplus = if surplus.exists() {
        number(&surplus)?
    } else {
        0
    };
    Ok(number(path)?.saturating_sub(surplus))
}

/// The pools of every node that has memory, by node and page size, with the free memory in blocks
/// that are large enough for more pages.
///
/// # Errors
/// When a file of the kernel is malformed.
pub fn of_machine(root: &Root, topology: &Topology) -> Result<Vec<PoolOfNode>, linux::Error> {
    let blocks = proc_buddyinfo::read(root)?;
    let page_bytes = linux::process::page_bytes();
    let mut pools = Vec::new();
    for node in &topology.nodes {
        for pool in sysfs_nodes::huge_pages(root, node.id)?.unwrap_or_default() {
            let Some(total) = pool.total else { continue };
            let blocks = blocks.get(&node.id);
            // Blocks end at 4 MiB (MAX_ORDER), so they tell nothing about larger pages.
            let is_told = |it: &&proc_buddyinfo::FreeBlocks| {
                pool.page_bytes < page_bytes << it.counts.len().min(32)
            };
            let in_blocks = blocks.filter(is_told);
            pools.push(PoolOfNode {
                node: node.id,
                page_bytes: pool.page_bytes,
                total,
                free: pool.free,
                reserved: pool.free.map(|_| 0),
                surplus: pool.surplus,
                node_free_bytes: node.free_bytes,
                free_bytes_in_blocks: in_blocks
                    .map(|it| it.bytes_in_blocks_of(pool.page_bytes, page_bytes)),
            });
        }
    }
    pool_reservations::spread(&mut pools, &pool_reservations::reserved(root)?);
    Ok(pools)
}

/// What shared memory of `bytes` needs of each node's pool when it is placed by the pattern.
pub fn needed(
    pools: &[PoolOfNode],
    page_bytes: u64,
    bytes: u64,
    pattern: &Pattern,
) -> Vec<PoolNeed> {
    let pages = bytes.div_ceil(page_bytes);
    let of_node = |node: NodeId| {
        let pool = pools
            .iter()
            .find(|it| it.node == node && it.page_bytes == page_bytes);
        let (total, free) = pool.map_or((0, 0), |it| (it.total, it.free.unwrap_or(0)));
        let reserved = pool.and_then(|it| it.reserved).unwrap_or(0);
        let available = free.saturating_sub(reserved);
        let needed = pattern.most_pages_of(node, pages);
        PoolNeed {
            node,
            needed,
            free,
            reserved,
            total_then: total + needed.saturating_sub(available),
        }
    };
    pattern.nodes().iter().map(of_node).collect()
}

#[cfg(test)]
mod tests {
    // Ordinary files stand in for the kernel's; a write replaces all of one only where both texts
    // have the same length.
    use std::fs;

    use model::NodeSet;

    use super::*;
    use crate::destination::Destination;

    fn undo(change: &PoolResized, force: bool) -> Result<Option<String>, Error> {
        let root = Root::live();
        let journal = Journal::in_directory(Path::new("/nonexistent"));
        change.take_back(&TakeBack {
            root: &root,
            journal: &journal,
            entry: 1,
            force,
            bytes_per_s: None,
        })
    }

    fn check(now: &str, surplus: &str, force: bool, expected: Result<&str, &str>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nr_hugepages");
        fs::write(&path, now).unwrap();
        fs::write(directory.path().join("surplus_hugepages"), surplus).unwrap();
        let change = PoolResized {
            path: path.clone(),
            before: 100,
            asked: 900,
        };
        match (undo(&change, force), expected) {
            (Ok(None), Ok(left)) => assert_eq!(fs::read_to_string(&path).unwrap(), left),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (outcome, expected) => panic!("{outcome:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn what_lies_between_is_ours_and_the_rest_anothers() {
        check("900", "0", false, Ok("100"));
        check("543", "0", false, Ok("100"));
        check("100", "0", false, Ok("100"));
        check("105", "5", false, Ok("105"));
        check("901", "0", false, Err("another process has set 901 since"));
        check("901", "0", true, Ok("100"));
        check("abc", "0", false, Err("expected a number"));
        let gone = PoolResized {
            path: Path::new("/nonexistent/nr_hugepages").to_owned(),
            before: 1,
            asked: 2,
        };
        undo(&gone, false).unwrap();
    }

    #[test]
    fn an_interleaved_sga_needs_its_share_of_every_node_rounded_up() {
        let pool = |node: u32| PoolOfNode {
            node: NodeId(node),
            page_bytes: 2 << 20,
            total: 50,
            free: Some(10),
            ..PoolOfNode::default()
        };
        let topology = Topology {
            nodes: (0..3)
                .map(|id| model::Node {
                    id: NodeId(id),
                    ..model::Node::default()
                })
                .collect(),
            ..Topology::default()
        };
        let pattern = Destination::Interleave(None).pattern(&topology, &NodeSet::default());
        let pools: Vec<PoolOfNode> = (0..3).map(pool).collect();
        let needs = needed(&pools, 2 << 20, 200 << 20, &pattern.unwrap());
        let seen: Vec<(u64, u64)> = needs.iter().map(|it| (it.needed, it.total_then)).collect();
        assert_eq!(seen, [(34, 74), (34, 74), (34, 74)]);
    }
}
