//! Runs with their own PostgreSQL leave nothing behind: no process, no directory, no segment, after
//! success, failure, Ctrl-C and `kill -9`.
//!
//! Tests of postgresql, server.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::postgres_server::installed;
use crate::unmet_need::is_root;
use crate::user::open_to_all;

/// A laboratory with its own directory for clusters, and an experiment with PostgreSQL.
struct Bench {
    laboratory: Laboratory,
    clusters: PathBuf,
    experiment: String,
}

impl Bench {
    fn new() -> Self {
        let mut laboratory = Laboratory::new();
        let clusters = laboratory.state().join("clusters");
        fs::create_dir(&clusters).unwrap();
        // The server's user must be able to enter.
        for folder in clusters.ancestors().take(3) {
            open_to_all(folder);
        }
        // Servers and locales that do not exist must not affect the cluster.
        laboratory.launch_behind(&[
            "env",
            &format!("TMPDIR={}", clusters.display()),
            "LC_ALL=xx_XX.UTF-8",
            "PGPORT=1",
            "PGHOST=nowhere.invalid",
            "PGDATA=/nowhere",
        ]);
        let load = "engine = \"postgres\"\n[load]\nsessions = 1";
        let experiment = ExperimentFile::new("one", load).case("one", "cache = \"8MiB\"");
        let experiment = experiment.text();
        let experiment = laboratory.file("small.toml", experiment);
        Bench {
            laboratory,
            clusters,
            experiment,
        }
    }

    fn words(&self) -> [&str; 7] {
        let experiment = &self.experiment;
        [
            "run",
            experiment,
            "--trials",
            "5",
            "--seconds",
            "0.2",
            "--json",
        ]
    }

    /// Returns the servers that work in the directory.
    fn servers(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| works_in(*pid, &self.clusters)).collect()
    }

    /// Returns the postmaster of a run, once sessions run.
    fn postmaster(&self, under_way: &mut UnderWay<'_>) -> u32 {
        until("a server with a session", || {
            assert!(!under_way.has_ended(), "{}", under_way.stderr());
            let servers = self.servers();
            let title = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline"));
            let has = |text: &str| {
                let mut found = servers.iter().copied();
                found.find(|pid| title(*pid).is_ok_and(|title| title.contains(text)))
            };
            has("DO").and(has("/postgres\0-D"))
        })
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.servers(), Vec::<u32>::new());
        let folders: Vec<_> = fs::read_dir(&self.clusters).unwrap().flatten().collect();
        assert!(folders.is_empty(), "{folders:?}");
        self.laboratory.nothing_is_left();
    }
}

fn works_in(pid: u32, folder: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        && fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "postgres\n")
}

#[test]
fn a_run_with_postgres_is_valid_counts_as_the_server_does_and_leaves_nothing() {
    let test = "a_run_with_postgres_is_valid_counts_as_the_server_does_and_leaves_nothing";
    if installed(test).is_none() {
        return;
    }
    let bench = Bench::new();
    let mut under_way = bench.laboratory.start(&bench.words());
    let owner = fs::metadata(format!("/proc/{}", bench.postmaster(&mut under_way))).unwrap();
    assert_ne!(
        std::os::unix::fs::MetadataExt::uid(&owner),
        0,
        "a server never runs as root"
    );
    let run = under_way.finish().with_code(0).document();
    for trial in run["cases"][0]["trials"].as_array().unwrap() {
        for counter in trial["evidence"]["counters"].as_array().unwrap() {
            let counted = counter["counted"].as_f64().unwrap();
            let expected = counter["expected"].as_f64().unwrap();
            let is_near = (counted / expected - 1.0).abs() <= 0.01;
            assert!(is_near || trial["valid"] == false, "{trial:#}");
        }
    }
    bench.nothing_is_left();
}

