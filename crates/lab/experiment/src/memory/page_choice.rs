//! Trials before planning: which page kind every node has, which instructions are fastest. Only a
//! trial can tell: a pool may be fragmented, and the widest instructions are not always the
//! fastest.

use kernels::{MemoryNodes, PageChoice, PlacedMemory, StreamThread, Timer};
use linux::Root;
use model::exit::ExitCode;
use model::{NodeId, NodeSet, PageKind, StreamKernel};

use super::places::MemoryPlaces;
use crate::plan::Cannot;

/// Chooses the largest page kind that can back the working set on every node with room. Allocates
/// and frees the memory once for each kind and node.
///
/// Nodes that cannot provide even small pages are marked as having no room. On an emulated machine,
/// where the page kind makes no meaningful difference, pages stay small.
///
/// # Errors
/// When a permission is missing, or a file of /proc or /sys cannot be read.
pub fn largest_pages(root: &Root, places: &mut MemoryPlaces) -> Result<(), Cannot> {
    if places.emulated {
        return Ok(());
    }
    for kind in [PageKind::Huge, PageKind::Transparent] {
        let nodes = with_room(places);
        if !nodes.is_empty()
            && nodes
                .iter()
                .all(|node| make(root, places, node, kind).is_ok())
        {
            places.page_kind = kind;
            return Ok(());
        }
    }
    places.page_kind = PageKind::Small;
    for node in &with_room(places) {
        match make(root, places, node, PageKind::Small) {
            Err(error) if error.is_permission() => return Err(cannot(&error)),
            Err(error) => {
                places.without_room.insert(node, error.to_string());
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

fn with_room(places: &MemoryPlaces) -> NodeSet {
    let nodes = places.memory_nodes.iter();
    nodes
        .filter(|node| !places.without_room.contains_key(node))
        .collect()
}

fn make(
    root: &Root,
    places: &MemoryPlaces,
    node: NodeId,
    kind: PageKind,
) -> Result<(), kernels::Error> {
    let bytes = usize::try_from(places.working_set_bytes).unwrap_or(usize::MAX);
    let nodes = MemoryNodes::Bind(node);
    PlacedMemory::make(root, bytes, &nodes, PageChoice::Only(kind)).map(|_| ())
}

/// Finds, by a short trial on the first node, the instructions that move the most bytes with this
/// kernel; returns `None` when this processor cannot run it.
///
/// # Errors
/// When a permission is missing, memory cannot be allocated, or evidence cannot be read.
pub fn fastest_instructions(
    root: &Root,
    places: &MemoryPlaces,
    kernel: StreamKernel,
) -> Result<Option<String>, Cannot> {
    if places.emulated {
        let widest = kernels::Simd::available().into_iter().rev();
        let mut widest = widest.filter(|simd| simd.can_run(kernel));
        return Ok(widest.next().map(|simd| simd.name().to_owned()));
    }
    let node = with_room(places).first();
    let cpu = places.measuring.values().next();
    let (Some(node), Some(cpu)) = (node, cpu) else {
        return Ok(None);
    };
    let thread = StreamThread {
        cpu: *cpu,
        nodes: MemoryNodes::Bind(node),
    };
    let timer = Timer::new(root).map_err(|error| cannot(&error))?;
    let fastest = kernels::fastest_simd(kernel, &thread, &timer, root);
    let fastest = fastest.map_err(|error| cannot(&error))?;
    Ok(fastest.map(|simd| simd.name().to_owned()))
}

pub(super) fn cannot(error: &kernels::Error) -> Cannot {
    Cannot {
        reason: format!("cannot measure memory: {error}"),
        advice: String::new(),
        exit_code: match error.is_permission() {
            true => ExitCode::NotPermitted,
            false => ExitCode::MachineCannot,
        },
    }
}
