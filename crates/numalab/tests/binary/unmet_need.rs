//! What a test needs and this machine has not, said loudly: past the test harness, which keeps to
//! itself what passing tests print.

use std::io::Write;

use linux::Root;

/// Says that a test was not run, and why.
pub fn not_run(test: &str, why: &str) {
    say(&format!("NOT RUN : {test}: {why}"));
}

/// Says something to the person who runs the tests, past the test harness.
pub fn say(text: &str) {
    let line = format!("{text}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whether processor groups can be made here; says that `test` is not run where they cannot.
pub fn has_groups(test: &str) -> bool {
    match numa::hierarchy::find(&Root::live()) {
        Ok(_) => true,
        Err(error) => {
            not_run(test, &error.to_string());
            false
        }
    }
}

/// Whether this process may become other users; says that `test` is not run where it may not.
pub fn is_root(test: &str) -> bool {
    let root = linux::process::is_root();
    if !root {
        not_run(test, "it needs root, to become another user");
    }
    root
}
