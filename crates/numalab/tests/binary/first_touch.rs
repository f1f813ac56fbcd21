//! `numalab firsttouch` against programs that know what they touched, against a PostgreSQL server
//! that reads a table into its buffers, and where it cannot see everything or anything.
//!
//! Tests of firsttouch.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use rustix::process::Signal;
use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::{is_root, refused_need};
use crate::user::NOBODY;

/// Three processes touch one segment after another: the first three quarters of it in an order of
/// its own, the second all of it backwards, the third again. The first argument is the kind of
/// segment; with a second one it waits for a line, and afterwards for the end of its input. Its
/// output is the ids of the three processes.
pub(crate) const TOUCHES: &str = "
import ctypes, mmap, os, sys
PAGE, PAGES = mmap.PAGESIZE, 4096
kind, waits = sys.argv[1], len(sys.argv) > 2
if kind == 'memfd':
    fd = os.memfd_create('pool')
    os.ftruncate(fd, PAGES * PAGE)
    memory = mmap.mmap(fd, PAGES * PAGE)
elif kind == 'anonymous':
    memory = mmap.mmap(-1, PAGES * PAGE)
else:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    shmid = libc.shmget(0, ctypes.c_size_t(PAGES * PAGE), 0o1600)
    address = libc.shmat(shmid, None, 0)
    libc.shmctl(shmid, 0, None)
    memory = (ctypes.c_char * (PAGES * PAGE)).from_address(address)
if waits: sys.stdin.readline()
def touch(pages, cpu):
    pid = os.fork()
    if pid == 0:
        if cpu is not None: os.sched_setaffinity(0, [cpu])
        for page in pages: memory[page * PAGE] = 1 if kind != 'sysv' else b'1'
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
cpus = [int(cpu) for cpu in sys.argv[3:]] or [None, None]
first = touch([page * 5 % (PAGES * 3 // 4) for page in range(PAGES * 3 // 4)], cpus[0])
second = touch(reversed(range(PAGES)), cpus[1])
third = touch(range(PAGES), cpus[1])
print(first, second, third, flush=True)
if waits: sys.stdin.read()
";

pub(crate) const PAGES: u64 = 4096;

/// Whether page faults can be recorded here, those of all processes if `of_others`; if not, reports
/// that `test` is not run.
fn can_look(test: &str, laboratory: &Laboratory) -> bool {
    let looked = laboratory.run(&["firsttouch", "--", "python3", "-c", ""]);
    match looked.status.code() {
        Some(0) => true,
        Some(127) => {
            not_run(test, Need::Package, "it needs python3, to touch memory");
            false
        }
        _ => {
            not_run(test, refused_need(), looked.stderr.trim());
            false
        }
    }
}

/// The look in a file.
pub(crate) fn report_in(path: &str) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn segment<'a>(look: &'a Value, name: &str) -> &'a Value {
    let segments = look["segments"].as_array().unwrap();
    let named = |it: &&Value| it["name"].as_str().unwrap().starts_with(name);
    let found = segments.iter().find(named);
    found.unwrap_or_else(|| panic!("no {name}: {look:#}"))
}

/// The pages that a process touched first, and how often it used those of others.
fn of_process(segment: &Value, pid: u64) -> (u64, u64) {
    let touchers = segment["touchers"].as_array().unwrap();
    let ours = touchers.iter().filter(|it| it["pid"] == pid);
    let page_bytes = segment["page_bytes"].as_u64().unwrap();
    let figures = ours.map(|it| {
        let figure = |name: &str| it[name].as_u64().unwrap();
        (figure("bytes") / page_bytes, figure("later_faults"))
    });
    figures.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
}

/// Asserts that each page is of the process that the program says touched it first.
#[track_caller]
pub(crate) fn is_as_the_program_says(look: &Value, name: &str, pids: &str) {
    let pids: Vec<u64> = pids
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect();
    let found = segment(look, name);
    let of_each: Vec<(u64, u64)> = pids.iter().map(|pid| of_process(found, *pid)).collect();
    let firsts: Vec<u64> = of_each.iter().map(|(first, _)| *first).collect();
    assert_eq!(firsts, [PAGES * 3 / 4, PAGES / 4, 0], "{look:#}");
    assert_eq!(of_each[0].1, 0, "{look:#}");
    assert!(of_each[1].1 > 0 && of_each[2].1 > 0, "{look:#}");
    let page_bytes = found["page_bytes"].as_u64().unwrap();
    assert_eq!(found["touched_bytes"], PAGES * page_bytes);
    assert_eq!(look["lost_events"], 0);
    let cells = found["picture"]["cells"].as_array().unwrap().iter();
    let nodes = cells.flat_map(|cell| cell["bytes_by_cpu_node"].as_object().unwrap().values());
    let drawn: u64 = nodes.map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(drawn, PAGES * page_bytes);
}

const KINDS: [(&str, &str); 3] = [
    ("memfd", "/memfd:pool"),
    ("anonymous", "/dev/zero"),
    ("sysv", "/SYSV00000000"),
];

#[test]
fn every_page_is_of_the_process_that_touched_it_first_whoever_used_it_later() {
    let test = "every_page_is_of_the_process_that_touched_it_first_whoever_used_it_later";
    let laboratory = Laboratory::new();
    if !can_look(test, &laboratory) {
        return;
    }
    let report = laboratory.file("look.json", "");
    for (kind, name) in KINDS {
        let command = ["--", "python3", "-c", TOUCHES, kind];
        let words = ["firsttouch", "--json", "--output", &report];
        let words = [&words[..], &command].concat();
        let looked = laboratory.run(&words).with_code(0);
        let look = report_in(&report);
        assert_eq!(look["format"], "numalab.firsttouch/1");
        assert_eq!(look["from_start"], true);
        is_as_the_program_says(&look, name, &looked.stdout);
        // It has ended, so where its pages are is unknown, and not nowhere.
        assert_eq!(segment(&look, name)["bytes_by_node"], Value::Null);
    }
    laboratory.nothing_is_left();
}

/// A look at a running target, begun; what it says goes to a file.
pub(crate) fn looking_at<'a>(
    laboratory: &'a Laboratory,
    target: &str,
    report: &str,
) -> UnderWay<'a> {
    looking_for(laboratory, target, report, &[])
}

