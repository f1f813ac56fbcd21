//! `large_pages`, and the buffer pool is in small pages.

use model::{ByteSize, Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "mariadb-large-pages-fell-back",
    severity: Severity::Warning,
    about: "MariaDB has large_pages = ON, but its buffer pool is in small pages",
    cost: "page tables for all of the pool, and more TLB misses",
    cost_source: "`numalab run mariadb-huge-pages` measures it here",
    checks: &[Check::Doctor(sight::mariadb, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    let number = |name| settings.value(name).and_then(|it| it.parse::<u64>().ok());
    // Pages of a pool count when they are touched, so the pool is compared as far as it is filled.
    let filled = number("innodb_buffer_pool_bytes_data").filter(|it| *it >= WORTH_BYTES)?;
    let huge_bytes = input.server_memory.huge_bytes?;
    let is_asked = settings.value("large_pages").is_some_and(|it| it == "ON");
    let pid = settings.pid;
    (is_asked && huge_bytes < filled).then(|| Found {
        message: format!(
            "large_pages is ON, and of {} in the buffer pool at most {} are in huge pages",
            ByteSize(filled),
            ByteSize(huge_bytes)
        ),
        evidence: vec![
            fact(settings.source, "large_pages ON"),
            fact(
                settings.source,
                format!("Innodb_buffer_pool_bytes_data {filled}"),
            ),
            fact(
                format!("/proc/{pid}/status"),
                format!("HugetlbPages {}", ByteSize(huge_bytes)),
            ),
        ],
        fix: fix(input, number("innodb_buffer_pool_size")),
        ..Found::default()
    })
}

fn fix(input: &DoctorInput, pool_bytes: Option<u64>) -> Vec<ShellLine> {
    // The server takes pages of the default size, where it is not told another one.
    let mut pools = input.topology.huge_pages.iter();
    let default = pools.find(|pool| pool.is_default == Some(true));
    let page_bytes = default.map_or(2 << 20, |pool| pool.page_bytes);
    let kib = page_bytes / 1024;
    let pool = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
    let enough = match pool_bytes {
        // Descriptors of pages come on top, and other caches that are large.
        Some(bytes) => {
            let pages = bytes.saturating_add(bytes / 8).div_ceil(page_bytes.max(1));
            shell_line!(
                "echo {} >{}    # the pool and an eighth for descriptors and caches",
                pages,
                pool
            )
        }
        None => ShellLine::remark(format!("set enough pages in {pool}")),
    };
    vec![
        enough,
        ShellLine::of(
            "# the server needs LimitMEMLOCK=infinity in its unit; restart it, and look for",
        ),
        ShellLine::of("# \"Couldn't allocate\" in its log: it falls back without an error"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::mariadb;

    #[test]
    fn a_pool_that_fell_back_is_found() {
        let found = |large_pages: &str, filled: &str, huge_bytes: Option<u64>| {
            let settings = [
                ("large_pages", large_pages),
                ("innodb_buffer_pool_bytes_data", filled),
            ];
            let mut input = mariadb(&settings, &[]);
            input.server_memory.huge_bytes = huge_bytes;
            check(&input)
        };
        let fell_back = found("ON", "104857600", Some(0)).unwrap();
        assert!(
            fell_back
                .message
                .contains("of 100 MiB in the buffer pool at most 0 B")
        );
        assert!(found("ON", "104857600", Some(100 << 20)).is_none());
        assert!(found("OFF", "104857600", Some(0)).is_none());
        assert!(found("ON", "1048576", Some(0)).is_none(), "hardly filled");
        assert!(found("ON", "104857600", None).is_none());
    }
}
