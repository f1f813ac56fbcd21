//! A pool of huge pages on node 0 for the duration of a test, which no other test has meanwhile.

use std::fs;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::turns::Turn;
use crate::unmet_need::is_root;

/// The pool of 2 MiB pages: `numalab pages`, and `numalab undo` when dropped.
pub(crate) struct Pool<'a> {
    laboratory: &'a Laboratory,
    _turn: Turn,
}

impl<'a> Pool<'a> {
    /// Makes the pool this large; `None`, said loudly, where that cannot be done.
    pub(crate) fn set(test: &str, laboratory: &'a Laboratory, pages: u64) -> Option<Self> {
        if !is_root(test) {
            return None;
        }
        let turn = Turn::of("pool");
        let set = laboratory.run(&["pages", "--set", &format!("0={pages}"), "--size", "2M"]);
        let pool = Pool {
            laboratory,
            _turn: turn,
        };
        if set.status.code() != Some(0) {
            let what = format!("it needs huge pages: {}", set.stderr);
            not_run(test, Need::Kernel, &what);
            return None;
        }
        Some(pool)
    }
}

impl Drop for Pool<'_> {
    fn drop(&mut self) {
        self.laboratory.run(&["undo"]);
    }
}

/// Reads a file of the machine's pool of 2 MiB pages.
pub(crate) fn count(file: &str) -> u64 {
    let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}");
    let text = fs::read_to_string(path).unwrap_or_else(|_| "0".to_owned());
    text.trim().parse().unwrap()
}
