//! `numalab move` and `numalab undo` of one target at once, some of them killed: whatever their
//! order, the machine is as before after one more `undo`. The check does this a few times; `cargo
//! xtask kills --only undo-beside-move` does it any number of times, in one guest.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand};
use super::scenario::{self, Scenario};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "undo-beside-move",
    shape: "four-node-ring",
    script: include_str!("undo_beside_move.sh"),
};

/// The check.
pub(super) const CHECK: Check = Check {
    name: SCENARIO.name,
    applies_to: |shape| shape.name == SCENARIO.shape,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| commands(),
    judge,
};

/// Number of rounds in the check.
const TIMES: u32 = 20;

fn commands() -> Vec<GuestCommand> {
    SCENARIO.commands(TIMES, 1).to_vec()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(SCENARIO.name)?;
    let rounds = scenario::parse(text)?;
    complaints.expect("rounds", &rounds.len(), &(TIMES as usize));
    let is_repaired = rounds.iter().all(|round| round.is_as_before);
    complaints.expect(&format!("all as before: {text}"), &is_repaired, &true);
    // If none ever met another, the check shows nothing.
    let met = text.lines().any(|line| line == "met: 4 4");
    complaints.expect(&format!("those who meet are refused: {text}"), &met, &true);
    Ok(())
}
