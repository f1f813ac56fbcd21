//! `/proc/PID/map_files/START-END`: the object behind a mapping, whatever its name and even when it
//! is deleted (`proc_pid_map_files(5)`). Needs `CAP_SYS_ADMIN` or `CAP_CHECKPOINT_RESTORE`.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use crate::mapping::Mapping;
use crate::pagemap::{Pagemap, PagemapEntry};
use crate::{Error, Root, SystemCallError, mempolicy, object_policy, plain_file};

pub use crate::huge_window::HugeWindow;
pub use crate::object_window::Window;

/// The unit of `st_blocks` (`stat(3type)`).
const STAT_BLOCK_BYTES: u64 = 512;

/// `HUGETLBFS_MAGIC` (include/uapi/linux/magic.h).
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// An object that some process maps.
#[derive(Debug)]
pub struct MappedObject {
    file: File,
    /// Length of the object.
    pub bytes: u64,
    /// Allocated bytes: pages that any process has touched, in memory or swapped out.
    pub allocated_bytes: u64,
    /// Size of its pages when they come from a huge-page pool.
    pub huge_page_bytes: Option<u64>,
}

impl MappedObject {
    /// Opens the object behind a mapping of process `pid`, for reading.
    ///
    /// # Errors
    /// When permission is lacking, the process or mapping is gone, or the object is a device:
    /// opening one may have side effects.
    pub fn open(root: &Root, pid: u32, mapping: &Mapping) -> Result<Self, Error> {
        let (start, end) = (mapping.start, mapping.end);
        let path = root.path(&format!("proc/{pid}/map_files/{start:x}-{end:x}"));
        match plain_file::hold(&path, OFlags::empty()).and_then(|held| Self::of_held(&held, 0)) {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(Error::NotAFile { path }),
            Err(cause) => Err(Error::Read { path, cause }),
        }
    }

    /// Opens the object by its file name; `None` when another object has that name now.
    pub fn open_named(name: &str, major: u32, minor: u32, inode: u64) -> Option<Self> {
        let held = plain_file::hold(Path::new(name), OFlags::empty()).ok()?;
        let status = rustix::fs::fstat(&held).ok()?;
        let device = (
            rustix::fs::major(status.st_dev),
            rustix::fs::minor(status.st_dev),
        );
        let is_same = status.st_ino == inode && device == (major, minor);
        let opened = is_same.then(|| Self::of_held(&held, 0));
        opened?.ok().flatten()
    }

    /// Opens a regular file to inspect its cached pages; `None` if its pages are huge, or if it is
    /// gone or not a regular file. Its access time does not change.
    ///
    /// # Errors
    /// When it may not be read.
    pub fn open_to_look(path: &Path) -> Result<Option<Self>, SystemCallError> {
        let held = plain_file::hold(path, OFlags::empty());
        match held.and_then(|held| Self::of_held(&held, libc::O_NOATIME)) {
            Ok(object) => Ok(object.filter(|object| object.huge_page_bytes.is_none())),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => {
                let path = path.display().to_string();
                Err(SystemCallError::with("open", path, cause))
            }
        }
    }

    /// Bytes that are allocated now.
    ///
    /// # Errors
    /// When fstat(2) fails.
    pub fn allocated_bytes_now(&self) -> std::io::Result<u64> {
        Ok(allocated_bytes(&self.file.metadata()?))
    }

    /// The object as a file, for locking.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// `None` for anything but a regular file.
    fn of_held(held: &OwnedFd, flags: i32) -> std::io::Result<Option<Self>> {
        let file = plain_file::open(held, flags)?;
        file.map(Self::of_file).transpose()
    }

    fn of_file(file: File) -> std::io::Result<Self> {
        let status = file.metadata()?;
        let system = rustix::fs::fstatfs(&file)?;
        let is_huge = system.f_type as u64 & 0xffff_ffff == HUGETLBFS_MAGIC;
        Ok(Self {
            bytes: status.len(),
            huge_page_bytes: is_huge.then_some(system.f_bsize as u64),
            allocated_bytes: allocated_bytes(&status),
            file,
        })
    }

    /// The next range at or after `from` that is not a hole, as offsets. Pages of shared memory
    /// that fallocate(2) reserved and no process ever wrote count as holes (mm/filemap.c,
    /// `mapping_seek_hole_data`).
    ///
    /// # Errors
    /// When the file system has no `SEEK_DATA`.
    pub fn next_data(&self, from: u64) -> Result<Option<(u64, u64)>, SystemCallError> {
        let Some(start) = self.seek(SeekFrom::Data(from))? else {
            return Ok(None);
        };
        let end = self.seek(SeekFrom::Hole(start))?.unwrap_or(self.bytes);
        Ok(Some((start, end)))
    }

    /// Whether the page at `offset` is not a hole, as in [`MappedObject::next_data`].
    ///
    /// # Errors
    /// When the file system has no `SEEK_DATA`.
    pub fn has_data(&self, offset: u64) -> Result<bool, SystemCallError> {
        Ok(self.seek(SeekFrom::Data(offset))? == Some(offset))
    }

