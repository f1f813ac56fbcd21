//! The own memory of a session: mapped, placed and prefaulted.

use linux::anonymous_memory::{AnonymousMemory, Pages, base_page_bytes};
use model::{Allocation, OwnMemory, PageKind};

use crate::Error;

/// Allocates the requested private memory and populates every page.
///
/// # Errors
/// [`Error::OwnMemory`] when the kernel does not have such pages, has too few, or refuses the
/// policy.
pub(super) fn make(own: &OwnMemory, page_bytes: u64) -> Result<AnonymousMemory, Error> {
    let pages = match page_bytes == base_page_bytes() {
        true => Pages::small(),
        false => Pages {
            kind: PageKind::Huge,
            page_bytes,
        },
    };
    let failed = |cause| Error::OwnMemory {
        what: "private memory",
        bytes: own.bytes,
        cause,
        way_out: "set a smaller own-memory, fewer sessions, or other nodes in own-allocation",
    };
    let mut memory = AnonymousMemory::map(own.bytes as usize, pages).map_err(failed)?;
    let placed = match &own.allocation {
        Allocation::Interleave(nodes) => memory.interleave_over(nodes),
        Allocation::Bind(nodes) => memory.bind_to(nodes),
        Allocation::Prefer(node) => memory.prefer(*node),
        // `OsDefault` needs no policy, and the plan rejects the other two.
        Allocation::OsDefault | Allocation::WeightedInterleave(_) | Allocation::PerNode(_) => {
            Ok(())
        }
    };
    placed.and_then(|()| memory.populate()).map_err(failed)?;
    Ok(memory)
}