/// `--pg-fetch` takes precedence over an installed PostgreSQL, and a umask that keeps files private
/// does not keep the programs from the server's user.
#[test]
fn a_server_can_be_fetched_for_a_run_and_goes_with_it() {
    let mut bench = Bench::new();
    let script = "umask 077 && exec \"$@\"";
    bench.laboratory.launch_behind(&["sh", "-c", script, "sh"]);
    let fetch = ["--pg-fetch", "16.10"];
    let finished = bench.laboratory.run(&[&bench.words()[..], &fetch].concat());
    bench.nothing_is_left();
    if finished.stderr.contains("from Maven Central") {
        let test = "a_server_can_be_fetched_for_a_run_and_goes_with_it";
        return not_run(test, Need::Network, &finished.stderr);
    }
    let run = finished.with_code(0).document();
    for trial in run["cases"][0]["trials"].as_array().unwrap() {
        assert_eq!(trial["evidence"]["server"], "PostgreSQL 16.10");
    }
}

#[test]
fn a_release_that_there_is_not_is_said_and_leaves_nothing() {
    let bench = Bench::new();
    let fetch = ["--pg-fetch", "16.99"];
    let finished = bench.laboratory.run(&[&bench.words()[..], &fetch].concat());
    finished
        .with_code(3)
        .says(&["PostgreSQL 16.99", "--pg-bin"]);
    bench.nothing_is_left();
}

#[test]
fn a_server_that_is_killed_in_the_middle_fails_the_trial_and_leaves_nothing() {
    let test = "a_server_that_is_killed_in_the_middle_fails_the_trial_and_leaves_nothing";
    if installed(test).is_none() {
        return;
    }
    let bench = Bench::new();
    let mut under_way = bench.laboratory.start(&bench.words());
    // Killed in the calibration, so that no other trial can replace it.
    kill(bench.postmaster(&mut under_way));
    let finished = under_way.finish().with_code(8);
    finished.says(&["cannot calibrate the work unit"]);
    bench.nothing_is_left();
}

#[test]
fn control_c_leaves_no_server() {
    if installed("control_c_leaves_no_server").is_none() {
        return;
    }
    let bench = Bench::new();
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.postmaster(&mut under_way);
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    bench.nothing_is_left();
}

#[test]
fn after_a_kill_the_server_ends_and_undo_removes_its_folder() {
    if installed("after_a_kill_the_server_ends_and_undo_removes_its_folder").is_none() {
        return;
    }
    let bench = Bench::new();
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.postmaster(&mut under_way);
    under_way.kill();
    under_way.finish();
    until("its servers end", || {
        bench.servers().is_empty().then_some(())
    });
    let undone = bench.laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(undone.contains("numalab-postgres-"), "{undone}");
    bench.nothing_is_left();
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let test = "a_full_disk_is_said_and_leaves_nothing";
    if installed(test).is_none() || !is_root(test) {
        return;
    }
    let mut bench = Bench::new();
    // A private file system that goes with the last process that sees it.
    let script = "mount -t tmpfs -o mode=1777,size=20m small \"$TMPDIR\" && exec \"$@\"";
    bench
        .laboratory
        .launch_behind(&["unshare", "--mount", "sh", "-c", script, "sh"]);
    let finished = bench.laboratory.run(&bench.words()).with_code(8);
    // The system's error or the server's hint, depending on what was being written.
    let said = ["No space left on device", "Check free disk space"];
    let has = said.iter().any(|words| finished.stderr.contains(words));
    assert!(has, "{}", finished.stderr);
    bench.nothing_is_left();
}

#[test]
fn programs_that_are_missing_or_too_old_are_named() {
    let laboratory = Laboratory::new();
    let words = |bin: &str| {
        let experiment = "postgres-shared-buffers";
        laboratory.run(&["run", experiment, "--pg-bin", bin])
    };
    words("/nowhere")
        .with_code(2)
        .says(&["/nowhere", "it has no postgres", "initdb"]);
    let bin = laboratory.state().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["postgres", "initdb"] {
        fs::write(bin.join(name), "#!/bin/sh\necho \"x (PostgreSQL) 12.22\"\n").unwrap();
        open_to_all(&bin.join(name));
    }
    let old = words(bin.to_str().unwrap()).with_code(3);
    old.says(&[
        "PostgreSQL 12.22 is too old: expected 13 or later",
        "--pg-bin",
    ]);
    laboratory.nothing_is_left();
}
