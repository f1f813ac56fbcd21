//! Whether this machine is fit to be measured now, and what happens if it is not.

use std::time::Duration;

use linux::Root;
use model::Topology;
use model::exit::ExitCode;

use crate::failure::Failure;
use crate::output;

/// How long the machine is watched.
const WATCHED: Duration = Duration::from_millis(500);

/// Governors under which a CPU may take long to come up to its clock.
const SLOW_GOVERNORS: [&str; 2] = ["powersave", "conservative"];

/// Watches this machine. What is wrong with it is a failure, or with `anyway` a list of warnings.
///
/// An emulated machine is not watched: nothing measured on it means anything.
pub fn check(
    topology: &Topology,
    cpus_needed: usize,
    anyway: bool,
) -> Result<Vec<String>, Failure> {
    if topology.emulated == Some(true) {
        return Ok(Vec::new());
    }
    note_governors(topology);
    let fitness = numa::fitness::look(&Root::live(), topology.cpus.len(), WATCHED)?;
    let doubts = fitness.doubts(cpus_needed);
    if doubts.is_empty() {
        return Ok(doubts);
    }
    if anyway {
        for doubt in &doubts {
            output::talk(&format!("warning: {doubt}"));
        }
        return Ok(doubts);
    }
    let message = format!(
        "this machine is not fit to be measured now: {}",
        doubts.join("; ")
    );
    Err(Failure::new(ExitCode::NotFit, message)
        .advise("or measure all the same with --anyway; the result says so"))
}

fn note_governors(topology: &Topology) {
    let governors = topology.settings.cpu_governors.iter().flatten();
    for governor in governors.filter(|it| SLOW_GOVERNORS.contains(&it.name.as_str())) {
        output::talk(&format!(
            "note: the frequency governor of CPUs {} is {}; every measurement begins with an \
             untimed lap in which clocks can rise",
            governor.cpus, governor.name
        ));
    }
}
