//! Capabilities of this process (`capabilities(7)`).

use crate::{Error, Root};

/// `CAP_SYS_NICE` (include/uapi/linux/capability.h): allows moving pages of other users' processes
/// and pages that several processes map.
const SYS_NICE: u32 = 23;

/// `CAP_SYS_PTRACE`: allows inspecting the mappings of other users' processes (ptrace(2), "Ptrace
/// access mode checking").
const SYS_PTRACE: u32 = 19;

/// Whether this thread may inspect the mappings of other users' processes; false when unknown.
pub fn may_see_others(root: &Root) -> bool {
    effective(root, "proc/thread-self/status").is_ok_and(|set| set >> SYS_PTRACE & 1 == 1)
}

/// Whether this process may move pages that several processes map; false when unknown.
pub fn may_move_pages_of_others(root: &Root) -> bool {
    effective(root, "proc/self/status").is_ok_and(|set| set >> SYS_NICE & 1 == 1)
}

/// `CapEff:\t000001fffeffffff` of a status file.
fn effective(root: &Root, status: &str) -> Result<u64, Error> {
    let file = root.read(status)?;
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix("CapEff:")?.trim())));
    let (number, text) = line.ok_or_else(|| file.ended("a line CapEff:"))?;
    u64::from_str_radix(text, 16).map_err(|_| file.malformed(number, "hexadecimal digits", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_decides() {
        for (line, expected) in [
            ("CapEff:\t0000000000800000\n", true),
            ("CapEff:\t000001ffff7fffff\n", false),
            ("CapEff:\tmany\n", false),
            ("", false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(directory.path().join("proc/self")).unwrap();
            std::fs::write(directory.path().join("proc/self/status"), line).unwrap();
            let root = Root::at(directory.path()).unwrap();
            assert_eq!(may_move_pages_of_others(&root), expected, "{line}");
        }
    }
}
