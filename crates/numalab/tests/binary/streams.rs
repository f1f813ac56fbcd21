//! stdout is for data, stderr for messages; a closed pipe is not an error.
//!
//! Tests of report.

use std::process::Stdio;

use crate::laboratory::Laboratory;

const COMMANDS: [&[&str]; 9] = [
    &["topology"],
    &["topology", "--json"],
    &["topology", "--cpus"],
    &["list"],
    &["list", "--json"],
    &["history", "--json"],
    &["undo", "--list"],
    &["--help"],
    &["run", "--help"],
];

/// Returns a pipe that nobody reads from, as after `| head -c 10`.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_closed_pipe_is_success() {
    let laboratory = Laboratory::new();
    for words in COMMANDS {
        let output = laboratory
            .command(words)
            .stdout(closed_pipe())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        assert_eq!(said, "", "{words:?}");
    }
}

#[test]
fn nobody_has_to_listen_to_the_talk() {
    let laboratory = Laboratory::new();
    for (words, code) in [
        (&["topology"][..], 0),
        (&["history"], 0),
        (&["run", "no-such-thing"], 2),
        (&["run", "binding-vs-caging", "--trials", "1"], 2),
    ] {
        let output = laboratory
            .command(words)
            .stderr(closed_pipe())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn documents_are_documents_and_nothing_else() {
    let laboratory = Laboratory::new();
    for (words, format) in [
        (&["topology", "--json"][..], "numalab.topology/1"),
        (&["list", "--json"], "numalab.experiments/1"),
        (&["history", "--json"], "numalab.history/1"),
    ] {
        assert_eq!(laboratory.document(words)["format"], format);
    }
}
