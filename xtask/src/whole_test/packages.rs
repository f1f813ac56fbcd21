//! The programs that tests run beside numalab, and how they come to this machine.

use anyhow::Result;

use crate::guest::{self, packages};
use crate::{program, repository};

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
    // Slurm: its services start nothing without a configuration in /etc.
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sbatch", "slurm-client"),
    ("munged", "munge"),
    // What Ansible reaches machines by, with a server that is no service.
    ("ip", "iproute2"),
    ("ssh", "openssh-client"),
    ("dropbear", "dropbear-bin"),
    // They read man pages and completions.
    ("man", "man-db"),
    ("zsh", "zsh"),
    ("fish", "fish"),
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

/// Deque's checker of accessibility, from npm: tests look with it at pages where it is.
const AXE: &str = "axe-core@4.14.1";

/// Unpacks axe; a machine without npm, or without its registry, goes without, and the test says so.
fn unpack_axe() -> Result<()> {
    let folder = repository::target().join("programs/axe-core");
    if folder.is_dir() || program::find("npm").is_none() {
        return Ok(());
    }
    let scratch = folder.with_extension("unpacked");
    std::fs::create_dir_all(&scratch)?;
    let packed = program::output("npm", &["pack", "--silent", AXE], &scratch);
    let Ok(archive) = packed else { return Ok(()) };
    program::output("tar", &["-xzf", archive.trim()], &scratch)?;
    Ok(std::fs::rename(scratch, folder)?)
}

/// What is from PyPI, each in a place of its own, with a file that it has: Ansible, since Debian's
/// is of another year, and DuckDB, which reads Parquet.
const FROM_PYPI: [(&str, &str, &str); 2] = [
    ("ansible", "ansible-core~=2.19.0", "bin/ansible-playbook"),
    (
        "duckdb",
        "duckdb~=1.4.0",
        "lib/python3*/site-packages/duckdb",
    ),
];

/// Unpacks a package of PyPI; a machine without Python's venv, or without its registry, goes
/// without, and the test says so.
fn unpack_from_pypi((name, package, file): (&str, &str, &str)) -> Result<()> {
    let folder = repository::target().join("programs").join(name).join("usr");
    let scratch = &repository::target();
    let place = folder.display().to_string();
    let is_there = format!("ls -d {place}/{file}");
    if program::output("sh", &["-c", &is_there], scratch).is_ok() {
        return Ok(());
    }
    if program::output("python3", &["-m", "venv", "--clear", &place], scratch).is_err() {
        return Ok(());
    }
    let pip = folder.join("bin/pip").display().to_string();
    // A half of it has no such file, so that the next time tries again.
    let _ = program::output(&pip, &["install", "--quiet", package], scratch);
    Ok(())
}

/// Installs or unpacks what is missing.
pub(super) fn require() -> Result<()> {
    guest::command::prepare()?;
    guest::postgresql::require()?;
    guest::mariadb::require()?;
    unpack_axe()?;
    FROM_PYPI.into_iter().try_for_each(unpack_from_pypi)?;
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
    packages::unpack_from(part, &[package], &["*/bin/*"], &into)
}
