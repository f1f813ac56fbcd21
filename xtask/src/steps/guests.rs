//! Steps that boot a guest: one for each boot of the guest checks.

use std::path::PathBuf;

use super::step::{Checked, Programs, Step, Verdict};
use super::{cargo, unit};
use crate::guest_checks::{self, Boot, Judged, Need};
use crate::program::Interrupt;
use crate::repository;

/// The cargo arguments that build the product for release and for guests.
pub(super) const BUILD: &[&str] = &["build", "--release", "--locked", "--package", "numalab"];

/// Returns one step for each boot.
pub(super) fn steps() -> Vec<Step> {
    let boots = guest_checks::boots().into_iter().map(step);
    boots.chain([firmware_table()]).collect()
}

/// Returns the step whose later guests boot with what the first one made.
fn firmware_table() -> Step {
    let name = "guest:firmware-table".to_owned();
    let check = name.clone();
    Step {
        name,
        summary: "guests boot with the distances that numalab made in another, on both kernels"
            .to_owned(),
        before_each_commit: false,
        is_long: false,
        needs_guest: true,
        programs: Programs::Needs,
        action: Box::new(move |interrupt| {
            let verdict = match cargo::run(BUILD, interrupt)? {
                Verdict::Failed(reason) => Verdict::Failed(reason),
                _ => judged(guest_checks::firmware_table::run(&binary(), interrupt)?),
            };
            Ok(vec![Checked::new(check.clone(), verdict)])
        }),
    }
}

fn binary() -> PathBuf {
    repository::target().join("release/numalab")
}

fn judged(complaints: Vec<String>) -> Verdict {
    match complaints.is_empty() {
        true => Verdict::Passed,
        false => Verdict::Failed(complaints.join("\n")),
    }
}

fn step(boot: Boot) -> Step {
    let kind = if boot.is_long { "long" } else { "guest" };
    let name = format!("{kind}:{}", boot.name());
    let checks: Vec<_> = boot.checks.iter().map(|check| check.name).collect();
    Step {
        name: name.clone(),
        summary: format!("in a guest: {}", checks.join(", ")),
        before_each_commit: false,
        is_long: boot.is_long,
        needs_guest: true,
        programs: Programs::Needs,
        action: Box::new(move |interrupt| run(&name, &boot, interrupt)),
    }
}

fn run(name: &str, boot: &Boot, interrupt: &Interrupt) -> anyhow::Result<Vec<Checked>> {
    let name = |check: &str| format!("{name} {check}");
    if let Verdict::Failed(reason) = cargo::run(BUILD, interrupt)? {
        let failed = |check: &&guest_checks::Check| {
            let reason = format!("numalab was not built: {reason}");
            Checked::new(name(check.name), Verdict::Failed(reason))
        };
        return Ok(boot.checks.iter().map(failed).collect());
    }
    let binary = binary();
    let tests = match boot.needs(Need::Tests) {
        true => Some(unit::tests_of_binary()?),
        false => None,
    };
    let checked = |one: Judged| Checked {
        took: Some(one.took),
        ..Checked::new(name(one.name), judged(one.complaints))
    };
    let results = guest_checks::run(boot, &binary, tests.as_deref(), interrupt)?;
    Ok(results.into_iter().map(checked).collect())
}
