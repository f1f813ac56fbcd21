//! Debian packages: installs or unpacks what guests and benchmarks need, and touches nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{program, repository};

/// Makes sure that a program is installed; as root, installs its package.
pub(crate) fn require_program(name: &str, package: &str) -> Result<PathBuf> {
    require(package, name, || program::find(name))
}

/// Makes sure that something is installed; as root, installs the package that has it.
pub(crate) fn require<T>(package: &str, what: &str, find: impl Fn() -> Option<T>) -> Result<T> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let command = format!("apt-get install --no-install-recommends {package}");
    if !is_root() {
        bail!("{what} is missing; install it as root with `{command}`");
    }
    eprintln!("guest: {what} is missing, installing the package {package}");
    if install(package).is_err() {
        update_lists()?;
        install(package).with_context(|| format!("cannot install {package}, which has {what}"))?;
    }
    find().with_context(|| format!("{package} was installed but has no {what}"))
}

fn install(package: &str) -> Result<()> {
    let words = "-y -o DPkg::Lock::Timeout=300 install --no-install-recommends";
    let arguments: Vec<_> = words.split(' ').chain([package]).collect();
    program::output("apt-get", &arguments, Path::new("/")).map(|_| ())
}

/// Unpacks the files of a package that match the patterns into a directory, without installing it.
/// The directory exists only if it is complete.
pub(crate) fn unpack(package: &str, patterns: &[&str], into: &Path) -> Result<()> {
    unpack_with(&[], &[package], patterns, into)
}

/// A suite of Debian's archive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Suite {
    /// That of the running release, with this after its name: `-backports`, or nothing.
    Running(&'static str),
    /// Another release, by its name.
    Named(&'static str),
    /// The security archive of the running release.
    Security,
}

impl Suite {
    /// Returns its name where the running release has this one.
    fn name(self, running: &str) -> String {
        match self {
            Suite::Running(suffix) => format!("{running}{suffix}"),
            Suite::Named(name) => name.to_owned(),
            Suite::Security => format!("{running}-security"),
        }
    }
}

/// A part of Debian's archive that this machine need not have configured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The suite.
    pub suite: Suite,
    /// The section, for instance `main`.
    pub section: &'static str,
}

/// Like [`unpack`], for packages from a part of Debian's archive: keeps its own sources and indexes
/// beside the directory. A name may end with another architecture: `busybox-static:arm64`.
pub(crate) fn unpack_from(
    part: Part,
    packages: &[&str],
    patterns: &[&str],
    into: &Path,
) -> Result<()> {
    if into.is_dir() {
        return Ok(());
    }
    let options = options_of(part, packages, into)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    unpack_with(&options, packages, patterns, into)
}

/// Fetches the index of a part of the archive to a place beside a directory, and returns the
/// options with which apt uses that index alone.
fn options_of(part: Part, packages: &[&str], into: &Path) -> Result<Vec<String>> {
    let name = format!("apt{}-{}", part.suite.name(""), part.section);
    let own = into.with_file_name(name);
    let lists = own.join("lists");
    fs::create_dir_all(&lists).with_context(|| format!("cannot create {}", lists.display()))?;
    let sources = own.join("debian.sources");
    fs::write(&sources, sources_of(part)?)
        .with_context(|| format!("cannot write {}", sources.display()))?;
    let mut options = vec![
        format!("Dir::Etc::sourcelist={}", sources.display()),
        "Dir::Etc::sourceparts=/dev/null".to_string(),
        format!("Dir::State::lists={}", lists.display()),
        "Dir::Cache::pkgcache=".to_string(),
        "Dir::Cache::srcpkgcache=".to_string(),
        // Without it, apt succeeds although it could not fetch the index.
        "APT::Update::Error-Mode=any".to_string(),
    ];
    if packages.iter().any(|name| name.ends_with(":arm64")) {
        options.push("APT::Architectures=amd64,arm64".to_string());
    }
    let options: Vec<_> = options
        .into_iter()
        .flat_map(|option| ["-o".to_string(), option])
        .collect();
    let mut update: Vec<&str> = options.iter().map(String::as_str).collect();
    update.push("update");
    program::output("apt-get", &update, Path::new("/")).with_context(|| {
        format!(
            "cannot fetch the index of Debian's archive that {} names; it must be reachable",
            sources.display()
        )
    })?;
    Ok(options)
}

/// Returns a source list with one part of the archive for the running Debian release.
fn sources_of(part: Part) -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let codename = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.context("/etc/os-release names no VERSION_CODENAME")?;
    Ok(source_list(part, codename))
}

