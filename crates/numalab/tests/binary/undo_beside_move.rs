//! `numalab move` and `numalab undo` of one target at once: one of them changes it, the other is
//! refused, whatever the state folder of each. These tests set and undo policies, which takes only
//! one node; pages are moved in guests (`cargo xtask kills --only moves_beside_undos`).
//!
//! Tests of relocation, journal.

use std::fs::{self, File};

use linux::file_lock::FileLock;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};
use linux::shared_memory_file::SharedMemoryFile;

use testing::not_run;

use crate::laboratory::Laboratory;
use crate::unmet_need::refused_need;

/// Shared memory of this process, whose policy can be set from outside.
struct Segment {
    memory: SharedMemory,
    mapping: Mapping,
}

/// Size of the segment in bytes, and how many of them are touched at first.
const BYTES: usize = 1 << 20;
const TOUCHED: usize = BYTES / 2;

impl Segment {
    /// Returns `None` if numalab may not open the memory of processes, and reports that the test is
    /// not run.
    fn new(test: &str) -> Option<Self> {
        let memory =
            SharedMemory::create(ObjectKind::Shm, BYTES, linux::process::page_bytes()).unwrap();
        let mapping = memory.map().unwrap();
        let segment = Segment { memory, mapping };
        segment.touch(0, TOUCHED);
        match File::open(segment.map_file()) {
            Ok(_) => Some(segment),
            Err(error) => {
                not_run(
                    test,
                    refused_need(),
                    &format!("map_files cannot be opened: {error}"),
                );
                None
            }
        }
    }

    /// Writes to it, which allocates pages.
    fn touch(&self, from: usize, bytes: usize) {
        let file = SharedMemoryFile::of(&self.memory).unwrap();
        file.write(&vec![1; bytes], from as u64).unwrap();
    }

    fn line(&self, file: &str) -> String {
        let start = format!("{:x}", self.mapping.address().addr());
        let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap();
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(&start));
        line.expect("it is mapped").to_owned()
    }

    /// Returns its name, as `numalab inspect` shows it.
    fn name(&self) -> String {
        let line = self.line("maps");
        let name = &line[line.find('/').unwrap()..];
        name.trim_end_matches(" (deleted)").to_owned()
    }

    fn map_file(&self) -> String {
        let line = self.line("maps");
        let range = line.split(' ').next().unwrap();
        format!("/proc/self/map_files/{range}")
    }

    /// Returns its policy, as the kernel shows it.
    fn policy(&self) -> String {
        let line = self.line("numa_maps");
        line.split(' ').nth(1).unwrap().to_owned()
    }
}

#[test]
fn what_another_is_changing_is_neither_moved_nor_undone() {
    let Some(segment) = Segment::new("what_another_is_changing_is_neither_moved_nor_undone") else {
        return;
    };
    let laboratory = Laboratory::new();
    let (pid, name) = (std::process::id().to_string(), segment.name());
    let words = ["move", &pid, "--to", "interleave", "--segment", &name];
    let another = File::open(segment.map_file()).unwrap();
    let is_at_work = format!("process {pid} (");
    let refused_while_locked = |words: &[&str]| {
        let _lock = FileLock::try_take(&another).unwrap().unwrap();
        let before = segment.policy();
        let refused = laboratory.run(words).with_code(4);
        refused.says(&[&is_at_work, "has locked", &name, "hint: "]);
        assert_eq!(segment.policy(), before);
    };

    refused_while_locked(&words);
    assert_eq!(segment.policy(), "default");
    let listed = laboratory.run(&["undo", "--list"]).with_code(0);
    assert_eq!(listed.stdout, "no changes in force\n");
    let planned: Vec<_> = words.iter().copied().chain(["--dry-run"]).collect();
    laboratory.run(&planned).with_code(0);

    laboratory.run(&words).with_code(0);
    assert_ne!(segment.policy(), "default");
    refused_while_locked(&["undo"]);
    refused_while_locked(&["undo", "--force"]);
    laboratory.run(&["undo"]).with_code(0);
    assert_eq!(segment.policy(), "default");
    laboratory.nothing_is_left();
}

#[test]
fn undo_says_what_it_cannot_return() {
    let Some(segment) = Segment::new("undo_says_what_it_cannot_return") else {
        return;
    };
    let laboratory = Laboratory::new();
    let (pid, name) = (std::process::id().to_string(), segment.name());
    let words = ["move", &pid, "--to", "interleave", "--segment", &name];
    let undone = || {
        let text = laboratory.run(&["undo"]).with_code(0).stdout;
        let line = text.lines().find(|line| line.contains("memory policy"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    laboratory.run(&words).with_code(0);
    assert!(!undone().contains("allocated since"));
    laboratory.run(&words).with_code(0);
    let touched = TOUCHED - linux::process::page_bytes() as usize;
    segment.touch(TOUCHED, touched);
    let said = undone();
    let kib = touched / 1024;
    let expected = format!("; {kib} KiB allocated since stay where they are");
    assert!(said.ends_with(&expected), "{said}");
    laboratory.nothing_is_left();
}
