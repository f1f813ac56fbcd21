//! Targets that end before or during an inspection: they are refused, or listed as missing, and
//! never get a figure.
//!
//! Tests of residency.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use testing::{Need, not_run};

use crate::laboratory::{Laboratory, kill};
use crate::patience::until;

/// A program that has ended; reaped when dropped.
struct Zombie(Child);

impl Zombie {
    fn of(program: &str) -> Self {
        let child = Command::new(program).spawn().unwrap();
        until("the program has ended", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            let (_, rest) = stat.rsplit_once(") ").unwrap();
            rest.starts_with('Z').then_some(())
        });
        Zombie(child)
    }
}

impl Drop for Zombie {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

#[test]
fn a_target_that_waits_to_be_reaped_is_refused_by_every_command() {
    let laboratory = Laboratory::new();
    let program = laboratory.file("numalab-test-end", fs::read("/bin/true").unwrap());
    crate::user::open_to_all(program.as_ref());
    let zombie = Zombie::of(&program);
    let pid = zombie.0.id().to_string();
    let data = laboratory.state();
    fs::write(data.join("postmaster.pid"), format!("{pid}\n")).unwrap();
    let cluster = format!("postgres:{}", data.display());
    let archive = laboratory.file("ended.tar.zst", "");
    let parent = format!("by its parent, process {}", std::process::id());
    // The kernel keeps at most 15 bytes of a name.
    for target in [pid.as_str(), "numalab-test-en", &cluster] {
        for words in [
            &["inspect", target][..],
            &["inspect", target, "--numa-maps"],
            &["doctor", target],
            &["predict", target],
            &["predict", target, "--to", "current"],
            &["move", target, "--to", "0", "--dry-run"],
            &["move", target, "--to", "0"],
            &["capture", &archive, target],
        ] {
            let refused = laboratory.run(words).with_code(8);
            refused.says(&[
                &format!("process {pid} (numalab-test-en) has ended"),
                &parent,
            ]);
            assert_eq!(refused.stdout, "", "{words:?}");
        }
    }
    assert_eq!(fs::read(&archive).unwrap(), b"");
    let listed = laboratory.run(&["undo", "--list"]).with_code(0);
    assert_eq!(listed.stdout, "no changes in force\n");
}

/// Private memory of each process.
const EACH_MIB: u64 = 16;

/// Starts processes that each fill private memory, prints their ids, and ends at the end of its
/// input.
const FAMILY: &str = r"
import os, sys
ready, said = os.pipe()
pids = []
for _ in range(int(sys.argv[1])):
    pid = os.fork()
    if not pid:
        memory = bytearray(b'x') * (int(sys.argv[2]) << 20)
        os.write(said, b'.')
        sys.stdin.read()
        os._exit(0)
    pids.append(pid)
for _ in pids:
    os.read(ready, 1)
print(*pids, flush=True)
sys.stdin.read()
";

/// A process that has lost its first thread while another runs.
const WITHOUT_FIRST_THREAD: &str = r"
import ctypes, sys, threading
threading.Thread(target=sys.stdin.read).start()
print(0, flush=True)
ctypes.CDLL(None).syscall(60, 0)
";

/// A Python script that runs until dropped.
struct Script {
    child: Child,
    /// The numbers on its first line.
    said: Vec<u32>,
}

impl Script {
    /// Returns `None` if there is no Python, and reports that the test is not run.
    fn start(test: &str, script: &str, arguments: &[&str]) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", script]).args(arguments);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = started else {
            not_run(test, Need::Package, "it needs python3");
            return None;
        };
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let words = line.split_whitespace();
        let said = words.map(|word| word.parse().unwrap()).collect();
        Some(Script { child, said })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn bytes(by_node: &Value) -> u64 {
    let nodes = by_node.as_object().unwrap().values();
    nodes.map(|bytes| bytes.as_u64().unwrap()).sum()
}

#[test]
fn a_process_that_is_killed_during_the_look_has_no_figure() {
    const NAME: &str = "a_process_that_is_killed_during_the_look_has_no_figure";
    const KILLS: u32 = 16;
    let laboratory = Laboratory::new();
    let arguments = [KILLS.to_string(), EACH_MIB.to_string()];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // When a look is at work depends on how busy the machine is.
    until("a look is disturbed", || {
        let Some(family) = Script::start(NAME, FAMILY, &arguments) else {
            return Some(());
        };
        let window = time_of_a_look(&laboratory, &family);
        let victims = (0..KILLS).zip(&family.said);
        let named = victims.filter(|(number, victim)| {
            let method = ["--numa-maps", "--sample"][*number as usize % 2];
            let moment = window.mul_f64(f64::from(*number) / f64::from(KILLS));
            has_named(&laboratory, &family, (method, moment), **victim)
        });
        (named.count() > 0).then_some(())
    });
}

/// How long a look takes that nothing disturbs.
fn time_of_a_look(laboratory: &Laboratory, family: &Script) -> Duration {
    let began = Instant::now();
    laboratory.document(&["inspect", &family.pid(), "--json"]);
    began.elapsed()
}

/// Kills a process of a family at a moment of a look, and checks that it has no figure; whether the
/// look names it.
fn has_named(
    laboratory: &Laboratory,
    family: &Script,
    (method, moment): (&str, Duration),
    victim: u32,
) -> bool {
    let look = laboratory.start(&["inspect", &family.pid(), "--json", method]);
    std::thread::sleep(moment);
    kill(victim);
    let found = look.finish().with_code(0).document();
    for process in found["processes"].as_array().unwrap() {
        let own = bytes(&process["private_bytes_by_node"]);
        let is_parent = process["pid"] == family.child.id();
        assert!(is_parent || own >= EACH_MIB << 20, "{method} {process:#}");
    }
    let sentence = format!("process {victim} ended during the inspection");
    let gaps = found["gaps"].as_array().unwrap();
    let is_named = gaps.iter().any(|gap| *gap == *sentence);
    if is_named {
        let mut pids = found["processes"].as_array().unwrap().iter();
        assert!(!pids.any(|it| it["pid"] == victim), "{found:#}");
        assert_eq!(found["complete"], false);
    }
    is_named
}

#[test]
fn a_target_that_is_killed_during_the_look_is_refused() {
    const NAME: &str = "a_target_that_is_killed_during_the_look_is_refused";
    let laboratory = Laboratory::new();
    until("a look is disturbed", || {
        let mut refusals = 0;
        for eighth in 0..8 {
            let Some(family) = Script::start(NAME, FAMILY, &["0", "0"]) else {
                return Some(());
            };
            let window = time_of_a_look(&laboratory, &family);
            let look = laboratory.start(&["inspect", &family.pid(), "--json"]);
            std::thread::sleep(window * eighth / 8);
            kill(family.child.id());
            let finished = look.finish();
            match finished.status.code() {
                // The inspection had ended already.
                Some(0) => assert!(bytes(&finished.document()["bytes_by_node"]) > 1 << 20),
                _ => {
                    let refused = finished.with_code(8);
                    refused.says(&["ended"]);
                    assert_eq!(refused.stdout, "");
                    refusals += 1;
                }
            }
        }
        (refusals > 0).then_some(())
    });
}

#[test]
fn a_process_whose_first_thread_has_ended_is_not_called_empty() {
    const NAME: &str = "a_process_whose_first_thread_has_ended_is_not_called_empty";
    if !cfg!(target_arch = "x86_64") {
        not_run(
            NAME,
            Need::Hardware,
            "it knows the number of exit(2) on x86-64 only",
        );
        return;
    }
    let Some(process) = Script::start(NAME, WITHOUT_FIRST_THREAD, &[]) else {
        return;
    };
    let pid = process.pid();
    until("the first thread has ended", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.contains(") Z ").then_some(())
    });
    let laboratory = Laboratory::new();
    for method in ["--only-shared", "--numa-maps"] {
        let refused = laboratory.run(&["inspect", &pid, method]).with_code(3);
        refused.says(&[&format!("the first thread of process {pid} has ended")]);
    }
}
