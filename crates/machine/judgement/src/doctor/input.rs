//! What the doctor examines: the machine and, where a target was named, its memory.

use std::collections::{BTreeMap, BTreeSet};

use linux::memory_modules::{self, MemorySlot};
use linux::node_numastat::{self, Numastat};
use linux::proc_sched::{self, Balanced};
use linux::proc_zoneinfo::{self, Zone};
use linux::{Root, cpuset_cpus, proc_stat, proc_status, sysfs_nodes};
use model::{
    CpuSet, Fact, GivenCpus, MemoryMoment, Node, NodeId, NodeMatrix, NodeSet, PoolMoment,
    Residency, SegmentResidency, ServerSettings, ShellLine, Topology, shell_line,
};

use super::devices::UsedDevice;
use super::memory::shared;
use super::{cpus_used, devices, placed_by};
use placement::evidence::policy_of_process;
use relocation::MoveRate;

/// The settings that a server reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresSettings {
    /// `huge_pages`: `on`, `off` or `try`.
    pub huge_pages: String,
    /// `shared_memory_size_in_huge_pages` (15 and later): how many huge pages it needs.
    pub huge_pages_needed: Option<u64>,
    /// Their size: `huge_page_size`, or the kernel's default, if it has any.
    pub huge_page_bytes: Option<u64>,
}

/// What the kernel says of the memory of a server that was asked for its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMemory {
    /// `HugetlbPages` of its status.
    pub huge_bytes: Option<u64>,
    /// The memory policy of its process, in the kernel's words.
    pub policy: Option<String>,
}

/// What the doctor examines.
#[derive(Clone, Debug, Default)]
pub struct DoctorInput {
    /// The machine.
    pub topology: Topology,
    /// The memory of the target.
    pub residency: Option<Residency>,
    /// The servers of the target, or of the machine, if there are several: the memory of each.
    pub instances: Vec<Residency>,
    /// Devices that the target uses: the disks of the directories in which its processes work, and
    /// network devices that are up.
    pub devices: BTreeMap<String, UsedDevice>,
    /// Allocation counters since boot, by node.
    pub allocations: BTreeMap<NodeId, Numastat>,
    /// The control group whose cpuset binds each process, as a directory.
    pub cpusets: BTreeMap<u32, String>,
    /// The CPUs that its cpuset allows to each process, where they are known.
    pub cpuset_cpus: BTreeMap<u32, CpuSet>,
    /// CPUs that the target used, on average since its first process started or in a moment of now,
    /// whichever is more; `None` where that is unknown.
    pub cpus_used: Option<f64>,
    /// The memory policies of the postmaster of a PostgreSQL server and of the process with most
    /// private memory, in the kernel's words.
    pub policies: BTreeMap<u32, String>,
    /// The systemd services of the processes.
    pub units: BTreeMap<u32, String>,
    /// What placed the processes: lines of their units' files, and commands of their ancestors.
    pub placed_by: Vec<Fact>,
    /// Room for small pages on each node: free memory, and file cache, which the kernel gives up.
    pub room: BTreeMap<NodeId, u64>,
    /// File cache on each node, which the kernel gives up on demand.
    pub file_cache: BTreeMap<NodeId, u64>,
    /// The zones of the nodes; none where the kernel does not show them.
    pub zones: Vec<Zone>,
    /// Slots for memory modules by firmware's table; `None` where it may not be read, and in a
    /// virtual machine, whose slots are made up.
    pub memory_slots: Option<Vec<MemorySlot>>,
    /// Whether this is another machine, of which a capture tells.
    pub is_captured: bool,
    /// Whether the caller is root.
    pub is_root: bool,
    /// The settings that this server reports; `None` when it was not asked.
    pub postgres: Option<PostgresSettings>,
    /// The settings that a server of another kind reports; `None` when it was not asked.
    pub server: Option<ServerSettings>,
    /// The memory of that server in huge pages of a pool, and its memory policy.
    pub server_memory: ServerMemory,
    /// How fast this machine moves pages; `None` where nothing needs moving, or it is not known.
    pub move_rate: Option<MoveRate>,
    /// What the kernel's balancing did for the threads of the target; `None` where it does not say.
    pub balanced: Option<Balanced>,
    /// Free memory at moments that a text tells of, in their order.
    pub moments: Vec<MemoryMoment>,
    /// Pools of huge pages at such moments.
    pub pool_moments: Vec<PoolMoment>,
    /// CPUs given to a process or a group, as a text tells.
    pub given_cpus: Vec<GivenCpus>,
    /// Latencies in ns that were measured on this machine.
    pub latencies: NodeMatrix,
    /// What measured them: a stored run, or what a text shows.
    pub latencies_by: String,
    /// Bandwidths of the nodes' memory that were measured on this machine, as weights.
    pub bandwidth_weights: Vec<(NodeId, u64)>,
    /// The stored run that measured them.
    pub bandwidths_by: String,
}

