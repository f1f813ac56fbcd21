//! The screen of one process or instance: its memory by node, its CPUs, how fresh each figure is,
//! and the command that shows more.

use model::{
    CpuSet, MemorySource, NodeId, ServerSession, counted, cpu_words, node_words, shell_word,
};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::columns::{Column, Layout};
use crate::figures;
use crate::machine_screen::Room;
use crate::moment::Moment;
use crate::opened_tables;
use crate::process_table::{ProcessTable, Style, bytes, threads};
use crate::session_table;
use crate::subjects::{Identity, Kind, Sort, Subject, sort};
use crate::visible::{cut, wrapped};

const NODES: [Column; 5] = [
    Column::number("NODE", 4, 0),
    Column::number("MEMORY", 8, 0),
    Column::number("SHARE", 6, 1),
    Column::number("CPUs ALLOWED", 12, 2),
    Column::words("", 10, 3),
];
/// Processes of an instance that are shown: the list of processes, filtered, has them all.
const PROCESSES_MAX: usize = 100;
/// Columns of the bar.
const BAR_MAX: usize = 40;

/// Returns the lines of the screen; the caller shows those from `room.scroll` on.
pub(crate) fn lines(
    moment: &Moment,
    subject: &Subject,
    (is_replay, sessions): (bool, Option<&Result<Vec<ServerSession>, String>>),
    room: Room,
) -> Vec<Line<'static>> {
    let text = |text: &str| wrapped(text, room.width).into_iter().map(Line::from);
    let mut lines: Vec<Line<'static>> = text(&title(subject)).collect();
    lines.extend(nodes(moment, subject, room));
    lines.push(Line::default());
    for fact in facts(moment, subject) {
        lines.extend(text(&fact));
    }
    lines.push(Line::default());
    if let Some(sessions) = sessions {
        lines.extend(session_table::lines(moment, subject, sessions, room));
        lines.push(Line::default());
    }
    if matches!(subject.identity, Identity::Instance(_)) {
        lines.extend(processes(moment, subject, room));
        lines.push(Line::default());
    }
    lines.extend(opened_tables::lines(
        moment,
        &subject.identity,
        is_replay,
        room,
    ));
    lines.push(Line::default());
    let about = "Every page, and policies:";
    let command = command(subject);
    // Never broken: what follows a line end would be a command by itself.
    match about.width() + 1 + command.width() <= room.width {
        true => lines.push(Line::from(cut(&format!("{about} {command}"), room.width))),
        false => {
            lines.extend(text(about));
            lines.push(Line::from(cut(&command, room.width)));
        }
    }
    lines
}

/// Returns the line for a process or an instance that is no longer there.
pub(crate) fn ended(width: usize) -> Vec<Line<'static>> {
    let text = "It is no longer among the processes: it has ended. Esc goes back.";
    wrapped(text, width).into_iter().map(Line::from).collect()
}

/// Returns what it is.
fn title(subject: &Subject) -> String {
    let threads = counted(threads(subject), "thread");
    match &subject.identity {
        Identity::Process(pid, _) => format!("Process {pid}, {}: {threads}.", called(subject)),
        Identity::Instance(_) => {
            let processes = counted(subject.processes.len() as u64, "process");
            format!("Instance {}: {processes}, {threads}.", subject.name)
        }
    }
}

/// Returns the name of a process, with its role if that is another.
fn called(subject: &Subject) -> String {
    match subject.role == subject.name {
        true => subject.name.to_owned(),
        false => format!("{} ({})", subject.name, subject.role),
    }
}

/// Returns who runs what, of a process.
fn origin(subject: &Subject) -> Vec<String> {
    let (Identity::Process(..), [process]) = (&subject.identity, &subject.processes[..]) else {
        return Vec::new();
    };
    let parent = process.parent.map(|it| it.to_string());
    let facts = [
        ("User", process.user.clone()),
        ("Parent", parent),
        ("Cgroup", process.control_group.clone()),
        ("Command", process.command.clone()),
    ];
    let known = facts.into_iter();
    let known = known.filter_map(|(what, it)| Some(format!("{what}: {}", it?)));
    known.collect()
}

/// Returns the sentences on the whole.
fn facts(moment: &Moment, subject: &Subject) -> Vec<String> {
    let (cpus, memory) = (allowed_cpus(subject), allowed_nodes(subject));
    let mut facts = origin(subject);
    facts.extend([
        format!(
            "CPUs used: {}. Allowed: {}. {}",
            figures::cpus(subject.cpus),
            cpu_words(cpus),
            last_ran(moment, subject)
        ),
        format!(
            "Memory: {}, growing by {}/s. Allowed: {}.",
            bytes(subject),
            figures::growth(subject.growth),
            node_words(memory)
        ),
        format!(
            "Local share: {} of the memory by node, expected over the allowed CPUs.",
            subject.local()
        ),
        freshness(subject),
    ]);
    facts
}

/// Returns how old the figures by node are, and what they are.
fn freshness(subject: &Subject) -> String {
    let Some((age_s, source)) = subject.looked_at else {
        return "Memory by node: unknown, nobody has looked yet.".to_owned();
    };
    let source = match source {
        MemorySource::ControlGroup => {
            "its control group (memory.numa_stat), without huge pages of hugetlbfs"
        }
        MemorySource::NumaMaps => "numa_maps: what the process itself has mapped",
        MemorySource::OnlyNode => "the only node: what is resident is there",
        MemorySource::Inspect => "an inspection as of numalab inspect, each page counted once",
    };
    let age = figures::span(age_s);
    let seen = match subject.is_partial {
        true => "; a lower bound: there may be more, on any node",
        false => "",
    };
    format!("Memory by node is {age} old, from {source}{seen}. The other figures are of now.")
}

