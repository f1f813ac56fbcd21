//! Scenarios that run again and again with kills at random moments: the script, and its result for
//! every kill.

use anyhow::{Context, Result, bail};

use super::check::{Complaints, GuestCommand, shell};
use super::inspect::PROGRAM;
use super::move_memory::FUNCTIONS;

/// Functions that print what numalab changes on a machine.
const MACHINE_STATE: &str = include_str!("machine_state.sh");

/// A scenario that runs again and again, with kills at random moments.
pub(super) struct Scenario {
    /// Its name, and that of its command.
    pub name: &'static str,
    /// The shape.
    pub shape: &'static str,
    /// A script that needs the functions of moving.sh and machine_state.sh, and count.
    pub script: &'static str,
}

impl Scenario {
    /// Returns the commands that run it this many times, with these random numbers; the last one
    /// answers.
    pub(super) fn commands(&self, count: u32, seed: u32) -> [GuestCommand; 2] {
        let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
        let script = self.script;
        let script = format!("count={count}; RANDOM={seed}\n{FUNCTIONS}{MACHINE_STATE}{script}");
        let mut rounds = shell(self.name, &script);
        // For random numbers, and for process groups.
        rounds.words[0] = "bash".to_string();
        [shell("program", &program), rounds]
    }
}

/// One kill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kill {
    /// Number of changes that undo reverted.
    pub undone: u32,
    /// Whether the machine was then as before.
    pub is_as_before: bool,
}

/// Reads the lines of the script: `3 1804 interleave 5 as-before`; indented lines say what differs.
pub(super) fn parse(text: &str) -> Result<Vec<Kill>> {
    let lines = text.lines();
    let is_kill = |line: &&str| {
        ![" ", "window ", "met: "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let lines = lines.filter(is_kill);
    let kill = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let [_, _, _, undone, verdict] = words[..] else {
            bail!("expected a kill, found {line:?}");
        };
        Ok(Kill {
            undone: undone.parse().with_context(|| line.to_string())?,
            is_as_before: verdict == "as-before",
        })
    };
    lines.map(kill).collect()
}

/// Judges the answer of a scenario with this number of kills.
///
/// # Errors
/// As [`parse`].
pub(super) fn judge_kills(text: &str, expected: u32, complaints: &mut Complaints) -> Result<()> {
    let kills = parse(text)?;
    complaints.expect("kills", &kills.len(), &(expected as usize));
    let is_repaired = kills.iter().all(|kill| kill.is_as_before);
    complaints.expect(&format!("all as before: {text}"), &is_repaired, &true);
    // A kill before the first change, or after the end, would show little.
    let some = kills.iter().filter(|kill| kill.undone > 0).count() * 2 >= kills.len();
    complaints.expect(&format!("half had to be undone: {text}"), &some, &true);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_and_their_differences_passed_over() {
        let text =
            "window 900\nmet: 4 4\n1 80 create 0 as-before\n2 800 run 9 different\n    > /a\n";
        let kill = |undone, is_as_before| Kill {
            undone,
            is_as_before,
        };
        assert_eq!(parse(text).unwrap(), [kill(0, true), kill(9, false)]);
        assert!(parse("create: status 4\n").is_err());
    }
}
