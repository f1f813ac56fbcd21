//! The memory of a database whose pages were touched by a session that has ended: `metrics`,
//! `serve` and `watch` know it as `numalab inspect` does, or say that they know a lower bound.
//!
//! A short Python script stands for the database, since no test may contain unsafe code.
//!
//! Tests of numalab, live, serve, model.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use testing::{Need, not_run};

use crate::huge_page_pool::{Pool, count};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::served::{Served, has_curl};
use crate::unmet_need::is_root;
use crate::user::{NOBODY, User};

/// Takes the name of a PostgreSQL server. A child touches 48 MiB of shared memory and ends. Prints
/// how much memory the kernel counts for the object, and ends at the end of its input.
const DATABASE: &str = r"
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.prctl(15, b'postgres', 0, 0, 0)
file = libc.memfd_create(b'buffers', int(sys.argv[1]))
os.ftruncate(file, 64 << 20)
at = libc.mmap(None, 64 << 20, 3, 1, file, 0)
assert at and at != 2 ** 64 - 1
if not os.fork():
    ctypes.memset(at, 1, 48 << 20)
    os._exit(0)
assert os.wait()[1] == 0
print(os.fstat(file).st_blocks * 512, flush=True)
sys.stdin.read()
";
/// What the child touches.
const TOUCHED: u64 = 48 << 20;
/// What the interpreter has itself at most.
const OWN_MAX: u64 = 24 << 20;
/// `MFD_HUGETLB` of memfd_create(2).
const HUGE: &str = "4";

/// A stand-in for a database, and its name as a target.
struct Database {
    process: Running,
    name: String,
}

/// Starts the stand-in, with these flags for its shared memory.
fn started(laboratory: &Laboratory, test: &str, flags: &str) -> Option<Database> {
    let folder = laboratory.folder();
    let mut command = Command::new("python3");
    command.args(["-c", DATABASE, flags]).current_dir(folder);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(child) = spawned else {
        not_run(test, Need::Package, "it needs python3");
        return None;
    };
    // A server writes its PID there, by which it is found.
    let file = folder.join("postmaster.pid");
    std::fs::write(file, format!("{}\n", child.id())).unwrap();
    let mut process = Running(child);
    let mut line = String::new();
    let stdout = process.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), TOUCHED.to_string(), "as the kernel counts");
    let name = format!("postgres:{}", folder.display());
    Some(Database { process, name })
}

impl Database {
    /// The database in a snapshot.
    fn of(&self, snapshot: &Value) -> Option<Value> {
        let mut all = snapshot["instances"].as_array()?.iter();
        all.find(|it| it["name"] == self.name.as_str()).cloned()
    }

