//! Allocates memory of a chosen page kind on chosen nodes, and reads its placement back.

use std::collections::BTreeMap;

use linux::anonymous_memory::{AnonymousMemory, Pages};
use linux::{Root, SystemCallError, proc_smaps, proc_status, sysfs_huge_pages, sysfs_nodes};
use model::{MemoryEvidence, NodeId, NodeSet, PageKind};
use residency::numa_maps;

use crate::Error;

/// The nodes on which to allocate memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryNodes {
    /// On this node.
    Bind(NodeId),
    /// Interleaved over these nodes, page by page.
    Interleave(NodeSet),
}

impl MemoryNodes {
    /// Returns whether pages may lie on `node`.
    pub fn contains(&self, node: NodeId) -> bool {
        match self {
            MemoryNodes::Bind(only) => *only == node,
            MemoryNodes::Interleave(nodes) => nodes.contains(node),
        }
    }

    fn first(&self) -> NodeId {
        match self {
            MemoryNodes::Bind(only) => *only,
            MemoryNodes::Interleave(nodes) => nodes.first().unwrap_or_default(),
        }
    }
}

/// The pages of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageChoice {
    /// Huge pages if the nodes have enough free, else transparent huge pages, else small pages.
    Largest,
    /// Pages of this kind only; fails if they are not available.
    Only(PageKind),
}

/// Populated memory on chosen nodes.
#[derive(Debug)]
pub struct PlacedMemory {
    memory: AnonymousMemory,
    kind: PageKind,
}

impl PlacedMemory {
    /// Allocates `bytes` of memory and populates every page from the calling thread, which should
    /// run on a CPU of the node, so that the caches there hold what was written last.
    ///
    /// # Errors
    /// [`Error::NoMemory`] when the nodes have too little memory; [`Error::OtherPages`] when the
    /// kernel provides pages of another kind than [`PageChoice::Only`] requests.
    pub fn make(
        root: &Root,
        bytes: usize,
        nodes: &MemoryNodes,
        choice: PageChoice,
    ) -> Result<Self, Error> {
        let kinds: &[PageKind] = match &choice {
            PageChoice::Largest => &[PageKind::Huge, PageKind::Transparent, PageKind::Small],
            PageChoice::Only(kind) => std::slice::from_ref(kind),
        };
        let (last, before) = kinds.split_last().expect("there is always a kind");
        for kind in before {
            if let Ok(memory) = Self::make_of(root, bytes, nodes, *kind) {
                return Ok(memory);
            }
        }
        Self::make_of(root, bytes, nodes, *last)
    }

    fn make_of(
        root: &Root,
        bytes: usize,
        nodes: &MemoryNodes,
        kind: PageKind,
    ) -> Result<Self, Error> {
        let no_memory = |cause| Error::NoMemory {
            node: nodes.first(),
            bytes,
            kind: kind.name(),
            cause,
        };
        let page_bytes = match kind {
            PageKind::Small => Some(Pages::small().page_bytes),
            PageKind::Transparent => sysfs_huge_pages::transparent_page_bytes(root)?,
            PageKind::Huge => huge_page_bytes(root, bytes, nodes)?,
        };
        let page_bytes = page_bytes.ok_or_else(|| no_memory(no_such_pages(bytes, kind)))?;
        let mut memory =
            AnonymousMemory::map(bytes, Pages { kind, page_bytes }).map_err(no_memory)?;
        match nodes {
            MemoryNodes::Bind(node) => {
                let nodes = NodeSet::of(*node);
                one_node_is_enough(root, memory.bind_to(&nodes), &nodes)?;
            }
            MemoryNodes::Interleave(nodes) => {
                one_node_is_enough(root, memory.interleave_over(nodes), nodes)?;
            }
        }
        memory.populate().map_err(no_memory)?;
        let placed = PlacedMemory { memory, kind };
        if kind == PageKind::Transparent {
            placed.collapse_the_rest(root)?;
        }
        Ok(placed)
    }

