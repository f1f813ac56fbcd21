//! Runs with their own MariaDB leave nothing behind: no process, no directory, after success,
//! failure, Ctrl-C and `kill -9`.
//!
//! Tests of mariadb, server.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use server::Database;
use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::unmet_need::is_root;
use crate::user::open_to_all;

/// A laboratory with its own directory for servers, and an experiment with MariaDB.
struct Bench {
    laboratory: Laboratory,
    folder: PathBuf,
    experiment: String,
}

impl Bench {
    /// Returns a bench, or reports that `test` is not run if no MariaDB is installed.
    fn of(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH");
        if let Some(missing) = (mariadb::MariaDb { path }).missing() {
            not_run(test, Need::Package, &missing);
            return None;
        }
        let mut laboratory = Laboratory::new();
        let folder = laboratory.state().join("servers");
        fs::create_dir(&folder).unwrap();
        // The server's user must be able to enter.
        for folder in folder.ancestors().take(3) {
            open_to_all(folder);
        }
        // Settings for other servers must not affect this one.
        laboratory.launch_behind(&[
            "env",
            &format!("TMPDIR={}", folder.display()),
            "LC_ALL=xx_XX.UTF-8",
            "MYSQL_UNIX_PORT=/nowhere",
            "MYSQL_TCP_PORT=1",
            "MYSQL_HOME=/nowhere",
        ]);
        let load = "engine = \"mariadb\"\n[load]\nsessions = 1";
        let experiment = ExperimentFile::new("one", load)
            .case("one", "cache = \"8MiB\"\nmoved-to = \"prefer:0\"");
        let experiment = laboratory.file("small.toml", experiment.text());
        Some(Bench {
            laboratory,
            folder,
            experiment,
        })
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
        let is_server = |pid: &u32| {
            let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            cwd.is_ok_and(|cwd| cwd.starts_with(&self.folder))
                && name.is_ok_and(|name| name == "mariadbd\n")
        };
        pids.filter(is_server).collect()
    }

    /// Returns the server that is measured, once it runs.
    fn measured(&self, under_way: &mut UnderWay<'_>) -> u32 {
        until("a server that only reads", || {
            assert!(!under_way.has_ended(), "{}", under_way.stderr());
            let words = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline"));
            let reads = |pid: &u32| words(*pid).is_ok_and(|it| it.contains("read-only=1"));
            self.servers().into_iter().find(reads)
        })
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.servers(), Vec::<u32>::new());
        let folders: Vec<_> = fs::read_dir(&self.folder).unwrap().flatten().collect();
        assert!(folders.is_empty(), "{folders:?}");
        self.laboratory.nothing_is_left();
    }
}

#[test]
fn a_run_with_mariadb_is_valid_counts_as_the_server_does_and_leaves_nothing() {
    let test = "a_run_with_mariadb_is_valid_counts_as_the_server_does_and_leaves_nothing";
    let Some(bench) = Bench::of(test) else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    let server = bench.measured(&mut under_way);
    let owner = fs::metadata(format!("/proc/{server}")).unwrap();
    let uid = std::os::unix::fs::MetadataExt::uid(&owner);
    assert_ne!(uid, 0, "a server never runs as root");
    let run = under_way.finish().with_code(0).document();
    let trials = run["cases"][0]["trials"].as_array().unwrap();
    let valid = trials.iter().filter(|trial| trial["valid"] == true);
    assert!(valid.count() > 0, "{run:#}");
    for trial in trials {
        let server = trial["evidence"]["server"].as_str().unwrap();
        assert!(server.starts_with("MariaDB 1"), "{server}");
        let counters = trial["evidence"]["counters"].as_array().unwrap();
        assert_eq!(counters.len(), 1);
        for counter in counters {
            assert_eq!(counter["source"], "Innodb_buffer_pool_read_requests");
            let counted = counter["counted"].as_f64().unwrap();
            let expected = counter["expected"].as_f64().unwrap();
            let is_near = (counted / expected - 1.0).abs() <= 0.01;
            assert!(is_near || trial["valid"] == false, "{trial:#}");
        }
    }
    bench.nothing_is_left();
}

#[test]
fn a_mariadb_that_is_killed_in_the_middle_fails_the_trial_and_leaves_nothing() {
    let test = "a_mariadb_that_is_killed_in_the_middle_fails_the_trial_and_leaves_nothing";
    let Some(bench) = Bench::of(test) else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    // Killed in the calibration, so that no other trial can replace it.
    kill(bench.measured(&mut under_way));
    let finished = under_way.finish().with_code(8);
    finished.says(&["cannot calibrate the work unit"]);
    bench.nothing_is_left();
}

#[test]
fn control_c_leaves_no_mariadb() {
    let Some(bench) = Bench::of("control_c_leaves_no_mariadb") else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.measured(&mut under_way);
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    bench.nothing_is_left();
}

#[test]
fn after_a_kill_the_mariadb_ends_and_undo_removes_its_folder() {
    let test = "after_a_kill_the_mariadb_ends_and_undo_removes_its_folder";
    let Some(bench) = Bench::of(test) else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.measured(&mut under_way);
    under_way.kill();
    under_way.finish();
    until("its servers end", || {
        bench.servers().is_empty().then_some(())
    });
    let undone = bench.laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(undone.contains("numalab-mariadb-"), "{undone}");
    bench.nothing_is_left();
}

#[test]
fn a_full_disk_under_mariadb_is_said_and_leaves_nothing() {
    let test = "a_full_disk_under_mariadb_is_said_and_leaves_nothing";
    let Some(mut bench) = Bench::of(test) else {
        return;
    };
    if !is_root(test) {
        return;
    }
    // A private file system that goes with the last process that sees it.
    let script = "mount -t tmpfs -o mode=1777,size=20m small \"$TMPDIR\" && exec \"$@\"";
    bench
        .laboratory
        .launch_behind(&["unshare", "--mount", "sh", "-c", script, "sh"]);
    let finished = bench.laboratory.run(&bench.words()).with_code(8);
    // InnoDB tells the number of ENOSPC.
    finished.says(&["the MariaDB server did not start", "error 28"]);
    bench.nothing_is_left();
}
