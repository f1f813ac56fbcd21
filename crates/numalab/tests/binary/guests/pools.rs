//! Pools of huge pages on every node.

use std::fs;

use crate::laboratory::Laboratory;

/// Pools of equally many pages, set by `numalab pages`. `numalab undo` takes them back.
pub(super) struct Pools {
    page_bytes: u64,
    pages: u64,
}

impl Pools {
    /// Sets the pool of each node, and asserts that the kernel has it.
    #[track_caller]
    pub(super) fn set(laboratory: &Laboratory, page_bytes: u64, pages: u64) -> Self {
        let (size, set) = (format!("{}K", page_bytes >> 10), format!("all={pages}"));
        let words = ["pages", "--size", &size, "--set", &set];
        laboratory.run(&words).with_code(0);
        let pools = Pools { page_bytes, pages };
        pools.are_free();
        pools
    }

    /// Asserts that no page of any pool is in use.
    #[track_caller]
    pub(super) fn are_free(&self) {
        let folder = format!("hugepages/hugepages-{}kB", self.page_bytes >> 10);
        let mut nodes = 0;
        for entry in fs::read_dir("/sys/devices/system/node").unwrap() {
            let pool = entry.unwrap().path().join(&folder);
            if pool.is_dir() {
                let free = fs::read_to_string(pool.join("free_hugepages")).unwrap();
                let free: u64 = free.trim().parse().unwrap();
                assert_eq!(free, self.pages, "free pages in {}", pool.display());
                nodes += 1;
            }
        }
        assert!(nodes > 0, "no node has {folder}");
    }
}