    /// Requests large pages again where the kernel provided small ones; then every page must be
    /// large.
    fn collapse_the_rest(&self, root: &Root) -> Result<(), Error> {
        let small = || -> Result<u64, Error> {
            let entry = proc_smaps::entry_at(root, self.memory.address())?;
            let large = entry.transparent_huge_bytes;
            Ok((self.memory.len() as u64).saturating_sub(large))
        };
        if small()? > 0 {
            // The next reading of smaps shows a refusal.
            let _refused = self.memory.collapse();
        }
        match small()? {
            0 => Ok(()),
            bytes => Err(Error::OtherPages {
                bytes,
                asked: self.memory.len() as u64,
                kind: PageKind::Transparent.name(),
            }),
        }
    }

    /// Returns the words of the memory; the first is at the start of a page.
    pub fn words_mut(&mut self) -> &mut [u64] {
        self.memory.words_mut()
    }

    /// Returns the length in bytes, whole pages.
    #[expect(
        clippy::len_without_is_empty,
        reason = "there is no placed memory of no length"
    )]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns the address, which locates the evidence while the words are borrowed.
    pub fn address(&self) -> MemoryAddress {
        MemoryAddress {
            address: self.memory.address(),
            bytes: self.memory.len() as u64,
            kind: self.kind,
        }
    }

    /// Returns the requested page size.
    pub fn page_bytes(&self) -> u64 {
        self.memory.pages().page_bytes
    }
}

/// Address of placed memory, to read evidence of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryAddress {
    address: usize,
    bytes: u64,
    kind: PageKind,
}

impl MemoryAddress {
    /// Reads what the kernel reports about the memory. Touches no page of it.
    ///
    /// # Errors
    /// When a file of /proc cannot be read or parsed, or does not list the memory.
    pub fn evidence(&self, root: &Root) -> Result<MemoryEvidence, Error> {
        let entry = proc_smaps::entry_at(root, self.address)?;
        let is_transparent = entry.transparent_huge_bytes == self.bytes;
        let (page_kind, page_bytes) = match (self.kind, is_transparent) {
            (_, true) => (
                PageKind::Transparent,
                sysfs_huge_pages::transparent_page_bytes(root)?.unwrap_or(entry.kernel_page_bytes),
            ),
            (PageKind::Huge, false) => (PageKind::Huge, entry.kernel_page_bytes),
            (_, false) => (PageKind::Small, entry.kernel_page_bytes),
        };
        let (policy, bytes_by_node) = self.policy_and_bytes(root)?;
        let present: u64 = bytes_by_node.values().sum();
        Ok(MemoryEvidence {
            page_kind,
            page_bytes,
            policy,
            bytes_by_node,
            bytes_without_node: self.bytes.saturating_sub(present),
        })
    }

    /// Reads policy and bytes by node from numa_maps. A kernel built without numa_maps has one
    /// node, which holds all populated memory.
    fn policy_and_bytes(&self, root: &Root) -> Result<(String, BTreeMap<NodeId, u64>), Error> {
        let Some(file) = root.read_optional("proc/self/numa_maps")? else {
            return Ok(("none".to_owned(), BTreeMap::from([(NodeId(0), self.bytes)])));
        };
        let prefix = format!("{:x} ", self.address);
        let line = file.lines().find(|(_, line)| line.starts_with(&prefix));
        let (_, line) = line.ok_or_else(|| file.ended(format!("a line {prefix}…")))?;
        let line = numa_maps::parse_line(line).map_err(placement::Error::from)?;
        let counted_bytes = line.kernel_page_bytes.unwrap_or(Pages::small().page_bytes);
        let bytes_of = |(node, pages): (NodeId, u64)| (node, pages.saturating_mul(counted_bytes));
        Ok((
            line.policy,
            line.pages_by_node.into_iter().map(bytes_of).collect(),
        ))
    }
}

