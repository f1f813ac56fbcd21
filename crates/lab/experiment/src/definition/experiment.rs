//! An experiment as its file defines it: a question and the cases that answer it.

use std::collections::BTreeMap;

use model::{Backing, ServerKind, Stealing};

use super::command::CommandChoice;
use super::cost_table::CostTable;
use super::load::{DataSize, WorkChoice, WorkUnit};
use super::place::{CpuChoice, MemoryChoice};
use super::quantity::Quantity;
use super::sga::{AllocationChoice, CacheSize, PageSize};
use super::vocabulary::Word;

/// A question with its cases, independent of any machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name: lower-case words with hyphens.
    pub name: String,
    /// The question it answers, for display.
    pub question: String,
    /// Name of the case that the others are compared with.
    pub baseline: String,
    /// Whether the cases differ in where memory lies, so that an emulated machine has no answer.
    pub asks_about_memory: bool,
    /// The engine that executes the load.
    pub engine: Engine,
    /// What a machine must have.
    pub needs: Needs,
    /// The cases, in the order of the file; at least one.
    pub cases: Vec<CaseDefinition>,
    /// The file, verbatim.
    pub text: String,
}

impl Definition {
    /// The same with this emulated cost in all cases, if there is one.
    #[must_use]
    pub fn with_cost(mut self, cost: Option<&CostTable>) -> Self {
        if let Some(cost) = cost {
            let cases = self.cases.iter_mut();
            cases.for_each(|case| case.emulated_cost = Some(cost.clone()));
        }
        self
    }

    /// Returns whether the memory of any case is sized as a multiple of the processor's caches.
    pub fn goes_by_caches(&self) -> bool {
        self.cases.iter().any(|case| match case.work {
            WorkChoice::LogicalReads | WorkChoice::ParallelScan => {
                case.cache == CacheSize::BeyondCaches
            }
            WorkChoice::Own(load) => {
                let is_by_caches = |size| size == CacheSize::BeyondCaches;
                load.facts().reads_rows && is_by_caches(case.cache)
                    || load.has_memory() && is_by_caches(case.own_memory)
            }
            WorkChoice::Kernel(_) => case.own_memory == CacheSize::BeyondCaches,
            WorkChoice::Command => false,
        })
    }
}

/// The minimum machine on which an experiment makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// CPUs, on the whole machine.
    pub cpus: u32,
    /// Nodes with memory.
    pub memory_nodes: u32,
}

/// One case, with the defaults of its file filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseDefinition {
    /// Its name: lower-case words with hyphens, unique within the experiment.
    pub name: String,
    /// One line for display: what this case is.
    pub about: String,
    /// CPUs its processes may use.
    pub cpus: CpuChoice,
    /// Memory nodes its processes may use.
    pub memory_nodes: MemoryChoice,
    /// The mechanism that applies the placement.
    pub mechanism: MechanismChoice,
    /// CPU quota, in CPUs; `None` is off.
    pub cpu_quota: Option<Quantity>,
    /// CPUs of the backend that loads and prewarms the data.
    pub prewarm_cpus: CpuChoice,
    /// Where the memory of a server is moved once its tables are loaded.
    pub moved_to: AllocationChoice,
    /// Settings that a database server is started with.
    pub server_settings: BTreeMap<String, String>,
    /// Size of the buffer cache.
    pub cache: CacheSize,
    /// What backs the SGA.
    pub backing: Backing,
    /// Page size of the SGA.
    pub page_size: PageSize,
    /// The nodes on which the SGA lies.
    pub allocation: AllocationChoice,
    /// Sessions that run the load.
    pub sessions: Quantity,
    /// Instance caging; `None` is off.
    pub cpu_count: Option<Quantity>,
    /// Size of the data.
    pub data: DataSize,
    /// Share of statements that update, in percent.
    pub update_pct: u32,
    /// Statements repeated without counting them, in hundredths of a percent.
    pub handicap: u32,
    /// What reads cost beside their own time; `None` is off.
    pub emulated_cost: Option<CostTable>,
    /// What the sessions do.
    pub work: WorkChoice,
    /// The external program; used where the work is [`WorkChoice::Command`].
    pub command: CommandChoice,
    /// Rows per statement.
    pub work_unit: WorkUnit,
    /// Size of each session's own memory.
    pub own_memory: CacheSize,
    /// The nodes on which the own memory lies.
    pub own_allocation: AllocationChoice,
    /// Whether workers of a parallel scan take granules of other nodes.
    pub stealing: Stealing,
}

/// The engine that executes the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// The embedded instance.
    Instance,
    /// A private server of a database.
    Server(ServerKind),
}

const INSTANCE: Word<Engine> = Word {
    value: Engine::Instance,
    name: "instance",
    about: "the embedded instance",
};

/// What a server means in a definition, whatever the database.
const ABOUT_SERVERS: &str = "a throw-away server of this database; page-size base means no huge \
                             pages, larger means huge pages; allocation is the memory policy of \
                             all its processes; backing and cpu-count mean nothing to it";

/// The table of engines: the instance, and every database.
pub const ENGINES: &[Word<Engine>] = &{
    let mut words = [INSTANCE; 1 + ServerKind::TABLE.len()];
    let mut number = 0;
    while number < ServerKind::TABLE.len() {
        let name = ServerKind::TABLE[number].id;
        words[1 + number] = Word {
            value: Engine::Server(ServerKind::named(name)),
            name,
            about: ABOUT_SERVERS,
        };
        number += 1;
    }
    words
};

/// The requested mechanism that applies a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MechanismChoice {
    /// A processor group where one can be created, otherwise affinity.
    Auto,
    /// A processor group; without one the case cannot run.
    Group,
    /// Affinity and memory policy.
    Affinity,
}

/// The table of mechanisms.
pub(crate) const MECHANISMS: &[Word<MechanismChoice>] = &[
    Word {
        value: MechanismChoice::Auto,
        name: "auto",
        about: "a processor group where possible, otherwise affinity",
    },
    Word {
        value: MechanismChoice::Group,
        name: "group",
        about: "a processor group (a cpuset cgroup); the case cannot run without one",
    },
    Word {
        value: MechanismChoice::Affinity,
        name: "affinity",
        about: "sched_setaffinity(2) and set_mempolicy(2), which need no privilege",
    },
];
