//! The names of a run's processes in ps and top.
//!
//! Tests of instance.

use std::fs;

use rustix::process::Signal;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::processes::Role;

#[test]
fn every_process_of_a_run_is_called_numalab() {
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL).case("one", "");
    let path = laboratory.file("names.toml", experiment.text());
    let mut under_way = laboratory.start(&["run", &path]);
    for (role, argument) in [
        (Role::Instance, "internal-instance"),
        (Role::Session, "internal-session"),
    ] {
        let pid = under_way.until_there_are(1, role)[0];
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
        assert_eq!(read("cmdline"), format!("numalab\0{argument}\0"));
        crate::patience::until("the process has its name", || {
            (read("comm") == "numalab\n").then_some(())
        });
    }
    under_way.signal_group(Signal::INT);
    under_way.finish().with_code(130);
    laboratory.nothing_is_left();
}
