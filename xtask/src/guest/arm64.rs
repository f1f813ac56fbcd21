//! `cargo xtask arm64`: builds numalab for arm64, and checks it in guests with four nodes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Options, Relay, find, run as run_guest};
use crate::arguments::{Arm64Arguments, GuestKernel};
use crate::package::{self, Machine};
use crate::program::Interrupt;

/// What runs in the guests: a script with the size of a base page in KiB.
const SCRIPT: &str = include_str!("scripts/arm64.sh");
/// The kernels, and the sizes of their base pages in KiB.
const KERNELS: [(GuestKernel, &str); 2] =
    [(GuestKernel::Arm64, "4"), (GuestKernel::Arm64In16k, "16")];
/// How long a guest may take on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(1800);

/// Runs the task.
pub(crate) fn run(arguments: &Arm64Arguments) -> Result<ExitCode> {
    let interrupt = Interrupt::watch()?;
    match arguments.built {
        true => check_all(&built()?, &interrupt)?,
        false => build_and_check(&interrupt)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the program of the package, and checks it.
pub(crate) fn build_and_check(interrupt: &Interrupt) -> Result<()> {
    check_all(&package::build(Machine::Arm64)?, interrupt)
}

/// Checks a program on all kernels.
pub(crate) fn check_all(numalab: &Path, interrupt: &Interrupt) -> Result<()> {
    for (kernel, page_kib) in KERNELS {
        let begin = Instant::now();
        check(kernel, page_kib, numalab, interrupt)
            .with_context(|| format!("on a kernel of arm64 with base pages of {page_kib} KiB"))?;
        let seconds = begin.elapsed().as_secs();
        println!("arm64, base pages of {page_kib} KiB: passed in {seconds} s");
    }
    Ok(())
}

fn built() -> Result<PathBuf> {
    let numalab = Machine::Arm64.program();
    if !numalab.is_file() {
        bail!("numalab for arm64 is not built; `cargo xtask arm64` builds it");
    }
    Ok(numalab)
}

fn check(kernel: GuestKernel, page_kib: &str, numalab: &Path, interrupt: &Interrupt) -> Result<()> {
    let options = Options {
        kernel,
        timeout: TIMEOUT,
        binaries: vec![numalab.to_path_buf()],
        ..Options::of(find("four-node-ring")?)
    };
    let command = ["sh", "-c", SCRIPT, "arm64", page_kib].map(String::from);
    let outcomes = run_guest(&options, &[command.to_vec()], Relay::Pass, interrupt)?;
    match outcomes.first().context("the guest ran no command")?.status {
        0 => Ok(()),
        status => bail!("the script ended with {status}"),
    }
}
