//! Huge pages for the duration of a benchmark, set and undone by numalab itself.

use std::process::Command;

use anyhow::{Context, Result};

use super::harness::Harness;

/// The pool of 2 MiB pages of node 0.
const POOL: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB";

/// An enlarged pool; restored when dropped.
pub(super) struct HugePages {
    undo: Option<Command>,
}

impl HugePages {
    /// Makes sure that node 0 has this many free pages of 2 MiB. Needs root if it has not.
    pub(super) fn require(harness: &Harness, pages: u64) -> Result<Self> {
        let free = count("free_hugepages")?;
        if free >= pages {
            return Ok(HugePages { undo: None });
        }
        let total = count("nr_hugepages")? + pages - free;
        let pool = format!("0={total}");
        let set = harness.numalab(&["pages", "--size", "2MiB", "--set", &pool]);
        let set = harness.text(&set);
        // Also what the kernel gave stays in force where it is too little.
        let list = harness.text(&harness.numalab(&["undo", "--list"]))?;
        let undo = newest(&list).map(|change| harness.numalab(&["undo", change]));
        let pages = HugePages { undo };
        set.map(|_| pages)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        let Some(undo) = &mut self.undo else { return };
        if !undo.output().is_ok_and(|output| output.status.success()) {
            eprintln!("{undo:?} failed: the pool of huge pages stays as it is");
        }
    }
}

fn count(name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(format!("{POOL}/{name}")).context(name.to_owned())?;
    text.trim()
        .parse()
        .with_context(|| format!("{name}: {text}"))
}

/// Returns the number of the newest change to the pool that is in force.
fn newest(list: &str) -> Option<&str> {
    let mut numbers = list.lines().filter_map(|line| {
        let (number, what) = line.split_once(": ")?;
        what.starts_with(POOL).then_some(number)
    });
    numbers.next_back()
}

#[cfg(test)]
mod tests {
    use super::{POOL, newest};

    #[test]
    fn only_a_change_to_the_pool_is_taken_back() {
        let pool = format!("{POOL}/nr_hugepages: 600 pages for 0, by process 7");
        let list = format!("1: /sys/fs/cgroup/x: made\n2: {pool}\n4: {pool}\n5: /sys/x: made\n");
        assert_eq!(newest(&list), Some("4"));
        assert_eq!(newest("no changes in force\n"), None);
    }
}
