//! Processes and shared memory with the names and layouts that Oracle's have: titles with the SID,
//! a file for each granule, threads where sessions are threads. No Oracle runs in tests.
//!
//! Tests of residency.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::laboratory::Laboratory;
use crate::running::Running;

/// Attaches to the granules of an instance; the first process writes every other one. With a fourth
/// argument, it has a thread of that name.
const PROCESS: &str = "
import ctypes, glob, mmap, os, sys, threading, time
role, stem, writes = sys.argv[1:4]
libc = ctypes.CDLL(None)
name = lambda text: libc.prctl(15, text.encode()[:15], 0, 0, 0)
name(role)
maps = []
for at in range(20):
    file = os.open(f'{stem}{at}', os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(file, 4 << 20)
    maps.append(mmap.mmap(file, 4 << 20))
    if writes == 'writes' and at % 2: maps[-1].write(b'x' * (4 << 20))
def sleep(): name(sys.argv[4]); time.sleep(600)
if len(sys.argv) > 4: threading.Thread(target=sleep, daemon=True).start()
print('ready', flush=True)
time.sleep(600)
";

/// The granules of an instance, which go when the test ends.
struct Granules(String);

impl Granules {
    fn new() -> Self {
        Self(format!("/dev/shm/ora_nlt{}_98304_", std::process::id()))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        (0..20).map(|at| PathBuf::from(format!("{}{at}", self.0)))
    }
}

impl Drop for Granules {
    fn drop(&mut self) {
        for file in self.files() {
            let _ = fs::remove_file(file);
        }
    }
}

/// Starts a process with this title and name.
fn start(title: &str, name: &str, granules: &Granules, rest: &[&str]) -> Running {
    let exec = "exec -a \"$0\" /usr/bin/python3 \"$@\"";
    let words = ["bash", "-c", exec, title, "-c", PROCESS, name, &granules.0];
    let words: Vec<&str> = words.iter().chain(rest).copied().collect();
    let mut running = Running::start_piped(&words);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    running
}

#[test]
fn granules_are_one_row_and_processes_and_threads_have_their_roles() {
    let laboratory = Laboratory::new();
    let granules = Granules::new();
    let sid = format!("NLT{}", std::process::id());
    let title = |process: &str| format!("ora_{process}_{sid}");
    let pmon = start(&title("pmon"), &title("pmon"), &granules, &["writes"]);
    let threads = ["reads", &title("lgwr")];
    let threaded = start(&title("u004"), "oracle", &granules, &threads);
    let target = format!("oracle:{sid}");
    let document = laboratory.document(&["inspect", &target, "--json"]);
    let of_granules = document["segments"].as_array().unwrap().iter();
    let of_granules = of_granules.filter(|it| {
        let name = it["name"].as_str().unwrap();
        name.starts_with(&granules.0)
    });
    assert_eq!(of_granules.count(), 20);
    let blocks = granules
        .files()
        .map(|it| fs::metadata(it).unwrap().blocks());
    let bytes = blocks.sum::<u64>() * 512;
    assert_eq!(bytes, 40 << 20);
    let processes = document["processes"].as_array().unwrap().iter();
    let mut found: Vec<_> = processes
        .map(|it| (it["pid"].to_string(), it["class"].as_str().unwrap()))
        .collect();
    found.sort_unstable_by_key(|(_, class)| *class);
    let expected = [(pmon.pid(), "pmon"), (threaded.pid(), "threaded process")];
    assert_eq!(found, expected);
    let shown = laboratory.run(&["inspect", &target]).with_code(0);
    let row = format!("{}*", granules.0);
    let line = shown.stdout.lines().find(|line| line.starts_with(&row));
    let line = line.unwrap_or_else(|| panic!("{}", shown.stdout));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        words[1..6],
        ["20", "in", "/dev/shm", "40.0", "MiB"],
        "{line}"
    );
    assert!(shown.stdout.contains("lgwr"), "{}", shown.stdout);
}
