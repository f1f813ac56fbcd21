//! The trial of what is handed on: a fresh Debian, and a root with nothing but a busybox.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::files::empty;
use crate::guest::packages::{self, busybox, is_root};
use crate::program::{self, Interrupt};
use crate::repository;

/// The release, and what it has besides the packages that every Debian has: systemd for user and
/// units, and what reads man pages and completions.
const SUITE: &str = "bookworm";
const INCLUDED: &str = "--include=systemd,man-db,bash-completion";
const MIRROR: &str = "http://deb.debian.org/debian";
/// What is done there, in namespaces of its own: mounts and processes go with it.
const SCRIPT: &str = include_str!("trial.sh");

/// What is tried.
pub(super) struct Made<'p> {
    /// The archive for any distribution.
    pub archive: &'p Path,
    /// The Debian package.
    pub package: &'p Path,
    /// A newer revision of it.
    pub next: &'p Path,
}

/// Tries all of it; fails at the first thing that is wrong, and when something could not be tried.
pub(super) fn run(made: &Made<'_>) -> Result<()> {
    if !is_root() {
        bail!("a Debian of its own (debootstrap, chroot) is for root only: nothing was tried");
    }
    let interrupt = Interrupt::watch()?;
    let base = base(&interrupt)?;
    let folder = repository::target().join("package/trial");
    // Only the script mounts something below it, in its own namespace.
    empty(&folder)?;
    fs::copy(busybox()?, folder.join("busybox")).context("cannot copy busybox")?;
    let script = folder.join("trial.sh");
    fs::write(&script, SCRIPT).with_context(|| format!("cannot write {}", script.display()))?;
    let mut trial = Command::new("unshare");
    trial
        .args(["--mount", "--pid", "--fork", "--kill-child", "bash"])
        .arg(&script)
        .args([&folder, &base])
        .args([made.archive, made.package, made.next]);
    let status = program::run(&mut trial, &interrupt)?;
    if !status.success() {
        bail!(
            "the trial failed with {status}; {} has what is left",
            folder.display()
        );
    }
    empty(&folder)
}

/// Lets Debian's own checks look at the package. Warnings are shown; errors fail.
pub(super) fn lint(package: &Path) -> Result<()> {
    let name = package.display().to_string();
    let words = [
        "--allow-root",
        "--fail-on",
        "error",
        "--tag-display-limit",
        "0",
        &name,
    ];
    let said = program::output("lintian", &words, Path::new("/"))?;
    println!("lintian: no error\n{}", said.trim());
    Ok(())
}

/// Returns a fresh Debian as an archive; fetches it if it is missing.
fn base(interrupt: &Interrupt) -> Result<PathBuf> {
    let archive = repository::target().join(format!("programs/{SUITE}.tar"));
    if archive.is_file() {
        return Ok(archive);
    }
    packages::require_program("debootstrap", "debootstrap")?;
    // Where the whole test has what it fetches.
    let folder = archive.with_extension(format!("{}", std::process::id()));
    println!("fetching a fresh Debian ({SUITE}) from {MIRROR}");
    let mut debootstrap = Command::new("debootstrap");
    debootstrap
        .args(["--variant=minbase", INCLUDED, SUITE])
        .arg(&folder)
        .arg(MIRROR);
    let status = program::run(&mut debootstrap, interrupt)?;
    if !status.success() {
        bail!(
            "debootstrap failed with {status}; it left {}",
            folder.display()
        );
    }
    let (from, into) = (folder.display().to_string(), archive.display().to_string());
    let partial = format!("{into}.partial");
    let words = ["--create", "--file", &partial, "--directory", &from, "."];
    program::output("tar", &words, Path::new("/"))?;
    fs::rename(&partial, &archive).with_context(|| format!("cannot create {into}"))?;
    empty(&folder)?;
    Ok(archive)
}
