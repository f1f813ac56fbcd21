//! More data than buffers: uncached blocks are read from a data file, and verified.
//!
//! Tests of instance.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::experiment_file::ExperimentFile;
use crate::finished::valid_trials;
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::processes::Role;

const DEFAULTS: &str = "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 2\ndata = \"16MiB\"";

fn experiment(laboratory: &Laboratory) -> String {
    let experiment = ExperimentFile::new("one", DEFAULTS)
        .case("one", "")
        .case("pools", "allocation = \"per-node:all\"")
        .case("cached", "data = \"cached\"");
    laboratory.file("data.toml", experiment.text())
}

#[test]
fn physical_reads_are_counted_and_waited_for() {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in valid_trials(case) {
            let physical = trial["physical_reads"].as_u64().unwrap();
            let wait = &trial["waits"]["db file sequential read"];
            if case["name"] == "cached" {
                assert_eq!((physical, wait.is_null()), (0, true));
                continue;
            }
            assert!(physical > 0 && physical < trial["logical_reads"].as_u64().unwrap());
            // One block per wait, and both are counted where a statement ends.
            assert_eq!(wait["count"], physical, "{trial:#}");
        }
    }
    laboratory.nothing_is_left();
}

/// Returns the descriptor of the data file of process `pid`: an unnamed file below `folder`.
pub(crate) fn data_file(pid: u32, folder: &Path) -> PathBuf {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let is_ours = |path: &PathBuf| {
        let target = std::fs::read_link(path).unwrap_or_default();
        target.starts_with(folder) && target.to_string_lossy().ends_with("(deleted)")
    };
    let mut paths = descriptors.map(|entry| entry.unwrap().path());
    paths.find(is_ours).expect("the instance has a data file")
}

/// Damages the data file of an instance under load; returns the error.
fn after(harm: impl Fn(&std::fs::File)) -> String {
    let laboratory = Laboratory::new();
    let path = experiment(&laboratory);
    let mut held = laboratory.start(&["run", &path, "--hold", "one"]);
    until("the processes are named", || {
        assert!(!held.has_ended(), "it ended early: {}", held.stderr());
        held.stdout().contains("sessions:").then_some(())
    });
    let instance = held.until_there_are(1, Role::Instance)[0];
    let path = data_file(instance, &laboratory.state());
    harm(&std::fs::File::options().write(true).open(path).unwrap());
    let said = held.finish().with_code(8).stderr;
    laboratory.nothing_is_left();
    said
}

#[test]
fn a_corrupt_data_file_is_found_and_its_block_named() {
    let said = after(|file| {
        for block in 0..2048 {
            file.write_at(b"!", block * 8192 + 4711).unwrap();
        }
        file.sync_all().unwrap();
    });
    assert!(said.contains("is corrupt: its checksum is wrong"), "{said}");
    assert!(
        said.contains("block 0x") && said.contains("of the data file"),
        "{said}"
    );
}

#[test]
fn a_data_file_that_is_cut_is_found_and_its_block_named() {
    let said = after(|file| file.set_len(8192).unwrap());
    assert!(said.contains("cannot be read"), "{said}");
    assert!(
        said.contains("block 0x") && said.contains("of the data file"),
        "{said}"
    );
}
