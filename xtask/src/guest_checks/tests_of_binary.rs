//! The tests of the binary (`crates/numalab/tests/binary`), run again in guests: what holds on the
//! machine that builds numalab must hold on one with many nodes. Tests that need a shape ask
//! `is_guest` and run only here.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, Need, shell};
use crate::arguments::CgroupVersion;
use crate::guest::{Shape, TESTS};

/// The modules of tests that run on a shape.
struct Row {
    applies_to: fn(&Shape) -> bool,
    modules: &'static [&'static str],
}

/// Every module that runs in guests.
const MODULES: &[Row] = &[
    Row {
        applies_to: |_| true,
        modules: &["kernel_agrees"],
    },
    Row {
        applies_to: |shape| shape.name == "two-node",
        modules: &[
            "balancing",
            "bind",
            "data_files",
            "first_touch_by_node",
            "groups",
            "moving",
            "threads",
            "watching",
        ],
    },
    Row {
        applies_to: |shape| shape.name == "memory-only-node",
        modules: &["memory_only_node"],
    },
];

/// The check.
pub(super) const CHECK: Check = Check {
    name: "tests-of-binary",
    applies_to: |shape| !modules(shape).is_empty(),
    cgroup: CgroupVersion::V2,
    seconds: 700,
    commands,
    judge,
};

const NAME: &str = "tests";

fn modules(shape: &Shape) -> Vec<&'static str> {
    let rows = MODULES.iter().filter(|row| (row.applies_to)(shape));
    rows.flat_map(|row| row.modules).copied().collect()
}

fn commands(shape: &Shape) -> Vec<GuestCommand> {
    vec![command(shape, &modules(shape))]
}

fn judge(shape: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    judge_modules(&modules(shape), answers, complaints)
}

/// Returns the command that runs the tests of these modules one after the other and then prints
/// which of them did not run.
pub(super) fn command(shape: &Shape, modules: &[&str]) -> GuestCommand {
    let filters: Vec<_> = modules.iter().map(|name| format!("{name}::")).collect();
    let script = format!(
        "export NUMALAB_BINARY=$(command -v numalab) NUMALAB_NOT_RUN=/tmp/not-run NUMALAB_GUEST={}
         touch /tmp/not-run
         {TESTS} --test-threads=1 {} 2>&1
         cat /tmp/not-run",
        shape.name,
        filters.join(" ")
    );
    GuestCommand {
        needs: Some(Need::Tests),
        ..shell(NAME, &script)
    }
}

/// Judges the answer of [`command`].
pub(super) fn judge_modules(
    modules: &[&str],
    answers: &Answers,
    complaints: &mut Complaints,
) -> Result<()> {
    let text = answers.text(NAME)?;
    for complaint in complaints_about(text, modules) {
        complaints.add(format!("{complaint}; the tests printed:\n{text}"));
    }
    Ok(())
}

/// Returns what is wrong with the output of the tests of these modules.
fn complaints_about(text: &str, modules: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    let result = lines
        .by_ref()
        .find(|line| line.starts_with("test result: "));
    if !result.is_some_and(|line| line.starts_with("test result: ok. ")) {
        found.push(format!("tests failed: {}", result.unwrap_or("no result")));
    }
    let not_run: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
    if !not_run.is_empty() {
        found.push(format!("tests did not run: {}", not_run.join("; ")));
    }
    let passed = |module: &&&str| text.contains(&format!("\ntest {module}::"));
    for module in modules.iter().filter(|module| !passed(module)) {
        found.push(format!("no test of {module} ran"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository;

    #[test]
    fn a_failed_or_missing_test_is_a_complaint() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(complaints_about(text, &["bind"]), expected, "{text}");
        };
        let ok = "running 1 test\ntest bind::a ... ok\n\ntest result: ok. 1 passed\n\n";
        check(ok, &[]);
        check(
            &ok.replace("ok.", "FAILED."),
            &["tests failed: test result: FAILED. 1 passed"],
        );
        check(&ok.replace("bind", "x"), &["no test of bind ran"]);
        check(
            &format!("{ok}a\tnodes\tno\n"),
            &["tests did not run: a\tnodes\tno"],
        );
        check("\ntest bind::a ...", &["tests failed: no result"]);
    }

    #[test]
    fn every_test_that_needs_a_guest_is_in_a_module_that_runs_in_one() {
        let folder = repository::root().join("crates/numalab/tests/binary");
        let listed: Vec<_> = MODULES.iter().flat_map(|row| row.modules).collect();
        for module in &listed {
            assert!(folder.join(format!("{module}.rs")).is_file(), "{module}");
        }
        let mut asking = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if text.contains("if !is_guest(") {
                asking += 1;
                assert!(listed.contains(&&name), "{name} runs in no guest");
            }
        }
        assert!(asking > 0);
    }
}
