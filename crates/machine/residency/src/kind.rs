//! The kind of object behind a mapping, by the name the kernel gives it (proc_pid_maps(5);
//! mm/shmem.c, ipc/shm.c, fs/hugetlbfs/inode.c).

use model::SegmentKind;

/// What the kernel appends to the name of an unlinked object.
const DELETED: &str = " (deleted)";

/// The kind of the object called `name`.
pub fn kind_of(name: &str, is_executable: bool, is_huge: bool) -> SegmentKind {
    let plain = name.strip_suffix(DELETED).unwrap_or(name);
    if plain.starts_with("/SYSV") {
        SegmentKind::Sysv
    } else if is_huge || plain == "/anon_hugepage" || plain.starts_with("/dev/hugepages/") {
        SegmentKind::HugePages
    } else if plain == "/dev/zero" {
        SegmentKind::SharedAnonymous
    } else if plain.starts_with("/dev/shm/") {
        SegmentKind::DevShm
    } else if plain.starts_with("/memfd:") {
        SegmentKind::Memfd
    } else if is_executable || is_library(plain) {
        SegmentKind::ProgramText
    } else {
        SegmentKind::File
    }
}

/// `/lib/x86_64-linux-gnu/libc.so.6`: its constants are mapped without `x`.
fn is_library(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.ends_with(".so") || file.contains(".so.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart_by_name() {
        let check = |name, expected| assert_eq!(kind_of(name, false, false), expected, "{name}");
        check("/SYSV85a066e4 (deleted)", SegmentKind::Sysv);
        check("/dev/zero (deleted)", SegmentKind::SharedAnonymous);
        check("/dev/shm/PostgreSQL.123", SegmentKind::DevShm);
        check("/memfd:numalab-sga (deleted)", SegmentKind::Memfd);
        check("/anon_hugepage (deleted)", SegmentKind::HugePages);
        check("/usr/lib/libc.so.6", SegmentKind::ProgramText);
        check("/var/lib/db/base/1", SegmentKind::File);
        assert_eq!(kind_of("/usr/bin/x", true, false), SegmentKind::ProgramText);
        assert_eq!(kind_of("/mnt/huge/a", false, true), SegmentKind::HugePages);
        assert_eq!(
            kind_of("/SYSV00000000 (deleted)", false, true),
            SegmentKind::Sysv
        );
    }
}