/// Returns where the process last ran.
fn last_ran(moment: &Moment, subject: &Subject) -> String {
    let [process] = subject.processes[..] else {
        return String::new();
    };
    let Some(cpu) = process.last_cpu else {
        return "Last ran: unknown.".to_owned();
    };
    match crate::subjects::node_of(&moment.snapshot, cpu) {
        Some(node) => format!("The first thread last ran on CPU {cpu} of node {node}."),
        None => format!("The first thread last ran on CPU {cpu}."),
    }
}

/// Returns the CPUs that any process may use.
fn cpus_allowed(subject: &Subject) -> Option<CpuSet> {
    let sets = subject.processes.iter().map(|it| it.cpus_allowed.as_ref());
    let sets: Option<Vec<&CpuSet>> = sets.collect();
    let sets = sets.filter(|it| !it.is_empty())?;
    Some(
        sets.into_iter()
            .fold(CpuSet::default(), |all, it| all.union(it)),
    )
}

fn allowed_cpus(subject: &Subject) -> String {
    cpus_allowed(subject).map_or("unknown".to_owned(), |it| cut(&it.to_string(), LIST_MAX))
}

fn allowed_nodes(subject: &Subject) -> String {
    let sets = subject
        .processes
        .iter()
        .map(|it| it.memory_nodes_allowed.as_ref());
    let sets: Option<Vec<&model::NodeSet>> = sets.collect();
    let Some(sets) = sets.filter(|it| !it.is_empty()) else {
        return "unknown".to_owned();
    };
    let all = sets
        .into_iter()
        .fold(model::NodeSet::default(), |all, it| all.union(it));
    cut(&all.to_string(), LIST_MAX)
}

/// Characters of a list of CPUs or nodes.
const LIST_MAX: usize = 60;

/// Returns a row for each node that has memory of it or CPUs for it.
fn nodes(moment: &Moment, subject: &Subject, room: Room) -> Vec<Line<'static>> {
    let layout = Layout::new(&NODES, room.width, &[(4, BAR_MAX)]);
    let mut lines = vec![Line::styled(layout.heading(), room.palette.heading())];
    let bytes = subject.bytes_by_node;
    let all: Option<f64> = bytes.map(|it| it.values().map(|it| *it as f64).sum());
    let allowed = cpus_allowed(subject);
    for node in &moment.snapshot.nodes {
        let here = bytes.map(|it| it.get(&node.id).copied().unwrap_or(0));
        let share = here
            .zip(all.filter(|it| *it > 0.0))
            .map(|(here, all)| here as f64 / all);
        let near = allowed.as_ref().map(|it| it.intersection(&node.cpus).len());
        let near = near.map_or(figures::UNKNOWN.to_owned(), |it| it.to_string());
        let row = layout.row(|index| match index {
            0 => node.id.to_string(),
            1 => figures::bytes(here),
            2 => figures::share(share),
            3 => format!("{near} of {}", node.cpus.len()),
            _ => bar(share, room.width.min(BAR_MAX)),
        });
        lines.push(Line::from(row));
    }
    lines.extend(elsewhere(moment, subject).map(Line::from));
    lines
}

/// Returns a sentence for memory on nodes that the snapshot does not have.
fn elsewhere(moment: &Moment, subject: &Subject) -> Option<String> {
    let known = |id: &NodeId| moment.snapshot.nodes.iter().any(|node| node.id == *id);
    let bytes = subject.bytes_by_node?;
    let others = bytes.iter().filter(|(id, bytes)| !known(id) && **bytes > 0);
    let others: Vec<String> = others.map(|(id, _)| id.to_string()).collect();
    (!others.is_empty()).then(|| format!("also on unknown nodes: {}", others.join(", ")))
}

fn bar(share: Option<f64>, columns: usize) -> String {
    let filled = (share.unwrap_or(0.0).clamp(0.0, 1.0) * columns as f64 / 2.0).round();
    "#".repeat(filled as usize)
}

/// Returns the command that shows more of it.
fn command(subject: &Subject) -> String {
    match &subject.identity {
        Identity::Process(pid, _) => format!("numalab inspect {pid}"),
        Identity::Instance(name) => format!("numalab inspect {}", shell_word(name)),
    }
}

/// Returns the processes of an instance, the busiest first.
fn processes(moment: &Moment, subject: &Subject, room: Room) -> Vec<Line<'static>> {
    let style = Style::busiest(Kind::Processes);
    let table = ProcessTable::new(style, &moment.snapshot, room.width);
    let processes = subject.processes.iter();
    let mut rows: Vec<Subject> = processes
        .map(|it| Subject::of_process(moment, it))
        .collect();
    sort(&mut rows, Sort::Cpus);
    let mut lines = vec![Line::styled(table.heading(), room.palette.heading())];
    let rows = rows.iter().take(PROCESSES_MAX);
    lines.extend(rows.map(|it| Line::from(table.row(&moment.snapshot, it))));
    lines
}
