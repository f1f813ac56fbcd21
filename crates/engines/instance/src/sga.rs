//! A mapped SGA: typed views of its parts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use linux::shared_memory::Mapping;

use crate::Error;
use crate::layout::{
    Block, BlockId, Bucket, BufferHeader, Control, LAYOUT_VERSION, MAGIC, Pool, SessionSlot,
    SessionState,
};
use crate::sga_layout::SgaLayout;

/// The parts of an SGA mapped for `'m`. All of it is atomics: any process may read or write any
/// field at any time.
#[derive(Clone, Copy)]
pub(crate) struct Sga<'m> {
    /// Sizes and offsets of all parts.
    pub layout: SgaLayout,
    /// Identity, barrier, window, cage, scan, writing.
    pub control: &'m Control,
    /// The ring of sessions that wait for a turn in the cage.
    pub queue: &'m [AtomicU32],
    /// One per buffer pool.
    pub pools: &'m [Pool],
    /// Blocks that each worker read from each pool, grouped by worker.
    pub reads: &'m [AtomicU64],
    /// One per session, then one per database writer.
    pub slots: &'m [SessionSlot],
    /// Hash buckets.
    pub directory: &'m [Bucket],
    /// Buffer headers.
    pub headers: &'m [BufferHeader],
    /// Blocks.
    pub blocks: &'m [Block],
}

impl<'m> Sga<'m> {
    /// Creates views of a new object, which must be all zeroes, and writes its identity.
    pub(crate) fn create(mapping: &'m Mapping, layout: SgaLayout) -> Self {
        let sga = Self::view(mapping, layout);
        let identity = &sga.control.identity.0;
        identity.version.store(LAYOUT_VERSION, Ordering::Relaxed);
        identity.bytes.store(layout.bytes, Ordering::Relaxed);
        identity.magic.store(MAGIC, Ordering::Release);
        sga
    }

    /// Creates views of an SGA made by another process.
    ///
    /// # Errors
    /// [`Error::Layout`] when the mapping is not an SGA of this layout.
    pub(crate) fn attach(mapping: &'m Mapping, layout: SgaLayout) -> Result<Self, Error> {
        if (mapping.len() as u64) < layout.bytes {
            return Err(Error::Layout(format!(
                "it has {} bytes, expected {}",
                mapping.len(),
                layout.bytes
            )));
        }
        let sga = Self::view(mapping, layout);
        let identity = &sga.control.identity.0;
        let found = (
            identity.magic.load(Ordering::Acquire),
            identity.version.load(Ordering::Relaxed),
            identity.bytes.load(Ordering::Relaxed),
        );
        let expected = (MAGIC, LAYOUT_VERSION, layout.bytes);
        if found != expected {
            return Err(Error::Layout(format!(
                "magic, version and size are {found:x?}, expected {expected:x?}"
            )));
        }
        Ok(sga)
    }

    /// Returns the same SGA with the part that belongs to the processes of one instance in its own
    /// mapping: control, queue, counts of reads and slots, at the same offsets. Pools, directory,
    /// headers and blocks are shared with the other instances.
    pub(crate) fn with_own_part(self, own_part: &'m Mapping) -> Self {
        let bytes = self.layout.own_part_bytes();
        assert!(own_part.len() as u64 >= bytes, "the part fits the mapping");
        let part = |offset: u64| {
            own_part
                .address()
                .wrapping_byte_add(offset as usize)
                .cast_const()
        };
        let layout = &self.layout;
        // SAFETY: as in `view`: the parts before the directory lie inside `own_part_bytes`.
        unsafe {
            Sga {
                control: &slice::<Control>(part(0), 1)[0],
                queue: slice(part(layout.queue_offset()), layout.sessions),
                reads: slice(part(layout.reads_offset()), layout.reads_count()),
                slots: slice(part(layout.slots_offset()), layout.processes()),
                ..self
            }
        }
    }