impl DoctorInput {
    /// Reads what the rules need besides the machine and the memory of the target.
    ///
    /// # Errors
    /// When a file is malformed.
    pub fn read(
        root: &Root,
        topology: Topology,
        residency: Option<Residency>,
    ) -> Result<Self, linux::Error> {
        let mut input = DoctorInput {
            is_captured: !root.is_live(),
            is_root: linux::process::is_root(),
            ..DoctorInput::default()
        };
        for node in &topology.nodes {
            if let Some(found) = node_numastat::read(root, node.id)? {
                input.allocations.insert(node.id, found);
            }
            let cache = sysfs_nodes::meminfo(root, node.id)?.and_then(|it| it.file_cache_bytes);
            input.file_cache.extend(cache.map(|bytes| (node.id, bytes)));
            if let Some(room) = relocation::small_room(root, node.id)? {
                input.room.insert(node.id, room);
            }
        }
        input.zones = proc_zoneinfo::read(root)?;
        if topology.hypervisor.is_none() {
            input.memory_slots = memory_modules::read(root)?.filter(|slots| !slots.is_empty());
        }
        let largest = residency.as_ref().and_then(largest);
        let processes = residency.iter().flat_map(|residency| &residency.processes);
        let of_processes = processes.filter_map(|it| proc_sched::balanced(root, it.pid));
        input.balanced = of_processes.reduce(Balanced::and);
        for process in residency.iter().flat_map(|residency| &residency.processes) {
            // A process that has ended by now needs no advice.
            if let Ok(Some(directory)) = proc_stat::cpuset_directory(root, process.pid) {
                let cpus = cpuset_cpus::read(root, &directory).ok().flatten();
                input
                    .cpuset_cpus
                    .extend(cpus.map(|cpus| (process.pid, cpus)));
                let directory = format!("/{directory}");
                input.cpusets.insert(process.pid, directory);
            }
            input.read_unit(root, process.pid);
            if (process.class == "postmaster" || Some(process.pid) == largest)
                && let Ok(policy) = policy_of_process(root, process.pid)
            {
                input.policies.insert(process.pid, policy);
            }
        }
        let units: BTreeSet<&String> = input.units.values().collect();
        let of_units = units.into_iter();
        let of_units = of_units.flat_map(|unit| placed_by::of_unit(root, unit));
        let ancestors = largest
            .iter()
            .flat_map(|pid| placed_by::of_ancestors(root, *pid));
        input.devices = devices::of_target(root, &topology, residency.as_ref());
        input.placed_by = of_units.chain(ancestors).collect();
        let since_start = |it: &Residency| cpus_used::since_start(root, it);
        input.cpus_used = residency.as_ref().and_then(since_start);
        input.topology = topology;
        input.residency = residency;
        Ok(input)
    }

    /// Reads the unit of a process, if it has one.
    fn read_unit(&mut self, root: &Root, pid: u32) {
        if let Ok(groups) = proc_stat::control_groups(root, pid)
            && let Some(unit) = groups.iter().find_map(|group| service(group))
        {
            self.units.insert(pid, unit.to_owned());
        }
    }

