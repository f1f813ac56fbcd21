//! Checks whether this machine is fit to be measured now, and handles the case that it is not.

use std::time::Duration;

use judgement::fitness::Fitness;
use judgement::neighbours::{Neighbours, Watch};
use linux::claimed_name::{self, Claim, ClaimedName};
use linux::{Root, proc_stat};
use model::exit::ExitCode;
use model::{Topology, cpu_words};

use crate::failure::Failure;
use crate::output;

/// How long the machine is watched.
const WATCHED: Duration = Duration::from_millis(500);

/// Frequency governors under which a CPU may take long to reach its full clock.
const SLOW_GOVERNORS: [&str; 2] = ["powersave", "conservative"];

/// The name that numalab claims while it measures.
const NAME: &str = "numalab is measuring";

/// What a measurement needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Number of CPUs that it keeps busy at once.
    pub cpus: usize,
    /// Whether to watch what other processes do, for half a second beforehand.
    pub quiet: bool,
    /// Whether to measure even if something is wrong.
    pub anyway: bool,
    /// Whether its cases take turns: what others do, they have in common then, and it is no reason
    /// not to measure.
    pub takes_turns: bool,
}

/// A machine that may be measured. While this is held, no other numalab considers it quiet.
#[derive(Debug)]
pub(crate) struct Fit {
    /// What is wrong with it, if it is measured anyway.
    pub doubts: Vec<String>,
    /// What the user should know, but no reason not to measure.
    pub notes: Vec<String>,
    /// Beside what it is measured, if others keep the machine busy: sentences.
    pub beside: Vec<String>,
    _name: Option<ClaimedName>,
}

impl Fit {
    /// Watches what others do. Where they keep the machine busy, that is a doubt, unless cases take
    /// turns; then it is said, and a database is given way to.
    fn watch(&mut self, root: &Root, cpus: usize, needs: Needs) -> Result<Fitness, Failure> {
        let watch = Watch::begin(root)?;
        let fitness = judgement::fitness::look(root, cpus, WATCHED)?;
        let load = fitness.load_doubts();
        if load.is_empty() {
            return Ok(fitness);
        }
        let others = watch.end(root)?;
        match needs.takes_turns && !needs.anyway {
            true => self.give_way(&fitness, &others)?,
            false => {
                let who = others.words().map(|who| format!("CPUs by program: {who}"));
                self.doubts.extend(load.into_iter().chain(who));
            }
        }
        Ok(fitness)
    }

    /// Says beside what is measured. Beside a database, this process and all that it starts have
    /// the lowest weight.
    fn give_way(&mut self, fitness: &Fitness, others: &Neighbours) -> Result<(), Failure> {
        let who = others.words();
        let who = who.map_or_else(String::new, |who| format!(" ({who})"));
        self.beside.push(format!(
            "measured beside other work, which kept {} busy{who} before: intervals are wider; \
             cases take turns, so that it hits all alike",
            fitness.used_words()
        ));
        if !others.databases.is_empty() {
            linux::process::yield_to_others().map_err(|cause| {
                let message = format!("cannot lower the weight of this process: {cause}");
                Failure::new(ExitCode::NotFit, message)
                    .advise("use --anyway to measure at the usual weight")
            })?;
            self.beside.push(format!(
                "measured at the lowest weight (nice 19), because {} was at work: rates are those \
                 of CPU time that others left, and only ratios of cases mean something; with \
                 --anyway it has the usual weight",
                others.databases.join(", ")
            ));
        }
        Ok(())
    }

    /// What is stored with every trial.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let doubts = self.doubts.iter();
        let said = doubts.map(|doubt| format!("measured with --anyway: {doubt}"));
        said.chain(self.beside.iter().cloned()).collect()
    }

    /// Prints notes and doubts to stderr.
    pub(crate) fn tell(&self) {
        for note in &self.notes {
            output::talk(&format!("note: {note}"));
        }
        self.tell_doubts();
    }

    /// Prints what is wrong with the machine to stderr.
    pub(crate) fn tell_doubts(&self) {
        for doubt in &self.doubts {
            output::talk(&format!("warning: {doubt}"));
        }
    }

    /// Prints beside what it is measured to stderr: it may take longer.
    pub(crate) fn tell_beside(&self) {
        for what in &self.beside {
            output::talk(&format!("note: {what}"));
        }
    }
}

