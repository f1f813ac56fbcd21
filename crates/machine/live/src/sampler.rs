//! Takes snapshots: what the files of the kernel say at this moment, within a budget.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use linux::process_activity::{Activity, ActivityReader};
use linux::{Root, clock, proc_cpu_times, proc_stat, proc_uptime, process};
use model::{
    InstanceSnapshot, MemorySnapshot, MemorySource, OpenedSubject, ProcessSnapshot, Snapshot,
};
use residency::instances::{Target, find};

use crate::control_groups::{self, ControlGroups};
use crate::held::{Held, statuses};
use crate::instances::{Found, databases, members};
use crate::looks::{Looks, together};
use crate::machine_files::{counters, pressure};
use crate::node_files::NodeFiles;
use crate::users::Users;
use crate::{Attention, Error, opened};

mod looking;

/// Databases are looked for so often.
const SECONDS_PER_SEARCH: f64 = 15.0;

/// Ids of kernel threads are looked at again so often, in case a process took one.
const SNAPSHOTS_PER_KERNEL_THREADS: u64 = 60;

/// What is sampled.
#[derive(Clone, Debug)]
pub enum Scope {
    /// All processes.
    Machine,
    /// The processes of a target.
    Target(Target),
}

/// Takes snapshots of one machine.
#[derive(Debug)]
pub struct Sampler {
    root: Root,
    scope: Scope,
    nodes: NodeFiles,
    activity: ActivityReader,
    held: BTreeMap<u32, Held>,
    kernel_threads: BTreeSet<u32>,
    instances: Vec<Found>,
    control_groups: ControlGroups,
    looks: Looks,
    attention: Attention,
    /// `None` where commands and users are not read.
    users: Option<Users>,
    snapshots: u64,
    last_search_s: Option<f64>,
    last_uptime_s: Option<f64>,
    /// The start of the process that is the target: a later process may get its id.
    target_start_ticks: Option<u64>,
    has_ended: bool,
}

impl Sampler {
    /// A sampler below `root`.
    ///
    /// # Errors
    /// When the machine's files are malformed, or the target has no processes.
    pub fn new(root: Root, scope: Scope) -> Result<Self, Error> {
        let mut target_start_ticks = None;
        if let Scope::Target(target) = &scope {
            let found = find(&root, target)?;
            if let Target::Process(pid) = target {
                let mut it = found.iter().filter(|member| member.stat.pid == *pid);
                target_start_ticks = it.next().map(|member| member.stat.start_ticks);
            }
        }
        Ok(Self {
            nodes: NodeFiles::new(&root)?,
            activity: ActivityReader::new(&root),
            root,
            scope,
            held: BTreeMap::new(),
            kernel_threads: BTreeSet::new(),
            instances: Vec::new(),
            control_groups: ControlGroups::default(),
            looks: Looks::default(),
            attention: Attention::default(),
            users: None,
            snapshots: 0,
            last_search_s: None,
            last_uptime_s: None,
            target_start_ticks,
            has_ended: false,
        })
    }

    /// From now on, snapshots have users, commands and cgroups of processes, too: for a reader on
    /// this machine, since a command line may hold secrets.
    pub fn read_commands(&mut self) {
        self.users = Some(Users::read(&self.root));
    }

    /// What a reader looks at from now on. Whether something else is open than before.
    pub fn attend(&mut self, attention: &Attention) -> bool {
        let is_new = attention.opened != self.attention.opened;
        self.attention.clone_from(attention);
        is_new
    }

