//! What is done again and again with kills at random moments: the script, and what it says of every
//! kill.

use anyhow::{Context, Result, bail};

use super::check::{GuestCommand, shell};
use super::inspect::PROGRAM;
use super::move_memory::FUNCTIONS;

/// Functions that say what numalab changes of a machine.
const MACHINE_STATE: &str = include_str!("machine_state.sh");

/// What is done again and again, with kills at random moments.
pub(super) struct Scenario {
    /// Its name, and that of the command which does it.
    pub name: &'static str,
    /// The machine.
    pub shape: &'static str,
    /// A script that needs the functions of moving.sh and machine_state.sh, and count.
    pub script: &'static str,
}

impl Scenario {
    /// The commands that do it so often, with these random numbers; the last one answers.
    pub(super) fn commands(&self, count: u32, seed: u32) -> [GuestCommand; 2] {
        let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
        let script = self.script;
        let script = format!("count={count}; RANDOM={seed}\n{FUNCTIONS}{MACHINE_STATE}{script}");
        let mut rounds = shell(self.name, &script);
        // The random numbers, and groups of processes of their own.
        rounds.words[0] = "bash".to_string();
        [shell("program", &program), rounds]
    }
}

/// One kill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kill {
    /// How many changes undo took back.
    pub undone: u32,
    /// Whether the machine then was as before.
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
