//! Runs with a database server of their own: the server's counters agree, its memory is found, and
//! nothing is left behind after success, failure, Ctrl-C and `kill -9`: no process, no directory,
//! no segment.
//!
//! Tests of postgresql, mariadb, valkey, server.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use server::Database;
use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::{Laboratory, UnderWay, kill};
use crate::patience::until;
use crate::postgres_server::installed;
use crate::redis_program::{REDIS, VALKEY};
use crate::unmet_need::is_root;
use crate::user::open_to_all;

/// A database whose servers runs start.
struct Kind {
    engine: &'static str,
    /// How its name and version begin in evidence.
    version: &'static str,
    /// The name of its processes.
    server: &'static str,
    /// Settings for other servers, which must not affect this one.
    of_others: &'static [&'static str],
    /// The load of its experiment.
    load: &'static str,
    /// The load where its counters are compared.
    counted_load: &'static str,
    /// The case of its experiment.
    case: &'static str,
    /// What titles of its processes have once it is measured; the last is that of the server.
    titles: &'static [&'static str],
    /// What its error says on a full disk, depending on what was being written.
    full_disk: &'static [&'static str],
    /// Makes its programs available, in this folder if need be; if there are none here, reports
    /// that `test` is not run.
    find: fn(test: &str, programs: &Path) -> Option<PathBuf>,
    /// More on a run that it was measured by.
    check: fn(run: &Value),
}

const POSTGRES: Kind = Kind {
    engine: "postgres",
    version: "PostgreSQL ",
    server: "postgres",
    of_others: &[
        "LC_ALL=xx_XX.UTF-8",
        "PGPORT=1",
        "PGHOST=nowhere.invalid",
        "PGDATA=/nowhere",
    ],
    load: "sessions = 1",
    counted_load: "sessions = 1",
    case: "cache = \"8MiB\"",
    titles: &["DO", "/postgres\0-D"],
    full_disk: &["No space left on device", "Check free disk space"],
    find: |test, _| installed(test),
    check: |_| {},
};

const MARIADB: Kind = Kind {
    engine: "mariadb",
    version: "MariaDB 1",
    server: "mariadbd",
    of_others: &[
        "LC_ALL=xx_XX.UTF-8",
        "MYSQL_UNIX_PORT=/nowhere",
        "MYSQL_TCP_PORT=1",
        "MYSQL_HOME=/nowhere",
    ],
    load: "sessions = 1",
    counted_load: "sessions = 1",
    case: "cache = \"8MiB\"\nmoved-to = \"prefer:0\"",
    titles: &["read-only=1"],
    // InnoDB tells the number of ENOSPC.
    full_disk: &["error 28"],
    find: |test, programs| {
        let path = std::env::var_os("PATH");
        let Some(missing) = (mariadb::MariaDb { path }).missing() else {
            return Some(programs.to_owned());
        };
        not_run(test, Need::Package, &missing);
        None
    },
    check: |run| {
        for trial in run["cases"][0]["trials"].as_array().unwrap() {
            let counters = trial["evidence"]["counters"].as_array().unwrap();
            assert_eq!(counters.len(), 1);
            assert_eq!(counters[0]["source"], "Innodb_buffer_pool_read_requests");
        }
    },
};

const OF_REDIS: Kind = Kind {
    engine: REDIS.id,
    version: REDIS.name,
    server: REDIS.server,
    of_others: &[],
    load: "sessions = 2",
    // Long statements: their replies must not count as values.
    counted_load: "sessions = 2\nwork-unit = 1024",
    case: "cache = \"16MiB\"\ncpus = \"0\"\nallocation = \"bind:first-node\"",
    titles: &[""],
    full_disk: &[],
    find: |test, programs| REDIS.link_to_server(programs, test),
    check: check_redis,
};

const OF_VALKEY: Kind = Kind {
    engine: VALKEY.id,
    version: VALKEY.name,
    server: VALKEY.server,
    find: |test, programs| VALKEY.link_to_server(programs, test),
    ..OF_REDIS
};

fn check_redis(run: &Value) {
    let case = &run["cases"][0];
    assert_eq!(case["trials_valid"], 5, "{case:#}");
    for trial in valid_trials(case) {
        let evidence = &trial["evidence"];
        let counter = &evidence["counters"][0];
        assert_eq!(counter["source"], "keyspace_hits");
        assert!(counter["expected"].as_f64() > Some(100.0), "{trial:#}");
        assert!(is_near(counter), "{trial:#}");
        // Values of 4,080 bytes with what is kept of each.
        let bytes = evidence["sga"]["bytes_by_node_after"]["0"].as_u64();
        let bytes = bytes.unwrap();
        assert!((16 << 20..22 << 20).contains(&bytes), "{bytes}");
        assert_eq!(evidence["sga"]["policy"], "bind:0");
        assert_eq!(evidence["sessions"][0]["cpus_allowed"], "0");
    }
}

