//! `numalab move` and `numalab undo` of one target at once, some of them killed: whatever their
//! order, the machine is as before after one more `undo`.
//!
//! Tests of relocation, journal.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::holders::Holders;
use super::machine_state::{of_machine, of_process};
use super::random_kills::are_made_up_for;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;

const DESTINATIONS: [&str; 7] = [
    "interleave",
    "1",
    "2",
    "3",
    "interleave=1-3",
    "spread=0:1,3:2",
    "near-cpus",
];

/// A command that starts at a random moment, and may be killed later.
struct Act {
    command: Command,
    what: &'static str,
    after: Duration,
    killed_after: Option<Duration>,
}

impl Act {
    fn undo(laboratory: &Laboratory, window: Duration, random: &mut Rng) -> Self {
        Self::of(laboratory, "undo", &["undo"], window, random)
    }

    fn move_(laboratory: &Laboratory, pid: &str, window: Duration, random: &mut Rng) -> Self {
        let mut words = vec!["move", pid, "--to", DESTINATIONS[random.usize(0..7)]];
        words.extend([None, Some("--shared"), Some("--private")][random.usize(0..3)]);
        let rate = random.u32(5..25).to_string();
        if random.bool() {
            words.extend(["--mib-per-s", &rate]);
        }
        Self::of(laboratory, "move", &words, window, random)
    }

    fn of(
        laboratory: &Laboratory,
        what: &'static str,
        words: &[&str],
        window: Duration,
        random: &mut Rng,
    ) -> Self {
        let is_killed = random.u32(0..3) == 0;
        Act {
            command: laboratory.command(words),
            what,
            after: window.mul_f64(random.f64()),
            killed_after: is_killed.then(|| window.mul_f64(random.f64())),
        }
    }

    /// Does it; returns in a few words how it ended, or what is wrong with that.
    fn end(mut self) -> Result<String, String> {
        sleep(self.after);
        let pipes = self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        if let Some(after) = self.killed_after {
            sleep(after);
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let what = self.what;
        match (output.status.code(), output.status.signal()) {
            (None, Some(9)) => Ok(format!("{what} killed")),
            (Some(0), _) => Ok(format!("{what} ended")),
            (Some(4), _) if said.contains("has locked") => Ok(format!("{what} refused")),
            (Some(4), _) => Ok(format!("{what} 4")),
            _ => Err(format!("{:?}: {output:?}", self.command)),
        }
    }
}

#[test]
fn moves_beside_undos_are_undone() {
    if !is_guest("moves_beside_undos_are_undone", "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let holders = Holders::start(&laboratory, 6, "memfd", 2);
    let state = || {
        let processes = [&holders.pid, &holders.child].into_iter();
        let processes = processes.flat_map(|pid| of_process(pid));
        of_machine(&laboratory)
            .into_iter()
            .chain(processes)
            .collect()
    };
    let before: Vec<String> = state();
    let began = Instant::now();
    let words = ["move", &holders.pid, "--to", "interleave"];
    laboratory.run(&words).with_code(0);
    let window = began.elapsed();
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(state(), before, "without others");

    are_made_up_for((4, 0), &laboratory, state, |random| {
        let move_ = |random: &mut Rng| Act::move_(&laboratory, &holders.pid, window, random);
        let undo = |random: &mut Rng| Act::undo(&laboratory, window, random);
        let first = Act {
            after: Duration::ZERO,
            ..move_(random)
        };
        let mut ends = vec![first.end()];
        // At least one of each at once.
        let mut acts = vec![undo(random), move_(random)];
        for _ in 0..random.u32(0..3) {
            acts.push(if random.bool() {
                undo(random)
            } else {
                move_(random)
            });
        }
        let threads = acts.into_iter().map(|act| std::thread::spawn(|| act.end()));
        let threads: Vec<_> = threads.collect();
        ends.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        let ends: Vec<String> = ends.into_iter().collect::<Result<_, _>>()?;
        Ok(ends.join(", "))
    });
    laboratory.nothing_is_left();
}