    /// Looks for a second at how many CPUs the target uses now.
    pub(crate) fn watch_cpus(&mut self, root: &Root) {
        let now = self
            .residency
            .as_ref()
            .map(|it| cpus_used::in_a_moment(root, it));
        self.cpus_used = self.cpus_used.into_iter().chain(now).reduce(f64::max);
    }

    /// Takes the memory of several servers, and reads their units.
    pub fn take_instances(&mut self, root: &Root, instances: Vec<Residency>) {
        let processes = instances.iter().flat_map(|it| &it.processes);
        processes.for_each(|process| self.read_unit(root, process.pid));
        self.instances = instances;
    }

    /// Takes what a server says of its settings, and reads what the kernel says of its memory.
    pub fn take_settings(&mut self, root: &Root, settings: ServerSettings) {
        // A process that has ended by now needs no advice.
        let status = proc_status::read(root, settings.pid).ok();
        self.server_memory = ServerMemory {
            huge_bytes: status.and_then(|it| it.huge_bytes),
            policy: policy_of_process(root, settings.pid).ok(),
        };
        self.server = Some(settings);
    }

    /// The nodes on which memory of a database belongs: those with memory and CPUs. CXL memory and
    /// the memory of GPUs have no CPUs (nodes 250 to 255 of POWER servers, those behind the first
    /// of each socket of Grace Hopper). Where no node has both, those with memory.
    pub(crate) fn database_nodes(&self) -> NodeSet {
        let with_memory = self.topology.memory_nodes();
        let with_both = with_memory.intersection(&self.topology.cpu_nodes());
        match with_both.is_empty() {
            true => with_memory,
            false => with_both,
        }
    }

    /// The database nodes that the cpusets of all processes of the target allow.
    pub(crate) fn allowed_database_nodes(&self) -> NodeSet {
        let known = self.memory_nodes_allowed().map(|(_, allowed)| allowed);
        known.fold(self.database_nodes(), |nodes, allowed| {
            nodes.intersection(allowed)
        })
    }

    /// The processes of which it is known on which nodes they may have memory, with these nodes.
    pub(crate) fn memory_nodes_allowed(&self) -> impl Iterator<Item = (u32, &NodeSet)> {
        let processes = self.residency.iter().flat_map(|it| &it.processes);
        let allowed = processes.map(|process| (process.pid, &process.memory_nodes_allowed));
        allowed.filter(|(_, allowed)| !allowed.is_empty())
    }

    /// Returns the commands that give a process other memory nodes: those of systemd where it
    /// manages the group, because it would overwrite any other value.
    pub(crate) fn allow_memory(&self, pid: u32, nodes: &NodeSet) -> Vec<ShellLine> {
        let Some(directory) = self.cpusets.get(&pid) else {
            return vec![
                ShellLine::remark(format!(
                    "/proc/{pid}/cgroup shows its control group, relative to the cgroup mount;"
                )),
                ShellLine::of(
                    "# that group, or its nearest ancestor with a cpuset.mems, binds the process:",
                ),
                shell_line!(
                    "find /sys/fs/cgroup -name cgroup.procs -exec grep -lx {} {{}} +",
                    pid
                ),
                ShellLine::remark(format!(
                    "then write {nodes} to cpuset.mems in the directory of the file found"
                )),
            ];
        };
        let group = directory.rsplit('/').next().unwrap_or(directory);
        let is_unit = [".service", ".slice", ".scope"]
            .iter()
            .any(|end| group.ends_with(end));
        if is_unit {
            return vec![shell_line!(
                "systemctl set-property -- {} AllowedMemoryNodes={}",
                group,
                nodes
            )];
        }
        let file = format!("{directory}/cpuset.mems");
        vec![shell_line!("echo {} >{}", nodes, file)]
    }

