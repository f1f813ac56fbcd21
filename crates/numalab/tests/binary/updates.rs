//! Updates: each is in the data file after the checkpoint, or the trial does not count.
//!
//! Tests of instance.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use serde_json::Value;
use testing::not_run;

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::{Laboratory, UnderWay};
use crate::more_data_than_buffers::data_file;
use crate::processes::Role;
use crate::unmet_need::refused_need;

const DEFAULTS: &str = "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 2\nupdate-pct = 50";

#[test]
fn every_update_is_in_the_data_file_whatever_the_cache_holds() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("cached", DEFAULTS)
        .case("cached", "")
        .case("file", "data = \"16MiB\"\nupdate-pct = 100")
        .case("pools", "data = \"4MiB\"\nallocation = \"per-node:all\"")
        .case("reads", "update-pct = 0");
    let path = laboratory.file("updates.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.3"];
    let run = laboratory.document(&words);
    let (mut free_buffer_waits, mut blocks_written) = (0, 0);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in valid_trials(case) {
            let (updates, writers) = (&trial["updates"], &trial["evidence"]["writers"]);
            if case["name"] == "reads" {
                assert!(updates.is_null() && writers.is_null(), "{trial:#}");
                continue;
            }
            let count = |key: &str| updates[key].as_u64().unwrap();
            assert!(count("rows_updated") > 0, "{updates}");
            assert!(
                count("updates_in_file") >= count("rows_updated"),
                "{updates}"
            );
            assert!(!writers.as_array().unwrap().is_empty());
            let waits = trial["waits"]["free buffer waits"]["count"].as_u64();
            free_buffer_waits += waits.unwrap_or(0);
            if case["name"] == "file" {
                blocks_written += count("blocks_written");
            }
        }
    }
    // On a busy machine, a single window may be over before a writer's turn.
    assert!(blocks_written > 0, "no writer wrote a block");
    // Two sessions dirty 128 buffers faster than a writer writes them.
    assert!(free_buffer_waits > 0, "nobody waited for a free buffer");
    let shown = laboratory.run(&["show", "--full"]).with_code(0).stdout;
    for words in ["Rows updated", "50 % of statements update"] {
        assert!(shown.contains(words), "{shown}");
    }
    laboratory.nothing_is_left();
}

/// Disturbs the second trial of a run, and returns why it failed.
fn reason_after(harm: impl Fn(&Laboratory, &mut UnderWay<'_>)) -> String {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", DEFAULTS).case("one", "");
    let path = laboratory.file("deaths.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.5"];
    let mut under_way = laboratory.start(&words);
    under_way.until_trials_are_stored(1);
    harm(&laboratory, &mut under_way);
    let run = under_way.finish().with_code(0).document();
    let case = &run["cases"][0];
    assert_eq!(case["trials_valid"], 5, "{case:#}");
    let trials: &Vec<Value> = case["trials"].as_array().unwrap();
    let failed: Vec<_> = trials
        .iter()
        .filter(|trial| trial["outcome"] == "failed")
        .collect();
    assert!(!failed.is_empty(), "{case:#}");
    laboratory.nothing_is_left();
    failed[0]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_or_a_writer_that_dies_fails_its_trial_only() {
    // Two sessions, then the writer of the one pool.
    for (place, name) in [(1, "session 1"), (2, "database writer 0")] {
        let reason = reason_after(|_, under_way| {
            under_way.kill_in_a_trial(Duration::ZERO, |under_way| {
                under_way.until_there_are(3, Role::Session)[place]
            });
        });
        assert!(reason.starts_with(name), "{reason}");
        assert!(reason.contains("signal: 9"), "{reason}");
    }
}

/// The cache holds everything, so nothing reads the file before the checkpoint is complete.
#[test]
fn a_block_that_is_corrupt_after_the_checkpoint_is_named() {
    let reason = reason_after(|laboratory, under_way| {
        let instance = under_way.until_there_are(1, Role::Instance)[0];
        under_way.until_there_are(3, Role::Session);
        let path = data_file(instance, &laboratory.state());
        let file = std::fs::File::options().write(true).open(path).unwrap();
        for block in 0..128 {
            file.write_at(b"!", block * 8192 + 4711).unwrap();
        }
        file.sync_all().unwrap();
    });
    assert!(
        reason.contains("is corrupt: its checksum is wrong"),
        "{reason}"
    );
    assert!(reason.contains("block 0x"), "{reason}");
}

/// A file system of this many MiB; unmounted when dropped.
struct SmallFileSystem<'p>(&'p Path);

impl<'p> SmallFileSystem<'p> {
    fn mount(at: &'p Path, mebibytes: u32) -> Option<Self> {
        let options = format!("size={mebibytes}m");
        let words = ["-t", "tmpfs", "-o", &options, "numalab-test"];
        let status = Command::new("mount").args(words).arg(at).status();
        status.is_ok_and(|it| it.success()).then_some(Self(at))
    }
}

impl Drop for SmallFileSystem<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[test]
fn a_full_file_system_is_an_error_that_names_the_block() {
    const NAME: &str = "a_full_file_system_is_an_error_that_names_the_block";
    let laboratory = Laboratory::new();
    let state = laboratory.state();
    let Some(_mounted) = SmallFileSystem::mount(&state, 48) else {
        let why = "it may not mount a file system of its own";
        return not_run(NAME, refused_need(), why);
    };
    let of_cache = |mebibytes| {
        let keys = format!("cache = \"{mebibytes}MiB\"\nupdate-pct = 100");
        ExperimentFile::new("one", DEFAULTS).case("one", &keys)
    };
    let path = laboratory.file("larger.toml", of_cache(64).text());
    let finished = laboratory.run(&["run", &path, "--trials", "5", "--seconds", "0.2"]);
    finished
        .with_code(8)
        .says(&["data file of ", "No space left on device"]);
    let path = laboratory.file("full.toml", of_cache(24).text());
    let mut held = laboratory.start(&["run", &path, "--hold", "one"]);
    let instance = held.until_there_are(1, Role::Instance)[0];
    held.until_there_are(3, Role::Session);
    let file = data_file(instance, &state);
    let file = std::fs::File::options().write(true).open(file).unwrap();
    // Free the blocks of the file, and let another file take them.
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, flags, 0, 24 << 20).unwrap();
    let other = std::fs::File::create(state.join("other")).unwrap();
    let megabyte = vec![1; 1 << 20];
    let mut taken = 0;
    while other
        .write_at(&megabyte, taken)
        .is_ok_and(|bytes| bytes > 0)
    {
        taken += 1 << 20;
    }
    let said = held.finish().with_code(8).stderr;
    for words in [
        "database writer 0",
        "block 0x",
        "cannot be written",
        "No space left",
    ] {
        assert!(said.contains(words), "{said}");
    }
    std::fs::remove_file(state.join("other")).unwrap();
    laboratory.nothing_is_left();
}