/// Returns the smallest huge page size of which every node of `nodes` has enough free. Interleaved
/// memory needs only its share on each node.
fn huge_page_bytes(root: &Root, bytes: usize, nodes: &MemoryNodes) -> Result<Option<u64>, Error> {
    let nodes: NodeSet = match nodes {
        MemoryNodes::Bind(node) => NodeSet::of(*node),
        MemoryNodes::Interleave(nodes) => nodes.clone(),
    };
    let mut sizes: Option<Vec<u64>> = None;
    for node in &nodes {
        let pools = match sysfs_nodes::huge_pages(root, node)? {
            Some(pools) => pools,
            // A kernel without NUMA has only the pools of the machine.
            None => sysfs_huge_pages::machine(root)?.unwrap_or_default(),
        };
        let share = (bytes as u64).div_ceil(nodes.len() as u64);
        let has_room = |size: &u64| {
            let pool = pools.iter().find(|pool| pool.page_bytes == *size);
            let free = pool.and_then(|pool| pool.free).unwrap_or(0);
            free >= share.div_ceil(*size)
        };
        let known = sizes.unwrap_or_else(|| pools.iter().map(|pool| pool.page_bytes).collect());
        sizes = Some(known.into_iter().filter(has_room).collect());
    }
    Ok(sizes.unwrap_or_default().into_iter().min())
}

/// Accepts a failed memory policy where it is not needed: a kernel without NUMA has no policies
/// (`ENOSYS`) and only one node, and a process that may use one node only does not need the
/// permission.
fn one_node_is_enough(
    root: &Root,
    bound: Result<(), SystemCallError>,
    nodes: &NodeSet,
) -> Result<(), SystemCallError> {
    /// `ENOSYS` (errno(3)).
    const NO_SUCH_CALL: i32 = 38;
    let is_only_one = || {
        let allowed = proc_status::allowed(root, std::process::id());
        nodes.len() == 1 && allowed.is_ok_and(|allowed| allowed.memory_nodes == *nodes)
    };
    match bound {
        Err(error) if error.errno() == Some(NO_SUCH_CALL) && *nodes == NodeSet::of(NodeId(0)) => {
            Ok(())
        }
        Err(error) if error.is_permission() && is_only_one() => Ok(()),
        other => other,
    }
}

fn no_such_pages(bytes: usize, kind: PageKind) -> SystemCallError {
    let arguments = format!("{bytes} bytes in {}", kind.meaning());
    let cause = std::io::Error::other("not enough available");
    SystemCallError::with("mmap", arguments, cause)
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{NodeId, PageKind};

    use super::{MemoryNodes, PageChoice, PlacedMemory};

    #[test]
    fn memory_on_a_node_is_found_there() {
        let root = Root::live();
        let nodes = MemoryNodes::Bind(NodeId(0));
        for choice in [PageChoice::Only(PageKind::Small), PageChoice::Largest] {
            let mut memory = PlacedMemory::make(&root, 4 << 20, &nodes, choice).unwrap();
            let evidence = memory.address().evidence(&root).unwrap();
            assert_eq!(evidence.policy, "bind:0");
            assert_eq!(evidence.bytes_without_node, 0);
            let bytes = memory.len() as u64;
            assert_eq!(evidence.bytes_by_node.get(&NodeId(0)), Some(&bytes));
            assert_eq!(evidence.page_kind, memory.address().kind);
            assert_eq!(evidence.page_bytes, memory.page_bytes());
            assert!(memory.words_mut().iter().all(|word| *word == 0));
        }
    }

    #[test]
    fn interleaved_memory_says_so() {
        let root = Root::live();
        let nodes = MemoryNodes::Interleave([NodeId(0)].into_iter().collect());
        let choice = PageChoice::Only(PageKind::Small);
        let memory = PlacedMemory::make(&root, 1 << 20, &nodes, choice).unwrap();
        let evidence = memory.address().evidence(&root).unwrap();
        assert_eq!(evidence.policy, "interleave:0");
        assert!(nodes.contains(NodeId(0)) && !nodes.contains(NodeId(1)));
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        let root = Root::live();
        let nodes = MemoryNodes::Bind(NodeId(0));
        let huge = PageChoice::Only(PageKind::Huge);
        let error = PlacedMemory::make(&root, 1 << 45, &nodes, huge).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(
            "not enough memory on node 0 for 35184372088832 bytes in huge \
                                  pages"
        ));
        let far = MemoryNodes::Bind(NodeId(1000));
        let error = PlacedMemory::make(&root, 4096, &far, PageChoice::Largest).unwrap_err();
        assert!(error.to_string().contains("1000"), "{error}");
    }
}
