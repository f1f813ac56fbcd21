//! Messages between the processes of an instance: orders down, reports up.

use linux::data_file::DataFileTicket;
use model::{CalibrationPoint, CpuSet, LogicalReads, OwnMemory, Phase, Placement, Stealing, Trial};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::series::WINDOWS_MAX;
use crate::sga_layout::SgaLayout;

/// The order of the coordinator to an instance process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceOrder {
    /// Process id of the coordinator.
    pub parent_pid: u32,
    /// Where its processes may run and where their memory may lie.
    pub placement: Placement,
    /// Its shared memory and load.
    pub work: LogicalReads,
    /// The load of its sessions on own memory; `None`: they read rows.
    pub own: Option<OwnMemory>,
    /// Directories of the cgroups to join, created by the coordinator; a processor group comes
    /// first.
    pub groups: Vec<std::path::PathBuf>,
    /// The key of its System V segment, which the coordinator has journalled.
    pub segment_key: Option<i32>,
    /// Directory on whose file system to create the data file, if one is needed.
    pub data_directory: std::path::PathBuf,
    /// Seed of the physical order of rows and of the keys that sessions draw.
    pub seed: u64,
    /// The loaded SGA of another instance, to use instead of making one.
    pub shared: Option<TicketWord>,
    /// The task of the instance.
    pub task: Task,
}

/// The task of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "task")]
pub enum Task {
    /// One trial.
    Trial {
        /// Round the trial belongs to.
        round: u32,
        /// Rows per statement.
        work_unit: u32,
        /// Length of the measured window.
        window_s: f64,
        /// Shortest warm-up.
        warm_up_s_min: f64,
        /// Longest warm-up.
        warm_up_s_max: f64,
    },
    /// One trial of many short windows, in series opened by the coordinator. Between windows the
    /// sessions are parked, so that instances of other cases can have their windows.
    Windows {
        /// Round the trial belongs to.
        round: u32,
        /// Rows per statement.
        work_unit: u32,
    },
    /// One trial of parallel scans.
    Scan {
        /// Round the trial belongs to.
        round: u32,
        /// Whether workers take granules of other workers.
        stealing: Stealing,
        /// Length of the measured window; extended to the end of the scan in progress.
        window_s: f64,
        /// Length of the warm-up; extended likewise.
        warm_up_s_min: f64,
    },
    /// Stay up until the coordinator ends the instance.
    Hold {
        /// Rows per statement.
        work_unit: u32,
        /// Whether the sessions wait at the barrier instead of running.
        idle: bool,
    },
    /// A sweep of work units with one session.
    Calibration {
        /// Time at each work unit.
        step_s: f64,
        /// Relative gain of a doubling below which the plateau is reached.
        gain_min: f64,
        /// Largest work unit to try.
        work_unit_max: u32,
    },
}

/// A command of the coordinator to an instance with [`Task::Windows`] that is ready, one JSON
/// document per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceCommand {
    /// Let the sessions run in their turns of a series, then park them again.
    Open(Turns),
    /// Report the trial: no window follows.
    Close {
        /// What became of each series that is measured, in the order they were opened.
        blocks: Vec<BlockWord>,
    },
}

/// The turns of one case in a series of turns of several cases. A turn is a lead-in and a window,
/// and the turns follow one another without a gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// When the first turn of the series begins, `CLOCK_MONOTONIC` in ns.
    pub first_ns: u64,
    /// Length of a lead-in, in which sessions run unmeasured.
    pub lead_in_ns: u64,
    /// Length of a window.
    pub window_ns: u64,
    /// The numbers of this case's turns, ascending, at most [`Turns::MAX`].
    pub turns: Vec<u32>,
    /// Whether the windows belong to the trial; otherwise they are part of the warm-up.
    pub is_measured: bool,
}

impl Turns {
    /// Most turns that a case may have in a series.
    pub const MAX: usize = WINDOWS_MAX;

    /// Returns when a turn begins.
    pub fn begin_ns(&self, turn: u32) -> u64 {
        self.first_ns + u64::from(turn) * (self.lead_in_ns + self.window_ns)
    }
}

