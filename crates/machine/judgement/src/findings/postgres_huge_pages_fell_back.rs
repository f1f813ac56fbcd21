//! `huge_pages = try`, and too few were free.

use model::{Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::PostgresSettings;
use crate::doctor::postgres_server::is_in_small_pages;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "postgres-huge-pages-fell-back",
    severity: Severity::Warning,
    about: "PostgreSQL has huge_pages = try but runs in small pages",
    cost: "page tables of every session for all of the buffers, and more TLB misses",
    cost_source: "`numalab run postgres-huge-pages` measures it here",
    checks: &[Check::Doctor(sight::postgres_settings, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.postgres.as_ref()?;
    let fell_back = settings.huge_pages == "try" && is_in_small_pages(input, settings)?;
    fell_back.then(|| Found {
        message: format!(
            "huge_pages is try, and the shared memory is in small pages: the server {}",
            match settings.huge_pages_needed {
                Some(needed) => format!("found fewer than the {needed} huge pages that it needs"),
                None => "did not find enough huge pages".to_owned(),
            }
        ),
        evidence: vec![
            fact("SHOW huge_pages", &settings.huge_pages),
            fact("/proc/PID/smaps", "shared memory in small pages"),
        ],
        fix: fix(settings),
        ..Found::default()
    })
}

fn fix(settings: &PostgresSettings) -> Vec<ShellLine> {
    let kib = settings.huge_page_bytes.unwrap_or(0) / 1024;
    let pool = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
    let enough = match settings.huge_pages_needed {
        Some(needed) => shell_line!("echo {} >{}", needed, pool),
        None => ShellLine::remark(format!(
            "set one page per {kib} kB of shared memory in {pool}"
        )),
    };
    let say =
        "# then set huge_pages = on in postgresql.conf (a shortage becomes an error), and restart";
    vec![enough, ShellLine::of(say)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::{HUGE, server};

    #[test]
    fn a_try_that_fell_back_is_found() {
        let found = check(&server("try", 4096, "0-1")).unwrap();
        assert!(found.fix[0].starts_with("echo 150 >"), "{found:?}");
        assert!(check(&server("try", HUGE, "0-1")).is_none());
        assert!(check(&server("off", 4096, "0-1")).is_none());
        let unasked = DoctorInput {
            postgres: None,
            ..server("try", 4096, "0-1")
        };
        assert!(check(&unasked).is_none());
    }
}
