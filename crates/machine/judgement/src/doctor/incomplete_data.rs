//! What could not be seen of the memory of a target: why, and what would reveal it.

use model::{Residency, ResidencyMethod};

use super::input::{DoctorInput, Found, commands, fact};

/// Some of the memory could not be located.
pub(super) fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref();
    let residency = residency.filter(|residency| !residency.complete)?;
    let first = residency.gaps.first();
    let message = first.map_or("some bytes have no known node", String::as_str);
    let gaps = residency.gaps.iter();
    Some(Found {
        message: message.to_owned(),
        evidence: gaps
            .map(|gap| fact(super::instance::source(residency), gap))
            .collect(),
        fix: fix(residency, input.is_root),
    })
}

/// What would reveal it: missing privileges. A user who has them all gains nothing from more.
fn fix(residency: &Residency, is_root: bool) -> Vec<String> {
    let refused = |gap: &String| gap.contains("may not be read by this user");
    let lacks_privileges =
        residency.method == ResidencyMethod::NumaMaps || residency.gaps.iter().any(refused);
    let again = format!("numalab doctor '{}'", residency.target);
    match (lacks_privileges, is_root) {
        (true, false) => commands(&[
            "# as root, on the host of the processes; frame numbers need CAP_SYS_ADMIN, other \
             users' processes CAP_SYS_PTRACE:",
            &format!("sudo {again}"),
            "# in a container: docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE --pid=host …",
        ]),
        (true, true) => commands(&[
            "# this root lacks CAP_SYS_ADMIN or CAP_SYS_PTRACE; give a container both:",
            "# docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE --pid=host …",
            "# of a capture, no frame numbers are known: look on the machine itself",
        ]),
        (false, _) => commands(&[
            "# no privilege shows more; look again when it is quieter, and see `gaps`:",
            &again,
        ]),
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
        let refused = "process 7 may not be read by this user";
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
        check(Pagemap, ended, true, "no privilege shows more");
    }

    #[test]
    fn what_is_complete_has_no_such_finding() {
        let mut input = input(ResidencyMethod::Pagemap, "", true);
        input.residency.iter_mut().for_each(|it| it.complete = true);
        assert!(check(&input).is_none());
    }
}
