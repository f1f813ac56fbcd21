//! The moments of a text: free memory of nodes, and their pools of huge pages.

use model::{MemoryMoment, NodeId, PoolMoment};

/// What is not in the text.
const UNKNOWN: u64 = u64::MAX;

/// The moments so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    memory: Vec<MemoryMoment>,
    pools: Vec<PoolMoment>,
    /// Whether the next free memory is of another moment.
    begins: bool,
}

impl Moments {
    /// Output begins that is of one moment.
    pub(crate) fn begin(&mut self) {
        self.begins = true;
    }

    /// Free memory of a node; a second figure of it is of another moment.
    pub(crate) fn free(&mut self, node: NodeId, bytes: u64, place: &str) {
        let is_same = |moment: &MemoryMoment| !moment.free_bytes.contains_key(&node);
        let begins = std::mem::take(&mut self.begins);
        if begins || !self.memory.last().is_some_and(is_same) {
            self.memory.push(MemoryMoment {
                place: place.to_owned(),
                ..MemoryMoment::default()
            });
        }
        if let Some(moment) = self.memory.last_mut() {
            moment.free_bytes.insert(node, bytes);
        }
    }

    /// All pages or free pages of the pool of a node, one of which is [`UNKNOWN`].
    pub(crate) fn pages(&mut self, node: NodeId, pages: (u64, u64), place: &str, order: usize) {
        let (total, free) = pages;
        let is_new = |it: &PoolMoment| {
            let known = it.pages.get(&node).copied();
            let (known_total, known_free) = known.unwrap_or((UNKNOWN, UNKNOWN));
            (total != UNKNOWN && known_total != UNKNOWN)
                || (free != UNKNOWN && known_free != UNKNOWN)
        };
        if self.pools.last().is_none_or(is_new) {
            self.pools.push(PoolMoment {
                place: place.to_owned(),
                order,
                ..PoolMoment::default()
            });
        }
        if let Some(moment) = self.pools.last_mut() {
            let known = moment.pages.entry(node).or_insert((UNKNOWN, UNKNOWN));
            *known = (known.0.min(total), known.1.min(free));
        }
    }

    /// The moments; half a set says nothing of what is in use.
    pub(crate) fn finish(self) -> (Vec<MemoryMoment>, Vec<PoolMoment>) {
        let Moments {
            memory, mut pools, ..
        } = self;
        for moment in &mut pools {
            let is_whole = |pages: &(u64, u64)| pages.0 != UNKNOWN && pages.1 <= pages.0;
            moment.pages.retain(|_, pages| is_whole(pages));
        }
        pools.retain(|moment| !moment.pages.is_empty());
        (memory, pools)
    }
}
