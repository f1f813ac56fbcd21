//! numalab for arm64, built on amd64 by Debian's compilers: Rust's is unpacked from its package and
//! not installed, because it would replace the one of this machine. The linker is that of this
//! machine's Rust, as for amd64.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::guest::packages::{self, Part, Suite};
use crate::program;
use crate::repository;

/// Where Debian keeps the Rust that its browsers are built with, which is newer than that of the
/// release.
const SECURITY: Part = Part {
    suite: Suite::Security,
    section: "main",
};
/// The release itself.
const RELEASE: Part = Part {
    suite: Suite::Running(""),
    section: "main",
};
const TRIPLE: &str = "aarch64-unknown-linux-gnu";

/// The folder of all that is for arm64.
fn folder() -> PathBuf {
    repository::target().join("arm64")
}

/// The folder in which [`cargo`] builds for arm64.
pub(crate) fn built() -> PathBuf {
    folder().join("build").join(TRIPLE)
}

/// Returns cargo with a task, which it does for arm64.
pub(crate) fn cargo(task: &str) -> Result<Command> {
    let compiler = packages::require_program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")?;
    let library = PathBuf::from("/usr/aarch64-linux-gnu/lib/libc.a");
    packages::require("libc6-dev-arm64-cross", "a C library for arm64", || {
        library.is_file().then_some(())
    })?;
    let rust = rust()?.join("usr");
    let mut command = Command::new("cargo");
    command.args([task, "--target", TRIPLE, "--target-dir"]);
    command.arg(folder().join("build"));
    command.current_dir(repository::root());
    command.env_remove("RUSTUP_TOOLCHAIN");
    command.env("RUSTC", rust.join("bin/rustc"));
    command.env("LD_LIBRARY_PATH", rust.join("lib/x86_64-linux-gnu"));
    let of_target = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_";
    command.env(format!("{of_target}LINKER"), &compiler);
    command.env(
        format!("{of_target}RUSTFLAGS"),
        format!("-Clink-arg=-fuse-ld=lld -Clink-arg=-B{}", linkers()?),
    );
    command.env("CC_aarch64_unknown_linux_gnu", &compiler);
    command.env("AR_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-ar");
    Ok(command)
}

/// Returns the folder in which the Rust of this machine has the names of its linker, LLD.
fn linkers() -> Result<String> {
    let libraries = program::output("rustc", &["--print", "target-libdir"], &repository::root())?;
    let folder = Path::new(libraries.trim()).with_file_name("bin/gcc-ld");
    let is_there = folder.join("ld.lld").is_file();
    is_there
        .then(|| folder.display().to_string())
        .with_context(|| format!("{} has no ld.lld: Rust of rustup has", folder.display()))
}

/// Unpacks Rust with the standard libraries of both architectures.
fn rust() -> Result<PathBuf> {
    let into = folder().join("rust");
    if into.is_dir() {
        return Ok(into);
    }
    let depends = |package: &str, prefix| {
        packages::dependency_from(SECURITY, package, prefix, &into.with_file_name("index"))
    };
    let library = "libstd-rust-web-dev";
    // Their versions are in their names.
    let shared = depends(library, "libstd-rust-web-")?;
    let llvm = depends(&shared, "libllvm")?;
    let other = format!("{library}:arm64");
    let names = ["rustc-web", &shared, &llvm, library, &other];
    packages::unpack_from(SECURITY, &names, &["./usr/*"], &into)?;
    Ok(into)
}

/// Returns the statically linked busybox of arm64.
pub(crate) fn busybox() -> Result<PathBuf> {
    let into = folder().join("busybox");
    packages::unpack_from(
        RELEASE,
        &["busybox-static:arm64"],
        &["*/bin/busybox"],
        &into,
    )?;
    let found = ["bin/busybox", "usr/bin/busybox"].map(|name| into.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{} has no busybox", into.display()))
}

/// Returns the root of guests: a busybox by all names of a shell's programs, and mount points.
pub(crate) fn root() -> Result<PathBuf> {
    let root = folder().join("root");
    let shell = root.join("bin/sh");
    if shell.is_symlink() {
        return Ok(root);
    }
    for name in [
        "bin", "dev", "etc", "proc", "run", "sys", "tmp", "usr/bin", "var/tmp",
    ] {
        let directory = root.join(name);
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    fs::copy(busybox()?, root.join("bin/busybox")).context("cannot copy busybox")?;
    for name in APPLETS {
        let link = root.join("bin").join(name);
        symlink("busybox", &link).with_context(|| format!("cannot create {}", link.display()))?;
    }
    Ok(root)
}

/// What scripts in guests call; the shell is the last, so that the root has all if it has that.
const APPLETS: &[&str] = &[
    "awk", "cat", "cut", "dd", "echo", "env", "expr", "grep", "head", "kill", "ls", "mkdir",
    "mount", "pidof", "printf", "ps", "pwd", "rm", "sed", "seq", "setsid", "sleep", "sort", "tail",
    "taskset", "test", "tr", "true", "uname", "wc", "sh",
];