/// The same with more options.
fn looking_for<'a>(
    laboratory: &'a Laboratory,
    target: &str,
    report: &str,
    more: &[&str],
) -> UnderWay<'a> {
    let words = ["firsttouch", target, "--for", "600s", "--json"];
    let words = [&words[..], &["--output", report], more].concat();
    let mut look = laboratory.start(&words);
    until("the look has begun", || {
        assert!(!look.has_ended(), "it ended early: {}", look.stderr());
        look.stderr().contains("Ctrl-C ends it").then_some(())
    });
    look
}

/// Ends a look as Ctrl-C does, and returns its result.
pub(crate) fn ended(look: UnderWay<'_>, report: &str) -> Value {
    look.signal(Signal::INT);
    look.finish().with_code(130).says(&["interrupted"]);
    report_in(report)
}

#[test]
fn what_a_running_program_touches_is_told_from_what_was_there_before() {
    let test = "what_a_running_program_touches_is_told_from_what_was_there_before";
    let laboratory = Laboratory::new();
    if !is_root(test) || !can_look(test, &laboratory) {
        return;
    }
    let report = laboratory.file("look.json", "");
    let mut program = Running::start_piped(&["python3", "-c", TOUCHES, "memfd", "waits"]);
    let pid = program.pid();
    until("the program has its segment", || {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
        maps.contains("/memfd:pool").then_some(())
    });
    let look = looking_at(&laboratory, &pid, &report);
    let mut input = program.0.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    let mut pids = String::new();
    let output = program.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut pids).unwrap();
    let look = ended(look, &report);
    is_as_the_program_says(&look, "/memfd:pool", &pids);
    let found = segment(&look, "/memfd:pool");
    let nodes = found["bytes_by_node"].as_object().unwrap().values();
    let now: u64 = nodes.map(|bytes| bytes.as_u64().unwrap()).sum();
    assert_eq!(now, found["touched_bytes"]);
    assert_eq!(
        (&found["before_bytes"], &found["unseen_bytes"]),
        (&0.into(), &0.into())
    );
    // All of it is there now, so a second look sees no first touch.
    let again = looking_at(&laboratory, &pid, &report);
    let again = ended(again, &report);
    let found = segment(&again, "/memfd:pool");
    assert_eq!(found["touched_bytes"], 0);
    assert_eq!(found["before_bytes"], now);
    drop(input);
    laboratory.nothing_is_left();
}

