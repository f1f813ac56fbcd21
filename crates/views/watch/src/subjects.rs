//! What the lists have rows of: processes and instances, with the figures to sort and show them by.

use model::{BytesByNode, CpuSet, MemorySource, NodeId, OpenedSubject, ProcessSnapshot, Snapshot};

use crate::figures;
use crate::moment::Moment;
use crate::titles::role;

/// What identifies a row from one snapshot to the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// A process: id and start.
    Process(u32, u64),
    /// An instance: its name.
    Instance(String),
}

impl Identity {
    /// The list that it is in.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Identity::Process(..) => Kind::Processes,
            Identity::Instance(_) => Kind::Instances,
        }
    }

    /// The same, as snapshots name it.
    pub(crate) fn subject(&self) -> OpenedSubject {
        match self {
            Identity::Process(pid, _) => OpenedSubject::Process(*pid),
            Identity::Instance(name) => OpenedSubject::Instance(name.clone()),
        }
    }
}

/// Which rows a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Processes.
    Processes,
    /// Databases.
    Instances,
}

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// CPUs used, most first.
    Cpus,
    /// Memory, most first.
    Memory,
    /// Growth of memory, fastest first.
    Growth,
    /// Local share, least first: what is far from its CPUs comes first.
    LocalShare,
    /// Name.
    Name,
    /// Process id.
    Id,
}

impl Sort {
    /// Every order, in the sequence of the key `s`, with its words.
    pub(crate) const TABLE: [(Sort, &str); 6] = [
        (Sort::Cpus, "CPUs used"),
        (Sort::Memory, "memory"),
        (Sort::Growth, "growth of memory"),
        (Sort::LocalShare, "local share, lowest first"),
        (Sort::Name, "name"),
        (Sort::Id, "process id"),
    ];

    /// The words for it.
    pub(crate) fn words(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(sort, _)| *sort == self);
        row.map_or("", |(_, words)| words)
    }

    /// The order after it.
    pub(crate) fn next(self) -> Self {
        let at = Self::TABLE.iter().position(|(sort, _)| *sort == self);
        Self::TABLE[at.map_or(0, |at| (at + 1) % Self::TABLE.len())].0
    }
}

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) identity: Identity,
    pub(crate) name: &'a str,
    /// What it does, by its title; else its name.
    pub(crate) role: &'a str,
    /// The lines of a tree before it.
    pub(crate) branch: String,
    /// Its processes; one for a process.
    pub(crate) processes: Vec<&'a ProcessSnapshot>,
    /// CPUs that it used since the snapshot before.
    pub(crate) cpus: Option<f64>,
    /// Its memory: where it was looked at, else what the kernel counts.
    pub(crate) bytes: Option<u64>,
    /// By how many bytes per second its memory grows.
    pub(crate) growth: Option<f64>,
    pub(crate) bytes_by_node: Option<&'a BytesByNode>,
    pub(crate) local_share: Option<f64>,
    /// Whether its memory is a lower bound, and the shares of nodes those of what was seen.
    pub(crate) is_partial: bool,
    /// Age of the figures by node, in seconds, and where they come from.
    pub(crate) looked_at: Option<(f64, MemorySource)>,
}

impl<'a> Subject<'a> {
    /// Creates the row of a process.
    pub(crate) fn of_process(moment: &'a Moment, process: &'a ProcessSnapshot) -> Self {
        let memory = process.memory.as_ref();
        let by_node = memory.map(|it| &it.bytes_by_node);
        let allowed = process.cpus_allowed.as_ref();
        Subject {
            identity: Identity::Process(process.pid, process.start_ticks),
            name: &process.name,
            role: role(&process.name, process.command.as_deref()),
            branch: String::new(),
            processes: vec![process],
            cpus: moment.cpus_of(process),
            growth: moment.growth_of(process),
            bytes: process.resident_bytes.or_else(|| by_node.map(total)),
            bytes_by_node: by_node,
            local_share: by_node
                .zip(allowed)
                .and_then(|(bytes, cpus)| local_share(&moment.snapshot, bytes, cpus)),
            is_partial: false,
            looked_at: memory.map(|it| (moment.snapshot.uptime_s - it.looked_at_s, it.source)),
        }
    }

    /// Returns the rows of a list.
    pub(crate) fn all(moment: &'a Moment, kind: Kind) -> Vec<Self> {
        let snapshot = &moment.snapshot;
        match kind {
            Kind::Processes => {
                let processes = snapshot.processes.iter();
                processes.map(|it| Self::of_process(moment, it)).collect()
            }
            Kind::Instances => {
                let count = snapshot.instances.len();
                (0..count)
                    .map(|index| Self::of_instance(moment, index))
                    .collect()
            }
        }
    }

    /// Creates the row of the instance with this index.
    fn of_instance(moment: &'a Moment, index: usize) -> Self {
        let snapshot = &moment.snapshot;
        let instance = &snapshot.instances[index];
        let processes: Vec<&ProcessSnapshot> = instance
            .pids
            .iter()
            .filter_map(|&pid| find(snapshot, pid))
            .collect();
        let memory = instance.memory.as_ref();
        let by_node = memory.map(|it| &it.bytes_by_node);
        let cpus: Option<Vec<f64>> = processes.iter().map(|it| moment.cpus_of(it)).collect();
        let mut allowed = CpuSet::default();
        for process in &processes {
            let cpus = process.cpus_allowed.iter().flatten();
            allowed.extend(cpus);
        }
        Subject {
            identity: Identity::Instance(instance.name.clone()),
            name: &instance.name,
            role: &instance.name,
            branch: String::new(),
            growth: moment.growths.instances.get(index).copied().flatten(),
            cpus: cpus
                .filter(|it| !it.is_empty())
                .map(|cpus| cpus.iter().sum()),
            processes,
            bytes: by_node.map(total),
            bytes_by_node: by_node,
            local_share: by_node.and_then(|bytes| local_share(snapshot, bytes, &allowed)),
            is_partial: memory.is_some_and(|it| !it.complete),
            looked_at: memory.map(|it| (snapshot.uptime_s - it.looked_at_s, it.source)),
        }
    }

