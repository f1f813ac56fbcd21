//! One guest check: where it applies, what it runs, how it judges.

use super::answers::Answers;
use super::complaints::Complaints;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// One check.
pub struct Check {
    /// The name in reports.
    pub name: &'static str,
    /// On which shapes it runs.
    pub applies_to: fn(&Shape) -> bool,
    /// The cgroup version of the guest; checks of one shape and version share a boot.
    pub cgroup: CgroupVersion,
    /// The time that its commands may take beyond the boot, in seconds.
    pub seconds: u64,
    /// What runs in the guest, in this order.
    pub commands: fn(&Shape) -> Vec<GuestCommand>,
    /// Says what is wrong with the answers.
    pub judge: fn(&Shape, &Answers, &mut Complaints) -> anyhow::Result<()>,
}

/// One command of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestCommand {
    /// The name by which the check asks for its answer.
    pub name: &'static str,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether PostgreSQL must be installed.
    pub needs_postgresql: bool,
}

/// numalab with these arguments.
pub fn numalab(name: &'static str, arguments: &[&str]) -> GuestCommand {
    let words = std::iter::once("numalab").chain(arguments.iter().copied());
    GuestCommand {
        name,
        words: words.map(str::to_string).collect(),
        needs_postgresql: false,
    }
}

/// A shell script.
pub fn shell(name: &'static str, script: &str) -> GuestCommand {
    GuestCommand {
        name,
        words: ["sh", "-c", script].map(str::to_string).to_vec(),
        needs_postgresql: false,
    }
}

/// A shell script that has the functions of `postgresql.sh`.
pub fn with_postgresql(name: &'static str, script: &str) -> GuestCommand {
    let functions = include_str!("postgresql.sh");
    GuestCommand {
        needs_postgresql: true,
        ..shell(name, &format!("{functions}\n{script}"))
    }
}
