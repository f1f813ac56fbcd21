//! The threads of a target as findings see them: against the CPUs that their process was given.

use model::{CpuSet, Fact, FirstThread, ShellLine, ThreadMask, ThreadRole, shell_line};

use super::input::DoctorInput;
use crate::found::fact;

/// The most facts of a finding on threads: one for each list of CPUs.
const FACTS_MAX: usize = 32;

/// A role and a list of CPUs that threads of it may use.
pub(crate) type RoleMask<'a> = (&'a ThreadRole, &'a ThreadMask);

/// The threads of one process.
pub(crate) struct ProcessMasks<'a> {
    /// Its first thread: it has the CPUs that the process was given, unless the program has changed
    /// them.
    pub first: &'a FirstThread,
    /// The CPUs of all its threads.
    pub masks: Vec<RoleMask<'a>>,
}

impl ProcessMasks<'_> {
    /// The name of the process, for people.
    pub(crate) fn name(&self, input: &DoctorInput) -> String {
        let pid = self.first.pid;
        let processes = input.residency.iter().flat_map(|it| &it.processes);
        let process = processes.into_iter().find(|process| process.pid == pid);
        process.map_or_else(|| pid.to_string(), |it| format!("{} ({pid})", it.name))
    }

    /// The CPUs and the threads, if some are pinned to the first CPUs of the machine, one CPU each,
    /// and the process was not given all of these CPUs.
    pub(crate) fn on_first_cpus(&self, machine: &CpuSet) -> Option<(CpuSet, Vec<RoleMask<'_>>)> {
        let given = &self.first.cpus;
        let (pinned, masks) = pinned(&self.masks);
        let firsts: CpuSet = machine.iter().take(pinned.len()).collect();
        let are_on_them = given.len() >= PINNED_MIN
            && pinned.len() >= PINNED_MIN
            && pinned == firsts
            && !pinned.is_subset(given);
        are_on_them.then_some((pinned, masks))
    }

    /// The fact on the first thread.
    pub(crate) fn fact_of_first(&self) -> Fact {
        let FirstThread { pid, cpus, .. } = self.first;
        fact(
            format!("/proc/{pid}/status"),
            format!("Cpus_allowed_list {cpus}"),
        )
    }
}

/// A single pinned thread may be on a first CPU by chance; a first thread on a single CPU was
/// pinned by its program, and does not show what the process was given.
pub(crate) const PINNED_MIN: usize = 2;

/// The CPUs to which threads are pinned, one CPU each, and these threads.
pub(crate) fn pinned<'a>(masks: &[RoleMask<'a>]) -> (CpuSet, Vec<RoleMask<'a>>) {
    let masks = masks.iter().copied();
    let pinned: Vec<_> = masks.filter(|(_, mask)| mask.cpus.len() == 1).collect();
    let cpus = pinned.iter().flat_map(|(_, mask)| mask.cpus.iter());
    (cpus.collect(), pinned)
}

/// The CPUs of the machine that are online.
pub(crate) fn cpus_of_machine(input: &DoctorInput) -> CpuSet {
    let nodes = input.topology.nodes.iter();
    nodes.flat_map(|node| node.cpus.iter()).collect()
}

/// The processes of the target that have several threads.
pub(crate) fn processes(input: &DoctorInput) -> Vec<ProcessMasks<'_>> {
    let threads = input.residency.as_ref().and_then(|it| it.threads.as_ref());
    let Some(threads) = threads else {
        return Vec::new();
    };
    let of = |first: &'_ FirstThread| {
        let masks = threads.roles.iter().flat_map(|role| {
            let masks = role.masks.iter().map(move |mask| (role, mask));
            masks.collect::<Vec<_>>()
        });
        masks.filter(|(_, mask)| mask.pid == first.pid).collect()
    };
    let firsts = threads.first_threads.iter();
    firsts
        .map(|first| ProcessMasks {
            first,
            masks: of(first),
        })
        .collect()
}

/// Facts on threads, one for each list of CPUs.
pub(crate) fn facts<'a>(masks: impl IntoIterator<Item = RoleMask<'a>>) -> Vec<Fact> {
    let one = |(role, mask): RoleMask<'_>| {
        let ThreadMask {
            pid,
            tid,
            cpus,
            threads,
        } = mask;
        let source = format!("/proc/{pid}/task/{tid}/status");
        let more = match threads {
            1 => String::new(),
            count => format!(", and of {} more", count - 1),
        };
        let what = words(role);
        fact(source, format!("Cpus_allowed_list {cpus}{more} ({what})"))
    };
    masks.into_iter().take(FACTS_MAX).map(one).collect()
}

/// The role, with its name where the role does not say it.
pub(crate) fn words(role: &ThreadRole) -> String {
    match (&role.server, role.names.first()) {
        (None, Some(name)) => format!("{}: {name}", role.role),
        _ => role.role.clone(),
    }
}

/// Number of threads in these lists.
pub(crate) fn count<'a>(masks: impl IntoIterator<Item = RoleMask<'a>>) -> u32 {
    let counts = masks.into_iter().map(|(_, mask)| mask.threads);
    counts.fold(0, u32::saturating_add)
}

/// Returns the commands that hold a program on CPUs, whatever it asks for, and that put the threads
/// of the running process there.
pub(crate) fn hold_on(cpus: &CpuSet, pid: u32) -> Vec<ShellLine> {
    vec![
        shell_line!("taskset --all-tasks --cpu-list --pid {} {}", cpus, pid),
        ShellLine::of(
            "# the program undoes that when it sets affinity again; it cannot leave a cpuset:",
        ),
        shell_line!("numalab group create NAME --physcpubind={}", cpus),
        ShellLine::of("numalab bind --group NAME -- COMMAND"),
        ShellLine::of(
            "# or switch off that the server pins its threads, or give it these CPUs as a list",
        ),
    ]
}
