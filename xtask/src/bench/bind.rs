//! `cargo xtask bench bind`: the time to start a program under `numalab bind`, as it is packaged
//! (`cargo xtask package`) and as it is built, with that under `numactl` (Debian package numactl)
//! for the same placement. docs/placing.md has what was measured.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::harness::{Harness, seconds};
use crate::guest::packages;

const PLACEMENT: [&str; 4] = ["--cpunodebind=0", "--membind=0", "--", "/bin/true"];

const ALONE: &str = "/bin/true";
const NUMACTL: &str = "numactl";
const PACKAGED: &str = "numalab bind, packaged";
const BUILT: &str = "numalab bind, as built";

pub(super) fn run(harness: &mut Harness, packaged: &Path) -> Result<()> {
    packages::require_program("numactl", "numactl")?;
    let turns = harness.turns(301, &[ALONE, NUMACTL, PACKAGED, BUILT], |subject| {
        let mut command = match subject {
            ALONE | NUMACTL => Command::new(subject),
            PACKAGED => Command::new(packaged),
            _ => Command::new(&harness.binary),
        };
        match subject {
            ALONE => (),
            NUMACTL => _ = command.args(PLACEMENT),
            _ => _ = command.arg("bind").args(PLACEMENT),
        }
        Ok(1000.0 * seconds(&mut command)?)
    })?;
    turns.print("starts of /bin/true", 1.0, "ms")?;
    let claims = &mut harness.claims;
    claims.at_most_times(&turns, PACKAGED, 1.25, NUMACTL)?;
    claims.at_most_times(&turns, BUILT, 2.0, NUMACTL)
}
