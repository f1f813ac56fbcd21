//! `numalab move` and `numalab undo` of one target at once, some of them killed: whatever the order
//! in which they came, the machine is as before after one more `undo`. A few times are a check;
//! `cargo xtask kills --only undo-beside-move` does it as often as one likes, in one guest.

use anyhow::Result;

use super::answers::Answers;
use super::check::{Check, GuestCommand};
use super::complaints::Complaints;
use super::kills::{self, Scenario};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// What is done again and again.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "undo-beside-move",
    shape: "four-node-ring",
    script: include_str!("undo_beside_move.sh"),
};

/// The check.
pub const CHECK: Check = Check {
    name: SCENARIO.name,
    applies_to: |shape| shape.name == SCENARIO.shape,
    cgroup: CgroupVersion::V2,
    seconds: 300,
    commands: |_| commands(),
    judge,
};

/// Times in the check.
const TIMES: u32 = 20;

fn commands() -> Vec<GuestCommand> {
    SCENARIO.commands(TIMES, 1).to_vec()
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(SCENARIO.name)?;
    let rounds = kills::parse(text)?;
    complaints.expect("rounds", &rounds.len(), &(TIMES as usize));
    let is_repaired = rounds.iter().all(|round| round.is_as_before);
    complaints.expect(&format!("all as before: {text}"), &is_repaired, &true);
    // Where nobody ever met another, nothing was shown.
    let met = text.lines().any(|line| refused(line) > 0);
    complaints.expect(&format!("some were refused: {text}"), &met, &true);
    Ok(())
}

/// How many commands of a round were refused: `7 0,4,137 refused-1 2 as-before`.
fn refused(line: &str) -> u32 {
    let count = line
        .split(' ')
        .find_map(|word| word.strip_prefix("refused-"));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn refusals_are_counted() {
        assert_eq!(refused("7 0,4,137 refused-1 2 as-before"), 1);
        assert_eq!(refused("7 0 refused-0 2 as-before"), 0);
        assert_eq!(refused("    undo: refused"), 0);
    }
}