fn source_list(part: Part, codename: &str) -> String {
    let (suite, section) = (part.suite.name(codename), part.section);
    let archive = match part.suite {
        Suite::Security => "debian-security",
        Suite::Running(_) | Suite::Named(_) => "debian",
    };
    format!(
        "Types: deb\nURIs: http://deb.debian.org/{archive}\nSuites: {suite}\n\
         Components: {section}\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
}

fn unpack_with(options: &[&str], packages: &[&str], patterns: &[&str], into: &Path) -> Result<()> {
    if into.is_dir() {
        return Ok(());
    }
    let parent = into
        .parent()
        .context("a package is unpacked below a directory")?;
    let scratch = parent.join(format!("unpack-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let outcome = unpack_in(options, &scratch, packages, patterns, into);
    let _ = fs::remove_dir_all(&scratch);
    outcome.with_context(|| {
        format!(
            "cannot fetch from Debian: {} (needed: apt-get, dpkg-deb, tar, and a package archive \
             that can be reached)",
            packages.join(", ")
        )
    })
}

/// Returns the package that a metapackage depends on, by the beginning of its name.
pub(crate) fn dependency(package: &str, prefix: &str) -> Result<String> {
    let ask = || program::output("apt-cache", &["depends", package], Path::new("/"));
    if let Ok(Some(name)) = ask().map(|text| dependency_in(&text, prefix)) {
        return Ok(name);
    }
    if is_root() {
        update_lists()?;
    }
    let text = ask().with_context(|| {
        format!("the package {package} is unknown; run `apt-get update` as root first")
    })?;
    dependency_in(&text, prefix)
        .with_context(|| format!("{package} depends on no package named {prefix}…"))
}

/// Like [`dependency`], in a part of Debian's archive, whose index is kept beside a directory.
pub(crate) fn dependency_from(
    part: Part,
    package: &str,
    prefix: &str,
    beside: &Path,
) -> Result<String> {
    let options = options_of(part, &[package], beside)?;
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["depends", package]);
    let text = program::output("apt-cache", &words, Path::new("/"))?;
    dependency_in(&text, prefix).with_context(|| {
        let suite = part.suite.name("…");
        format!("{package} of the suite {suite} depends on no package named {prefix}…")
    })
}

fn unpack_in(
    options: &[&str],
    scratch: &Path,
    packages: &[&str],
    patterns: &[&str],
    into: &Path,
) -> Result<()> {
    eprintln!("guest: fetching {}", packages.join(", "));
    let words = [options, &["download"], packages].concat();
    let download = || program::output("apt-get", &words, scratch);
    if download().is_err() {
        if is_root() {
            update_lists()?;
        }
        download()?;
    }
    fs::create_dir(scratch.join("root"))?;
    let script = "set -eo pipefail; for archive in *.deb; do \
        dpkg-deb --fsys-tarfile \"$archive\" | tar -x -C root --wildcards \"$@\"; done";
    let fixed = ["-c", script, "unpack"];
    program::output("bash", &[&fixed, patterns].concat(), scratch)?;
    match fs::rename(scratch.join("root"), into) {
        // Another task was faster; its files are the same.
        Err(_) if into.is_dir() => Ok(()),
        outcome => outcome.with_context(|| format!("cannot create {}", into.display())),
    }
}

fn update_lists() -> Result<()> {
    program::output("apt-get", &["update"], Path::new("/")).map(|_| ())
}

/// ```text
/// linux-image-amd64
///   Depends: linux-image-6.1.0-35-amd64
/// ```
fn dependency_in(text: &str, prefix: &str) -> Option<String> {
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .filter(|name| name.starts_with(prefix))
        .map(str::to_string)
        .next()
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> bool {
    // The owner of /proc/self is the effective user.
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Returns the statically linked busybox; fetches it if it is missing.
pub(crate) fn busybox() -> Result<PathBuf> {
    let directory = repository::guest().join("busybox");
    unpack("busybox-static", &["*/bin/busybox"], &directory)?;
    let candidates = ["bin/busybox", "usr/bin/busybox"].map(|name| directory.join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{} has no busybox", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_behind_the_empty_package_is_found() {
        let text = "linux-image-amd64\n  Depends: linux-image-6.1.0-35-amd64\n";
        let found = dependency_in(text, "linux-image-");
        assert_eq!(found.as_deref(), Some("linux-image-6.1.0-35-amd64"));
        assert_eq!(
            dependency_in("x\n  Suggests: linux-image-1\n", "linux-image-"),
            None
        );
        let backported = "x\n  Depends: linux-image-6.12.95+deb12-amd64\n";
        let found = dependency_in(backported, "linux-image-");
        assert_eq!(found.as_deref(), Some("linux-image-6.12.95+deb12-amd64"));
    }

    #[test]
    fn a_part_of_the_archive_is_one_suite_and_one_section() {
        let check = |suite, section, expected: &str| {
            let part = Part { suite, section };
            let list = source_list(part, "bookworm");
            assert!(list.contains(expected), "{list}");
        };
        let running = Suite::Running("");
        check(
            running,
            "non-free",
            "\nSuites: bookworm\nComponents: non-free\n",
        );
        check(
            Suite::Running("-backports"),
            "main",
            "\nSuites: bookworm-backports\nComponents: main\n",
        );
        let other = Suite::Named("bullseye");
        check(other, "main", "\nSuites: bullseye\nComponents: main\n");
    }
}
