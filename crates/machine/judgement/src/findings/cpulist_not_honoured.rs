//! A server's own CPU list, and threads that may use other CPUs than it names.

use model::{CpuSet, ServerSettings, Severity, ShellLine, ThreadMask, ThreadRole, shell_line};

use super::row::{Check, Row};
use crate::doctor::cpu_lists::{LISTS, lists};
use crate::doctor::threads::facts;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "cpulist-not-honoured",
    severity: Severity::Warning,
    about: "the CPU list of a Valkey or Redis is not what its threads may use",
    cost: "threads that were to have CPUs of their own share them, or run far from their memory",
    cost_source: "sched_setaffinity(2): CPUs outside of the cpuset are left out, and a list of \
                  them alone is refused; the server does not say so",
    checks: &[Check::Doctor(sight::redis, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    let roles = &input.residency.as_ref()?.threads.as_ref()?.roles;
    let lists = lists(settings);
    let mut asked = LISTS.iter().filter_map(|(name, roles)| {
        let (_, cpus) = lists.iter().find(|(of, _)| of == name)?;
        Some((*name, cpus, *roles))
    });
    asked.find_map(|(name, cpus, of)| {
        let of_list = roles.iter().filter(|role| of.contains(&role.role.as_str()));
        let others: Vec<_> = of_list
            .flat_map(|role| elsewhere(role, settings.pid, cpus))
            .collect();
        let got: CpuSet = others
            .iter()
            .flat_map(|(_, mask)| mask.cpus.iter())
            .collect();
        (!others.is_empty()).then(|| found(settings, (name, cpus), &others, &got))
    })
}

/// The threads of a role of the server that may use other CPUs than those.
fn elsewhere<'a>(
    role: &'a ThreadRole,
    pid: u32,
    asked: &CpuSet,
) -> Vec<(&'a ThreadRole, &'a ThreadMask)> {
    let masks = role.masks.iter();
    let others = masks.filter(|mask| mask.pid == pid && mask.cpus != *asked);
    others.map(|mask| (role, mask)).collect()
}

fn found(
    settings: &ServerSettings,
    (name, asked): (&str, &CpuSet),
    others: &[(&ThreadRole, &ThreadMask)],
    got: &CpuSet,
) -> Found {
    let pid = settings.pid;
    let threads: u32 = others.iter().map(|(_, mask)| mask.threads).sum();
    let why = match (asked.is_subset(got), got.is_subset(asked)) {
        (_, true) => {
            "its cpuset lacked the others when they were set, or another program has changed them"
        }
        (true, _) => "another program has changed them",
        _ => {
            "its cpuset lacked all of them when they were set, or another program has changed them"
        }
    };
    let mut evidence = vec![fact(
        settings.source,
        format!("{name} {}", settings.value(name).unwrap_or_default()),
    )];
    evidence.extend(facts(others.iter().copied()));
    Found {
        message: format!(
            "{name} is {asked}, and {threads} of the threads that follow it may use {got}: {why}"
        ),
        evidence,
        fix: vec![
            shell_line!(
                "cat /proc/{}/cpuset    # the control group whose cpuset holds it",
                pid
            ),
            ShellLine::remark(format!(
                "give it {asked} (AllowedCPUs= of its unit, cpuset.cpus of that group), or"
            )),
            ShellLine::remark(format!(
                "set {name} to CPUs that it has; both take effect when it starts again"
            )),
        ],
        ..Found::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::valkey;

    #[test]
    fn threads_elsewhere_than_their_list_are_found() {
        let message = |settings: &[(&str, &str)], main: &str, job: &str| {
            let input = valkey(
                settings,
                &[("main (runs commands)", main), ("background job", job)],
            );
            check(&input).map(|it| it.message)
        };
        let server = [("server-cpulist", "0-3"), ("bio-cpulist", "4-5")];
        assert_eq!(message(&server, "0-3", "4-5"), None);
        assert_eq!(
            message(&server, "2-3", "4-5").unwrap(),
            "server-cpulist is 0-3, and 1 of the threads that follow it may use 2-3: its cpuset \
             lacked the others when they were set, or another program has changed them"
        );
        let refused = message(&server, "0-3", "0-1").unwrap();
        assert!(
            refused.contains("may use 0-1: its cpuset lacked all of them"),
            "{refused}"
        );
        // What has no list, or one that the server cannot read, follows none.
        assert_eq!(message(&[("server-cpulist", "")], "2-3", "0"), None);
        assert_eq!(message(&[("server-cpulist", "a")], "2-3", "0"), None);
        assert_eq!(message(&[], "2-3", "0"), None);
    }
}
