//! Shared memory objects: System V segments and memfds with pages of any size, files in /dev/shm.
//!
//! None of them has a name once it is mapped: see [`SharedMemory`].

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, Mode, OFlags};

use crate::{Root, SystemCallError, capabilities};

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// shmget(2). With a key, other processes find the segment until it is mapped.
    Sysv {
        /// The key; `None` for none (`IPC_PRIVATE`).
        key: Option<i32>,
    },
    /// memfd_create(2).
    Memfd,
    /// A file in /dev/shm that never has a name (`O_TMPFILE`, open(2)).
    Shm,
}

/// A shared memory object that vanishes with the last process that maps it.
///
/// The first [`SharedMemory::map`] marks a System V segment for destruction; Linux lets other
/// processes attach to it by id even after that (shmctl(2), `IPC_RMID`).
#[derive(Debug)]
pub struct SharedMemory {
    handle: Handle,
    bytes: usize,
}

#[derive(Debug)]
enum Handle {
    Sysv { id: i32, created_here: bool },
    Descriptor(OwnedFd),
}

/// How another numalab process finds the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ticket {
    /// Id of a System V segment.
    Sysv(i32),
    /// Number of an inherited file descriptor.
    Descriptor(RawFd),
    /// A file descriptor of another process, which must still have it open.
    DescriptorOf {
        /// The process.
        pid: u32,
        /// The number there.
        descriptor: RawFd,
    },
}

impl Ticket {
    /// The ticket by which any process of the same user finds the object of this process.
    pub fn of_this_process(self) -> Self {
        match self {
            Ticket::Descriptor(descriptor) => Ticket::DescriptorOf {
                pid: std::process::id(),
                descriptor,
            },
            other => other,
        }
    }
}

/// Bits that carry the logarithm of a huge page's size in `MAP_`, `MFD_` and `SHM_` flags
/// (include/uapi/asm-generic/hugetlb_encode.h).
const HUGE_SHIFT: u32 = 26;

fn huge_flags(page_bytes: u64, huge_flag: i32) -> i32 {
    if page_bytes == crate::process::page_bytes() {
        return 0;
    }
    huge_flag | ((page_bytes.trailing_zeros() as i32) << HUGE_SHIFT)
}

/// The directory of POSIX shared memory (shm_overview(7)).
pub const SHM_DIRECTORY: &str = "/dev/shm";

/// Free bytes in [`SHM_DIRECTORY`]; `None` when the file system cannot be queried.
pub fn shm_free_bytes() -> Option<u64> {
    let status = rustix::fs::statvfs(SHM_DIRECTORY).ok()?;
    Some(status.f_bavail.saturating_mul(status.f_frsize))
}

/// The largest System V segment of huge pages that this thread may create, in bytes; `None` without
/// a limit. They require `CAP_IPC_LOCK` or the group `vm.hugetlb_shm_group`; before Linux 5.16,
/// others could make them within RLIMIT_MEMLOCK (fs/hugetlbfs/inode.c, `hugetlb_file_setup`; commit
/// 83c1fd763b32). Tries none: a segment stays if its maker is killed before it removes it.
pub fn huge_segment_bytes_max(root: &Root) -> Option<u64> {
    if capabilities::may_make_huge_segments(root) {
        return None;
    }
    let release = root.read("proc/sys/kernel/osrelease");
    match release.is_ok_and(|file| is_before_5_16(file.text())) {
        true => rustix::process::getrlimit(rustix::process::Resource::Memlock).current,
        false => Some(0),
    }
}

/// Of a kernel's release, `6.1.0-48-amd64`.
fn is_before_5_16(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next()?.parse::<u32>().ok();
    matches!((next(), next()), (Some(major), Some(minor)) if (major, minor) < (5, 16))
}

