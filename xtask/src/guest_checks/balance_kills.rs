//! `numalab balance` is killed at random moments; one `numalab undo` must restore the policy and
//! the places of all pages. The check does a few kills; `cargo xtask kills --only balance-kills`
//! does any number of them, in one guest.

use anyhow::Result;

use super::check::{Answers, Check, Complaints};
use super::scenario::{self, Scenario};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "balance-kills",
    shape: "four-node-ring",
    script: include_str!("balance_kills.sh"),
};

/// The check.
pub(super) const CHECK: Check = Check {
    name: SCENARIO.name,
    applies_to: |shape| shape.name == SCENARIO.shape,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| SCENARIO.commands(KILLS, 1).to_vec(),
    judge,
};

/// Number of kills in the check.
const KILLS: u32 = 6;

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    scenario::judge_kills(answers.text(SCENARIO.name)?, KILLS, complaints)
}
