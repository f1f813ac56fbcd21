//! The interface between sessions and loads, and what several loads are made of: own memory, and
//! pseudorandom numbers that can be recomputed.

use linux::anonymous_memory::{AnonymousMemory, Pages, base_page_bytes};
use model::{Allocation, OwnMemory, PageKind};

use crate::Error;
use crate::buffer_cache::Reader;
use crate::statement::Table;

/// A load, which a session executes piece by piece.
pub(crate) trait Load {
    /// Does a piece of work, about a millisecond; returns its amount in the units of the metric.
    ///
    /// # Errors
    /// When the load cannot continue.
    fn piece(&mut self, reader: &mut Reader<'_>) -> Result<u64, Error>;

    /// Returns where its memory is mapped in this process: address and bytes.
    fn memory(&self) -> Option<(usize, usize)>;

    /// Compares what the load did with what it must have done; called after the window.
    ///
    /// # Errors
    /// [`Error::WrongResult`] when they differ.
    fn verify(&mut self) -> Result<(), Error>;
}

/// Parameters to create a load.
pub(crate) struct Ingredients<'o> {
    /// The requested load and memory.
    pub own: &'o OwnMemory,
    /// Its page size.
    pub page_bytes: u64,
    /// The table of the session.
    pub table: Table,
    /// Seed of its random numbers.
    pub seed: u64,
}

impl Ingredients<'_> {
    /// Allocates the requested private memory and populates every page.
    ///
    /// # Errors
    /// [`Error::OwnMemory`] when the kernel does not have such pages, has too few, or refuses the
    /// policy.
    pub(super) fn own_memory(&self) -> Result<AnonymousMemory, Error> {
        let own = self.own;
        let pages = match self.page_bytes == base_page_bytes() {
            true => Pages::small(),
            false => Pages {
                kind: PageKind::Huge,
                page_bytes: self.page_bytes,
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
}

/// Mixes 64 bits (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014:
/// the finalizer of SplitMix64). It is a bijection.
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
pub(super) mod tests {
    use model::{Allocation, OwnMemory, SessionLoad};

    use super::super::make;
    use super::{Ingredients, Load};
    use crate::buffer_cache::Reader;
    use crate::statement::tests::with_loaded_sga;
    use crate::wait_clock::WaitClock;

    /// Creates a load of `bytes` bytes and passes it to `check` with a reader.
    pub(in super::super) fn with_load(
        load: SessionLoad,
        bytes: u64,
        check: impl FnOnce(&mut dyn Load, &mut Reader<'_>),
    ) {
        let own = OwnMemory {
            load,
            bytes,
            allocation: Allocation::OsDefault,
        };
        with_loaded_sga(1 << 20, |sga, table| {
            let mut reader = Reader::new(sga, None, 0, WaitClock::new().unwrap());
            let mut made = make(&Ingredients {
                own: &own,
                page_bytes: 4096,
                table,
                seed: 5,
            })
            .unwrap();
            check(made.as_mut(), &mut reader);
        });
    }
}
