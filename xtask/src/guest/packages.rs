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
    unpack_with(&[], package, patterns, into)
}

/// Like [`unpack`], for a package from a section of Debian that this machine need not have
/// configured: keeps its own sources and indexes beside the directory.
pub(crate) fn unpack_from_section(
    section: &str,
    package: &str,
    patterns: &[&str],
    into: &Path,
) -> Result<()> {
    if into.is_dir() {
        return Ok(());
    }
    let name = format!("apt-{section}");
    let own = into.with_file_name(name);
    let lists = own.join("lists");
    fs::create_dir_all(&lists).with_context(|| format!("cannot create {}", lists.display()))?;
    let sources = own.join("debian.sources");
    fs::write(&sources, sources_of(section)?)
        .with_context(|| format!("cannot write {}", sources.display()))?;
    let options = [
        format!("Dir::Etc::sourcelist={}", sources.display()),
        "Dir::Etc::sourceparts=/dev/null".to_string(),
        format!("Dir::State::lists={}", lists.display()),
        "Dir::Cache::pkgcache=".to_string(),
        "Dir::Cache::srcpkgcache=".to_string(),
    ];
    let options = options.iter().flat_map(|option| ["-o", option.as_str()]);
    let options: Vec<&str> = options.collect();
    let update = [&options[..], &["update"]].concat();
    program::output("apt-get", &update, Path::new("/"))?;
    unpack_with(&options, package, patterns, into)
}

/// Returns a source list with one section of the running Debian release.
fn sources_of(section: &str) -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let codename = release
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let codename = codename.context("/etc/os-release names no VERSION_CODENAME")?;
    Ok(format!(
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {codename}\n\
         Components: {section}\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    ))
}

fn unpack_with(options: &[&str], package: &str, patterns: &[&str], into: &Path) -> Result<()> {
    if into.is_dir() {
        return Ok(());
    }
    let parent = into
        .parent()
        .context("a package is unpacked below a directory")?;
    let scratch = parent.join(format!("unpack-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let outcome = unpack_in(options, &scratch, package, patterns, into);
    let _ = fs::remove_dir_all(&scratch);
    outcome.with_context(|| {
        format!(
            "cannot fetch the Debian package {package} (needed: apt-get, dpkg-deb, tar, and a \
            package archive that can be reached)"
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

fn unpack_in(
    options: &[&str],
    scratch: &Path,
    package: &str,
    patterns: &[&str],
    into: &Path,
) -> Result<()> {
    eprintln!("guest: fetching the package {package}");
    let words = [options, &["download", package]].concat();
    let download = || program::output("apt-get", &words, scratch);
    if download().is_err() {
        if is_root() {
            update_lists()?;
        }
        download()?;
    }
    let archive = fs::read_dir(scratch)
        .with_context(|| format!("cannot list {}", scratch.display()))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get download left no .deb file")?;
    fs::create_dir(scratch.join("root"))?;
    let script = "set -o pipefail; \
        dpkg-deb --fsys-tarfile \"$1\" | tar -x -C root --wildcards \"${@:2}\"";
    let archive = archive.display().to_string();
    let fixed = ["-c", script, "unpack", &archive];
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
pub(super) fn busybox() -> Result<PathBuf> {
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
    }
}
