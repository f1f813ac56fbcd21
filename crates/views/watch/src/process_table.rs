//! The table of processes or instances: which columns it has, and its rows.

use model::Snapshot;

use crate::columns::{Column, Layout};
use crate::figures;
use crate::subjects::{Kind, Sort, Subject, node_of};

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Id,
    User,
    Name,
    Cpus,
    Memory,
    Growth,
    LocalShare,
    Nodes,
    Age,
    Place,
    Threads,
    ControlGroup,
    Command,
    Processes,
}

/// Columns of the table of processes.
const PROCESSES: [(Cell, Column); 13] = [
    (Cell::Id, Column::number("PID", 7, 3)),
    (Cell::Name, Column::words("NAME", 10, 0)),
    (Cell::User, Column::words("USER", 8, 7)),
    (Cell::Cpus, Column::number("CPUs", 5, 0)),
    (Cell::Memory, Column::number("MEMORY", 8, 0)),
    (Cell::Growth, Column::number("GROWTH/s", 8, 5)),
    (Cell::LocalShare, Column::number("LOCAL", 6, 1)),
    (Cell::Nodes, Column::words("MEMORY BY NODE", 16, 4)),
    (Cell::Age, Column::number("AGE", 6, 6)),
    (Cell::Place, Column::words("CPU/NODE", 8, 9)),
    (Cell::Threads, Column::number("THREADS", 7, 11)),
    (Cell::Command, Column::words("COMMAND", 19, 8)),
    (Cell::ControlGroup, Column::words("CGROUP", 20, 10)),
];
/// Columns of the table of instances.
const INSTANCES: [(Cell, Column); 8] = [
    (Cell::Name, Column::words("NAME", 16, 0)),
    (Cell::Cpus, Column::number("CPUs", 5, 0)),
    (Cell::Memory, Column::number("MEMORY", 8, 0)),
    (Cell::Growth, Column::number("GROWTH/s", 8, 4)),
    (Cell::LocalShare, Column::number("LOCAL", 6, 1)),
    (Cell::Nodes, Column::words("MEMORY BY NODE", 18, 2)),
    (Cell::Age, Column::number("AGE", 6, 3)),
    (Cell::Processes, Column::number("PROCESSES", 9, 5)),
];
/// What says little on a machine with one node.
const BY_NODE: [Cell; 4] = [Cell::LocalShare, Cell::Nodes, Cell::Age, Cell::Place];
/// Of these, all go before any other column.
const BY_ONE_NODE_RANK: u8 = 20;
/// Columns that a role such as `autovacuum launcher` needs, and a tree.
const ROLE_MAX: usize = 19;
const TREE_MAX: usize = 30;
/// Columns of a node in a list of nodes, such as `0:100% `.
const NODE_WIDTH: usize = 8;
/// Columns beyond which a name, or a list of nodes, is not more readable.
const WORDS_MAX: usize = 60;
/// The same of a command.
const COMMAND_MAX: usize = 200;

impl Cell {
    /// The order by this column, if there is one.
    fn sort(self) -> Option<Sort> {
        Some(match self {
            Cell::Id => Sort::Id,
            Cell::Name => Sort::Name,
            Cell::Cpus => Sort::Cpus,
            Cell::Memory => Sort::Memory,
            Cell::Growth => Sort::Growth,
            Cell::LocalShare => Sort::LocalShare,
            _ => return None,
        })
    }

    fn text(self, snapshot: &Snapshot, subject: &Subject) -> String {
        let first = subject.processes.first();
        let words = |of: fn(&model::ProcessSnapshot) -> Option<&String>| {
            first.and_then(|it| of(it)).cloned().unwrap_or_default()
        };
        match self {
            Cell::Id => first.map_or_else(String::new, |it| it.pid.to_string()),
            Cell::User => words(|it| it.user.as_ref()),
            Cell::Name => format!("{}{}", subject.branch, subject.role),
            Cell::Cpus => figures::cpus(subject.cpus),
            Cell::Memory => bytes(subject),
            Cell::Growth => figures::growth(subject.growth),
            Cell::LocalShare => subject.local(),
            Cell::Nodes => subject.nodes(),
            Cell::Age => subject.age(),
            Cell::Place => last_ran(snapshot, subject),
            Cell::Threads => threads(subject).to_string(),
            Cell::ControlGroup => words(|it| it.control_group.as_ref()),
            Cell::Command => words(|it| it.command.as_ref()),
            Cell::Processes => subject.processes.len().to_string(),
        }
    }
}

/// How a list is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) kind: Kind,
    pub(crate) sort: Sort,
    pub(crate) is_tree: bool,
}

impl Style {
    /// The busiest first.
    pub(crate) fn busiest(kind: Kind) -> Self {
        Style {
            kind,
            sort: Sort::Cpus,
            is_tree: false,
        }
    }
}

/// The columns of a list, laid out in a width.
pub(crate) struct ProcessTable {
    cells: Vec<Cell>,
    layout: Layout,
}

impl ProcessTable {
    /// Lays out the list in `width`. The column that it is sorted by never goes.
    pub(crate) fn new(style: Style, snapshot: &Snapshot, width: usize) -> Self {
        let all = match style.kind {
            Kind::Processes => &PROCESSES[..],
            Kind::Instances => &INSTANCES[..],
        };
        let nodes = snapshot.nodes.len();
        let (cells, mut columns): (Vec<Cell>, Vec<Column>) = all.iter().copied().unzip();
        for (cell, column) in cells.iter().zip(&mut columns) {
            if nodes == 1 && BY_NODE.contains(cell) {
                column.rank = column.rank.saturating_add(BY_ONE_NODE_RANK);
            }
            if cell.sort() == Some(style.sort) {
                column.rank = 0;
            }
        }
        let name = match (style.kind, style.is_tree) {
            (Kind::Instances, _) => WORDS_MAX,
            (Kind::Processes, false) => ROLE_MAX,
            (Kind::Processes, true) => TREE_MAX,
        };
        let flexible = [
            (Cell::Name, name),
            (Cell::Nodes, nodes.saturating_mul(NODE_WIDTH).min(WORDS_MAX)),
            (Cell::ControlGroup, WORDS_MAX),
            (Cell::Command, COMMAND_MAX),
            (Cell::Name, WORDS_MAX),
        ];
        let flexible: Vec<(usize, usize)> = flexible
            .into_iter()
            .filter_map(|(cell, most)| Some((cells.iter().position(|it| *it == cell)?, most)))
            .collect();
        ProcessTable {
            layout: Layout::new(&columns, width, &flexible),
            cells,
        }
    }

    /// Returns the headings.
    pub(crate) fn heading(&self) -> String {
        self.layout.heading()
    }

    /// Returns a row.
    pub(crate) fn row(&self, snapshot: &Snapshot, subject: &Subject) -> String {
        self.layout
            .row(|index| self.cells[index].text(snapshot, subject))
    }

    /// The order by the column at this place of a line, if there is one.
    pub(crate) fn sort_at(&self, x: usize) -> Option<Sort> {
        self.cells[self.layout.at(x)?].sort()
    }
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