    /// Whether the process that is the target has ended. Other targets may start again.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes a snapshot. A target that has ended has no processes; a gap says so.
    ///
    /// # Errors
    /// When a file of the machine is malformed.
    pub fn take(&mut self) -> Result<Snapshot, Error> {
        let before_ns = clock::process_cpu_ns();
        let mut gaps = Vec::new();
        let uptime_s = self.uptime(&mut gaps)?;
        let times = proc_cpu_times::read(&self.root)?.unwrap_or_default();
        let nodes = self.nodes.take(&self.root, &times.busy_s, &mut gaps)?;
        let running = self.running()?;
        let since_search = self.last_search_s.map(|last| uptime_s - last);
        if since_search.is_none_or(|it| !(0.0..SECONDS_PER_SEARCH).contains(&it)) {
            self.search(&running, &mut gaps);
            self.last_search_s = Some(uptime_s);
        }
        if let (Scope::Target(Target::Process(pid)), Some(start)) =
            (&self.scope, self.target_start_ticks)
        {
            let runs = running.get(pid).is_some_and(|it| it.start_ticks == start);
            self.has_ended |= !runs;
        }
        if self.has_ended {
            self.instances.clear();
        }
        let instances = self.instances.iter();
        let instances: Vec<(String, Vec<u32>)> = instances
            .map(|found| (found.name.clone(), members(&found.roots, &running)))
            .filter(|(_, pids)| !pids.is_empty())
            .collect();
        let shown: BTreeSet<u32> = match &self.scope {
            Scope::Machine => running.keys().copied().collect(),
            Scope::Target(_) => instances
                .iter()
                .flat_map(|(_, pids)| pids)
                .copied()
                .collect(),
        };
        if let (Scope::Target(target), true) = (&self.scope, shown.is_empty()) {
            gaps.push(format!("no process of {target} is running"));
        }
        let of_databases = instances.iter().flat_map(|(_, pids)| pids).copied();
        let of_databases: BTreeSet<u32> = of_databases.collect();
        let snapshots = self.snapshots;
        let has_commands = self.users.is_some();
        let first = (&self.attention.visible, &of_databases);
        let held = &mut self.held;
        statuses(&self.root, held, &shown, first, (snapshots, has_commands));
        self.look(uptime_s, &running, (&shown, &of_databases), &mut gaps);
        let processes = shown
            .iter()
            .filter_map(|pid| Some(self.process(*pid, running.get(pid)?, uptime_s)));
        let processes = processes.collect();
        self.control_groups.read(&self.root, uptime_s);
        let opened = self.opened(&instances);
        let instances = self.instance_snapshots(instances);
        self.snapshots += 1;
        self.last_uptime_s = Some(uptime_s);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Snapshot {
            taken_at_s: now.as_secs_f64(),
            uptime_s,
            nodes,
            pressure: pressure(&self.root, &mut gaps)?,
            counters: counters(&self.root, times.steal_s)?,
            processes,
            instances,
            opened,
            gaps,
            cost_s: clock::process_cpu_ns().saturating_sub(before_ns) as f64 * 1e-9,
        })
    }

    fn uptime(&self, gaps: &mut Vec<String>) -> Result<f64, Error> {
        if let Some(uptime_s) = proc_uptime::read(&self.root)? {
            return Ok(uptime_s);
        }
        gaps.push("time since boot unknown (no /proc/uptime): rates use another clock".to_owned());
        Ok(clock::monotonic_ns() as f64 * 1e-9)
    }

    /// All processes that are neither threads of the kernel nor zombies.
    fn running(&mut self) -> Result<BTreeMap<u32, Activity>, Error> {
        if self.snapshots.is_multiple_of(SNAPSHOTS_PER_KERNEL_THREADS) {
            self.kernel_threads.clear();
        }
        let mut running = BTreeMap::new();
        for pid in proc_stat::pids(&self.root)? {
            if self.kernel_threads.contains(&pid) {
                continue;
            }
            // A file that is cut off is that of a process that ends, or of a capture.
            let Ok(Some(activity)) = self.activity.read(pid) else {
                continue;
            };
            if activity.is_kernel_thread {
                self.kernel_threads.insert(pid);
            } else if !activity.has_ended {
                running.insert(pid, activity);
            }
        }
        self.activity.keep_only(|pid| running.contains_key(&pid));
        self.held.retain(|pid, held| {
            running
                .get(pid)
                .is_some_and(|it| it.start_ticks == held.start_ticks)
        });
        for (pid, activity) in &running {
            let start_ticks = activity.start_ticks;
            let held = || Held {
                start_ticks,
                ..Held::default()
            };
            self.held.entry(*pid).or_insert_with(held);
        }
        Ok(running)
    }

    /// Looks for the databases, or for the processes of the target, and for new users.
    fn search(&mut self, running: &BTreeMap<u32, Activity>, gaps: &mut Vec<String>) {
        if self.users.is_some() {
            self.read_commands();
        }
        self.instances = match &self.scope {
            Scope::Machine => databases(&self.root, running),
            Scope::Target(target) => match find(&self.root, target) {
                Ok(found) => vec![Found {
                    name: target.to_string(),
                    roots: found.into_iter().map(|member| member.stat.pid).collect(),
                }],
                Err(error) if error.is_permission() => {
                    gaps.push(error.to_string());
                    return;
                }
                Err(_) => Vec::new(),
            },
        };
        let paths = self.instances.iter().filter_map(|found| {
            let path = control_groups::own(&self.root, &members(&found.roots, running))?;
            Some((found.name.clone(), path))
        });
        self.control_groups.set(paths.collect());
    }

    fn resident(&self, pid: u32, activity: &Activity) -> Option<u64> {
        let pages = activity.resident_pages?;
        let huge = self.held.get(&pid)?.huge_bytes?;
        pages.checked_mul(process::page_bytes())?.checked_add(huge)
    }

    /// Threads and segments of what is open.
    fn opened(&mut self, instances: &[(String, Vec<u32>)]) -> Option<model::OpenedSnapshot> {
        let subject = self.attention.opened.clone()?;
        let pids: &[u32] = match &subject {
            OpenedSubject::Process(pid) => &[*pid],
            OpenedSubject::Instance(name) => instances
                .iter()
                .find(|it| it.0 == *name)
                .map_or(&[], |it| &it.1),
        };
        let held = pids.iter().filter_map(|pid| self.held.get(pid));
        let looked = held.filter_map(|held| Some(&held.looked.as_ref()?.1));
        let reader = &mut self.activity;
        Some(opened::snapshot(&self.root, reader, &subject, looked))
    }

    fn process(&self, pid: u32, activity: &Activity, uptime_s: f64) -> ProcessSnapshot {
        let held = self.held.get(&pid);
        let looked = held.and_then(|held| held.looked.as_ref());
        let looked = looked.map(|(looked_at_s, looked)| MemorySnapshot {
            bytes_by_node: looked.all(),
            source: MemorySource::NumaMaps,
            processes: 1,
            complete: true,
            looked_at_s: *looked_at_s,
        });
        let resident_bytes = self.resident(pid, activity);
        let user = self.users.as_ref().zip(held.and_then(|held| held.user));
        ProcessSnapshot {
            pid,
            start_ticks: activity.start_ticks,
            name: activity.name.clone(),
            parent: Some(activity.parent).filter(|parent| *parent > 0),
            user: user.map(|(users, id)| users.name(id)),
            command: held.and_then(|held| held.command.clone()),
            control_group: held.and_then(|held| held.control_group.clone()),
            threads: activity.threads,
            cpu_s: activity.cpu_s,
            last_cpu: activity.last_cpu,
            cpus_allowed: held.and_then(|held| held.cpus_allowed.clone()),
            memory_nodes_allowed: held.and_then(|held| held.memory_nodes_allowed.clone()),
            memory: self.on_only_node(resident_bytes, uptime_s).or(looked),
            resident_bytes,
        }
    }

    /// On a machine with one node, resident memory is there, and nobody has to look.
    fn on_only_node(&self, resident_bytes: Option<u64>, uptime_s: f64) -> Option<MemorySnapshot> {
        Some(MemorySnapshot {
            bytes_by_node: [(self.nodes.only()?, resident_bytes?)].into(),
            source: MemorySource::OnlyNode,
            processes: 1,
            complete: true,
            looked_at_s: uptime_s,
        })
    }

    fn instance_snapshots(&self, instances: Vec<(String, Vec<u32>)>) -> Vec<InstanceSnapshot> {
        let snapshots = instances.into_iter().map(|(name, pids)| {
            let charged = self.control_groups.memory(&name, pids.len());
            let memory = charged.or_else(|| self.memory_of(&pids));
            InstanceSnapshot { name, pids, memory }
        });
        snapshots.collect()
    }

    /// The memory of those processes of an instance that have been looked at.
    fn memory_of(&self, pids: &[u32]) -> Option<MemorySnapshot> {
        let held = pids
            .iter()
            .filter_map(|pid| self.held.get(pid)?.looked.as_ref());
        let oldest = held.clone().map(|(at, _)| *at).min_by(f64::total_cmp)?;
        Some(MemorySnapshot {
            bytes_by_node: together(held.clone().map(|(_, looked)| looked)),
            source: MemorySource::NumaMaps,
            processes: u32::try_from(held.count()).unwrap_or(u32::MAX),
            complete: false,
            looked_at_s: oldest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::{Machine, unusual_machines};

    fn sampler(machine: &Machine) -> (testing::tree::Unpacked, Sampler) {
        let directory = machine.tree().expand().unwrap();
        let root = Root::at(directory.path()).unwrap();
        let sampler = Sampler::new(root, Scope::Machine).unwrap();
        (directory, sampler)
    }

    #[test]
    fn every_unusual_machine_gives_a_snapshot() {
        for (name, machine) in unusual_machines::all() {
            let (_directory, mut sampler) = sampler(&machine);
            let snapshot = sampler.take().unwrap();
            assert!(!snapshot.nodes.is_empty(), "{name}");
            let gaps = &snapshot.gaps;
            assert!(
                gaps.iter().any(|gap| gap.starts_with("pressure unknown")),
                "{name}"
            );
        }
    }

    #[test]
    fn processes_of_a_target_are_in_a_snapshot_of_this_machine() {
        let own = std::process::id();
        let target = Target::Process(std::os::unix::process::parent_id());
        let mut sampler = Sampler::new(Root::live(), Scope::Target(target)).unwrap();
        let snapshot = sampler.take().unwrap();
        let process = snapshot.processes.iter().find(|it| it.pid != own).unwrap();
        assert!(process.threads > 0 && process.resident_bytes != Some(0));
        assert_eq!(snapshot.instances.len(), 1);
    }

    #[test]
    fn a_target_that_does_not_run_is_refused() {
        let target = Target::Name("numalab-no-such-process".to_owned());
        let error = Sampler::new(Root::live(), Scope::Target(target)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("no process of numalab-no-such-process")
        );
    }
}