impl SharedMemory {
    /// Creates an object of `bytes`, which must be a multiple of `page_bytes`. The pages of a file
    /// in /dev/shm are small, whatever `page_bytes` is.
    ///
    /// # Errors
    /// `ENOMEM` when the huge-page pool is too small for a reservation; `ENODEV` or `EINVAL` when
    /// the kernel has no pages of that size; `ENOENT` where there is no /dev/shm; `EEXIST` where a
    /// segment has the key.
    pub fn create(
        kind: ObjectKind,
        bytes: usize,
        page_bytes: u64,
    ) -> Result<Self, SystemCallError> {
        assert!(
            page_bytes.is_power_of_two(),
            "pages have sizes of powers of two"
        );
        assert!(
            (bytes as u64).is_multiple_of(page_bytes),
            "an object is made of whole pages"
        );
        let arguments = || format!("{bytes} bytes in pages of {page_bytes}");
        let handle = match kind {
            ObjectKind::Sysv { key } => {
                let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
                let flags = flags | huge_flags(page_bytes, libc::SHM_HUGETLB);
                // SAFETY: no pointer is passed.
                let id = unsafe { libc::shmget(key.unwrap_or(libc::IPC_PRIVATE), bytes, flags) };
                if id < 0 {
                    return Err(SystemCallError::last("shmget", arguments()));
                }
                Handle::Sysv {
                    id,
                    created_here: true,
                }
            }
            ObjectKind::Memfd => {
                // No close-on-exec: sessions inherit the descriptor.
                let flags = huge_flags(page_bytes, libc::MFD_HUGETLB as i32) as u32;
                sized(memfd("numalab-sga", flags, &arguments())?, bytes)?
            }
            ObjectKind::Shm => {
                // As above, sessions inherit the descriptor.
                let flags = OFlags::TMPFILE | OFlags::RDWR;
                let fd = rustix::fs::open(SHM_DIRECTORY, flags, Mode::RUSR | Mode::WUSR);
                let fd = fd.map_err(|cause| {
                    SystemCallError::with(
                        "open",
                        format!("{SHM_DIRECTORY}, O_TMPFILE"),
                        cause.into(),
                    )
                })?;
                sized(fd, bytes)?
            }
        };
        Ok(SharedMemory { handle, bytes })
    }

    /// Creates a memfd of `bytes` in small pages, which the kernel shows by this name.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` when there are too many descriptors, `ENOSPC` without memory.
    pub fn named(name: &str, bytes: usize) -> Result<Self, SystemCallError> {
        let fd = memfd(name, 0, &format!("{name:?}"))?;
        let handle = sized(fd, bytes)?;
        Ok(SharedMemory { handle, bytes })
    }

    /// Opens the object of `bytes` that another process created.
    ///
    /// # Errors
    /// When the process has no open descriptor with the ticket's number.
    pub fn from_ticket(ticket: Ticket, bytes: usize) -> Result<Self, SystemCallError> {
        let handle = match ticket {
            Ticket::Sysv(id) => Handle::Sysv {
                id,
                created_here: false,
            },
            // Open it again, to assume nothing about the owner of the inherited descriptor.
            Ticket::Descriptor(fd) => reopened(format!("/proc/self/fd/{fd}"))?,
            Ticket::DescriptorOf { pid, descriptor } => {
                reopened(format!("/proc/{pid}/fd/{descriptor}"))?
            }
        };
        Ok(SharedMemory { handle, bytes })
    }

    /// The descriptor behind it; a System V segment has none.
    pub(crate) fn descriptor(&self) -> Option<&OwnedFd> {
        match &self.handle {
            Handle::Sysv { .. } => None,
            Handle::Descriptor(descriptor) => Some(descriptor),
        }
    }

    /// The ticket by which a child finds this object.
    pub fn ticket(&self) -> Ticket {
        match &self.handle {
            Handle::Sysv { id, .. } => Ticket::Sysv(*id),
            Handle::Descriptor(fd) => Ticket::Descriptor(fd.as_raw_fd()),
        }
    }

    /// Maps the whole object for reading and writing.
    ///
    /// # Errors
    /// `ENOMEM` when address space or huge pages are exhausted; `EINVAL` or `EIDRM` when the object
    /// is gone; an error of kind `InvalidData` when it is smaller than stated.
    pub fn map(&self) -> Result<Mapping, SystemCallError> {
        match &self.handle {
            Handle::Sysv { id, created_here } => self.attach_sysv(*id, *created_here),
            Handle::Descriptor(fd) => self.map_descriptor(fd),
        }
    }

    fn attach_sysv(&self, id: i32, created_here: bool) -> Result<Mapping, SystemCallError> {
        let segment = || format!("segment {id}");
        // SAFETY: the kernel chooses a free address range.
        let address = unsafe { libc::shmat(id, std::ptr::null(), 0) };
        if address.addr() == usize::MAX {
            return Err(SystemCallError::last("shmat", segment()));
        }
        let mapping = Mapping {
            address,
            bytes: self.bytes,
            attached: true,
        };
        // SAFETY: `shmid_ds` is plain data, for which zeroes are a valid value.
        let mut status: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes one `shmid_ds`.
        if unsafe { libc::shmctl(id, libc::IPC_STAT, &raw mut status) } < 0 {
            return Err(SystemCallError::last("shmctl", segment()));
        }
        if status.shm_segsz < self.bytes {
            return Err(too_small("shmat", status.shm_segsz, self.bytes));
        }
        if created_here {
            self.mark_for_destruction();
        }
        Ok(mapping)
    }

