//! The work of a case under its placement: one variant for each kind of work an engine can do.
//!
//! Results are not here: see `evidence`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    Allocation, CommandWork, CpuId, CpuSet, EmulatedCost, LoadPlan, PageKind, Placement,
    ServerKind, SessionLoad, SgaPlan, StreamKernel,
};

/// One case as requested: everything a workload needs to execute a trial of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CasePlan {
    /// The case's name within its experiment.
    pub name: String,
    /// A one-line description for people.
    pub about: String,
    /// Where processes may run and their memory may lie.
    pub placement: Placement,
    /// The work to do there.
    pub work: Work,
}

impl CasePlan {
    /// Whether two cases request the same, whatever their names. The second is then a negative
    /// control of the first: the two must tie.
    pub fn is_same_as(&self, other: &CasePlan) -> bool {
        self.placement == other.placement && self.work == other.work
    }

    /// The shared memory and the processes of an instance, if one does the work.
    pub fn instance(&self) -> Option<&LogicalReads> {
        match &self.work {
            Work::LogicalReads(work) => Some(work),
            Work::ParallelScan(work) => Some(&work.instance),
            Work::OwnMemory(work) => Some(&work.instance),
            _ => None,
        }
    }

    /// What its reads cost by a table, if they do.
    pub fn emulated_cost(&self) -> Option<&EmulatedCost> {
        self.instance()?.load.emulated_cost.as_ref()
    }

    /// CPUs that it keeps busy at once, as far as known: the number of sessions that run at once,
    /// limited by the quota and by the CPUs it may use. 1 where it has no sessions.
    pub fn busy_cpus(&self) -> usize {
        let Some(work) = self.instance().or_else(|| self.logical_reads()) else {
            return 1;
        };
        let running = work.load.cpu_count.unwrap_or(work.load.sessions) as usize;
        let of_quota = work.load.cpu_quota.map_or(usize::MAX, |cpus| cpus as usize);
        let usable = self.placement.cpus.as_ref();
        let usable = usable.map_or(usize::MAX, CpuSet::len);
        running.min(of_quota).min(usable)
    }

    /// The buffer cache and the sessions that read through it, if this is the work.
    pub fn logical_reads(&self) -> Option<&LogicalReads> {
        match &self.work {
            Work::LogicalReads(work) => Some(work),
            Work::Server(_, work) => Some(&work.reads),
            _ => None,
        }
    }
}

/// The work done under a placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Work {
    /// Sessions of the embedded instance read rows through its buffer cache.
    LogicalReads(LogicalReads),
    /// Workers of the embedded instance repeatedly sum up a whole column.
    ParallelScan(ParallelScan),
    /// Sessions of the embedded instance work in their own memory.
    OwnMemory(OwnMemoryWork),
    /// Sessions of a database server read rows through its cache; `work_document` writes it.
    #[serde(skip)]
    Server(ServerKind, ServerReads),
    /// An external program.
    Command(CommandWork),
    /// One CPU follows a chain of pointers through memory.
    MemoryLatency(MemoryLatency),
    /// The same with increasing working sets.
    DepthCurve(DepthCurve),
    /// A cache line moves back and forth between CPUs.
    LineTransfers(LineTransfers),
    /// Threads move bytes.
    Stream(StreamWork),
    /// One CPU follows a chain of pointers while others move bytes.
    LoadedLatency(LoadedLatency),
    /// No work of numalab: another program did it and reported it.
    Imported(ImportedWork),
}

/// Work known only from reports. Where it was done is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedWork {
    /// The files, as named by the user.
    pub files: Vec<String>,
    /// The unit of the figures, for people; `None` where the metric has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether trials with the same round ran side by side, as the user says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_rounds: bool,
}

/// The embedded instance and its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogicalReads {
    /// The shared memory.
    pub sga: SgaPlan,
    /// The load.
    pub load: LoadPlan,
}

/// A parallel scan of a column by the embedded instance. Its sessions are the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParallelScan {
    /// The shared memory, and the workers as its load.
    #[serde(flatten)]
    pub instance: LogicalReads,
    /// Whether workers take the work of other workers.
    pub stealing: Stealing,
}

/// Whether a worker of a parallel scan reads granules that belong to another worker's node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stealing {
    /// Never.
    Off,
    /// Only once none of its own are left.
    AfterLocal,
    /// Always: granules are taken in storage order.
    Free,
}

