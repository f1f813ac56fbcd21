//! A pool of which every page is free and none is reserved.

use model::{ByteSize, Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "huge-pages-unused",
    severity: Severity::Warning,
    about: "a pool of huge pages takes memory but is unused",
    cost: "the memory of the pool is lost to everything else",
    cost_source: "kernel, admin-guide/mm/hugetlbpage.rst",
    checks: &[Check::Doctor(sight::pools, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let pool = input.topology.huge_pages.iter().find(|pool| {
        let is_promised = pool.reserved.unwrap_or(0) > 0;
        pool.total > 0 && pool.free == Some(pool.total) && !is_promised
    })?;
    let kib = pool.page_bytes / 1024;
    let directory = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB");
    let size = ByteSize(pool.total.saturating_mul(pool.page_bytes));
    Some(Found {
        message: format!(
            "all {} huge pages of {} ({size}) in the pool are free",
            pool.total,
            ByteSize(pool.page_bytes)
        ),
        evidence: vec![
            fact(format!("{directory}/nr_hugepages"), pool.total),
            fact(format!("{directory}/free_hugepages"), pool.total),
        ],
        fix: vec![
            ShellLine::of(
                "# set huge_pages = on (PostgreSQL), use_large_pages = only (Oracle) or \
                 large-pages (MySQL), and restart the database; or free the pool:",
            ),
            shell_line!("echo 0 >{}/nr_hugepages", directory),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::pools_of;

    #[test]
    fn a_pool_that_nobody_uses_is_found() {
        assert!(check(&pools_of([(10, 10), (10, 10)], "0-1")).is_some());
        assert!(check(&pools_of([(10, 9), (10, 10)], "0-1")).is_none());
        assert!(check(&pools_of([(0, 0), (0, 0)], "0-1")).is_none());
    }
}
