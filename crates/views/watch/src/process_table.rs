//! The table of processes or instances: which columns it has, and its rows.

use model::Snapshot;

use crate::columns::{Column, Layout};
use crate::figures;
use crate::subjects::{Kind, Subject, node_of};

/// Columns of the table of processes.
const PROCESSES: [Column; 9] = [
    Column::number("PID", 7, 3),
    Column::words("NAME", 10, 0),
    Column::number("CPUs", 5, 0),
    Column::number("MEMORY", 8, 0),
    Column::number("LOCAL", 6, 1),
    Column::words("MEMORY BY NODE", 16, 4),
    Column::number("AGE", 6, 5),
    Column::words("CPU/NODE", 8, 6),
    Column::number("THREADS", 7, 7),
];
/// Columns of the table of instances.
const INSTANCES: [Column; 7] = [
    Column::words("NAME", 16, 0),
    Column::number("CPUs", 5, 0),
    Column::number("MEMORY", 8, 0),
    Column::number("LOCAL", 6, 1),
    Column::words("MEMORY BY NODE", 18, 2),
    Column::number("AGE", 6, 3),
    Column::number("PROCESSES", 9, 4),
];
/// The longest `comm` of the kernel.
const COMM_MAX: usize = 15;
/// Columns beyond which a name, or a list of nodes, is not more readable.
const WORDS_MAX: usize = 60;

/// The columns of a list, laid out in a width.
pub(crate) struct ProcessTable {
    kind: Kind,
    layout: Layout,
}

impl ProcessTable {
    /// Lays out the list in `width`.
    pub(crate) fn new(kind: Kind, width: usize) -> Self {
        let layout = match kind {
            Kind::Processes => Layout::new(
                &PROCESSES,
                width,
                &[(1, COMM_MAX), (5, WORDS_MAX), (1, WORDS_MAX)],
            ),
            Kind::Instances => Layout::new(&INSTANCES, width, &[(0, WORDS_MAX), (4, WORDS_MAX)]),
        };
        ProcessTable { kind, layout }
    }

    /// Returns the headings.
    pub(crate) fn heading(&self) -> String {
        self.layout.heading()
    }

    /// Returns a row.
    pub(crate) fn row(&self, snapshot: &Snapshot, subject: &Subject) -> String {
        let all = |index: usize| match index {
            1 => subject.name.to_owned(),
            2 => figures::cpus(subject.cpus),
            3 => bytes(subject),
            4 => subject.local(),
            5 => subject.nodes(),
            _ => subject.age(),
        };
        self.layout.row(|index| match (self.kind, index) {
            (Kind::Processes, 0) => identities(subject),
            (Kind::Processes, 7) => last_ran(snapshot, subject),
            (Kind::Processes, 8) => threads(subject).to_string(),
            (Kind::Processes, index) => all(index),
            (Kind::Instances, 6) => subject.processes.len().to_string(),
            (Kind::Instances, index) => all(index + 1),
        })
    }
}

/// Returns the ids of the processes of a row.
fn identities(subject: &Subject) -> String {
    let mut processes = subject.processes.iter();
    processes
        .next()
        .map_or_else(String::new, |it| it.pid.to_string())
}

/// Returns the threads of a row.
pub(crate) fn threads(subject: &Subject) -> u64 {
    subject
        .processes
        .iter()
        .map(|it| u64::from(it.threads))
        .sum()
}

/// Returns the CPU on which the first thread last ran, and its node, such as `12/0`.
fn last_ran(snapshot: &Snapshot, subject: &Subject) -> String {
    let mut processes = subject.processes.iter();
    let Some(cpu) = processes.next().and_then(|it| it.last_cpu) else {
        return figures::UNKNOWN.to_owned();
    };
    let node = node_of(snapshot, cpu).map_or(figures::UNKNOWN.to_owned(), |it| it.to_string());
    format!("{cpu}/{node}")
}

/// Returns the memory of a row; a lower bound is marked.
pub(crate) fn bytes(subject: &Subject) -> String {
    let bytes = figures::bytes(subject.bytes);
    match subject.is_partial {
        true => format!(">{}", bytes.replace(' ', "")),
        false => bytes,
    }
}
