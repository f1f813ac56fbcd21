//! `--data-files` on two nodes: cached pages of a file that a process has open but not mapped are
//! found where they were written, nothing is read in to find them, and a cache far from the process
//! is a finding that disappears once the process may run there.
//!
//! Tests of residency.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::is_guest;

/// MiB of the file that are written on each node.
const WRITTEN_MIB: [u64; 2] = [16, 48];
/// Maximum change of the cache of all files meanwhile: an inspection that reads files in would add
/// the 64 MiB of the hole.
const OTHERS_KIB: u64 = 1024;

/// A file system whose pages are cache and nothing else; unmounted when dropped.
struct Ramfs(tempfile::TempDir);

impl Ramfs {
    fn mount() -> Self {
        let folder = tempfile::tempdir().unwrap();
        shell("mount -t ramfs none \"$1\"", folder.path());
        Ramfs(folder)
    }
}

impl Drop for Ramfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[track_caller]
fn shell(script: &str, argument: &Path) {
    let mut command = Command::new("sh");
    let status = command.args(["-ec", script, "sh"]).arg(argument).status();
    assert!(status.unwrap().success(), "{script}");
}

/// Returns the cache of files on each node in KiB, by the kernel. Every CPU hands in its changes
/// first (mm/vmstat.c).
fn cached() -> [u64; 2] {
    fs::write("/proc/sys/vm/stat_refresh", "1").unwrap();
    [0, 1].map(|node| {
        let path = format!("/sys/devices/system/node/node{node}/meminfo");
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.split_once("FilePages:"));
        let mut words = line.unwrap().1.split_whitespace();
        words.next().unwrap().parse().unwrap()
    })
}

#[test]
fn cached_files_are_found_and_nothing_is_read_in() {
    if !is_guest("cached_files_are_found_and_nothing_is_read_in", "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let ram = Ramfs::mount();
    let [near, far] = WRITTEN_MIB;
    let script = format!(
        "cd \"$1\"
         numactl --membind=0 dd if=/dev/zero of=table bs=1M count={near} status=none
         numactl --membind=1 dd if=/dev/zero of=table bs=1M count={far} seek={near} \
           conv=notrunc status=none
         truncate -s 64M hole"
    );
    shell(&script, ram.0.path());
    let [table, hole] = ["table", "hole"].map(|name| File::open(ram.0.path().join(name)).unwrap());
    let mut command = Command::new("taskset");
    command.args(["0x3", "sleep", "600"]);
    let target = Running::of(command.stdin(table).stdout(hole));
    let pid = target.pid();
    // The first look brings numalab itself into the cache.
    laboratory
        .run(&["inspect", &pid, "--data-files"])
        .with_code(0);
    let before = cached();
    let document = laboratory.document(&["inspect", &pid, "--data-files", "--json"]);
    let after = cached();
    let segments = document["segments"].as_array().unwrap();
    let named = |end: &str| {
        let mut segments = segments.iter();
        segments.find(|of| of["name"].as_str().is_some_and(|name| name.ends_with(end)))
    };
    let expected = json!({"0": near << 20, "1": far << 20});
    assert_eq!(named("/table").unwrap()["bytes_by_node"], expected);
    assert!(named("/hole").is_none(), "{segments:#?}");
    for (before, after) in before.iter().zip(&after) {
        assert!(after.abs_diff(*before) <= OTHERS_KIB, "{before} {after}");
    }

    let is_found = |options: &[&str]| {
        let words = [&["doctor", &pid, "--json"], options].concat();
        let document: Value = laboratory.document(&words);
        let findings = document["findings"].as_array().unwrap();
        findings.iter().any(|one| one["id"] == "far-data-files")
    };
    assert!(!is_found(&[]), "nobody asked for files");
    assert!(is_found(&["--data-files"]), "it may run on node 0 only");
    shell("taskset -p 0xf $1 >/dev/null", Path::new(&pid));
    assert!(!is_found(&["--data-files"]), "it may run on both nodes");
}

/// Maps a file as a program and reads all of it.
const MAPS_TEXT: &str = "
import mmap, sys, time
file = open(sys.argv[1], 'rb')
text = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC)
text[::4096]
print('ready', flush=True)
time.sleep(600)
";

#[test]
fn program_text_on_one_of_two_nodes_is_found() {
    if !is_guest("program_text_on_one_of_two_nodes_is_found", "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let ram = Ramfs::mount();
    let write = "numactl --membind=1 dd if=/dev/zero of=$1/text bs=1M count=16 status=none";
    shell(write, ram.0.path());
    let file = ram.0.path().join("text").display().to_string();
    let mut target = Running::start_piped(&["/usr/bin/python3", "-c", MAPS_TEXT, &file]);
    let ready = BufReader::new(target.0.stdout.take().unwrap())
        .lines()
        .next();
    assert_eq!(ready.unwrap().unwrap(), "ready");
    let pid = target.pid();
    let found = |id: &str| {
        let document = laboratory.document(&["doctor", &pid, "--json"]);
        let findings = document["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|one| one["id"] == id)
    };
    let on_one = found("program-text-on-one-node").unwrap();
    let message = on_one["message"].as_str().unwrap();
    assert!(
        message.contains("of 16 MiB of program text lie on node 1, "),
        "{message}"
    );
    shell("taskset -p 0x3 $1 >/dev/null", Path::new(&pid));
    assert_eq!(
        found("program-text-on-one-node"),
        None,
        "it runs on node 0 only"
    );
    assert!(
        found("far-program-text").is_some(),
        "it runs on node 0 only"
    );
}