    /// Whether the row is shown under a filter in lower case: text of the name, the command, the
    /// user or the cgroup, or an id.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(filter);
        has(self.name)
            || self.processes.iter().any(|it| {
                let words = [&it.command, &it.user, &it.control_group];
                it.pid.to_string() == filter || words.into_iter().flatten().any(|it| has(it))
            })
    }

    /// Returns the nodes of its memory with their shares, the largest first, such as `0:75 %
    /// 1:25 %`; marked with `~` where they are those of what was seen.
    pub(crate) fn nodes(&self) -> String {
        let shares = self.bytes_by_node.map(shares);
        shares.map_or(figures::UNKNOWN.to_owned(), |it| self.of_what_was_seen(it))
    }

    /// Returns the share of memory on the nodes of its CPUs, marked like [`Self::nodes`].
    pub(crate) fn local(&self) -> String {
        let share = figures::share(self.local_share);
        match self.local_share {
            None => share,
            Some(_) => self.of_what_was_seen(share),
        }
    }

    fn of_what_was_seen(&self, figure: String) -> String {
        match self.is_partial {
            true => format!("~{figure}"),
            false => figure,
        }
    }

    /// Returns the age of the figures by node if they are older than the snapshot.
    pub(crate) fn age(&self) -> String {
        match self.looked_at {
            None => String::new(),
            Some((age_s, _)) if age_s < AGE_MIN_S => "now".to_owned(),
            Some((age_s, _)) => figures::span(age_s),
        }
    }
}

/// What is younger than this belongs to the snapshot: taking it lasts that long.
const AGE_MIN_S: f64 = 0.5;

/// Sorts rows; equals stay in the order of their identity, so that rows do not jump.
pub(crate) fn sort(subjects: &mut [Subject], by: Sort) {
    let most_first = |left: Option<f64>, right: Option<f64>| {
        // Unknown comes last.
        let value = |it: Option<f64>| it.unwrap_or(f64::NEG_INFINITY);
        value(right).total_cmp(&value(left))
    };
    subjects.sort_by(|left, right| {
        let order = match by {
            Sort::Cpus => most_first(left.cpus, right.cpus),
            Sort::Memory => right.bytes.cmp(&left.bytes),
            Sort::LocalShare => most_first(
                left.local_share.map(|it| -it),
                right.local_share.map(|it| -it),
            ),
            Sort::Growth => most_first(left.growth, right.growth),
            Sort::Name => left.role.cmp(right.role),
            Sort::Id => std::cmp::Ordering::Equal,
        };
        order.then_with(|| left.identity.cmp(&right.identity))
    });
}

/// Returns the node of a CPU.
pub(crate) fn node_of(snapshot: &Snapshot, cpu: model::CpuId) -> Option<NodeId> {
    let mut nodes = snapshot.nodes.iter();
    nodes
        .find(|node| node.cpus.contains(cpu))
        .map(|node| node.id)
}

fn find(snapshot: &Snapshot, pid: u32) -> Option<&ProcessSnapshot> {
    let found = snapshot.processes.binary_search_by_key(&pid, |it| it.pid);
    found.ok().map(|index| &snapshot.processes[index])
}

/// Returns the nodes of some memory with their shares, the largest first.
pub(crate) fn shares(bytes: &BytesByNode) -> String {
    let all = total(bytes);
    let mut nodes: Vec<(&NodeId, u64)> = bytes.iter().map(|(id, &it)| (id, it)).collect();
    nodes.retain(|(_, bytes)| *bytes > 0);
    nodes.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    let nodes = nodes.iter().map(|(id, bytes)| {
        let share = figures::share(Some(*bytes as f64 / all as f64));
        format!("{id}:{}", share.replace(' ', ""))
    });
    nodes.collect::<Vec<_>>().join(" ")
}

pub(crate) fn total(bytes: &BytesByNode) -> u64 {
    bytes.values().fold(0, |sum, it| sum.saturating_add(*it))
}

/// Returns the local share of memory, 0 to 1, expected over the CPUs that may be used, as `numalab
/// inspect` does: a thread that may run everywhere has little memory near it.
fn local_share(snapshot: &Snapshot, bytes: &BytesByNode, cpus: &CpuSet) -> Option<f64> {
    let all = total(bytes);
    if all == 0 {
        return None;
    }
    let on_nodes: Vec<(usize, u64)> = snapshot
        .nodes
        .iter()
        .map(|node| {
            let near = node.cpus.intersection(cpus).len();
            (near, bytes.get(&node.id).copied().unwrap_or(0))
        })
        .collect();
    let usable: usize = on_nodes.iter().map(|(cpus, _)| cpus).sum();
    let near: f64 = on_nodes
        .iter()
        .map(|&(cpus, bytes)| cpus as f64 * bytes as f64)
        .sum();
    (usable > 0).then(|| near / usable as f64 / all as f64)
}
