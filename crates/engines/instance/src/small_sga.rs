//! For tests: a small, loaded SGA with its data file. Each thread accesses it through a separate
//! mapping, as processes do.

use linux::data_file::DataFile;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};

use crate::btree;
use crate::buffer_cache::Reader;
use crate::layout::BlockId;
use crate::loader::load;
use crate::sga::Sga;
use crate::sga_layout::{Content, SgaLayout, SgaSize};
use crate::statement::Table;
use crate::storage::Storage;
use crate::wait_clock::WaitClock;

const MIB: u64 = 1 << 20;

/// The layout of an SGA with two tables that fill its cache.
pub(crate) fn layout(sessions: u32, cache_bytes: u64) -> SgaLayout {
    SgaLayout::new(&SgaSize {
        sessions,
        cache_bytes,
        page_bytes: linux::process::page_bytes(),
        pools: 1,
        data_bytes: None,
        content: Content::Tables,
        updates: false,
    })
    .unwrap()
}

/// Shared memory of this size, mapped once.
pub(crate) fn mapped(bytes: u64) -> Mapping {
    let page_bytes = linux::process::page_bytes();
    let memory = SharedMemory::create(ObjectKind::Memfd, bytes as usize, page_bytes);
    memory.unwrap().map().unwrap()
}

/// An SGA of 2 sessions with a cache of 1 MiB.
pub(crate) struct SmallSga {
    memory: SharedMemory,
    /// Its layout.
    pub layout: SgaLayout,
    file: DataFile,
    _folder: tempfile::TempDir,
}

impl SmallSga {
    /// Creates one with 8 MiB of read-only data.
    pub(crate) fn new(pools: u32) -> Self {
        Self::of(pools, Some(8 * MIB), false)
    }

    /// Creates one with `data_bytes` of updatable data, or as much as the buffers hold.
    pub(crate) fn with_updates(pools: u32, data_bytes: Option<u64>) -> Self {
        Self::of(pools, data_bytes, true)
    }

    fn of(pools: u32, data_bytes: Option<u64>, updates: bool) -> Self {
        let size = SgaSize {
            sessions: 2,
            cache_bytes: MIB,
            page_bytes: linux::process::page_bytes(),
            pools,
            data_bytes,
            content: Content::Tables,
            updates,
        };
        let layout = SgaLayout::new(&size).unwrap();
        let bytes = layout.bytes as usize;
        let folder = tempfile::tempdir().unwrap();
        let small = SmallSga {
            memory: SharedMemory::create(ObjectKind::Memfd, bytes, linux::process::page_bytes())
                .unwrap(),
            layout,
            file: DataFile::create(folder.path(), layout.data_file_bytes()).unwrap(),
            _folder: folder,
        };
        let view = small.view();
        let sga = Sga::create(&view.mapping, layout);
        load(&sga, Some(&view.storage()), 3).unwrap();
        drop(view);
        small
    }

    /// Maps the SGA once more.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            small: self,
            mapping: self.memory.map().unwrap(),
        }
    }

    /// Returns one of its tables.
    pub(crate) fn table(&self, number: u32) -> Table {
        let rows = self.layout.rows_per_table;
        Table {
            number,
            rows,
            root: btree::root(rows),
        }
    }

    /// Opens the data file again, to damage it.
    pub(crate) fn damage(&self) -> std::fs::File {
        let path = format!("/proc/self/fd/{}", self.file.ticket().descriptor);
        std::fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
    }

    /// Returns a row block that is not in the cache at the start: the last one of table 0.
    pub(crate) fn far_block(&self) -> BlockId {
        BlockId::row(0, self.layout.rows_per_table - 1)
    }
}

/// One thread's mapping of the SGA.
pub(crate) struct View<'s> {
    small: &'s SmallSga,
    mapping: Mapping,
}

impl View<'_> {
    /// Returns its parts.
    pub(crate) fn sga(&self) -> Sga<'_> {
        Sga::attach(&self.mapping, self.small.layout).unwrap()
    }

    /// Returns its data file.
    pub(crate) fn storage(&self) -> Storage<'_> {
        let file = DataFile::from_ticket(self.small.file.ticket()).unwrap();
        Storage::new(&self.mapping, file)
    }

    /// Returns a reader that takes buffers of `home_pool` first.
    pub(crate) fn reader(&self, home_pool: u32) -> Reader<'_> {
        let waits = WaitClock::new().unwrap();
        Reader::new(self.sga(), Some(self.storage()), home_pool, waits)
    }
}
