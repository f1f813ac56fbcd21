//! More I/O threads of a server than CPUs for them.

use model::{Severity, ShellLine};

use super::row::{Check, Row};
use crate::doctor::cpu_lists::LISTS;
use crate::doctor::threads::facts;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "io-threads-share-cpus",
    severity: Severity::Warning,
    about: "a Valkey or Redis has more I/O threads than CPUs for them",
    cost: "I/O threads wait in a loop for work, so one of them takes the CPU of the thread that \
           runs all commands",
    cost_source: "networking.c, IOThreadMain; redis.conf: leave at least one core spare",
    checks: &[Check::Doctor(sight::redis, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    // The thread that runs commands is one of them.
    let threads: u32 = settings.value("io-threads")?.parse().ok()?;
    let roles = &input.residency.as_ref()?.threads.as_ref()?.roles;
    let (_, of_server) = LISTS[0];
    let masks = roles
        .iter()
        .filter(|role| of_server.contains(&role.role.as_str()));
    let masks = masks.flat_map(|role| role.masks.iter().map(move |mask| (role, mask)));
    let masks: Vec<_> = masks.filter(|(_, mask)| mask.pid == settings.pid).collect();
    let cpus: model::CpuSet = masks
        .iter()
        .flat_map(|(_, mask)| mask.cpus.iter())
        .collect();
    let are_short = threads > 1 && !cpus.is_empty() && (threads as usize) > cpus.len();
    are_short.then(|| {
        let mut evidence = vec![fact(settings.source, format!("io-threads {threads}"))];
        evidence.extend(facts(masks));
        Found {
            message: format!(
                "io-threads is {threads}, more than the CPUs that they may use together ({cpus})"
            ),
            evidence,
            fix: vec![ShellLine::remark(format!(
                "set io-threads to at most {}, or give the server more CPUs; restart it",
                cpus.len()
            ))],
            ..Found::default()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::valkey;

    #[test]
    fn more_threads_than_cpus_are_found() {
        let message = |threads: &str, cpus: &str| {
            let roles = [
                ("main (runs commands)", cpus),
                ("I/O thread", cpus),
                ("background job", "7"),
            ];
            check(&valkey(&[("io-threads", threads)], &roles)).map(|it| it.message)
        };
        assert_eq!(
            message("4", "0-1").unwrap(),
            "io-threads is 4, more than the CPUs that they may use together (0-1)"
        );
        assert_eq!(message("4", "0-3"), None);
        assert_eq!(message("1", "0"), None);
        assert_eq!(message("", "0"), None);
    }
}
