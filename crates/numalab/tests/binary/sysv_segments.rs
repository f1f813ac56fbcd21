//! System V segments in separate IPC namespaces, as in containers: the first segment of each
//! namespace has the id 0, which is also its inode number, so two namespaces have one each.
//!
//! A short Python script creates the segments, since no test may contain unsafe code.
//!
//! Tests of residency, linux.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::unmet_need::is_root;
use crate::user::{NOBODY, User};

/// Creates one segment, attaches and touches it in two processes at two addresses, prints their
/// ids, and ends at the end of stdin. Arguments: size in MiB, and the user to become.
const ATTACH: &str = r"
import ctypes, os, sys
size, user = int(sys.argv[1]) << 20, int(sys.argv[2])
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
if user:
    os.setgroups([]); os.setgid(user); os.setuid(user)
    assert libc.prctl(4, 1, 0, 0, 0) == 0, 'PR_SET_DUMPABLE'
segment = libc.shmget(0, size, 0o1600)
ready, said = os.pipe()
def attach(address):
    at = libc.shmat(segment, address, 0)
    assert at != 2 ** 64 - 1
    ctypes.memset(at, 1, size)
child = os.fork()
attach(0x7a0000000000 if child else 0x7b0000000000)
if not child:
    os.write(said, b'.')
else:
    os.read(ready, 1)
    libc.shmctl(segment, 0, None)
    print(segment, os.getpid(), child, flush=True)
sys.stdin.read()
";

const BYTES: u64 = 64 << 20;

/// A size that no other test uses, because tests run in parallel in one process.
const BYTES_OF_TWO: u64 = 48 << 20;

/// Two processes with one segment in their own namespace, until dropped.
struct Attached {
    child: Child,
    /// The id that `shmget` returned.
    shmid: u64,
    pids: Vec<u32>,
}

impl Attached {
    /// Returns `None` if that is impossible, and reports that the test is not run.
    fn start(test: &str, laboratory: &Laboratory, bytes: u64, user: Option<User>) -> Option<Self> {
        if !is_root(test) {
            return None;
        }
        if Command::new("python3").args(["-c", ""]).status().is_err() {
            not_run(
                test,
                Need::Package,
                "it needs python3, to make a System V segment",
            );
            return None;
        }
        let script = laboratory.file("attach.py", ATTACH);
        let (mib, user) = (
            (bytes >> 20).to_string(),
            user.map_or(0, |User(id)| id).to_string(),
        );
        let words = ["--ipc", "python3", &script, &mib, &user];
        let mut child = Command::new("unshare")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap());
        let shmid = u64::from(numbers.next().expect("it says what it has made"));
        let pids = numbers.collect();
        Some(Attached { child, shmid, pids })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Returns how much of the segment each process has mapped according to smaps, which numalab
    /// does not read.
    fn bytes_by_smaps(&self) -> Vec<u64> {
        let of_process = |pid: &u32| {
            let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
            let lines = smaps.lines().skip_while(|line| !line.contains("/SYSV"));
            let mut rss = lines.filter_map(|line| line.strip_prefix("Rss:"));
            let kib = rss.next().unwrap().trim().trim_end_matches(" kB");
            kib.parse::<u64>().unwrap() << 10
        };
        self.pids.iter().map(of_process).collect()
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Both processes end at the end of their input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn bytes(by_node: &Value) -> u64 {
    let nodes = by_node.as_object().unwrap().values();
    nodes.map(|bytes| bytes.as_u64().unwrap()).sum()
}

/// Returns the System V segments of a residency.
fn segments(residency: &Value) -> Vec<&Value> {
    let all = residency["segments"].as_array().unwrap().iter();
    all.filter(|it| it["kind"] == "sysv").collect()
}

#[test]
fn the_first_segment_of_a_namespace_is_shared_memory_and_counted_once() {
    const NAME: &str = "the_first_segment_of_a_namespace_is_shared_memory_and_counted_once";
    let laboratory = Laboratory::new();
    let Some(attached) = Attached::start(NAME, &laboratory, BYTES, None) else {
        return;
    };
    assert_eq!(attached.shmid, 0, "a namespace numbers from 0 on");
    assert_eq!(attached.bytes_by_smaps(), [BYTES, BYTES]);
    let pid = attached.pid();
    for words in [&["--numa-maps"][..], &["--only-shared"], &[]] {
        let words = [&["inspect", &pid, "--json"], words].concat();
        let found = laboratory.document(&words);
        let [segment] = segments(&found)[..] else {
            panic!("{words:?}: {found:#}");
        };
        assert_eq!(bytes(&segment["bytes_by_node"]), BYTES, "{found:#}");
        assert_eq!(segment["processes"], 2);
        assert_eq!(segment["sysv"]["shmid"], 0);
        assert_eq!(segment["sysv"]["attached"], 2);
        let private = found["private"].as_array().unwrap().iter();
        let private: u64 = private.map(|class| bytes(&class["bytes_by_node"])).sum();
        assert!(private < BYTES, "{found:#}");
    }
    let words = ["move", &pid, "--to", "0", "--dry-run", "--json"];
    let planned = laboratory.document(&words);
    let parts = planned["parts"].as_array().unwrap().iter();
    let shared: Vec<&Value> = parts.filter(|part| part["shared"] == true).collect();
    let [part] = shared[..] else {
        panic!("{planned:#}");
    };
    assert_eq!(bytes(&part["bytes_by_node_before"]), BYTES);
}

#[test]
fn the_first_segment_of_a_namespace_is_counted_once_without_privileges() {
    const NAME: &str = "the_first_segment_of_a_namespace_is_counted_once_without_privileges";
    let laboratory = Laboratory::of(NOBODY);
    let Some(attached) = Attached::start(NAME, &laboratory, BYTES, Some(NOBODY)) else {
        return;
    };
    let found = laboratory.document(&["inspect", &attached.pid(), "--json"]);
    assert_eq!(found["method"], "numa-maps");
    let [segment] = segments(&found)[..] else {
        panic!("{found:#}");
    };
    assert_eq!(bytes(&segment["bytes_by_node"]), BYTES, "{found:#}");
    assert_eq!(bytes(&found["bytes_by_node"]) / BYTES, 1, "{found:#}");
}

#[test]
fn segments_of_one_id_in_two_namespaces_are_two() {
    const NAME: &str = "segments_of_one_id_in_two_namespaces_are_two";
    let laboratory = Laboratory::new();
    let Some(one) = Attached::start(NAME, &laboratory, BYTES_OF_TWO, None) else {
        return;
    };
    let Some(other) = Attached::start(NAME, &laboratory, BYTES_OF_TWO, None) else {
        return;
    };
    assert_eq!((one.shmid, other.shmid), (0, 0));
    let own = std::process::id().to_string();
    let archive = laboratory.file("two.tar.zst", "");
    laboratory.run(&["capture", &archive, &own]).with_code(0);
    for words in [&[][..], &["--numa-maps"], &["--root", &archive]] {
        let words = [&["inspect", &own, "--json"], words].concat();
        let found = laboratory.document(&words);
        let is_ours =
            |it: &&Value| it["processes"] == 2 && bytes(&it["bytes_by_node"]) == BYTES_OF_TWO;
        let ours = segments(&found).into_iter().filter(is_ours);
        assert_eq!(ours.count(), 2, "{words:?} {found:#}");
    }
}
