//! Huge pages for the duration of a benchmark, set and undone by numalab itself.

use std::path::Path;

use anyhow::{Context, Result};

use super::own_binary::OwnBinary;

/// The pool of 2 MiB pages of node 0.
const POOL: &str = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB";

/// An enlarged pool; restored when dropped.
pub(super) struct HugePages<'b> {
    numalab: &'b OwnBinary,
    /// The change in the journal, if there was one.
    change: Option<String>,
}

impl<'b> HugePages<'b> {
    /// Makes sure that node 0 has this many free pages of 2 MiB. Needs root if it has not.
    pub(super) fn require(numalab: &'b OwnBinary, pages: u64) -> Result<Self> {
        let free = count("free_hugepages")?;
        if free >= pages {
            let change = None;
            return Ok(HugePages { numalab, change });
        }
        let total = count("nr_hugepages")? + pages - free;
        let output = numalab.output(&["pages", "--set", &format!("0={total}")])?;
        let change = changes(numalab)?.pop();
        anyhow::ensure!(
            output.status.success(),
            "numalab pages --set 0={total}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(HugePages { numalab, change })
    }
}

impl Drop for HugePages<'_> {
    fn drop(&mut self) {
        if let Some(change) = &self.change {
            let undone = self.numalab.output(&["undo", change]);
            if !undone.is_ok_and(|output| output.status.success()) {
                eprintln!("numalab undo {change} failed: the pool of huge pages stays as it is");
            }
        }
    }
}

fn count(name: &str) -> Result<u64> {
    let file = Path::new(POOL).join(name);
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    text.trim()
        .parse()
        .with_context(|| format!("{name}: {text}"))
}

/// Returns the numbers of the changes to the pool that are in force, oldest first.
fn changes(numalab: &OwnBinary) -> Result<Vec<String>> {
    let output = numalab.output(&["undo", "--list"])?;
    Ok(changes_in(&String::from_utf8_lossy(&output.stdout)))
}

fn changes_in(list: &str) -> Vec<String> {
    let numbers = list.lines().filter_map(|line| {
        let (number, what) = line.split_once(": ")?;
        what.starts_with(POOL).then(|| number.to_string())
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::{POOL, changes_in};

    #[test]
    fn only_changes_to_the_pool_are_taken_back() {
        let list = format!(
            "1: /sys/fs/cgroup/x: made\n4: {POOL}/nr_hugepages: 600 pages for 0, by process 7\n"
        );
        assert_eq!(changes_in(&list), ["4"]);
        assert!(changes_in("no changes in force\n").is_empty());
    }
}
