//! The mappings of all processes of a target; those that could not be read become gaps.

use linux::proc_maps::{self, Mapping};
use linux::{Error, Root, on_threads};

use super::gaps::Gaps;
use crate::instances::Member;

/// The mappings of one process.
#[derive(Clone, Debug)]
pub(super) struct ProcessMaps {
    /// The process.
    pub pid: u32,
    /// Its resident pages, approximately.
    pub resident_pages: u64,
    /// Its mappings.
    pub mappings: Vec<Mapping>,
}

/// Memory that the kernel itself maps into every process: not node memory that the process has
/// allocated.
const OF_THE_KERNEL: [&str; 4] = ["[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]"];

/// A mapping without any access and longer than this is a reservation of addresses, as Go, Java and
/// sanitizers make them: it has no pages, and scanning it would take minutes.
const RESERVATION_BYTES: u64 = 1 << 30;

/// Processes that a thread reads at once: that takes a tenth of a millisecond at least.
pub(super) const PROCESSES_AT_ONCE: usize = 4;

/// Whether a mapping is worth scanning.
pub fn has_pages(mapping: &Mapping) -> bool {
    let name = mapping.name.as_str();
    let of_kernel = OF_THE_KERNEL.contains(&name);
    let of_device = name.starts_with("/dev/")
        && !["/dev/shm/", "/dev/zero", "/dev/hugepages/"]
            .iter()
            .any(|of| name.starts_with(of));
    let is_reservation = !mapping.is_accessible && mapping.bytes() > RESERVATION_BYTES;
    !of_kernel && !of_device && !is_reservation
}

/// Reads the mappings of all readable processes: all mappings, or only those of shared objects.
pub(super) fn read_all(
    root: &Root,
    members: &[Member],
    only_shared: bool,
    gaps: &mut Gaps,
) -> Vec<ProcessMaps> {
    let read = match only_shared {
        true => proc_maps::read_shared,
        false => proc_maps::read,
    };
    let found = on_threads::map(members, PROCESSES_AT_ONCE, |member| {
        let is_shown = !member.stat.lacks_first_thread;
        is_shown.then(|| read(root, member.stat.pid))
    });
    let mut all = Vec::new();
    for (member, found) in members.iter().zip(found) {
        let pid = member.stat.pid;
        let Some(found) = found else {
            gaps.lacks_first_thread(pid);
            continue;
        };
        match found {
            Ok(found) => {
                if let Some(complaint) = found.complaint {
                    gaps.add(complaint.to_string());
                }
                let mappings = found.list.into_iter().filter(has_pages).collect();
                all.push(ProcessMaps {
                    pid,
                    resident_pages: member.stat.resident_pages,
                    mappings,
                });
            }
            Err(error) => gaps.process(pid, &error),
        }
    }
    all
}

/// Whether the shared mappings of a process are still those that were read.
pub(super) fn are_unchanged(root: &Root, process: &ProcessMaps) -> Result<bool, Error> {
    let now = proc_maps::read_shared(root, process.pid)?.list;
    let is_shared =
        |mapping: &&Mapping| mapping.is_shared && mapping.has_object() && has_pages(mapping);
    Ok(now
        .iter()
        .filter(is_shared)
        .eq(process.mappings.iter().filter(is_shared)))
}

#[cfg(test)]
mod tests {
    use linux::TextFile;

    use super::*;

    #[test]
    fn reservations_devices_and_pages_of_the_kernel_are_passed_over() {
        let text = "1000-2000 rw-p 00000000 00:00 0 \n\
                    2000-3000 ---p 00000000 00:00 0 \n\
                    100000000-900000000 ---p 00000000 00:00 0 \n\
                    900000000-900001000 r-xp 00000000 00:00 0 [vdso]\n\
                    900001000-900002000 rw-s 00000000 00:05 9 /dev/nvidia0\n\
                    900002000-900003000 rw-s 00000000 00:05 9 /dev/shm/a\n\
                    900003000-900004000 rw-s 00000000 00:05 9 /dev/zero (deleted)\n";
        let mappings = proc_maps::parse(&TextFile::new("/maps", text)).list;
        let kept: Vec<bool> = mappings.iter().map(has_pages).collect();
        assert_eq!(kept, [true, true, false, false, false, true, true]);
    }
}
