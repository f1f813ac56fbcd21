//! Runs with their own Redis or Valkey: its counters agree, its memory is found, and nothing is
//! left behind after success, failure, Ctrl-C and `kill -9`.
//!
//! Tests of valkey, server.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::redis_program::{Kind, REDIS, VALKEY};
use crate::user::open_to_all;

/// A laboratory with a folder for servers, a Redis on its path, and an experiment.
struct Bench {
    kind: Kind,
    laboratory: Laboratory,
    servers: PathBuf,
    experiment: String,
}

impl Bench {
    /// Returns the bench of a test, or reports that it is not run.
    fn new(kind: Kind, test: &str) -> Option<Self> {
        Self::with_load(kind, test, "")
    }

    /// As [`Bench::new`], with more lines about the load.
    fn with_load(kind: Kind, test: &str, lines: &str) -> Option<Self> {
        let mut laboratory = Laboratory::new();
        let (servers, programs) = (
            laboratory.state().join("servers"),
            laboratory.state().join("bin"),
        );
        for folder in [&servers, &programs] {
            fs::create_dir(folder).unwrap();
            // The server's user must be able to enter.
            for folder in folder.ancestors().take(3) {
                open_to_all(folder);
            }
        }
        kind.link_to_server(&programs, test)?;
        laboratory.launch_behind(&[
            "env",
            &format!("TMPDIR={}", servers.display()),
            &format!("PATH={}:/usr/bin:/bin", programs.display()),
        ]);
        let load = format!("engine = \"{}\"\n[load]\nsessions = 2\n{lines}", kind.id);
        let experiment = ExperimentFile::new("one", &load).case(
            "one",
            "cache = \"16MiB\"\ncpus = \"0\"\nallocation = \"bind:first-node\"",
        );
        let experiment = laboratory.file("small.toml", experiment.text());
        Some(Bench {
            kind,
            laboratory,
            servers,
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

    /// Returns the servers that work in the folder.
    fn running(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_server = |pid: &u32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            let works_in = fs::read_link(format!("/proc/{pid}/cwd"));
            name.is_ok_and(|name| name.trim_end() == self.kind.server)
                && works_in.is_ok_and(|folder| folder.starts_with(&self.servers))
        };
        pids.filter(is_server).collect()
    }

    /// Returns the server of a run, once it answers.
    fn server(&self, under_way: &mut UnderWay<'_>) -> u32 {
        until("a server", || {
            assert!(!under_way.has_ended(), "{}", under_way.stderr());
            self.running().first().copied()
        })
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.running(), Vec::<u32>::new());
        let folders: Vec<_> = fs::read_dir(&self.servers).unwrap().flatten().collect();
        assert!(folders.is_empty(), "{folders:?}");
        self.laboratory.nothing_is_left();
    }
}

#[test]
fn a_run_with_redis_is_counted_by_it_and_its_memory_is_where_it_was_bound() {
    let test = "a_run_with_redis_is_counted_by_it_and_its_memory_is_where_it_was_bound";
    a_run_is_counted(REDIS, test);
}

#[test]
fn a_run_with_valkey_is_counted_by_it_and_its_memory_is_where_it_was_bound() {
    let test = "a_run_with_valkey_is_counted_by_it_and_its_memory_is_where_it_was_bound";
    a_run_is_counted(VALKEY, test);
}

fn a_run_is_counted(kind: Kind, test: &str) {
    // Long statements: their replies must not count as values.
    let Some(bench) = Bench::with_load(kind, test, "work-unit = 1024") else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    let server = bench.server(&mut under_way);
    let owner = fs::metadata(format!("/proc/{server}")).unwrap().uid();
    assert!(
        owner != 0 || !linux::process::is_root(),
        "a server never runs as root"
    );
    let run = under_way.finish().with_code(0).document();
    let case = &run["cases"][0];
    assert_eq!(case["trials_valid"], 5, "{case:#}");
    for trial in valid_trials(case) {
        let evidence = &trial["evidence"];
        let counter = &evidence["counters"][0];
        assert_eq!(counter["source"], "keyspace_hits");
        let counted = counter["counted"].as_f64().unwrap();
        let expected = counter["expected"].as_f64().unwrap();
        assert!(
            expected > 100.0 && (counted / expected - 1.0).abs() <= 0.01,
            "{trial:#}"
        );
        // Values of 4,080 bytes with what is kept of each.
        let bytes = evidence["sga"]["bytes_by_node_after"]["0"]
            .as_u64()
            .unwrap();
        assert!((16 << 20..22 << 20).contains(&bytes), "{bytes}");
        assert_eq!(evidence["sga"]["policy"], "bind:0");
        assert_eq!(evidence["sessions"][0]["cpus_allowed"], "0");
        let version = evidence["server"].as_str().unwrap();
        assert!(version.starts_with(kind.name), "{version}");
    }
    bench.nothing_is_left();
}

#[test]
fn cpu_lists_of_a_redis_in_a_run_are_what_its_threads_have() {
    let test = "cpu_lists_of_a_redis_in_a_run_are_what_its_threads_have";
    lists_are_compared(REDIS, test);
}

#[test]
fn cpu_lists_of_a_valkey_in_a_run_are_what_its_threads_have() {
    let test = "cpu_lists_of_a_valkey_in_a_run_are_what_its_threads_have";
    lists_are_compared(VALKEY, test);
}

/// The CPUs that the first I/O thread of a server may use.
fn cpus_of_io_thread(server: u32) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{server}/task")).ok()?.flatten();
    let read = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok();
    let mut threads = threads.map(|thread| thread.path());
    let is_io = |thread: &PathBuf| {
        let name = read(thread, "comm");
        name.is_some_and(|name| name.starts_with("io_thd_"))
    };
    let status = read(&threads.find(is_io)?, "status")?;
    let mut lines = status.lines();
    let cpus = lines.find_map(|it| it.strip_prefix("Cpus_allowed_list:"));
    cpus.map(|cpus| cpus.trim().to_owned())
}

