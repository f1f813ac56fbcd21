//! `/proc/PID/map_files/START-END`: the object behind a mapping, however it is called and even
//! when it is deleted (`proc_pid_map_files(5)`). Needs `CAP_SYS_ADMIN` or
//! `CAP_CHECKPOINT_RESTORE`.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use crate::huge_window::HugeWindow;
use crate::pagemap::{Pagemap, PagemapEntry};
use crate::proc_maps::Mapping;
use crate::{Error, Root, SystemCallError, mempolicy, object_policy, plain_file};

/// The unit of `st_blocks` (`stat(3type)`).
const STAT_BLOCK_BYTES: u64 = 512;

/// `HUGETLBFS_MAGIC` (include/uapi/linux/magic.h).
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;

/// `MADV_POPULATE_READ` (include/uapi/asm-generic/mman-common.h): Linux 5.14.
const POPULATE_READ: i32 = 22;

/// An object of which some process has a mapping.
#[derive(Debug)]
pub struct MappedObject {
    file: File,
    /// Length of the object.
    pub bytes: u64,
    /// Bytes that exist: pages that were touched by anyone, in memory or swapped out.
    pub allocated_bytes: u64,
    /// Size of its pages when they come from a huge-page pool.
    pub huge_page_bytes: Option<u64>,
}

impl MappedObject {
    /// Opens the object behind a mapping of process `pid`, for reading.
    ///
    /// # Errors
    /// When it is not permitted, the process or mapping is gone, or the object is a device, which
    /// might do something when it is opened.
    pub fn open(root: &Root, pid: u32, mapping: &Mapping) -> Result<Self, Error> {
        let (start, end) = (mapping.start, mapping.end);
        let path = root.path(&format!("proc/{pid}/map_files/{start:x}-{end:x}"));
        match plain_file::hold(&path, OFlags::empty()).and_then(|held| Self::of_held(&held, 0)) {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(Error::NotAFile { path }),
            Err(cause) => Err(Error::Read { path, cause }),
        }
    }

    /// Opens the object by its name in a file system; `None` when what has the name is another.
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

    /// Opens a regular file to look at its cached pages; `None` for one of huge pages, and when it
    /// is gone or something else. Its time of access does not change.
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

    /// Bytes of it that exist by now.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn allocated_bytes_now(&self) -> std::io::Result<u64> {
        Ok(allocated_bytes(&self.file.metadata()?))
    }

    /// The object as a file, to be locked.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// `None` for what is no regular file.
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

    /// The next range from `from` on that is not a hole, as offsets. Pages of shared memory that
    /// were set aside by fallocate(2) and never written count as holes (mm/filemap.c,
    /// `mapping_seek_hole_data`).
    ///
    /// # Errors
    /// When the file system has no `SEEK_DATA`.
    pub fn next_data(&self, from: u64) -> Result<Option<(u64, u64)>, SystemCallError> {
        let seek = |to: SeekFrom| match rustix::fs::seek(self.file.as_fd(), to) {
            Ok(offset) => Ok(Some(offset)),
            Err(Errno::NXIO) => Ok(None),
            Err(cause) => Err(SystemCallError::with(
                "lseek",
                format!("{to:?}"),
                cause.into(),
            )),
        };
        let Some(start) = seek(SeekFrom::Data(from))? else {
            return Ok(None);
        };
        let end = seek(SeekFrom::Hole(start))?.unwrap_or(self.bytes);
        Ok(Some((start, end)))
    }

    /// Bytes of small pages of shared memory that were set aside by fallocate(2) and never written.
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

    /// The policy that the object itself has for its page at `offset`, in the words of numa_maps;
    /// `None` when it has none. Asked through a mapping without access: no page is looked at. Not
    /// for huge pages of a pool, whose policies belong to the mappings of each process.
    ///
    /// # Errors
    /// When the kernel refuses a call, as seccomp filters of containers have it.
    pub fn policy_at(&self, offset: u64) -> Result<Option<String>, SystemCallError> {
        let window = Window::map(&self.file, offset, 1, libc::PROT_NONE)?;
        let policy = object_policy::at(&window, 0)?;
        let words = mempolicy::policy_words(policy.mode, &policy.nodes);
        Ok((policy.mode != libc::MPOL_DEFAULT).then_some(words))
    }

    /// Maps `pages` pages from offset `offset` on into this process, for reading. No page is
    /// touched.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn window(&self, offset: u64, pages: usize) -> Result<Window, SystemCallError> {
        Window::map(&self.file, offset, pages, libc::PROT_READ)
    }

    /// The pagemap entries of `pages` pages of shared memory from offset `offset` on, as seen by
    /// this process for a moment. Only pages that are in memory already are looked at (mincore(2)
    /// is asked first), so none is made and none is swapped in. Not for huge pages of a pool:
    /// mincore knows nothing of them.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls.
    pub fn entries(
        &self,
        offset: u64,
        pages: usize,
        pagemap: &mut Pagemap,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), SystemCallError> {
        let window = Window::map(&self.file, offset, pages, libc::PROT_READ)?;
        window.look_at_resident()?;
        let first = window.address.addr() as u64 / crate::process::page_bytes();
        pagemap.read(first, pages, entries).map_err(not_read)
    }

    /// The same for `pages` huge pages from number `first` on, one entry for each of them. Only
    /// pages that exist are mapped: none is made, and none is taken or reserved from a pool.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls: before Linux 5.13, under seccomp filters of
    /// containers, or when the object is sealed.
    pub fn huge_entries(
        &self,
        first: u64,
        pages: usize,
        pagemap: &mut Pagemap,
        entries: &mut Vec<PagemapEntry>,
    ) -> Result<(), SystemCallError> {
        let page_bytes = self.huge_page_bytes.unwrap_or(u64::MAX);
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(|cause| SystemCallError::with("open", path, cause))?;
        let offset = first.saturating_mul(page_bytes);
        let window = HugeWindow::map(&file, offset, pages, page_bytes)?;
        window.show_existing()?;
        window.entries(pagemap, entries).map_err(not_read)
    }
}

