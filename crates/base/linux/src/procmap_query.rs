//! `PROCMAP_QUERY` (Linux 6.11, include/uapi/linux/fs.h): queries single mappings of a process
//! through /proc/PID/maps, without the text of all the others.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::mapping::{Mapping, ObjectId, is_of_sysv};

/// `_IOWR('f', 17, struct procmap_query)`.
const REQUEST: libc::c_ulong = 0xc068_6611;

/// Required properties of a mapping (`PROCMAP_QUERY_VMA_SHARED`, `…_FILE_BACKED_VMA`), and a
/// request for the next one if none is at the address (`…_COVERING_OR_NEXT_VMA`).
const SHARED_NEXT: u64 = 0x08 | 0x20 | 0x10;

/// Flags of a mapping: `PROCMAP_QUERY_VMA_READABLE`, `…_WRITABLE`, `…_EXECUTABLE`.
const READABLE: u64 = 0x01;
const WRITABLE: u64 = 0x02;
const EXECUTABLE: u64 = 0x04;

/// `PATH_MAX`, and the suffix that the kernel writes after the path of a deleted file.
const NAME_BYTES: usize = 4096 + " (deleted)".len();

/// `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    vma_start: u64,
    vma_end: u64,
    vma_flags: u64,
    vma_page_size: u64,
    vma_offset: u64,
    inode: u64,
    dev_major: u32,
    dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const _: () = assert!(size_of::<Query>() == 104);

/// The mappings of shared objects, ascending; `None` when the kernel does not support the call.
///
/// # Errors
/// When the process is gone or may not be read.
pub(crate) fn shared(maps: &File) -> std::io::Result<Option<Vec<Mapping>>> {
    let mut name = vec![0_u8; NAME_BYTES];
    let mut mappings = Vec::new();
    let mut address = 0;
    loop {
        let mut query = Query {
            size: size_of::<Query>() as u64,
            query_flags: SHARED_NEXT,
            query_addr: address,
            vma_name_size: NAME_BYTES as u32,
            vma_name_addr: name.as_mut_ptr().addr() as u64,
            ..Query::default()
        };
        // SAFETY: the kernel reads and writes one struct of the size stated in it, and at most
        // `vma_name_size` bytes at `vma_name_addr`, which `name` has.
        let answer = unsafe { libc::ioctl(maps.as_raw_fd(), REQUEST, &raw mut query) };
        if answer < 0 {
            let error = std::io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOENT) => Ok(Some(mappings)),
                // Older kernels, and seccomp filters of containers.
                Some(libc::ENOTTY | libc::EINVAL | libc::EPERM | libc::ENOSYS) => Ok(None),
                _ => Err(error),
            };
        }
        mappings.push(mapping(&query, &name));
        address = query.vma_end;
    }
}

fn mapping(query: &Query, name: &[u8]) -> Mapping {
    // The length includes the terminating NUL.
    let bytes = name.get(..(query.vma_name_size as usize).saturating_sub(1));
    // As seq_file writes it in /proc/PID/maps.
    let name = String::from_utf8_lossy(bytes.unwrap_or_default()).replace('\n', "\\012");
    Mapping {
        start: query.vma_start,
        end: query.vma_end,
        is_accessible: query.vma_flags & (READABLE | WRITABLE) != 0,
        is_executable: query.vma_flags & EXECUTABLE != 0,
        is_shared: true,
        offset: query.vma_offset,
        object: ObjectId {
            major: query.dev_major,
            minor: query.dev_minor,
            inode: query.inode,
            is_sysv: is_of_sysv(&name),
            ipc_namespace: None,
        },
        name,
    }
}

#[cfg(test)]
mod tests {
    use testing::{Need, not_run};

    use super::shared;
    use crate::process::page_bytes;
    use crate::shared_memory::{ObjectKind, SharedMemory};
    use crate::{Root, proc_maps};

    #[test]
    fn the_shared_mappings_are_those_of_the_whole_file() {
        let memory =
            SharedMemory::create(ObjectKind::Memfd, 16 * page_bytes() as usize, page_bytes())
                .unwrap();
        let mapping = memory.map().unwrap();
        let maps = std::fs::File::open("/proc/self/maps").unwrap();
        let Some(found) = shared(&maps).unwrap() else {
            let why = "the kernel does not know PROCMAP_QUERY (Linux 6.11)";
            let test = "the_shared_mappings_are_those_of_the_whole_file";
            return not_run(test, Need::Kernel, why);
        };
        let start = mapping.address().addr() as u64;
        let all = proc_maps::read(&Root::live(), std::process::id()).unwrap();
        let expected = all.list.into_iter().find(|line| line.start == start);
        // Other threads map and unmap at the same time, so only our own mapping is compared.
        let ours = found.into_iter().find(|line| line.start == start);
        assert!(ours.is_some() && ours == expected, "{ours:?} {expected:?}");
    }
}
