//! Shared memory for which the huge pages ran out while it was made.

use model::{ByteSize, SegmentKind, Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "sga-partly-in-huge-pages",
    severity: Severity::Warning,
    about: "System V shared memory of one target lies in huge pages and in small ones",
    cost: "page tables of every session for the part in small pages, and more TLB misses",
    cost_source: "`numalab run huge-pages` measures it here",
    checks: &[Check::Doctor(sight::target, check)],
};

/// The least share of the memory in small pages: Oracle's fixed part may be small.
const SHARE_MIN: f64 = 0.05;

fn check(input: &DoctorInput) -> Option<Found> {
    let is_huge = |bytes: u64| {
        let mut pools = input.topology.huge_pages.iter();
        pools.any(|pool| pool.page_bytes == bytes)
    };
    let (mut huge, mut small, mut huge_page) = (0, 0, None);
    for segment in input.shared().filter(|it| it.kind == SegmentKind::Sysv) {
        match segment.page_bytes {
            Some(bytes) if is_huge(bytes) => {
                huge += segment.bytes();
                huge_page = huge_page.max(Some(bytes));
            }
            Some(_) => small += segment.bytes(),
            None => {}
        }
    }
    let page = huge_page?;
    let share = small as f64 / (small + huge) as f64;
    (share >= SHARE_MIN).then(|| {
        let missing = small.div_ceil(page);
        let kib = page / 1024;
        let pool = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
        Found {
            message: format!(
                "{} of {} of shared memory is in small pages: too few huge pages were free when \
                 it was made",
                ByteSize(small),
                ByteSize(small + huge)
            ),
            evidence: vec![
                fact("/proc/PID/smaps, KernelPageSize", ByteSize(page)),
                fact("bytes in huge pages", huge),
                fact("bytes in small pages", small),
            ],
            fix: vec![
                shell_line!("echo $(($(cat {}) + {})) >{}", pool, missing, pool),
                ShellLine::of(
                    "# then set use_large_pages = only (Oracle: a shortage becomes an \
                     error), and restart",
                ),
            ],
            ..Found::default()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::{HUGE, pools_of};

    /// System V segments of these page sizes and MiB.
    fn sga(segments: &[(u64, u64)]) -> DoctorInput {
        let mut input = pools_of([(10, 0), (10, 0)], "0-1");
        let found = input.residency.as_mut().unwrap();
        let template = found.segments[0].clone();
        let segments = segments.iter().map(|(page_bytes, mib)| {
            let bytes_by_node = [(model::NodeId(0), mib << 20)].into();
            model::SegmentResidency {
                page_bytes: Some(*page_bytes),
                bytes_by_node,
                ..template.clone()
            }
        });
        found.segments = segments.collect();
        input
    }

    #[test]
    fn memory_for_which_huge_pages_ran_out_is_found() {
        let found = check(&sga(&[(HUGE, 64), (4096, 250)])).unwrap();
        assert!(
            found.message.starts_with("250 MiB of 314 MiB"),
            "{}",
            found.message
        );
        let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
        assert_eq!(
            found.fix[0].as_str(),
            format!("echo $(($(cat {pool}) + 125)) >{pool}")
        );
        assert!(check(&sga(&[(HUGE, 64)])).is_none());
        assert!(check(&sga(&[(4096, 250)])).is_none());
        // Smaller than what is worth a finding, and a small part of all.
        assert!(check(&sga(&[(HUGE, 64), (4096, 15)])).is_none());
        assert!(check(&sga(&[(HUGE, 1000), (4096, 16)])).is_none());
    }
}