fn lists_are_compared(kind: Kind, test: &str) {
    let Some(mut bench) = Bench::new(kind, test) else {
        return;
    };
    let load = format!(
        "engine = \"{}\"\n[load]\nsessions = 1\nwork-unit = 16",
        kind.id
    );
    let lists = "server_cpulist={first-node:1} bio_cpulist=0,4000";
    let settings = format!("cache = \"16MiB\"\nserver-settings = \"io-threads=2 {lists}\"");
    let experiment = ExperimentFile::new("one", &load).case("one", &settings);
    bench.experiment = bench.laboratory.file("lists.toml", experiment.text());
    let mut under_way = bench.laboratory.start(&bench.words());
    until("an I/O thread on the one CPU of its list", || {
        assert!(!under_way.has_ended(), "{}", under_way.stderr());
        let cpus = bench.running().into_iter().find_map(cpus_of_io_thread)?;
        cpus.parse::<u32>().ok()
    });
    // CPU 4000 is not there: the server says nothing, and numalab does not count such trials.
    let failed = under_way.finish().with_code(6);
    let why = "bio-cpulist is 0,4000, and thread bio_";
    assert!(failed.stdout.contains(why), "{}", failed.stdout);
    bench.nothing_is_left();
}

#[test]
fn a_redis_that_is_killed_fails_the_run_and_leaves_nothing() {
    let test = "a_redis_that_is_killed_fails_the_run_and_leaves_nothing";
    let Some(bench) = Bench::new(REDIS, test) else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    // Killed in the calibration, so that no other trial can replace it.
    kill(bench.server(&mut under_way));
    under_way
        .finish()
        .with_code(8)
        .says(&["cannot calibrate the work unit"]);
    bench.nothing_is_left();
}

#[test]
fn control_c_and_kill_leave_no_redis() {
    let Some(bench) = Bench::new(REDIS, "control_c_and_kill_leave_no_redis") else {
        return;
    };
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.server(&mut under_way);
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    bench.nothing_is_left();
    let mut under_way = bench.laboratory.start(&bench.words());
    bench.server(&mut under_way);
    under_way.kill();
    under_way.finish();
    until("its server ends", || {
        bench.running().is_empty().then_some(())
    });
    let undone = bench.laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(undone.contains("numalab-redis-"), "{undone}");
    bench.nothing_is_left();
}

#[test]
fn what_redis_has_not_is_refused() {
    let Some(bench) = Bench::new(REDIS, "what_redis_has_not_is_refused") else {
        return;
    };
    let load = "engine = \"redis\"\n[load]\nsessions = 1";
    let experiment = ExperimentFile::new("one", load).case("one", "prewarm-cpus = \"0\"");
    let path = bench.laboratory.file("prewarm.toml", experiment.text());
    bench
        .laboratory
        .run(&["run", &path])
        .with_code(2)
        .says(&["prewarm-cpus"]);
    bench.nothing_is_left();
}