    /// The offset that lseek(2) returns; `None` beyond the last data.
    fn seek(&self, to: SeekFrom) -> Result<Option<u64>, SystemCallError> {
        match rustix::fs::seek(self.file.as_fd(), to) {
            Ok(offset) => Ok(Some(offset)),
            Err(Errno::NXIO) => Ok(None),
            Err(cause) => {
                let arguments = format!("{to:?}");
                Err(SystemCallError::with("lseek", arguments, cause.into()))
            }
        }
    }

    /// Bytes of small pages of shared memory that fallocate(2) reserved and no process ever wrote.
    ///
    /// # Errors
    /// When the kernel refuses a call.
    pub fn never_written_bytes(&self) -> Result<u64, SystemCallError> {
        if self.huge_page_bytes.is_some() {
            return Ok(0);
        }
        let (mut from, mut data_bytes) = (0, 0_u64);
        while let Some((start, end)) = self.next_data(from)? {
            data_bytes += end - start;
            from = end;
        }
        let status = self.file.metadata();
        let status = status.map_err(|cause| SystemCallError::with("fstat", "an object", cause))?;
        let allocated_bytes = status.blocks().saturating_mul(STAT_BLOCK_BYTES);
        Ok(allocated_bytes.saturating_sub(data_bytes))
    }

    /// The policy of the object itself for its page at `offset`, as numa_maps prints it; `None`
    /// when it has none. Queried through an inaccessible mapping, so no page is touched. Not for
    /// huge pages of a pool, whose policies belong to the mappings of each process.
    ///
    /// # Errors
    /// When the kernel refuses a call, as under the seccomp filters of containers.
    pub fn policy_at(&self, offset: u64) -> Result<Option<String>, SystemCallError> {
        let window = Window::map(&self.file, offset, 1, libc::PROT_NONE)?;
        let policy = object_policy::at(&window, 0)?;
        let words = mempolicy::policy_words(policy.mode, &policy.nodes);
        Ok((policy.mode != libc::MPOL_DEFAULT).then_some(words))
    }

    /// Maps `pages` pages from `offset` on into this process, for reading. Touches no page.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn window(&self, offset: u64, pages: usize) -> Result<Window, SystemCallError> {
        Window::map(&self.file, offset, pages, libc::PROT_READ)
    }

    /// The pagemap entries of `pages` pages of shared memory from `offset` on. Maps them into this
    /// process for a moment, and faults in only those that mincore(2) reports in memory: none is
    /// allocated and none is swapped in. Not for huge pages of a pool, which mincore does not
    /// support.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls.
    pub fn entries(
        &self,
        offset: u64,
        pages: usize,
        pagemap: &Pagemap,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), SystemCallError> {
        let window = Window::map(&self.file, offset, pages, libc::PROT_READ)?;
        window.look_at_resident()?;
        let first = window.address.addr() as u64 / crate::process::page_bytes();
        pagemap.read(first, pages, entries).map_err(not_read)
    }

    /// The same for `pages` huge pages from page number `first` on, one entry each. Maps only pages
    /// that exist: none is allocated, and none is taken or reserved from a pool.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls: before Linux 5.13, under seccomp filters of
    /// containers, or when the object is sealed.
    pub fn huge_entries(
        &self,
        first: u64,
        pages: usize,
        pagemap: &Pagemap,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), SystemCallError> {
        let window = self.huge_window(first, pages)?;
        window.show_existing()?;
        window.entries(pagemap, entries).map_err(not_read)
    }

    /// Maps `pages` huge pages from page number `first` on into this process, where none is present
    /// yet.
    ///
    /// # Errors
    /// As [`MappedObject::huge_entries`].
    pub fn huge_window(&self, first: u64, pages: usize) -> Result<HugeWindow, SystemCallError> {
        let page_bytes = self.huge_page_bytes.unwrap_or(u64::MAX);
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(|cause| SystemCallError::with("open", path, cause))?;
        HugeWindow::map(&file, first.saturating_mul(page_bytes), pages, page_bytes)
    }
}

fn not_read(error: Error) -> SystemCallError {
    let cause = std::io::Error::other(error.to_string());
    SystemCallError::with("pread", "/proc/self/pagemap", cause)
}