    /// Free bytes of a node that ordinary programs get before the kernel reclaims any; `None` where
    /// that is unknown.
    pub(crate) fn usable_bytes(&self, node: &Node) -> Option<u64> {
        let free = node.free_bytes?;
        let zones = self.zones.iter().filter(|zone| zone.node == node.id);
        let usable = zones.map(Zone::usable).reduce(u64::saturating_add);
        let bytes = |pages: u64| pages.saturating_mul(self.topology.base_page_bytes());
        Some(usable.map_or(free, |pages| free.min(bytes(pages))))
    }

    /// Bytes of the free huge pages of this size on a node; `None` where that is unknown.
    pub(crate) fn free_huge_bytes(&self, node: NodeId, page_bytes: u64) -> Option<u64> {
        let mut pools = self.topology.node(node)?.huge_pages.iter();
        let pool = pools.find(|pool| pool.page_bytes == page_bytes)?;
        Some(pool.free?.saturating_mul(page_bytes))
    }

    /// Segments of shared memory that are large enough for a finding.
    pub(crate) fn shared(&self) -> impl Iterator<Item = &SegmentResidency> {
        self.residency.iter().flat_map(shared)
    }
}

/// The process with most private memory.
fn largest(residency: &Residency) -> Option<u32> {
    let processes = residency.processes.iter();
    let private = |it: &model::ProcessResidency| it.private_bytes_by_node.values().sum::<u64>();
    let (_, pid) = processes.map(|it| (private(it), it.pid)).max()?;
    Some(pid)
}

/// The service of the system's systemd that has a control group:
/// `/system.slice/postgresql@15-main.service`, or one of the groups below that. Those in
/// `user.slice` are of the systemd of a user.
fn service(group: &str) -> Option<&str> {
    let mut parts = group.split('/').filter(|part| !part.is_empty());
    let is_of_user = parts.clone().any(|part| part == "user.slice");
    let service = parts.rfind(|part| part.ends_with(".service"));
    service.filter(|_| !is_of_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_the_system_have_a_unit_and_those_of_users_have_none() {
        let pg = "postgresql@15-main.service";
        assert_eq!(
            service(&format!("/system.slice/system-postgresql.slice/{pg}")),
            Some(pg)
        );
        assert_eq!(service(&format!("/system.slice/{pg}/payload")), Some(pg));
        assert_eq!(
            service("/user.slice/user-0.slice/user@0.service/app.slice/a.service"),
            None
        );
        assert_eq!(service("/system.slice/docker-4f5.scope"), None);
        assert_eq!(service("/"), None);
    }

    #[test]
    fn other_memory_nodes_are_given_in_the_way_of_whoever_manages_the_group() {
        let nodes: NodeSet = "0-1".parse().unwrap();
        let commands = |directory: &str| {
            let cpusets = [(7, directory.to_owned())].into();
            let input = DoctorInput {
                cpusets,
                ..DoctorInput::default()
            };
            input.allow_memory(7, &nodes).join("\n")
        };
        assert_eq!(
            commands("/sys/fs/cgroup/cpuset/db"),
            "echo 0-1 >/sys/fs/cgroup/cpuset/db/cpuset.mems"
        );
        assert_eq!(
            commands("/sys/fs/cgroup/system.slice/postgresql@15-main.service"),
            "systemctl set-property -- postgresql@15-main.service AllowedMemoryNodes=0-1"
        );
        // The owner of a delegated cgroup names the cgroups below it.
        assert_eq!(
            commands("/sys/fs/cgroup/user.slice/a;reboot;.scope"),
            "systemctl set-property -- 'a;reboot;.scope' AllowedMemoryNodes=0-1"
        );
        assert_eq!(
            commands("/sys/fs/cgroup/user.slice/$(reboot)"),
            "echo 0-1 >'/sys/fs/cgroup/user.slice/$(reboot)/cpuset.mems'"
        );
        let unknown = DoctorInput::default().allow_memory(7, &nodes).join("\n");
        assert!(unknown.contains("grep -lx 7"), "{unknown}");
    }
}
