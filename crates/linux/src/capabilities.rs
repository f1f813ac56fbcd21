//! What this process is permitted beyond its user (`capabilities(7)`).

use crate::{Error, Root};

/// `CAP_SYS_NICE` (include/uapi/linux/capability.h): pages of other users' processes, and pages
/// that several processes have mapped, may be moved.
const SYS_NICE: u32 = 23;

/// Whether this process may move pages that several processes have mapped. In doubt it may not.
pub fn may_move_pages_of_others(root: &Root) -> bool {
    effective(root).is_ok_and(|set| set >> SYS_NICE & 1 == 1)
}

/// `CapEff:\t000001fffeffffff` of /proc/self/status.
fn effective(root: &Root) -> Result<u64, Error> {
    let file = root.read("proc/self/status")?;
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
