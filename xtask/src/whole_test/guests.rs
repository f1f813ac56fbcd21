//! Tests of the binary inside guests: each is a command of its guest, and its own process there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::host::verdict;
use super::program::Test;
use super::table::Boot;
use super::verdict::{Checked, Verdict};
use crate::guest::{self, Options, Outcome, Relay, Shape, TESTS};
use crate::program::Interrupt;
use crate::repository;

/// The time that a boot itself may take on a slow and busy machine, and each test.
const BOOT: Duration = Duration::from_secs(400);
const TEST: Duration = Duration::from_secs(600);
/// The same where clocks count instructions, and skip what nobody works in.
const TEST_COUNTED: Duration = Duration::from_secs(6000);

/// Begins what a test reported that it did not run, on its stdout.
const NOT_RUN: &str = "\n== not run\n";

/// Boots once, runs these tests one after the other with these variables; returns their results.
pub(crate) fn run(
    boot: &Boot,
    tests: &[&Test],
    numalab: &Path,
    variables: &[(&str, String)],
    interrupt: &Interrupt,
) -> Result<Vec<Checked>> {
    let program = &tests.first().context("a guest without tests")?.program;
    let count = u32::try_from(tests.len()).context("a guest with too many tests")?;
    let shape = guest::find(boot.shape)?;
    let limit = match shape.counts_instructions {
        true => TEST_COUNTED,
        false => TEST,
    };
    let mut options = Options {
        timeout: BOOT + TEST * count,
        command_timeout: limit,
        binaries: vec![numalab.to_path_buf()],
        tests: Some(program.file.clone()),
        cgroup: boot.cgroup,
        kernel: boot.kernel,
        ..Options::of(shape)
    };
    if boot.has_made_distances {
        options.early_initrd = Some(made_distances(&options, interrupt)?);
    }
    let name = match boot.has_made_distances {
        true => MADE_DISTANCES,
        false => shape.name,
    };
    let command = |test: &&Test| command(name, shape, &test.name, variables);
    let commands: Vec<_> = tests.iter().map(command).collect();
    let outcomes = guest::run(&options, &commands, Relay::Keep, interrupt)?;
    ensure!(outcomes.len() == tests.len(), "some tests did not run");
    let results = tests.iter().zip(&outcomes);
    results
        .map(|(test, outcome)| checked(boot, test, outcome))
        .collect()
}

/// The name of guests with distances that numalab made in another one, in tests.
const MADE_DISTANCES: &str = "firmware-table";
/// The test that makes them, and the variable with the archive that it writes.
const MAKES_DISTANCES: &str = "guests::firmware_table::a_table_is_made_of_measured_latencies";
const ARCHIVE: &str = "NUMALAB_EARLY_INITRD";

/// Makes distances in a guest with these options, once; returns the archive to boot others with.
fn made_distances(options: &Options, interrupt: &Interrupt) -> Result<PathBuf> {
    static MADE: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(archive) = &*made {
        return Ok(archive.clone());
    }
    let share = repository::guest().join("firmware-table");
    fs::create_dir_all(&share).with_context(|| format!("cannot make {}", share.display()))?;
    let options = Options {
        share: Some(share.clone()),
        ..options.clone()
    };
    let shape = options.shape;
    let archive = [(ARCHIVE, "/run/share/early.cpio".to_owned())];
    let command = command(shape.name, shape, MAKES_DISTANCES, &archive);
    let outcomes = guest::run(&options, &[command], Relay::Keep, interrupt)?;
    let outcome = outcomes.first().context("the guest ran no command")?;
    let said = String::from_utf8_lossy(&outcome.stdout);
    ensure!(outcome.status == 0, "no distances were made: {said}");
    Ok(made.insert(share.join("early.cpio")).clone())
}

/// Returns the command that runs one test and then prints which parts of it did not run.
fn command(guest: &str, shape: &Shape, test: &str, variables: &[(&str, String)]) -> Vec<String> {
    let variables = variables
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    let script = format!(
        "export NUMALAB_BINARY=$(command -v numalab) RUST_BACKTRACE=0{}
         export NUMALAB_GUEST={guest} NUMALAB_GUEST_NODES='{}'
         export NUMALAB_NOT_RUN=/tmp/not-run NUMALAB_LONG_TESTS=1; : >/tmp/not-run
         {TESTS} --exact {test} --nocapture 2>&1; status=$?
         printf '\\n== not run\\n'; cat /tmp/not-run; rm /tmp/not-run; exit $status",
        variables.collect::<String>(),
        nodes(shape),
    );
    ["sh", "-c", &script].map(str::to_owned).to_vec()
}

/// Returns what was asked for, a line for each node that the kernel will show: its id, whether it
/// has memory, and the distances from it.
fn nodes(shape: &Shape) -> String {
    let online = shape.online_nodes();
    let line = |&from: &usize| {
        let has_memory = shape.nodes[from].memory_mib().is_some();
        let distances = online
            .iter()
            .map(|&to| (shape.distance)(from, to).to_string());
        let distances = distances.collect::<Vec<_>>().join(" ");
        format!("{from}|{has_memory}|{distances}")
    };
    online.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn checked(boot: &Boot, test: &Test, outcome: &Outcome) -> Result<Checked> {
    let text = String::from_utf8_lossy(&outcome.stdout);
    let (said, not_run) = text.rsplit_once(NOT_RUN).unwrap_or((&text, ""));
    let verdict = match verdict(outcome.status == 0, said, not_run)? {
        // It was sent here, so what it needs is not here.
        Verdict::Skipped(_, why) => Verdict::Failed(format!("it did not run in its guest: {why}")),
        verdict => verdict,
    };
    Ok(Checked {
        took: Some(outcome.took),
        ..Checked::new(format!("{} {}", boot.name(), test.name), verdict)
    })
}

/// The command that runs a test of a guest again.
pub(crate) fn again(boot: &Boot, test: &str) -> String {
    format!(
        "cargo xtask test --only guest:{} --test {test}",
        boot.name()
    )
}