/// Whether the server counted what was expected.
fn is_near(counter: &Value) -> bool {
    let [counted, expected] = ["counted", "expected"].map(|name| counter[name].as_f64().unwrap());
    (counted / expected - 1.0).abs() <= 0.01
}

/// A laboratory with its own directory for servers, and an experiment with one of them.
struct Bench {
    kind: &'static Kind,
    laboratory: Laboratory,
    servers: PathBuf,
    experiment: String,
}

impl Bench {
    /// Returns the bench of a test, or reports that it is not run.
    fn of(kind: &'static Kind, test: &str) -> Option<Self> {
        let bench = Self::new(kind);
        (kind.find)(test, &bench.laboratory.state().join("bin"))?;
        Some(bench)
    }

    fn new(kind: &'static Kind) -> Self {
        let mut laboratory = Laboratory::new();
        let [servers, programs] = ["servers", "bin"].map(|name| laboratory.state().join(name));
        for folder in [&servers, &programs] {
            fs::create_dir(folder).unwrap();
            // The server's user must be able to enter.
            for folder in folder.ancestors().take(3) {
                open_to_all(folder);
            }
        }
        let path = std::env::var("PATH").unwrap();
        let own = [
            format!("TMPDIR={}", servers.display()),
            format!("PATH={}:{path}", programs.display()),
        ];
        let own = own.iter().map(String::as_str);
        let words = std::iter::once("env").chain(own);
        let words = words.chain(kind.of_others.iter().copied());
        laboratory.launch_behind(&words.collect::<Vec<_>>());
        let mut bench = Bench {
            kind,
            laboratory,
            servers,
            experiment: String::new(),
        };
        bench.load(kind.load, kind.case);
        bench
    }

    /// Has the experiment this load in its only case.
    fn load(&mut self, load: &str, case: &str) {
        let load = format!("engine = \"{}\"\n[load]\n{load}", self.kind.engine);
        let experiment = ExperimentFile::new("one", &load).case("one", case);
        self.experiment = self.laboratory.file("small.toml", experiment.text());
    }

    /// A private file system for servers that goes with the last process that sees it.
    fn on_a_small_disk(&mut self) {
        let script = "mount -t tmpfs -o mode=1777,size=20m small \"$TMPDIR\" && exec \"$@\"";
        let words = ["unshare", "--mount", "sh", "-c", script, "sh"];
        self.laboratory.launch_behind(&words);
    }

    fn words(&self) -> [&str; 7] {
        let experiment = &self.experiment;
        let limits = ["--trials", "5", "--seconds", "0.2", "--json"];
        let [trials, five, seconds, short, json] = limits;
        ["run", experiment, trials, five, seconds, short, json]
    }

    /// Returns the servers that work in the directory.
    fn running(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_server = |pid: &u32| {
            let works_in = fs::read_link(format!("/proc/{pid}/cwd"));
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            works_in.is_ok_and(|folder| folder.starts_with(&self.servers))
                && name.is_ok_and(|name| name.trim_end() == self.kind.server)
        };
        pids.filter(is_server).collect()
    }

    /// Begins the run, and returns its server once it is measured.
    fn start(&self) -> (UnderWay<'_>, u32) {
        let mut under_way = self.laboratory.start(&self.words());
        let server = until("a server that is measured", || {
            assert!(!under_way.has_ended(), "{}", under_way.stderr());
            let running = self.running();
            let title = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline"));
            let has = |text: &&str| {
                let mut found = running.iter().copied();
                found.find(|pid| title(*pid).is_ok_and(|title| title.contains(*text)))
            };
            let found: Option<Vec<u32>> = self.kind.titles.iter().map(has).collect();
            found?.last().copied()
        });
        (under_way, server)
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        assert_eq!(self.running(), Vec::<u32>::new());
        let folders: Vec<_> = fs::read_dir(&self.servers).unwrap().flatten().collect();
        assert!(folders.is_empty(), "{folders:?}");
        self.laboratory.nothing_is_left();
    }
}