fn not_read(error: Error) -> SystemCallError {
    let cause = std::io::Error::other(error.to_string());
    SystemCallError::with("pread", "/proc/self/pagemap", cause)
}

fn allocated_bytes(status: &Metadata) -> u64 {
    status.blocks().saturating_mul(STAT_BLOCK_BYTES)
}

/// A mapping of ours of some pages of an object, for reading, until dropped.
#[derive(Debug)]
pub struct Window {
    address: *mut libc::c_void,
    pages: usize,
    page_bytes: usize,
}

impl Window {
    /// Address of page `page` of it.
    pub fn address_of(&self, page: usize) -> u64 {
        (self.address.addr() + page * self.page_bytes) as u64
    }

    /// Pages in it.
    pub fn pages(&self) -> usize {
        self.pages
    }

    fn map(
        file: &File,
        offset: u64,
        pages: usize,
        protection: libc::c_int,
    ) -> Result<Self, SystemCallError> {
        let page_bytes = crate::process::page_bytes() as usize;
        let bytes = pages * page_bytes;
        let arguments = || format!("{bytes} bytes at offset {offset}");
        let Ok(at) = libc::off_t::try_from(offset) else {
            let cause = std::io::Error::from_raw_os_error(libc::EOVERFLOW);
            return Err(SystemCallError::with("mmap", arguments(), cause));
        };
        // SAFETY: the kernel chooses an address that nobody uses; the descriptor is open.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                at,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(SystemCallError::last("mmap", arguments()));
        }
        Ok(Self {
            address,
            pages,
            page_bytes,
        })
    }

    /// Makes those pages present in this process that are in memory (mincore(2) is asked), and no
    /// others: none is made, none is swapped in or read ahead. Not for huge pages of a pool.
    ///
    /// # Errors
    /// When the kernel refuses one of the calls.
    pub fn look_at_resident(&self) -> Result<(), SystemCallError> {
        // A cached page that marks where to read ahead from has that done when it is mapped, unless
        // reading is at random (mm/filemap.c, `do_async_mmap_readahead`).
        self.advise(libc::MADV_RANDOM)?;
        let outcome = self.look_at_those_in_memory();
        // What is unmapped from here was not used as far as the kernel is concerned
        // (mm/memory.c, `zap_pte_range`): it leaves memory no later for it.
        self.advise(libc::MADV_SEQUENTIAL)?;
        outcome
    }

    fn advise(&self, advice: libc::c_int) -> Result<(), SystemCallError> {
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the range is our own mapping, and the advice changes no content.
        if unsafe { libc::madvise(self.address, bytes, advice) } != 0 {
            let arguments = format!("{bytes} bytes, advice {advice}");
            return Err(SystemCallError::last("madvise", arguments));
        }
        Ok(())
    }

    fn look_at_those_in_memory(&self) -> Result<(), SystemCallError> {
        let mut resident = vec![0_u8; self.pages];
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the range is our own mapping, and the vector has a byte for each of its pages.
        if unsafe { libc::mincore(self.address, bytes, resident.as_mut_ptr()) } != 0 {
            return Err(SystemCallError::last("mincore", format!("{bytes} bytes")));
        }
        let mut page = 0;
        for run in resident.chunk_by(|one, next| one & 1 == next & 1) {
            if run[0] & 1 == 1 {
                self.look_at(page, run.len())?;
            }
            page += run.len();
        }
        Ok(())
    }

    fn look_at(&self, page: usize, pages: usize) -> Result<(), SystemCallError> {
        let start = self.address.wrapping_byte_add(page * self.page_bytes);
        let bytes = pages * self.page_bytes;
        // SAFETY: the range lies in our own mapping, which is only read.
        if unsafe { libc::madvise(start, bytes, POPULATE_READ) } != 0 {
            let arguments = format!("{bytes} bytes, MADV_POPULATE_READ");
            return Err(SystemCallError::last("madvise", arguments));
        }
        Ok(())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.address, self.pages * self.page_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::*;
    use crate::proc_maps;
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
        // Nobody writes to the pipe: to open it would take for ever.
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
        std::io::Write::write_all(&mut file, &vec![7; pages * 4096]).unwrap();
        file.sync_all().unwrap();
        // All of it, because a file system with large folios keeps one of which a part is wanted;
        // then one page, without those behind it.
        for advice in [rustix::fs::Advice::DontNeed, rustix::fs::Advice::Random] {
            rustix::fs::fadvise(&file, 0, None, advice).unwrap();
        }
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut [0], 4096).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let object = MappedObject::open_to_look(Path::new(&path))
            .unwrap()
            .unwrap();
        let resident = || {
            let window = object.window(0, pages).unwrap();
            let mut resident = vec![0_u8; pages];
            // SAFETY: the range is the whole window, the vector has a byte for each page.
            let answer =
                unsafe { libc::mincore(window.address, pages * 4096, resident.as_mut_ptr()) };
            assert_eq!(answer, 0);
            resident.iter().filter(|byte| **byte & 1 == 1).count()
        };
        let before = resident();
        let mut pagemap = Pagemap::open_own().unwrap();
        let mut entries = Vec::new();
        object
            .entries(0, pages, &mut pagemap, &mut entries)
            .unwrap();
        let present = entries.iter().filter(|entry| entry.is_present()).count();
        // The kernel may give up pages at any time, and never caches more than there were.
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
        rustix::fs::fallocate(&file, flags, 0, 64 * 4096).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, &[7; 3 * 4096], 8 * 4096).unwrap();
        let object = MappedObject::of_file(file).unwrap();
        assert_eq!(object.allocated_bytes, 64 * 4096);
        assert_eq!(object.never_written_bytes().unwrap(), 61 * 4096);
    }

    #[test]
    fn looking_at_an_object_finds_its_pages_and_makes_none() {
        const TEST: &str = "looking_at_an_object_finds_its_pages_and_makes_none";
        let memory = SharedMemory::create(ObjectKind::Memfd, 64 * 4096, 4096).unwrap();
        let mapping = memory.map().unwrap();
        mapping.populate_for_writing().unwrap();
        let other = SharedMemory::create(ObjectKind::Memfd, 64 * 4096, 4096).unwrap();
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
            assert_eq!(object.allocated_bytes, pages * 4096);
            assert_eq!(object.policy_at(4096).unwrap(), None);
            let mut entries = Vec::new();
            let mut pagemap = Pagemap::open_own().unwrap();
            object.entries(0, 64, &mut pagemap, &mut entries).unwrap();
            let present = entries.iter().filter(|entry| entry.is_present()).count();
            assert_eq!(present as u64, pages);
            let data = object.next_data(0).unwrap();
            assert_eq!(data, (pages > 0).then_some((0, 64 * 4096)));
            let again = MappedObject::open(&root, own, line).unwrap();
            assert_eq!(again.allocated_bytes, pages * 4096);
        }
    }
}
