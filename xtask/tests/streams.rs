//! The guest itself: what a command writes and how it ends reaches the host unchanged. Every test
//! in guests depends on this.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::process::{Command, Output};

/// Runs a shell script in a guest of one node.
fn guest(script: &str) -> Output {
    let words = [
        "guest",
        "--shape",
        "one-node",
        "--timeout",
        "900",
        "--",
        "sh",
        "-c",
        script,
    ];
    let xtask = env!("CARGO_BIN_EXE_xtask");
    Command::new(xtask).args(words).output().unwrap()
}

#[test]
fn what_a_command_writes_and_its_status_reach_the_host_unchanged() {
    let mixed = guest(
        r"printf 'a\r\nb'; printf 'c\n' >&2; seq 1 20000 >/tmp/large; cat /tmp/large; exit 7",
    );
    let large: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    let said = String::from_utf8_lossy(&mixed.stderr);
    assert_eq!(mixed.status.code(), Some(7), "{said}");
    assert!(
        mixed.stdout == format!("a\r\nb{large}").as_bytes(),
        "{said}"
    );
    // Above it, xtask may have said that it installed something, or booted again.
    assert!(said.ends_with("c\n"), "{said}");
}

#[test]
fn a_killed_command_has_the_status_of_its_signal() {
    let killed = guest("kill -9 $$");
    let said = String::from_utf8_lossy(&killed.stderr);
    assert_eq!(killed.status.code(), Some(128 + 9), "{said}");
    assert!(killed.stdout.is_empty());
}