/// What became of a block of windows: the same for all cases, decided without looking at rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockWord {
    /// Whether it counts.
    pub kept: bool,
    /// What others took.
    pub taken: Taken,
}

/// CPU time that others took from a case, in seconds; `None` if the kernel does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The hypervisor, over all CPUs.
    pub steal_s: Option<f64>,
    /// Other programs.
    pub other_cpu_s: Option<f64>,
}

/// Returns the next command of the coordinator; `None` when the coordinator is gone.
pub type Commands<'a> = dyn FnMut() -> Result<Option<InstanceCommand>, Error> + 'a;

/// The report of an instance on one series of windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowReport {
    /// Work of all sessions per second, for each window.
    pub work_per_s: Vec<f64>,
    /// CPU time that the sessions used since the last report, in lead-ins and windows.
    pub cpu_s: f64,
    /// Mean time of a statement.
    pub statement_s: f64,
    /// CPU time that a session used to fall asleep and to wake up, on average.
    pub park_cpu_s: f64,
    /// By how much too late the series was opened.
    pub late_s: f64,
}

/// A report of an instance process to the coordinator, one JSON document per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceReport {
    /// The current phase, with the live rate if there is one.
    Progress {
        /// The phase.
        phase: PhaseWord,
        /// The figure since the last report, in the run's metric.
        value: Option<f64>,
    },
    /// One point of a calibration.
    Point(CalibrationPoint),
    /// The instance is up and stays up.
    Held {
        /// Process id of the instance.
        instance_pid: u32,
        /// Process ids of its sessions.
        session_pids: Vec<u32>,
        /// Process ids of its database writers.
        writer_pids: Vec<u32>,
    },
    /// The SGA is loaded, and other instances may use it.
    Loaded(TicketWord),
    /// The sessions are up and parked.
    Parked,
    /// A series of windows is over, and the sessions are parked.
    Window(WindowReport),
    /// The trial ended, valid or not.
    Trial(Box<Trial>),
    /// The calibration ended.
    Calibrated,
    /// The instance failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// A permission is missing, for this and every other trial.
    NotPermitted {
        /// What was refused, and a hint.
        reason: String,
    },
}

/// Receives the reports of the instance.
pub(crate) type Report<'a> = dyn FnMut(InstanceReport) -> Result<(), Error> + 'a;

impl From<Error> for InstanceReport {
    fn from(error: Error) -> Self {
        match error.permission_wanted() {
            Some(way_out) => InstanceReport::NotPermitted {
                reason: format!("{error}; {way_out}"),
            },
            None => InstanceReport::Failed {
                reason: error.to_string(),
            },
        }
    }
}

/// [`model::Phase`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseWord {
    /// [`Phase::Loading`].
    Loading,
    /// [`Phase::WarmingUp`].
    WarmingUp,
    /// [`Phase::Measuring`].
    Measuring,
}

impl From<PhaseWord> for Phase {
    fn from(word: PhaseWord) -> Self {
        match word {
            PhaseWord::Loading => Phase::Loading,
            PhaseWord::WarmingUp => Phase::WarmingUp,
            PhaseWord::Measuring => Phase::Measuring,
        }
    }
}

/// The role of a session process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "role")]
pub enum Role {
    /// Executes statements.
    Statements {
        /// Percentage of statements that update the rows they visit.
        update_pct: u32,
        /// Extra work, as a percentage of the time of logical reads.
        handicap_pct: f64,
    },
    /// Works as a worker of a parallel scan.
    Scan {
        /// Whether it takes granules of other workers.
        stealing: Stealing,
    },
    /// Writes the dirty buffers of a pool.
    Writer {
        /// Number of the pool.
        pool: u32,
    },
}