fn allocated_bytes(status: &Metadata) -> u64 {
    status.blocks().saturating_mul(STAT_BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::*;
    use crate::proc_maps;
    use crate::process::page_bytes;
    use crate::shared_memory::{ObjectKind, SharedMemory};

    #[test]
    fn an_object_is_opened_by_its_name_only_if_it_is_the_same_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, pipe) = (folder.path().join("file"), folder.path().join("pipe"));
        std::fs::write(&path, "x").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let opened = |path: &Path, other: u64| {
            let status = std::fs::metadata(path).unwrap();
            let (major, minor) = (
                rustix::fs::major(status.dev()),
                rustix::fs::minor(status.dev()),
            );
            let inode = status.ino() + other;
            MappedObject::open_named(path.to_str().unwrap(), major, minor, inode).is_some()
        };
        assert!(opened(&path, 0));
        assert!(!opened(&path, 1));
        // No process writes to the pipe: opening it would wait forever.
        assert!(!opened(&pipe, 0));
        assert!(!opened(Path::new("/dev/null"), 0));
        assert!(MappedObject::open_to_look(&pipe).unwrap().is_none());
        assert!(MappedObject::open_to_look(&path).unwrap().is_some());
    }

    #[test]
    fn looking_at_a_file_reads_nothing_into_the_cache() {
        const TEST: &str = "looking_at_a_file_reads_nothing_into_the_cache";
        let pages = 512;
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::io::Write::write_all(&mut file, &vec![7; pages * page_bytes() as usize]).unwrap();
        file.sync_all().unwrap();
        // First evict the whole file, because a file system with large folios keeps one that is
        // partly requested; then read one page, without read-ahead.
        for advice in [rustix::fs::Advice::DontNeed, rustix::fs::Advice::Random] {
            rustix::fs::fadvise(&file, 0, None, advice).unwrap();
        }
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut [0], page_bytes()).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let object = MappedObject::open_to_look(Path::new(&path))
            .unwrap()
            .unwrap();
        let resident = || {
            let window = object.window(0, pages).unwrap();
            let mut resident = vec![0_u8; pages];
            let bytes = pages * page_bytes() as usize;
            // SAFETY: the range is the whole window, the vector has a byte for each page.
            let answer = unsafe { libc::mincore(window.address, bytes, resident.as_mut_ptr()) };
            assert_eq!(answer, 0);
            resident.iter().filter(|byte| **byte & 1 == 1).count()
        };
        let before = resident();
        let pagemap = Pagemap::open_own().unwrap();
        let mut entries = Vec::new();
        object.entries(0, pages, &pagemap, &mut entries).unwrap();
        let present = entries.iter().filter(|entry| entry.is_present()).count();
        // The kernel may evict pages at any time, and never caches more than there were.
        assert!(resident() <= before, "{} {before}", resident());
        assert!(present <= before, "{present} {before}");
        if before < pages {
            assert!(present >= before.min(1), "{present} of {before}");
        } else {
            let why = "in part: the file system keeps what it was told to forget";
            not_run(TEST, Need::Kernel, why);
        }
    }

    #[test]
    fn what_is_set_aside_and_never_written_is_told_from_what_is_not() {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        let flags = rustix::fs::FallocateFlags::empty();
        rustix::fs::fallocate(&file, flags, 0, 64 * page_bytes()).unwrap();
        std::os::unix::fs::FileExt::write_at(
            &file,
            &vec![7; 3 * page_bytes() as usize],
            8 * page_bytes(),
        )
        .unwrap();
        let object = MappedObject::of_file(file).unwrap();
        assert_eq!(object.allocated_bytes, 64 * page_bytes());
        assert_eq!(object.never_written_bytes().unwrap(), 61 * page_bytes());
        let data = [7, 8, 10, 11].map(|page| object.has_data(page * page_bytes()).unwrap());
        assert_eq!(data, [false, true, true, false]);
    }

    #[test]
    fn looking_at_an_object_finds_its_pages_and_makes_none() {
        const TEST: &str = "looking_at_an_object_finds_its_pages_and_makes_none";
        let memory =
            SharedMemory::create(ObjectKind::Memfd, 64 * page_bytes() as usize, page_bytes())
                .unwrap();
        let mapping = memory.map().unwrap();
        mapping.populate_for_writing().unwrap();
        let other =
            SharedMemory::create(ObjectKind::Memfd, 64 * page_bytes() as usize, page_bytes())
                .unwrap();
        let empty = other.map().unwrap();
        for (mapping, pages) in [(&mapping, 64), (&empty, 0)] {
            let root = Root::live();
            let own = std::process::id();
            let start = mapping.address().addr() as u64;
            let maps = proc_maps::read(&root, own).unwrap().list;
            let line = maps.iter().find(|line| line.start == start).unwrap();
            let object = match MappedObject::open(&root, own, line) {
                Ok(object) => object,
                Err(error) => {
                    let need = Need::root_or_kernel(crate::process::is_root());
                    return not_run(TEST, need, &error.to_string());
                }
            };
            assert_eq!(object.allocated_bytes, pages * page_bytes());
            assert_eq!(object.policy_at(page_bytes()).unwrap(), None);
            let mut entries = Vec::new();
            let pagemap = Pagemap::open_own().unwrap();
            object.entries(0, 64, &pagemap, &mut entries).unwrap();
            let present = entries.iter().filter(|entry| entry.is_present()).count();
            assert_eq!(present as u64, pages);
            let data = object.next_data(0).unwrap();
            assert_eq!(data, (pages > 0).then_some((0, 64 * page_bytes())));
            let again = MappedObject::open(&root, own, line).unwrap();
            assert_eq!(again.allocated_bytes, pages * page_bytes());
        }
    }
}
