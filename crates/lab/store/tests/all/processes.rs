//! Several processes and one store: killed at any moment, writing at once, without permission.
//!
//! Children are this test binary itself; an environment variable says what they are to do.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::small_run::small_run;
use model::{Event, Run, RunStatus};
use store::{RunRecorder, Store};

use crate::small_run;

const TASK: &str = "NUMALAB_STORE_TEST_TASK";
const STORE: &str = "NUMALAB_STORE_TEST_FILE";
const RUN: &str = "NUMALAB_STORE_TEST_RUN";
/// The test that a child executes: in a child it does its task, and nothing else.
const KILLED: &str = "processes::a_killed_writer_leaves_every_trial_it_had_committed";

fn child(task: &str, path: &Path, run: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", KILLED, "--nocapture"])
        .envs([(TASK, task), (RUN, run)])
        .env(STORE, path)
        .stdout(Stdio::piped());
    command
}

/// What a child does.
fn do_task(task: &str) {
    let path = std::env::var_os(STORE).unwrap();
    let opened = Store::open(Path::new(&path));
    let mut store = match (task, opened) {
        ("permission", opened) => {
            println!(
                "\nopened {}",
                opened.map_or_else(|e| e.to_string(), |_| "?".into())
            );
            let read = Store::open_existing(Path::new(&path)).and_then(|it| it.load("last"));
            println!("read {}", read.map_or_else(|e| e.to_string(), |run| run.id));
            return;
        }
        (_, opened) => opened.unwrap(),
    };
    let count: u32 = task.parse().unwrap();
    let run = empty_run(&std::env::var(RUN).unwrap());
    let mut recorder = RunRecorder::new(&mut store);
    let started = Event::RunStarted {
        run: &run,
        trials_at_most: count,
    };
    recorder.record(&started).unwrap();
    for number in 0..count {
        let trial = small_run::trial(number);
        let finished = Event::TrialFinished {
            case_index: (number % 2) as usize,
            case: "any",
            trial: &trial,
        };
        recorder.record(&finished).unwrap();
        println!("\nkept {number}");
    }
    let finished = Event::RunFinished {
        status: RunStatus::Bounded,
    };
    recorder.record(&finished).unwrap();
}

fn empty_run(id: &str) -> Run {
    let mut run = small_run(id);
    run.status = RunStatus::Unfinished;
    run.cases.iter_mut().for_each(|case| case.trials.clear());
    run
}

/// The run with its first `count` trials.
fn run_of(id: &str, count: u32) -> Run {
    let mut run = empty_run(id);
    for number in 0..count {
        let case = &mut run.cases[(number % 2) as usize];
        case.trials.push(small_run::trial(number));
    }
    run
}

/// Reads the child's lines until it has said that `count` trials are kept; how many it said.
fn wait_until_kept(child: &mut Child, count: u32) -> u32 {
    let mut kept = 0;
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    for line in lines.map(Result::unwrap) {
        if line.starts_with("kept ") {
            kept += 1;
        }
        if kept == count {
            break;
        }
    }
    kept
}

#[test]
fn a_killed_writer_leaves_every_trial_it_had_committed() {
    if let Ok(task) = std::env::var(TASK) {
        return do_task(&task);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    for attempt in 0..40u32 {
        let id = format!("run-{attempt}");
        let mut child = child("1000000", &path, &id).spawn().unwrap();
        let kept = wait_until_kept(&mut child, 1 + attempt % 7);
        // Into different places of the next transactions, which last about a millisecond each.
        let moment = Instant::now() + Duration::from_micros(u64::from(attempt) * 173);
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let store = Store::open_existing(&path).unwrap();
        let run = store.load(&id).unwrap();
        let count: usize = run.cases.iter().map(|case| case.trials.len()).sum();
        assert!(count as u32 >= kept, "{count} of {kept} are there");
        assert_eq!(run, run_of(&id, count as u32));
        drop(store);
    }
    let store = Store::open(&path).unwrap();
    assert_eq!(store.history(99).unwrap().len(), 40);
    let check: String = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn several_writers_wait_for_one_another() {
    const WRITERS: u32 = 4;
    const TRIALS: u32 = 40;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/store.db");
    let name = |writer| format!("writer-{writer}");
    let children: Vec<Child> = (0..WRITERS)
        .map(|writer| {
            child(&TRIALS.to_string(), &path, &name(writer))
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
    }
    let store = Store::open_existing(&path).unwrap();
    for writer in 0..WRITERS {
        let mut expected = run_of(&name(writer), TRIALS);
        expected.status = RunStatus::Bounded;
        assert_eq!(store.load(&name(writer)).unwrap(), expected);
    }
}

#[test]
fn without_permission_to_write_runs_can_still_be_read() {
    const NOBODY: u32 = 65_534;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    Store::open(&path).unwrap().insert(&small_run("a")).unwrap();
    let modes = [(directory.path(), 0o555), (path.as_path(), 0o444)];
    for (path, mode) in modes {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    // Root may write everywhere, so the child must be someone else.
    let output = match child("permission", &path, "").uid(NOBODY).output() {
        Ok(output) => output,
        Err(_) => child("permission", &path, "").output().unwrap(),
    };
    let text = String::from_utf8(output.stdout).unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let expected = format!(
        "opened cannot write the store {path:?}: \
         no permission, or a read-only file system\nread a\n"
    );
    assert!(text.contains(&expected), "{text}");
}