/// The order of an instance to a session process or database writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionOrder {
    /// Process id of the instance.
    pub parent_pid: u32,
    /// Number of its slot, from 0; sessions come first.
    pub session: u32,
    /// CPUs to bind to: those of its pool's node. `None`: it keeps the CPUs of the instance.
    pub cpus: Option<CpuSet>,
    /// The role.
    pub role: Role,
    /// The load on own memory; `None`: it reads rows.
    pub own: Option<OwnMemory>,
    /// Page size of that memory.
    pub page_bytes: u64,
    /// Seed of the keys that it draws.
    pub seed: u64,
    /// Layout of the SGA.
    pub layout: SgaLayout,
    /// How to find the SGA.
    pub ticket: TicketWord,
    /// How to find the part of the SGA that belongs to the processes of one instance, if the SGA is
    /// that of another.
    pub own_part: Option<TicketWord>,
    /// What reads cost beside their own time, by a table.
    pub cost: Option<CostOrder>,
    /// How to find the data file, if there is one.
    pub data: Option<DataTicketWord>,
}

/// What a session is told of the cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostOrder {
    /// How to find the map: a byte for each page, the number of its node in the table.
    pub map: TicketWord,
    /// Pages in the map; the first has the first byte of the first block.
    pub pages: u32,
    /// The size of these pages.
    pub page_bytes: u64,
    /// The rows of the table.
    pub rows: Vec<CostRow>,
}

/// The cost for sessions on one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    /// The CPUs of the node.
    pub cpus: CpuSet,
    /// Steps of dependent work for half a block, by the node of that half.
    pub steps: Vec<u32>,
}

/// [`DataFileTicket`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataTicketWord {
    /// Inherited file descriptor.
    pub descriptor: i32,
    /// Whether the file is opened with `O_DIRECT`, bypassing the page cache.
    pub direct: bool,
}

impl From<DataTicketWord> for DataFileTicket {
    fn from(word: DataTicketWord) -> Self {
        DataFileTicket {
            descriptor: word.descriptor,
            direct: word.direct,
        }
    }
}

impl From<DataFileTicket> for DataTicketWord {
    fn from(ticket: DataFileTicket) -> Self {
        DataTicketWord {
            descriptor: ticket.descriptor,
            direct: ticket.direct,
        }
    }
}

/// [`linux::shared_memory::Ticket`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "number")]
pub enum TicketWord {
    /// Id of a System V segment.
    Sysv(i32),
    /// Inherited file descriptor of a memfd or of a file in /dev/shm.
    Descriptor(i32),
    /// The same of another process.
    DescriptorOf {
        /// The process.
        pid: u32,
        /// The number there.
        descriptor: i32,
    },
}

impl From<TicketWord> for linux::shared_memory::Ticket {
    fn from(word: TicketWord) -> Self {
        match word {
            TicketWord::Sysv(id) => Self::Sysv(id),
            TicketWord::Descriptor(fd) => Self::Descriptor(fd),
            TicketWord::DescriptorOf { pid, descriptor } => Self::DescriptorOf { pid, descriptor },
        }
    }
}

impl From<linux::shared_memory::Ticket> for TicketWord {
    fn from(ticket: linux::shared_memory::Ticket) -> Self {
        match ticket {
            linux::shared_memory::Ticket::Sysv(id) => Self::Sysv(id),
            linux::shared_memory::Ticket::Descriptor(fd) => Self::Descriptor(fd),
            linux::shared_memory::Ticket::DescriptorOf { pid, descriptor } => {
                Self::DescriptorOf { pid, descriptor }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{Evidence, NodeId, Outcome, SgaEvidence, Trial};

    use super::InstanceReport;

    #[test]
    fn a_trial_survives_the_wire() {
        let by_node = BTreeMap::from([(NodeId(0), 1), (NodeId(250), 2)]);
        let sga = SgaEvidence {
            name: "/memfd:x (deleted)".to_owned(),
            page_bytes: 4096,
            policy: "weighted interleave:0,250".to_owned(),
            bytes_by_node_before: by_node.clone(),
            bytes_by_node_after: by_node,
            bytes_without_node: 0,
            ..SgaEvidence::default()
        };
        let report = InstanceReport::Trial(Box::new(Trial {
            round: 3,
            outcome: Outcome::Invalid("because".to_owned()),
            measured: None,
            report: None,
            evidence: Evidence {
                sga: Some(sga),
                ..Evidence::default()
            },
            warnings: vec!["w".to_owned()],
        }));
        let wire = serde_json::to_string(&report).unwrap();
        assert_eq!(
            serde_json::from_str::<InstanceReport>(&wire).unwrap(),
            report
        );
    }
}