/// Checks whether another numalab is measuring, and watches this machine. What is wrong with it is
/// a failure, or a list of warnings if it is measured anyway.
///
/// An emulated machine is not watched: its figures mean nothing.
pub(crate) fn check(topology: &Topology, needs: Needs) -> Result<Fit, Failure> {
    let mut fit = claim();
    if topology.emulated != Some(true) {
        fit.notes.extend(governors(topology));
        let (root, cpus) = (Root::live(), topology.cpus.len());
        let fitness = match needs.quiet {
            true => fit.watch(&root, cpus, needs)?,
            false => judgement::fitness::glance(&root, cpus)?,
        };
        fit.doubts.extend(fitness.quota_doubt(needs.cpus));
    }
    if !fit.doubts.is_empty() && !needs.anyway {
        let doubts = fit.doubts.join("; ");
        let message = format!("this machine is not fit to measure now: {doubts}");
        return Err(Failure::new(ExitCode::NotFit, message)
            .advise("or measure nevertheless with --anyway; the result says so"));
    }
    Ok(fit)
}

/// Does work that would disturb another numalab while it measures, unless one is measuring.
pub(crate) fn unless_another_measures<T>(work: impl FnOnce() -> T) -> Option<T> {
    match claimed_name::claim(NAME) {
        Ok(Claim::Held { .. }) => None,
        // Held until the work is done.
        _claim => Some(work()),
    }
}

/// Claims the machine, or reports which numalab has it. Two that measure at once disturb each
/// other, whatever their users and state folders.
fn claim() -> Fit {
    let mut fit = Fit {
        doubts: Vec::new(),
        notes: Vec::new(),
        beside: Vec::new(),
        _name: None,
    };
    match claimed_name::claim(NAME) {
        Ok(Claim::Ours(name)) => fit._name = Some(name),
        Ok(Claim::Held { pid }) => {
            let other = other(pid);
            fit.doubts.push(format!(
                "{other} is measuring on this machine; wait until it finishes"
            ));
        }
        Err(error) => fit.notes.push(format!(
            "cannot tell whether another numalab is measuring on this machine: {error}"
        )),
    }
    fit
}

/// Describes the other numalab to the user.
fn other(pid: Option<u32>) -> String {
    let Some(pid) = pid else {
        return "another numalab, in another container,".to_owned();
    };
    // A process that has ended meanwhile has no command line.
    let words = proc_stat::command_words(&Root::live(), pid).unwrap_or_default();
    match what(&words) {
        Some(what) => format!("`numalab {what}` (process {pid})"),
        None => format!("another numalab (process {pid})"),
    }
}

/// Returns what a command line measures: the command, and the experiment if it names one. The rest
/// is left out: it is untrusted text and may hold a password.
fn what(words: &[String]) -> Option<String> {
    let command = words.get(1).filter(|word| is_plain(word))?;
    let is_experiment = |word: &&String| {
        let shipped = experiment::SHIPPED.iter().any(|it| it.name == **word);
        shipped || (word.ends_with(".toml") && is_plain(word))
    };
    let experiment = words.iter().skip(2).find(is_experiment);
    Some(experiment.map_or(command.clone(), |name| format!("{command} {name}")))
}

fn is_plain(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    (1..=100).contains(&word.len()) && word.bytes().all(is_plain)
}

fn governors(topology: &Topology) -> Vec<String> {
    let governors = topology.settings.cpu_governors.iter().flatten();
    let slow = governors.filter(|it| SLOW_GOVERNORS.contains(&it.name.as_str()));
    let said = slow.map(|governor| {
        format!(
            "the frequency governor of {} is {}; every measurement begins with an untimed \
             lap that lets clocks rise",
            cpu_words(&governor.cpus),
            governor.name
        )
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::what;

    #[test]
    fn the_other_is_named_by_what_it_measures_and_by_nothing_else() {
        let check = |line: &str, expected: Option<&str>| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(what(&words).as_deref(), expected, "{line}");
        };
        check("/usr/bin/numalab run --trials 5 spin", Some("run spin"));
        check("numalab run ./mine.toml", Some("run ./mine.toml"));
        check("numalab latency --curve", Some("latency"));
        let url = "numalab run --connect postgresql://me:secret@host/db --table t";
        check(url, Some("run"));
        check("numalab run \u{1b}[2J.toml", Some("run"));
        check("numalab \u{1b}[2J", None);
        check("", None);
    }
}