    fn map_descriptor(&self, fd: &OwnedFd) -> Result<Mapping, SystemCallError> {
        let object = rustix::fs::fstat(fd)
            .map_err(|cause| SystemCallError::with("fstat", "the SGA", cause.into()))?;
        if (object.st_size as usize) < self.bytes {
            return Err(too_small("mmap", object.st_size as usize, self.bytes));
        }
        // SAFETY: a new mapping at an address the kernel chooses aliases nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                self.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(SystemCallError::last(
                "mmap",
                format!("{} bytes", self.bytes),
            ));
        }
        Ok(Mapping {
            address,
            bytes: self.bytes,
            attached: false,
        })
    }

    fn mark_for_destruction(&self) {
        if let Handle::Sysv {
            id,
            created_here: true,
        } = self.handle
        {
            // A failure means that the segment is gone or already marked, which is the goal.
            // SAFETY: no pointer is used by this command.
            unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        self.mark_for_destruction();
    }
}

fn reopened(path: String) -> Result<Handle, SystemCallError> {
    let opened = File::options().read(true).write(true).open(&path);
    let file = opened.map_err(|cause| SystemCallError::with("open", path, cause))?;
    Ok(Handle::Descriptor(file.into()))
}

fn memfd(name: &str, flags: u32, arguments: &str) -> Result<OwnedFd, SystemCallError> {
    let flags = MemfdFlags::from_bits_retain(flags);
    rustix::fs::memfd_create(name, flags)
        .map_err(|cause| SystemCallError::with("memfd_create", arguments, cause.into()))
}

fn sized(fd: OwnedFd, bytes: usize) -> Result<Handle, SystemCallError> {
    rustix::fs::ftruncate(&fd, bytes as u64).map_err(|cause| {
        SystemCallError::with("ftruncate", format!("{bytes} bytes"), cause.into())
    })?;
    Ok(Handle::Descriptor(fd))
}

fn too_small(call: &'static str, found: usize, expected: usize) -> SystemCallError {
    let arguments = format!("the object has {found} bytes, {expected} were announced");
    SystemCallError::with(call, arguments, io::Error::from(io::ErrorKind::InvalidData))
}

/// Shared memory mapped into this process, until dropped.
#[derive(Debug)]
pub struct Mapping {
    address: *mut c_void,
    bytes: usize,
    attached: bool,
}

