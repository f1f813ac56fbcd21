//! Definitions for planner tests.

use crate::definition::Definition;

/// Returns a definition of three cases, the second of them as given.
pub(super) fn second(case: &str) -> Definition {
    let cpus = if case.contains("cpus = ") {
        ""
    } else {
        "cpus = \"first-node\""
    };
    let text = format!(
        "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"q\"\n\
         baseline = \"a\"\nasks-about-memory = true\n[load]\nsessions = 4\n\
         [[case]]\nname = \"a\"\nabout = \"a\"\n\
         [[case]]\nname = \"b\"\nabout = \"b\"\n{cpus}\n{case}\n\
         [[case]]\nname = \"c\"\nabout = \"c\"\nsessions = 3\n"
    );
    Definition::parse("mine.toml", &text).unwrap()
}
