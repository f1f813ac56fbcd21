//! Boots and the checks that share them.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, Need};
use super::table::{
    BACKPORTS_CHECKS, CHECKS, LONG_BACKPORTS_CHECKS, LONG_CHECKS, LONG_OLDSTABLE_CHECKS,
};
use crate::arguments::{CgroupVersion, GuestKernel};
use crate::guest::{self, Options, Relay, SHAPES, Shape};
use crate::program::Interrupt;

/// The time that a boot itself may take on a slow and busy machine.
const BOOT_SECONDS: u64 = 400;

/// One boot and the checks that share it.
pub(crate) struct Boot {
    /// The machine.
    pub shape: &'static Shape,
    /// The cgroup version.
    pub cgroup: CgroupVersion,
    /// The kernel.
    pub kernel: GuestKernel,
    /// Whether its checks take so long that they run only on request.
    pub is_long: bool,
    /// The checks; at least one.
    pub checks: Vec<&'static Check>,
}

impl Boot {
    /// Whether a command of its checks needs this.
    pub(crate) fn needs(&self, need: Need) -> bool {
        let mut commands = self.checks.iter().flat_map(|of| (of.commands)(self.shape));
        commands.any(|command| command.needs == Some(need))
    }

    /// Returns the name of the shape, with what is not usual: cgroup version 1, the newer kernel.
    pub(crate) fn name(&self) -> String {
        let cgroup = match self.cgroup {
            CgroupVersion::V1 => "-cgroup-v1",
            CgroupVersion::V2 => "",
        };
        let kernel = match self.kernel {
            GuestKernel::Backports => "-backports",
            GuestKernel::Oldstable => "-oldstable",
            GuestKernel::Stable => "",
        };
        format!("{}{cgroup}{kernel}", self.shape.name)
    }
}

/// Returns all boots, in the order of the shapes; those that take long come last.
pub(crate) fn boots() -> Vec<Boot> {
    let mut boots = boots_of(CHECKS, GuestKernel::Stable, false);
    boots.extend(boots_of(BACKPORTS_CHECKS, GuestKernel::Backports, false));
    boots.extend(boots_of(LONG_CHECKS, GuestKernel::Stable, true));
    boots.extend(boots_of(
        LONG_BACKPORTS_CHECKS,
        GuestKernel::Backports,
        true,
    ));
    boots.extend(boots_of(
        LONG_OLDSTABLE_CHECKS,
        GuestKernel::Oldstable,
        true,
    ));
    boots
}

fn boots_of(checks: &'static [Check], kernel: GuestKernel, is_long: bool) -> Vec<Boot> {
    let versions = [CgroupVersion::V2, CgroupVersion::V1];
    let pairs = SHAPES
        .iter()
        .flat_map(|shape| versions.map(|version| (shape, version)));
    let boots = pairs.map(|(shape, cgroup)| {
        let belongs = |check: &&Check| check.cgroup == cgroup && (check.applies_to)(shape);
        Boot {
            shape,
            cgroup,
            kernel,
            is_long,
            checks: checks.iter().filter(belongs).collect(),
        }
    });
    boots.filter(|boot| !boot.checks.is_empty()).collect()
}

/// The result of one check.
pub(crate) struct Judged {
    /// Its name.
    pub name: &'static str,
    /// What is wrong with its answers.
    pub complaints: Vec<String>,
    /// How long its commands took in the guest, in words.
    pub took: String,
}

/// Boots once, runs the commands of all checks, and judges their answers. `tests` are the tests of
/// the binary, if the boot needs them.
pub(crate) fn run(
    boot: &Boot,
    numalab: &Path,
    tests: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<Vec<Judged>> {
    let seconds = || boot.checks.iter().map(|check| check.seconds);
    let (allowed, most) = (seconds().sum::<u64>(), seconds().max().unwrap_or(0));
    let options = Options {
        timeout: Duration::from_secs(BOOT_SECONDS + allowed),
        command_timeout: Duration::from_secs(BOOT_SECONDS + most),
        binaries: vec![numalab.to_path_buf()],
        tests: tests.map(Path::to_path_buf),
        cgroup: boot.cgroup,
        kernel: boot.kernel,
        ..Options::of(boot.shape)
    };
    let commands: Vec<Vec<GuestCommand>> = boot
        .checks
        .iter()
        .map(|check| (check.commands)(boot.shape))
        .collect();
    if boot.needs(Need::Postgresql) {
        guest::postgresql::require()?;
    }
    let words: Vec<_> = commands
        .iter()
        .flatten()
        .map(|command| command.words.clone())
        .collect();
    let mut outcomes = guest::run(&options, &words, Relay::Keep, interrupt)?.into_iter();
    let results = boot.checks.iter().zip(commands).map(|(check, commands)| {
        let mut answers = Answers::default();
        for (command, outcome) in commands.into_iter().zip(outcomes.by_ref()) {
            answers.add(command, outcome);
        }
        Judged {
            name: check.name,
            complaints: judge(check, boot.shape, &answers),
            took: answers.took(),
        }
    });
    Ok(results.collect())
}

fn judge(check: &Check, shape: &Shape, answers: &Answers) -> Vec<String> {
    let mut complaints = Complaints::default();
    if let Err(error) = (check.judge)(shape, answers, &mut complaints) {
        complaints.add(format!("{error:#}"));
    }
    complaints.into_list()
}
