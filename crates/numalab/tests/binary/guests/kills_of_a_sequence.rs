//! A sequence of everything that changes the machine is killed at random moments, on two nodes.
//!
//! Tests of journal, relocation, placement.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process_group};

use super::holders::Holders;
use super::machine_state::{of_machine, of_process};
use super::random_kills::are_made_up_for;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, pid};
use crate::patience::until;
use crate::processes;
use crate::running::Running;
use crate::unmet_need::is_guest;

/// The sequence; each step reports that it starts.
const STEPS: &str = "
exec >said 2>&1
step() { echo $1 >step; shift; numalab \"$@\" || exit; }
step create group create kills --physcpubind=0 --membind=0-1
step add group add kills $idle
step set group set kills --physcpubind=0-1 --cpu-limit 1.5
step pages pages --set 0=6,1=9
step interleave move $pid --to interleave
step fewer pages --set 0=2
step shared move $pid --to 1 --shared
$run
echo end >step
";
const RUN: &str = "step run run kills.toml --anyway --trials 5 --seconds 0.1";

#[test]
fn a_killed_sequence_of_commands_is_undone() {
    if !is_guest("a_killed_sequence_of_commands_is_undone", "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("group", "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 1")
        .case("group", "cpus = \"all:1\"\nmechanism = \"group\"")
        .case("segment", "backing = \"sysv\"");
    laboratory.file("kills.toml", experiment.text());
    let holders = Holders::start(&laboratory, 4, "memfd", 1);
    let idle = Running::start(&["sleep", "100000"]);
    let start = |run: &str| -> Child {
        let steps = STEPS.replace("$pid", &holders.pid).replace("$run", run);
        let steps = steps.replace("$idle", &idle.pid());
        laboratory.file("step", "none");
        laboratory.shell(&steps).process_group(0).spawn().unwrap()
    };
    let state = || {
        let processes = [&holders.pid, &holders.child, &idle.pid()];
        let processes = processes.into_iter().flat_map(|pid| of_process(pid));
        of_machine(&laboratory)
            .into_iter()
            .chain(processes)
            .collect()
    };
    let before: Vec<String> = state();
    let began = Instant::now();
    let ended = start("").wait().unwrap();
    let said = fs::read_to_string(laboratory.folder().join("said")).unwrap();
    assert!(ended.success(), "{ended}: {said}");
    // The experiment is long, but changes things only when a trial begins or ends: a third of the
    // kills falls into its beginning.
    let window = began.elapsed() * 3 / 2;
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(state(), before, "without a kill");
    are_made_up_for((4, 2), &laboratory, state, |random| {
        let moment = window.mul_f64(random.f64());
        let mut sequence = start(RUN);
        std::thread::sleep(moment);
        let _ = kill_process_group(pid(sequence.id()), Signal::KILL);
        sequence.wait().unwrap();
        until("no process of it is left", || {
            let left = processes::of_state_folder(&laboratory.state());
            left.is_empty().then_some(())
        });
        let step = fs::read_to_string(laboratory.folder().join("step")).unwrap();
        Ok(described(moment, step.trim()))
    });
    laboratory.nothing_is_left();
}

fn described(moment: Duration, step: &str) -> String {
    format!("after {} ms, in step {step}", moment.as_millis())
}