    /// The figures of a metric of the database, of all nodes together.
    fn metric(&self, metrics: &str, name: &str) -> Option<u64> {
        let of_it = format!("{name}{{database=\"{}\"", self.name);
        let lines = metrics.lines().filter(|line| line.starts_with(&of_it));
        let figures = lines.map(|it| it.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        figures.reduce(|sum, it| sum + it)
    }
}

fn sum(by_node: &Value) -> u64 {
    let by_node = by_node.as_object().unwrap().values();
    by_node.map(|bytes| bytes.as_u64().unwrap()).sum()
}

/// Compares `metrics`, `serve` and `watch` with `inspect` and the kernel.
fn all_of_it_is_known(laboratory: &Laboratory, database: &Database, test: &str) {
    let pid = database.process.pid();
    let inspected = laboratory.document(&["inspect", &pid, "--json"]);
    if inspected["complete"] != true {
        not_run(test, Need::Kernel, "it needs a kernel that shows frames");
        return;
    }
    let by_node = &inspected["bytes_by_node"];
    let all = sum(by_node);
    assert!(
        (TOUCHED..=TOUCHED + OWN_MAX).contains(&all),
        "{inspected:#}"
    );
    let is_it = |memory: &Value| {
        assert_eq!(memory["source"], "inspect", "{memory:#}");
        assert_eq!(&memory["bytes_by_node"], by_node);
    };
    let metrics = laboratory.run(&["metrics"]).with_code(0).stdout;
    let bytes = database.metric(&metrics, "numalab_instance_memory_bytes");
    assert_eq!(bytes, Some(all), "{metrics}");
    let complete = database.metric(&metrics, "numalab_instance_memory_complete");
    assert_eq!(complete, Some(1));
    let once = laboratory.document(&["watch", &pid, "--once", "--json"]);
    is_it(&once["instances"][0]["memory"]);
    let mut watching = laboratory.command(&["watch", "--json", "--interval", "0.2"]);
    let mut watching = Running::of(watching.stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(watching.0.stdout.take().unwrap()).lines();
    let memory = lines.find_map(|line| {
        let snapshot: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let memory = database.of(&snapshot)?["memory"].clone();
        (memory["complete"] == true).then_some(memory)
    });
    is_it(&memory.unwrap());
    if has_curl(test) {
        let server = Served::start(laboratory);
        let memory = until("an exact figure in /api/snapshot", || {
            let snapshot = server.get("/api/snapshot").with_status(200).document();
            let memory = database.of(&snapshot)?["memory"].clone();
            (memory["complete"] == true).then_some(memory)
        });
        is_it(&memory);
    }
}

#[test]
fn memory_that_a_session_which_has_ended_touched_is_known() {
    const NAME: &str = "memory_that_a_session_which_has_ended_touched_is_known";
    let laboratory = Laboratory::new();
    if !is_root(NAME) {
        return;
    }
    if let Some(database) = started(&laboratory, NAME, "0") {
        all_of_it_is_known(&laboratory, &database, NAME);
    }
}

#[test]
fn huge_pages_that_a_session_which_has_ended_touched_are_known() {
    const NAME: &str = "huge_pages_that_a_session_which_has_ended_touched_are_known";
    let laboratory = Laboratory::new();
    let Some(_pool) = Pool::set(NAME, &laboratory, count("nr_hugepages") + 32) else {
        return;
    };
    if let Some(database) = started(&laboratory, NAME, HUGE) {
        all_of_it_is_known(&laboratory, &database, NAME);
    }
}

#[test]
fn without_the_privilege_to_see_frames_a_lower_bound_is_marked_everywhere() {
    const NAME: &str = "without_the_privilege_to_see_frames_a_lower_bound_is_marked_everywhere";
    if !is_root(NAME) {
        return;
    }
    let mut laboratory = Laboratory::of(NOBODY);
    let words = User::capabilities(&["sys_ptrace"]);
    laboratory.launch_behind(&words.each_ref().map(String::as_str));
    let Some(database) = started(&laboratory, NAME, "0") else {
        return;
    };
    let metrics = laboratory.run(&["metrics"]).with_code(0).stdout;
    let bytes = database.metric(&metrics, "numalab_instance_memory_bytes");
    assert!(bytes.unwrap() < TOUCHED, "{metrics}");
    let complete = database.metric(&metrics, "numalab_instance_memory_complete");
    assert_eq!(complete, Some(0), "{metrics}");
    assert!(metrics.contains("; a lower bound unless numalab_instance_memory_complete is 1"));
    let pid = database.process.pid();
    let once = laboratory.document(&["watch", &pid, "--once", "--json"]);
    assert_eq!(
        once["instances"][0]["memory"]["complete"], false,
        "{once:#}"
    );
    let text = laboratory
        .run(&["watch", &pid, "--once"])
        .with_code(0)
        .stdout;
    assert!(text.contains(" >") && text.contains(" ~"), "{text}");
    if has_curl(NAME) {
        let server = Served::start(&laboratory);
        until("a lower bound on the page", || {
            let page = server.get("/").with_status(200).body;
            let (_, row) = page.split_once(&format!("<td>{}</td>", database.name))?;
            row.split("</tr>")
                .next()?
                .contains("at least node ")
                .then_some(())
        });
    }
}
