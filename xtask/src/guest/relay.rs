//! Passes on what a guest's command writes while it runs: the guest writes files, the host reads
//! them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// What happens to the output of a guest's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relay {
    /// Pass it on to this process's stdout and stderr as it comes.
    Pass,
    /// Only keep it for the caller.
    Keep,
}

/// The two files of one command, read as they grow.
#[derive(Debug)]
pub(super) struct Follower {
    stdout: File,
    stderr: File,
}

impl Follower {
    /// Opens both files at their beginning.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let open = |name: &str| {
            let path = directory.join(name);
            File::open(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        Ok(Self {
            stdout: open("stdout")?,
            stderr: open("stderr")?,
        })
    }

    /// Passes on what was written since the last call.
    pub(super) fn pass_on(&mut self) -> Result<()> {
        copy(&mut self.stdout, &mut io::stdout().lock()).context("cannot pass stdout on")?;
        copy(&mut self.stderr, &mut io::stderr().lock()).context("cannot pass stderr on")
    }
}

fn copy(from: &mut File, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    to.write_all(&bytes)?;
    to.flush()
}
