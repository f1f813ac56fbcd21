//! Every step, in the order in which they run: the quick ones first.

use super::step::{Checked, Programs, Step, Verdict};
use super::{cargo, guests, unit};
use crate::guest::{self, packages};
use crate::{program, repository, tidy};

/// Returns all steps.
pub(super) fn steps() -> Vec<Step> {
    let mut steps = vec![
        cargo::step(
            "fmt",
            "sources are formatted",
            true,
            &["fmt", "--all", "--check"],
        ),
        cargo::step(
            "clippy",
            "the compiler and clippy have nothing to say",
            true,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
        ),
        tidy(),
        cargo::step(
            "rustdoc",
            "the documentation of the code has no broken links",
            false,
            &["doc", "--no-deps", "--workspace", "--locked"],
        ),
        provision(
            "postgresql",
            "a PostgreSQL for the tests that need one",
            guest::postgresql::require,
        ),
        provision(
            "mariadb",
            "a MariaDB for the tests that need one",
            guest::mariadb::require,
        ),
        provision(
            "programs",
            "programs that tests run beside numalab",
            require_programs,
        ),
        unit::step(),
        cargo::step(
            "release",
            "the product as it is released",
            false,
            guests::BUILD,
        ),
    ];
    steps.extend(guests::steps());
    steps.push(environments());
    steps
}

/// Programs that tests need, with their packages: to read numalab's XML, to create targets that
/// safe Rust cannot create, to place targets by other means than ours, to type and look as a person
/// does, and to fetch a PostgreSQL.
const PROGRAMS: &[(&str, &str)] = &[
    ("lstopo-no-graphics", "hwloc-nox"),
    ("/usr/bin/python3", "python3"),
    ("numactl", "numactl"),
    ("tmux", "tmux"),
    // The Redis of tests, without the service of its own package.
    ("redis-check-rdb", "redis-tools"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("curl", "curl"),
    ("unzip", "unzip"),
    ("xz", "xz-utils"),
];

/// Packages whose programs tests start themselves: installed, they would start services, which
/// would outlive the tests. They are unpacked where `crates/numalab/tests/binary/prometheus.rs`
/// looks for them.
const UNPACKED: &[(&str, &[&str])] = &[
    ("prometheus", &["prometheus", "promtool"]),
    ("prometheus-node-exporter", &["prometheus-node-exporter"]),
];

/// The same from the backports: Debian 12 has no Valkey. Its libraries come with redis-tools.
const UNPACKED_FROM_BACKPORTS: (&str, &str) = ("valkey-tools", "valkey-check-rdb");

fn require_programs() -> anyhow::Result<()> {
    PROGRAMS
        .iter()
        .try_for_each(|(name, package)| packages::require_program(name, package).map(drop))?;
    UNPACKED
        .iter()
        .filter(|(_, names)| names.iter().any(|name| program::find(name).is_none()))
        .try_for_each(|(package, names)| {
            let patterns: Vec<String> = names.iter().map(|it| format!("*/bin/{it}")).collect();
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let into = repository::target().join("programs").join(package);
            packages::unpack(package, &patterns, &into)
        })?;
    let (package, name) = UNPACKED_FROM_BACKPORTS;
    if program::find(name).is_some() {
        return Ok(());
    }
    let part = packages::Part {
        suite: packages::Suite::Running("-backports"),
        section: "main",
    };
    let into = repository::target().join("programs").join(package);
    packages::unpack_from(part, package, &["*/bin/*"], &into)
}

/// Returns the tests that the whole test leaves out because they take minutes, and that need no
/// guest.
fn environments() -> Step {
    let step = cargo::step(
        "long:environments",
        "every shipped experiment, without each privilege that it may lack",
        false,
        &[
            "--config",
            "env.NUMALAB_LONG_TESTS='1'",
            "test",
            "--locked",
            "--package",
            "numalab",
            "--test",
            "binary",
            "every_experiment_runs_as_it_is_listed_in_every_environment",
        ],
    );
    Step {
        is_long: true,
        programs: Programs::Needs,
        ..step
    }
}

/// Returns a step that installs what tests need if it is missing; if it cannot be installed, the
/// tests report that they were not run.
fn provision(name: &'static str, summary: &str, require: fn() -> anyhow::Result<()>) -> Step {
    let action = move || {
        let verdict = match require() {
            Ok(()) => Verdict::Passed,
            Err(error) => Verdict::Skipped(format!("{error:#}")),
        };
        Ok(vec![Checked::new(name.to_string(), verdict)])
    };
    Step {
        name: name.to_string(),
        summary: summary.to_string(),
        before_each_commit: false,
        is_long: false,
        needs_guest: false,
        programs: Programs::Installs,
        action: Box::new(move |_| action()),
    }
}

fn tidy() -> Step {
    let action = || {
        let count = tidy::command::print_findings()?;
        let verdict = match count {
            0 => Verdict::Passed,
            count => Verdict::Failed(format!("{count} findings")),
        };
        Ok(vec![Checked::new("tidy".to_string(), verdict)])
    };
    Step {
        name: "tidy".to_string(),
        summary: "the project's own rules".to_string(),
        before_each_commit: true,
        is_long: false,
        needs_guest: false,
        programs: Programs::None,
        action: Box::new(move |_| action()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_a_group_is_named_by_its_beginning() {
        let steps = steps();
        let mut names: Vec<_> = steps.iter().map(|step| &step.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), steps.len());
        for (word, is_long) in [("guest", false), ("long", true)] {
            let meant = steps.iter().filter(|step| step.is_meant_by(word)).count();
            let of_kind = |step: &&Step| match is_long {
                true => step.is_long,
                false => step.needs_guest && !step.is_long,
            };
            assert_eq!(meant, steps.iter().filter(of_kind).count());
            assert!(meant > 0);
        }
    }
}