/// A database server and its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerReads {
    /// The data that its cache holds, and the load. The allocation is the memory policy of
    /// all its processes; the backing is ignored.
    pub reads: LogicalReads,
    /// CPUs of the session that loads and prewarms; `None`: as placed.
    pub prewarm_cpus: Option<CpuSet>,
    /// Where its memory is moved once it is loaded, as by `numalab move`; `None`: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<Allocation>,
    /// A CPU quota for all its processes, in CPUs; `None`: none.
    pub cpu_quota: Option<u32>,
    /// Settings that the server is started with, beside those that numalab needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A pointer chase: the CPU that measures and the node whose memory it reads are those of the
/// placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLatency {
    /// The CPU that allocates the memory: one of the memory's own node, if it has any.
    pub home_cpu: CpuId,
    /// CPUs kept busy during it, so that their packages do not lower their clock rates.
    ///
    /// The cells of a row share them: on a machine of a thousand nodes, a copy for each of its
    /// million cells would be gigabytes.
    #[serde(serialize_with = "shared_set", deserialize_with = "set_to_share")]
    pub awake_cpus: Arc<CpuSet>,
    /// Kind of pages; `None`: the largest available.
    pub page_kind: Option<PageKind>,
    /// Memory that one lap visits.
    pub working_set_bytes: u64,
    /// Whether pages are visited in groups that fit into the TLB. Otherwise page walks are measured
    /// along with the memory.
    pub by_tlb_groups: bool,
    /// Whether only lines are timed that no cache has held since they were flushed, without a lap
    /// before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_visits: bool,
    /// Windows timed.
    pub windows: u32,
    /// Approximate length of a window.
    pub window_ns: u64,
}

/// Writes a shared set as the set itself.
fn shared_set<S: Serializer>(set: &Arc<CpuSet>, serializer: S) -> Result<S::Ok, S::Error> {
    set.as_ref().serialize(serializer)
}

/// Reads a set that is shared from then on.
fn set_to_share<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Arc<CpuSet>, D::Error> {
    CpuSet::deserialize(deserializer).map(Arc::new)
}

/// A chase through working sets from a few lines to beyond the last cache. CPU and memory node are
/// those of the placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthCurve {
    /// The CPU that allocates the memory.
    pub home_cpu: CpuId,
    /// Kind of pages; `None`: the largest available.
    pub page_kind: Option<PageKind>,
    /// The largest working set.
    pub bytes_max: u64,
    /// The last cache as the kernel reports it: points are dense until beyond its size.
    pub last_cache_bytes: Option<u64>,
}

/// Transfers of a cache line from every CPU of the placement to every other; the line lies on the
/// node of the placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTransfers {
    /// Windows timed for each pair.
    pub windows: u32,
    /// Round trips in a window.
    pub round_trips: u32,
}

/// A chase while threads on other CPUs move bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedLatency {
    /// The chase.
    pub chase: MemoryLatency,
    /// The load; without threads there is none.
    pub load: StreamWork,
    /// Iterations of an empty loop between two blocks of load; the fewer, the more load.
    pub delay: u32,
}

/// Threads that move bytes, each in its own memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamWork {
    /// What they do.
    pub kernel: StreamKernel,
    /// Instructions, such as `avx2`.
    pub simd: String,
    /// The threads.
    pub threads: Vec<StreamThreadPlan>,
    /// Memory of each, all of its arrays together.
    pub bytes_per_thread: u64,
    /// Kind of pages; `None`: the largest available.
    pub page_kind: Option<PageKind>,
    /// Windows timed.
    pub windows: u32,
    /// Length of a window.
    pub window_ns: u64,
}

/// One thread of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamThreadPlan {
    /// Its CPU.
    pub cpu: CpuId,
    /// Where to place its memory.
    pub allocation: Allocation,
}

/// Sessions of the embedded instance, each working in its own memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnMemoryWork {
    /// The sessions, and the shared memory they use in common.
    #[serde(flatten)]
    pub instance: LogicalReads,
    /// The work, and the memory.
    pub own: OwnMemory,
}

/// The private memory of one session, and what it does there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnMemory {
    /// What it does.
    pub load: SessionLoad,
    /// Bytes of each session; ignored by [`SessionLoad::Spin`], which has none.
    pub bytes: u64,
    /// Where to place them.
    pub allocation: Allocation,
}