fn is_valid_and_counted(mut bench: Bench) {
    bench.load(bench.kind.counted_load, bench.kind.case);
    let (under_way, server) = bench.start();
    let owner = fs::metadata(format!("/proc/{server}")).unwrap().uid();
    let is_root = linux::process::is_root();
    assert!(owner != 0 || !is_root, "a server never runs as root");
    let run = under_way.finish().with_code(0).document();
    let case = &run["cases"][0];
    assert!(!valid_trials(case).is_empty(), "{run:#}");
    for trial in case["trials"].as_array().unwrap() {
        let version = trial["evidence"]["server"].as_str().unwrap();
        assert!(version.starts_with(bench.kind.version), "{version}");
        for counter in trial["evidence"]["counters"].as_array().unwrap() {
            assert!(is_near(counter) || trial["valid"] == false, "{trial:#}");
        }
    }
    (bench.kind.check)(&run);
    bench.nothing_is_left();
}

/// Killed in the calibration, so that no other trial can replace it.
fn fails_when_its_server_is_killed(bench: Bench) {
    let (under_way, server) = bench.start();
    kill(server);
    let finished = under_way.finish().with_code(8);
    finished.says(&["cannot calibrate the work unit"]);
    bench.nothing_is_left();
}

fn ends_with_control_c(bench: Bench) {
    let (under_way, _) = bench.start();
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    bench.nothing_is_left();
}

fn is_undone_after_a_kill(bench: Bench) {
    let (under_way, _) = bench.start();
    under_way.kill();
    under_way.finish();
    until("its servers end", || {
        bench.running().is_empty().then_some(())
    });
    let undone = bench.laboratory.run(&["undo"]).with_code(0).stdout;
    let folder = format!("numalab-{}-", bench.kind.engine);
    assert!(undone.contains(&folder), "{undone}");
    bench.nothing_is_left();
}

fn says_that_the_disk_is_full(mut bench: Bench) {
    bench.on_a_small_disk();
    let finished = bench.laboratory.run(&bench.words()).with_code(8);
    let said = |words: &&str| finished.stderr.contains(*words);
    let is_said = bench.kind.full_disk.iter().any(said);
    assert!(is_said, "{}", finished.stderr);
    bench.nothing_is_left();
}

/// What a run with a server of a kind does; `as_root` where that needs root.
macro_rules! a_run {
    ($module:ident with $kind:expr => $($test:ident $(as $root:ident)?),+) => {
        mod $module {
            $(
                #[test]
                fn $test() {
                    let test = concat!(stringify!($module), "::", stringify!($test));
                    $(if !super::$root(test) { return; })?
                    if let Some(bench) = super::Bench::of(&$kind, test) {
                        super::$test(bench);
                    }
                }
            )+
        }
    };
}

a_run!(with_postgres with super::POSTGRES => is_valid_and_counted, fails_when_its_server_is_killed,
    ends_with_control_c, is_undone_after_a_kill, says_that_the_disk_is_full as is_root);
a_run!(with_mariadb with super::MARIADB => is_valid_and_counted, fails_when_its_server_is_killed,
    ends_with_control_c, is_undone_after_a_kill, says_that_the_disk_is_full as is_root);
a_run!(with_redis with super::OF_REDIS => is_valid_and_counted, fails_when_its_server_is_killed,
    ends_with_control_c, is_undone_after_a_kill, has_the_cpu_lists_of_its_threads,
    refuses_what_it_has_not);
a_run!(with_valkey with super::OF_VALKEY => is_valid_and_counted,
    has_the_cpu_lists_of_its_threads);

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

fn has_the_cpu_lists_of_its_threads(mut bench: Bench) {
    let lists = "server_cpulist={first-node:1} bio_cpulist=0,4000";
    let settings = format!("cache = \"16MiB\"\nserver-settings = \"io-threads=2 {lists}\"");
    bench.load("sessions = 1\nwork-unit = 16", &settings);
    let (mut under_way, _) = bench.start();
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

fn refuses_what_it_has_not(mut bench: Bench) {
    bench.load("sessions = 1", "prewarm-cpus = \"0\"");
    let refused = bench.laboratory.run(&["run", &bench.experiment]);
    refused.with_code(2).says(&["prewarm-cpus"]);
    bench.nothing_is_left();
}

/// `--pg-fetch` takes precedence over an installed PostgreSQL, and a umask that keeps files private
/// does not keep the programs from the server's user.
#[test]
fn a_server_can_be_fetched_for_a_run_and_goes_with_it() {
    let mut bench = Bench::new(&POSTGRES);
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
    let bench = Bench::new(&POSTGRES);
    let fetch = ["--pg-fetch", "16.99"];
    let finished = bench.laboratory.run(&[&bench.words()[..], &fetch].concat());
    let finished = finished.with_code(3);
    finished.says(&["PostgreSQL 16.99", "--pg-bin"]);
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