impl Mapping {
    /// First address.
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Length in bytes.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a mapping is never empty: mmap refuses it"
    )]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Makes every page present and writable (`MADV_POPULATE_WRITE`, Linux 5.14). Where touching a
    /// page would cause SIGBUS or an out-of-memory kill, this returns an error.
    ///
    /// # Errors
    /// `ENOMEM`, or `EFAULT` for huge pages, when the nodes allowed have too few free pages;
    /// `EINVAL` on a kernel before 5.14.
    pub fn populate_for_writing(&self) -> Result<(), SystemCallError> {
        self.advise(libc::MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE")
    }

    /// Makes every page present in this process (`MADV_POPULATE_READ`).
    ///
    /// # Errors
    /// As for [`Mapping::populate_for_writing`].
    pub fn populate_for_reading(&self) -> Result<(), SystemCallError> {
        self.advise(libc::MADV_POPULATE_READ, "MADV_POPULATE_READ")
    }

    fn advise(&self, advice: i32, name: &str) -> Result<(), SystemCallError> {
        // SAFETY: the range is this mapping, and both advices only fault pages in.
        if unsafe { libc::madvise(self.address, self.bytes, advice) } < 0 {
            return Err(SystemCallError::last(
                "madvise",
                format!("{} bytes, {name}", self.bytes),
            ));
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // A failure would mean that the range is not mapped: there is nothing to undo.
        // SAFETY: the range was mapped by us, and a borrow of it cannot outlive `self`.
        unsafe {
            if self.attached {
                libc::shmdt(self.address);
            } else {
                libc::munmap(self.address, self.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::{ObjectKind, SharedMemory, Ticket, huge_segment_bytes_max, is_before_5_16};
    use crate::Root;
    use crate::process::page_bytes;
    use crate::process::{as_user, is_root};

    const SYSV: ObjectKind = ObjectKind::Sysv { key: None };

    #[test]
    fn a_release_is_older_or_not() {
        for (release, expected) in [
            ("5.14.0-427.el9.x86_64\n", true),
            ("5.15.0-91-generic\n", true),
            ("4.18\n", true),
            ("5.16.0\n", false),
            ("6.1.0-48-amd64\n", false),
            ("10.2-rc1\n", false),
            ("unknown", false),
            ("5", false),
            ("", false),
        ] {
            assert_eq!(is_before_5_16(release), expected, "{release}");
        }
    }

    /// Whether a segment of so many bytes in pages of 2 MiB may not be made. The kernel looks at
    /// that before it looks for pages, of which no pool has enough for a TiB.
    fn is_refused(bytes: u64) -> bool {
        let made = SharedMemory::create(SYSV, bytes as usize, 2 << 20);
        made.is_err_and(|error| error.errno() == Some(libc::EPERM))
    }

    #[test]
    fn the_limit_of_huge_segments_is_the_one_that_the_kernel_sets() {
        let test = "the_limit_of_huge_segments_is_the_one_that_the_kernel_sets";
        if !is_root() {
            return not_run(test, Need::Root, "only root may become another user");
        }
        if !std::path::Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB").exists() {
            return not_run(test, Need::Kernel, "it has no huge pages of 2 MiB");
        }
        assert_eq!(huge_segment_bytes_max(&Root::live()), None);
        assert!(!is_refused(1 << 40));
        as_user(65_534, 65_534, || {
            let Some(limit) = huge_segment_bytes_max(&Root::live()) else {
                return assert!(!is_refused(1 << 40), "without a limit");
            };
            let most = limit >> 21 << 21;
            assert!(is_refused(most + (2 << 20)), "{limit}");
            assert!(most == 0 || !is_refused(most), "{limit}");
        })
        .unwrap();
    }

    #[test]
    fn two_mappings_show_the_same_memory() {
        for kind in [SYSV, ObjectKind::Memfd, ObjectKind::Shm] {
            let memory =
                SharedMemory::create(kind, 2 * page_bytes() as usize, page_bytes()).unwrap();
            let (one, two) = (memory.map().unwrap(), memory.map().unwrap());
            // SAFETY: both mappings are alive, two pages long, and nothing else writes to them.
            unsafe {
                one.address().cast::<u64>().write(42);
                assert_eq!(two.address().cast::<u64>().read(), 42, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_ticket_leads_to_the_same_memory() {
        for kind in [SYSV, ObjectKind::Memfd, ObjectKind::Shm] {
            let memory =
                SharedMemory::create(kind, 2 * page_bytes() as usize, page_bytes()).unwrap();
            let one = memory.map().unwrap();
            let two = SharedMemory::from_ticket(memory.ticket(), 2 * page_bytes() as usize)
                .unwrap()
                .map()
                .unwrap();
            // SAFETY: both mappings are alive, two pages long, and nothing else writes to them.
            unsafe {
                one.address().cast::<u64>().write(42);
                assert_eq!(two.address().cast::<u64>().read(), 42, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_system_v_segment_is_gone_after_its_last_mapping() {
        let memory = SharedMemory::create(SYSV, page_bytes() as usize, page_bytes()).unwrap();
        let ticket = memory.ticket();
        drop(memory.map().unwrap());
        assert!(
            SharedMemory::from_ticket(ticket, page_bytes() as usize)
                .unwrap()
                .map()
                .is_err()
        );
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_refused() {
        let error = SharedMemory::from_ticket(Ticket::Descriptor(98765), 4096).unwrap_err();
        assert!(error.to_string().contains("/proc/self/fd/98765"), "{error}");
    }

    #[test]
    fn an_object_is_found_by_a_descriptor_of_another_process() {
        for kind in [ObjectKind::Memfd, ObjectKind::Shm] {
            let memory = SharedMemory::create(kind, page_bytes() as usize, page_bytes()).unwrap();
            let mapping = memory.map().unwrap();
            let ticket = memory.ticket().of_this_process();
            let pid = std::process::id();
            assert!(matches!(ticket, Ticket::DescriptorOf { pid: it, .. } if it == pid));
            let other = SharedMemory::from_ticket(ticket, page_bytes() as usize).unwrap();
            let other = other.map().unwrap();
            // SAFETY: both mappings have a page, which nobody else uses.
            unsafe { mapping.address().cast::<u8>().write_volatile(7) };
            // SAFETY: as above.
            assert_eq!(unsafe { other.address().cast::<u8>().read_volatile() }, 7);
        }
        let gone = Ticket::DescriptorOf {
            pid: i32::MAX as u32,
            descriptor: 3,
        };
        let error = SharedMemory::from_ticket(gone, 4096).unwrap_err();
        assert!(
            error.to_string().contains("/proc/2147483647/fd/3"),
            "{error}"
        );
    }

    #[test]
    fn an_object_smaller_than_announced_is_refused() {
        for kind in [SYSV, ObjectKind::Memfd, ObjectKind::Shm] {
            let memory = SharedMemory::create(kind, page_bytes() as usize, page_bytes()).unwrap();
            let claimed =
                SharedMemory::from_ticket(memory.ticket(), 2 * page_bytes() as usize).unwrap();
            let error = claimed.map().unwrap_err();
            let (page, both) = (page_bytes(), 2 * page_bytes());
            let expected = format!("{page} bytes, {both} were announced");
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }
}
