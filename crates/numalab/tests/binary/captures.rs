//! A captured machine is judged elsewhere as it would be here, a capture holds no secrets, and an
//! archive from another host can do no harm.
//!
//! Tests of residency, topology.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::is_root;
use crate::user::NOBODY;

/// What must not be in a capture.
const SECRET: &str = "hunter2-in-an-argument";

/// Starts a process with a secret on its command line and in its environment.
fn with_secret() -> Running {
    let mut command = Command::new("sh");
    command.args(["-c", "read line", SECRET]);
    Running::of(command.env("PASSWORD", SECRET).stdin(Stdio::piped()))
}

/// Returns everything in an archive, paths and contents.
fn content(archive: &str) -> String {
    let mut text = String::new();
    let decompressed = zstd::Decoder::new(File::open(archive).unwrap()).unwrap();
    for file in tar::Archive::new(decompressed).entries().unwrap() {
        let mut file = file.unwrap();
        text += &format!("{}\n", file.path().unwrap().display());
        file.read_to_string(&mut text).unwrap();
    }
    text
}

#[test]
fn a_process_is_found_in_a_capture_of_its_machine() {
    let laboratory = Laboratory::new();
    let sleeper = with_secret();
    let (pid, archive) = (sleeper.pid(), laboratory.file("machine.tar.zst", ""));
    let captured = laboratory.run(&["capture", &archive, &pid]).with_code(0);
    captured.says(&["machine.tar.zst: ", " files with ", "1 process of "]);
    let looked = laboratory.document(&["inspect", &pid, "--root", &archive, "--json"]);
    assert_eq!(looked["format"], "numalab.residency/1");
    assert_eq!(
        (&looked["method"], &looked["complete"]),
        (&"numa-maps".into(), &false.into())
    );
    let process = &looked["processes"][0];
    assert_eq!(
        (&process["pid"], &process["name"]),
        (&sleeper.0.id().into(), &"sh".into())
    );
    let found = looked["bytes_by_node"].as_object().unwrap().values();
    assert!(
        found.map(|bytes| bytes.as_u64().unwrap()).sum::<u64>() > 0,
        "{looked:#}"
    );
    laboratory.document(&["doctor", &pid, "--root", &archive, "--json"]);
    let here = laboratory.document(&["topology", "--json"]);
    let there = laboratory.document(&["topology", "--root", &archive, "--json"]);
    for part in ["cpus", "cores", "packages", "distances"] {
        assert_eq!(here[part], there[part], "{part}");
    }
    let content = content(&archive);
    assert!(content.contains(&format!("proc/{pid}/numa_maps\n")));
    assert!(!content.contains(SECRET));
}

#[test]
fn a_capture_goes_to_stdout_or_says_why_it_cannot_be_written() {
    let laboratory = Laboratory::new();
    let mut archive = Vec::new();
    let mut command = laboratory.command(&["capture", "-"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut archive)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let path = laboratory.file("again.tar.zst", archive);
    laboratory.document(&["topology", "--root", &path, "--json"]);
    let refused = laboratory
        .run(&["capture", "./missing/machine.tar.zst"])
        .with_code(2);
    refused.says(&[
        "cannot write ./missing/machine.tar.zst: No such file",
        "hint: ",
    ]);
    laboratory
        .run(&["capture", &path, "no-such-process"])
        .with_code(2);
    laboratory.document(&["topology", "--root", &path, "--json"]);
}

#[test]
fn a_capture_of_processes_that_may_not_be_read_is_refused() {
    if !is_root("a_capture_of_processes_that_may_not_be_read_is_refused") {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let sleeper = with_secret();
    let archive = format!("{}/machine.tar.zst", laboratory.state().display());
    let refused = laboratory
        .run(&["capture", &archive, &sleeper.pid()])
        .with_code(4);
    refused.says(&["no permission to read any of the 1 process of ", "hint: "]);
    assert!(!std::path::Path::new(&archive).exists());
}

/// Returns an archive with one entry.
fn archive_of(path: &str, kind: tar::EntryType, content: &[u8]) -> Vec<u8> {
    archive_that_says(path, kind, content.len() as u64, content)
}

/// Like [`archive_of`], but the header claims this size of the entry.
fn archive_that_says(path: &str, kind: tar::EntryType, bytes: u64, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(bytes);
    header.set_mode(0o644);
    // The crate itself refuses to write a path that leads outside.
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    if kind == tar::EntryType::Symlink {
        header.set_link_name("/etc").unwrap();
    }
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, content).unwrap();
    zstd::encode_all(&builder.into_inner().unwrap()[..], 1).unwrap()
}

#[test]
fn an_archive_that_is_damaged_or_hostile_is_refused_by_name() {
    use tar::EntryType::{Char, Fifo, GNULongName, GNUSparse, Link, Regular, Symlink, XHeader};
    let laboratory = Laboratory::new();
    let check = |content: &[u8], expected: &str| {
        let path = laboratory.file("hostile.tar.zst", content);
        let refused = laboratory.run(&["topology", "--root", &path]).with_code(2);
        refused.says(&["cannot use --root: ", &path, expected, "hint: "]);
    };
    check(b"", "");
    check(b"no archive at all", "");
    let good = archive_of("proc/meminfo", Regular, &[b'x'; 100_000]);
    check(&good[..good.len() - 8], "");
    check(
        &archive_of("/etc/x", Regular, b"x"),
        "\"/etc/x\" in it is outside of it",
    );
    check(
        &archive_of("proc/../../x", Regular, b"x"),
        "is outside of it",
    );
    check(
        &archive_of("proc", Symlink, b""),
        "\"proc\" in it is neither a file nor a folder",
    );
    for kind in [Char, Fifo, Link, GNUSparse] {
        check(&archive_of("sys", kind, b""), "neither a file nor a folder");
    }
    let deep = archive_of("././@LongLink", GNULongName, "a/".repeat(65).as_bytes());
    let deep =
        [deep, archive_of("x", Regular, b"")].map(|part| zstd::decode_all(&part[..]).unwrap());
    // The first part without the two blocks of zeros that end an archive.
    let deep = [&deep[0][..deep[0].len() - 1024], &deep[1]].concat();
    check(
        &zstd::encode_all(&deep[..], 1).unwrap(),
        "below too many folders",
    );
    // Archives that unpack to more than fits on disk or in memory.
    check(
        &archive_that_says("proc/stat", Regular, 9 << 30, b"x"),
        "more than 131072 files or 8589934592 bytes",
    );
    check(
        &archive_that_says("././@LongLink", GNULongName, 1 << 30, b"x"),
        "a path that is too long",
    );
    check(
        &archive_that_says("PaxHeaders/stat", XHeader, 1 << 30, b"x"),
        "an extended header that is too long",
    );
}