#[test]
fn a_buffer_that_overflows_is_counted_and_said() {
    let test = "a_buffer_that_overflows_is_counted_and_said";
    let laboratory = Laboratory::new();
    if !can_look(test, &laboratory) {
        return;
    }
    let report = laboratory.file("look", "");
    let program = ["--", "python3", "-c", TOUCHES, "memfd"];
    let options = ["--buffer-kib", "4", "--output", &report];
    let words = [&["firsttouch", "--json"][..], &options, &program].concat();
    laboratory.run(&words).with_code(0);
    let look = report_in(&report);
    let lost = look["lost_events"].as_u64().unwrap();
    let touched = look["segments"].as_array().unwrap().iter();
    let touched: u64 = touched
        .map(|it| it["touched_bytes"].as_u64().unwrap())
        .sum();
    assert!(
        lost > 0 && touched < PAGES * linux::process::page_bytes(),
        "{look:#}"
    );
    assert_eq!(look["complete"], false);
    let words = [&["firsttouch"][..], &options, &program].concat();
    laboratory.run(&words).with_code(0);
    let text = fs::read_to_string(&report).unwrap();
    assert!(text.contains("a full buffer lost"), "{text}");
    laboratory.nothing_is_left();
}

#[test]
fn a_program_ends_as_it_would_without_numalab() {
    let test = "a_program_ends_as_it_would_without_numalab";
    let laboratory = Laboratory::new();
    if !can_look(test, &laboratory) {
        return;
    }
    let check = |program: &[&str], code: i32, expected: &[&str]| {
        let words = [&["firsttouch", "--"], program].concat();
        laboratory.run(&words).with_code(code).says(expected);
    };
    check(
        &["sh", "-c", "exit 7"],
        7,
        &["First touches of sh -c exit 7"],
    );
    check(&["numalab-no-such-program"], 127, &["cannot start"]);
    check(&["/etc/passwd"], 126, &["cannot start"]);
    let killed = laboratory.run(&["firsttouch", "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(killed.status.code(), None, "{killed:?}");
    laboratory.nothing_is_left();
}

/// `firsttouch --json -- COMMAND > FILE` would leave a file without the document.
#[test]
fn a_document_beside_a_program_needs_a_file_of_its_own() {
    let laboratory = Laboratory::new();
    let started = laboratory.file("started", "");
    fs::remove_file(&started).unwrap();
    for command in [
        &["firsttouch", "--json"][..],
        &["bind", "--verify", "--json"],
    ] {
        let words = [command, &["--", "touch", &started]].concat();
        laboratory.run(&words).with_code(2).says(&[
            "--json with a COMMAND",
            "hint:",
            "--output FILE",
        ]);
        assert!(!fs::exists(&started).unwrap(), "{command:?} started it");
    }
    let help = laboratory.run(&["firsttouch", "--help"]).with_code(0);
    let help: Vec<&str> = help.stdout.split_whitespace().collect();
    assert!(help.join(" ").contains("stdout is the COMMAND's"));
}

#[test]
fn a_target_that_ends_gives_what_was_seen() {
    let test = "a_target_that_ends_gives_what_was_seen";
    let laboratory = Laboratory::new();
    if !is_root(test) || !can_look(test, &laboratory) {
        return;
    }
    let report = laboratory.file("look.json", "");
    let sleeper = Running::start(&["sleep", "600"]);
    let look = looking_at(&laboratory, &sleeper.pid(), &report);
    drop(sleeper);
    look.finish()
        .with_code(8)
        .says(&["ended before the time was over"]);
    assert_eq!(report_in(&report)["from_start"], false);
    laboratory.nothing_is_left();
}

#[test]
fn a_look_without_the_right_says_which_one_is_missing() {
    let test = "a_look_without_the_right_says_which_one_is_missing";
    if !is_root(test) || !can_look(test, &Laboratory::new()) {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let sleeper = Running::start(&["sleep", "600"]);
    let refused = laboratory.run(&["firsttouch", &sleeper.pid(), "--for", "1s"]);
    refused.with_code(4).says(&["hint:", "CAP_"]);
    // A program of the user's own may be looked at, if need be without the kernel's part of it.
    let own = laboratory.run(&["firsttouch", "--", "true"]);
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    match (paranoid.trim(), own.status.code()) {
        ("2", Some(0)) => own.says(&["touches inside system calls"]),
        (_, Some(0)) => {}
        _ => own.with_code(4).says(&["hint:", "CAP_PERFMON"]),
    }
    let absent = laboratory.run(&["firsttouch", "4000000000", "--for", "1s"]);
    absent.with_code(2).says(&["4000000000"]);
    laboratory.nothing_is_left();
}

#[test]
fn a_server_that_reads_a_table_has_it_touched_by_the_session_that_asked() {
    let test = "a_server_that_reads_a_table_has_it_touched_by_the_session_that_asked";
    let Some(bin) = installed(test) else {
        return;
    };
    let laboratory = Laboratory::new();
    if !is_root(test) || !can_look(test, &laboratory) {
        return;
    }
    let server = Server::start(&bin);
    let extensions = server.query(
        "SELECT count(*) FROM pg_available_extensions \
          WHERE name IN ('pg_prewarm', 'pg_buffercache')",
    );
    if extensions != "2" {
        let what = "it needs PostgreSQL's extensions pg_prewarm and pg_buffercache";
        return not_run(test, Need::Package, what);
    }
    server.query("CREATE EXTENSION pg_prewarm");
    server.query("CREATE EXTENSION pg_buffercache");
    server.query("CREATE TABLE t AS SELECT g, repeat('x', 500) FROM generate_series(1, 16000) g");
    server.query("CHECKPOINT");
    server.stop();
    server.start_again();
    let report = laboratory.file("look.json", "");
    let tables = ["--relations", "--pg-role", "postgres"];
    let look = looking_for(&laboratory, &server.target(), &report, &tables);
    // A session is known by its title, so it must not be gone at once.
    let prewarm = "SELECT pg_backend_pid() || ' ' || pg_prewarm('t') FROM pg_sleep(0.5)";
    let answer = server.query(prewarm);
    let (pid, blocks) = answer.split_once(' ').unwrap();
    let (pid, blocks): (u64, u64) = (pid.parse().unwrap(), blocks.parse().unwrap());
    let look = ended(look, &report);
    let buffers = segment(&look, "/dev/zero");
    let touchers = buffers["touchers"].as_array().unwrap();
    assert_eq!(touchers[0]["pid"], pid, "{look:#}");
    assert_eq!(touchers[0]["class"], "session");
    // The session also wrote descriptors of buffers, and found some blocks of catalogs.
    let bytes = touchers[0]["bytes"].as_u64().unwrap();
    assert!(
        (blocks * 8192..blocks * 8192 * 5 / 4).contains(&bytes),
        "{blocks}: {look:#}"
    );
    assert_eq!(look["complete"], true, "{look:#}");
    // By the server's own view, the buffers have the whole table; the session touched all of it.
    let counted = "SELECT count(*) FROM pg_buffercache \
                   WHERE relfilenode = pg_relation_filenode('t')";
    assert_eq!(server.query(counted), blocks.to_string());
    let relations = look["relations"].as_array().unwrap();
    let mut named = relations.iter();
    let table = named.find(|it| it["name"] == "public.t").unwrap();
    assert_eq!(table["bytes"], blocks * 8192, "{table:#}");
    assert_eq!(table["touched"][0]["class"], "session", "{table:#}");
    assert_eq!(table["touched"][0]["bytes"], blocks * 8192, "{table:#}");
    laboratory.nothing_is_left();
}

#[test]
fn tables_are_asked_for_where_a_server_is_named() {
    let laboratory = Laboratory::new();
    let own = std::process::id().to_string();
    let refused = laboratory.run(&["firsttouch", &own, "--relations"]);
    refused
        .with_code(2)
        .says(&["which server?", "--relations=DATADIR"]);
    let refused = laboratory.run(&["firsttouch", "--relations", "--", "true"]);
    refused
        .with_code(2)
        .says(&["which server?", "--relations=DATADIR"]);
}
