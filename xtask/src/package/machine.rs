//! The processors for which there are packages.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::guest::packages;
use crate::{cross, repository};

/// The processor that a package is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Machine {
    /// x86-64.
    Amd64,
    /// 64-bit Arm, built on amd64.
    Arm64,
}

impl Machine {
    /// Debian's name of it.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The kernel's name of it, as uname(1) prints it.
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// The folder of all that is made for it.
    pub(super) fn folder(self) -> PathBuf {
        let folder = repository::target().join("package");
        match self {
            Self::Amd64 => folder,
            Self::Arm64 => folder.join("arm64"),
        }
    }

    /// The program that is handed on, once it is made.
    pub(crate) fn program(self) -> PathBuf {
        self.folder().join("numalab")
    }

    /// Whether Rust makes a program position-independent that has the C library in it
    /// (`static_position_independent_executables` of its targets).
    pub(super) fn is_position_independent(self) -> bool {
        self == Self::Amd64
    }

    /// The folder in which cargo builds by the profile `dist`.
    pub(super) fn built(self) -> PathBuf {
        match self {
            Self::Amd64 => repository::target().join("dist"),
            Self::Arm64 => cross::built().join("dist"),
        }
    }

    /// Returns cargo with a task.
    pub(super) fn cargo(self, task: &str) -> Result<Command> {
        match self {
            Self::Amd64 => {
                let mut command = Command::new("cargo");
                command.arg(task).current_dir(repository::root());
                Ok(command)
            }
            Self::Arm64 => cross::cargo(task),
        }
    }

    /// Returns the name of a program of GNU binutils, and installs it if it is missing.
    pub(super) fn tool(self, name: &str) -> Result<String> {
        let (name, package) = match self {
            Self::Amd64 => (name.to_owned(), "binutils"),
            Self::Arm64 => (
                format!("aarch64-linux-gnu-{name}"),
                "binutils-aarch64-linux-gnu",
            ),
        };
        packages::require_program(&name, package)?;
        Ok(name)
    }
}