    fn view(mapping: &'m Mapping, layout: SgaLayout) -> Self {
        assert!(
            mapping.len() as u64 >= layout.bytes,
            "the layout fits the mapping"
        );
        let part = |offset: u64| {
            mapping
                .address()
                .wrapping_byte_add(offset as usize)
                .cast_const()
        };
        // SAFETY: the mapping lives as long as 'm and holds `layout.bytes`, which was just checked.
        // Only `SgaLayout::new` makes a layout, and it places every part inside the mapping,
        // without overlap. `slice` checks the alignment. The types are atomics only: any bytes are
        // valid values, and any process may write at any time.
        unsafe {
            Sga {
                layout,
                control: &slice::<Control>(part(0), 1)[0],
                queue: slice(part(layout.queue_offset()), layout.sessions),
                pools: slice(part(layout.pools_offset()), layout.pools),
                reads: slice(part(layout.reads_offset()), layout.reads_count()),
                slots: slice(part(layout.slots_offset()), layout.processes()),
                directory: slice(part(layout.directory_offset()), layout.buckets),
                headers: slice(part(layout.headers_offset()), layout.buffers),
                blocks: slice(part(layout.blocks_offset), layout.buffers),
            }
        }
    }

    /// Returns the bucket a block belongs to (multiplicative hashing, Knuth, TAOCP 6.4).
    #[inline]
    pub(crate) fn bucket_of(&self, id: BlockId) -> &'m Bucket {
        let hash = id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.directory[(hash >> (64 - self.layout.buckets.trailing_zeros())) as usize]
    }

    /// Returns the slots of the sessions.
    pub(crate) fn session_slots(&self) -> &'m [SessionSlot] {
        &self.slots[..self.layout.sessions as usize]
    }

    /// Returns the slots of the database writers: one per pool, or none.
    pub(crate) fn writer_slots(&self) -> &'m [SessionSlot] {
        &self.slots[self.layout.sessions as usize..]
    }

    /// Publishes the state of process `process` to the instance.
    pub(crate) fn set_state(&self, process: u32, state: SessionState) {
        let told = &self.slots[process as usize].live.0.state;
        told.store(state as u32, Ordering::Release);
    }

    /// Returns the work and statements of all sessions so far.
    pub(crate) fn live_totals(&self) -> (u64, u64) {
        let live = self.session_slots().iter().map(|slot| &slot.live.0);
        live.fold((0, 0), |(work, statements), counters| {
            (
                work + counters.work.load(Ordering::Relaxed),
                statements + counters.statements.load(Ordering::Relaxed),
            )
        })
    }
}

/// # Safety
/// `count` values of `T` lie at `address` for as long as `'m`.
pub(crate) unsafe fn slice<'m, T>(address: *const std::ffi::c_void, count: u32) -> &'m [T] {
    assert!(
        address.cast::<T>().is_aligned(),
        "shared memory is aligned for its parts"
    );
    // SAFETY: the caller guarantees the range; alignment was just checked.
    unsafe { std::slice::from_raw_parts(address.cast(), count as usize) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::Sga;
    use crate::small_sga::{layout, mapped};

    #[test]
    fn only_an_sga_of_the_layout_is_attached() {
        let [small, large] = [1, 3].map(|sessions| layout(sessions, 1 << 20));
        assert!(small.bytes < large.bytes);
        let mapping = mapped(small.bytes);
        let refused = |layout, says: &str| {
            let error = Sga::attach(&mapping, layout).err().unwrap().to_string();
            assert!(error.contains(says), "{error}");
        };
        refused(small, "magic, version and size");
        Sga::create(&mapping, small);
        Sga::attach(&mapping, small).unwrap();
        refused(large, &format!("expected {}", large.bytes));
    }

    #[test]
    fn an_own_part_is_of_one_instance_and_the_rest_is_shared() {
        let layout = layout(2, 1 << 20);
        let whole = mapped(layout.bytes);
        let own_part = mapped(layout.own_part_bytes());
        let one = Sga::create(&whole, layout);
        let other = Sga::attach(&whole, layout)
            .unwrap()
            .with_own_part(&own_part);
        let relaxed = Ordering::Relaxed;
        one.control.gate.0.stop.store(1, relaxed);
        one.slots[1].live.0.work.store(5, relaxed);
        one.queue[1].store(6, relaxed);
        one.headers[3].usage.store(7, relaxed);
        assert_eq!(other.control.gate.0.stop.load(relaxed), 0);
        assert_eq!(other.slots[1].live.0.work.load(relaxed), 0);
        assert_eq!(other.queue[1].load(relaxed), 0);
        assert_eq!(other.headers[3].usage.load(relaxed), 7);
    }
}
