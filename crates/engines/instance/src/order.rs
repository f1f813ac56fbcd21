//! What the processes of an instance tell each other: orders down, reports up.

use linux::data_file::DataFileTicket;
use model::{CalibrationPoint, CpuSet, LogicalReads, OwnMemory, Phase, Placement, Stealing, Trial};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::sga_layout::SgaLayout;

/// What the coordinator asks of an instance process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceOrder {
    /// Process id of the coordinator.
    pub parent_pid: u32,
    /// Where its processes may run and their memory may lie.
    pub placement: Placement,
    /// Its shared memory and its load.
    pub work: LogicalReads,
    /// What its sessions do in memory of their own; `None`: they read rows.
    pub own: Option<OwnMemory>,
    /// Directories of the cgroups to join, made by the coordinator; a processor group is the first.
    pub groups: Vec<std::path::PathBuf>,
    /// Directory on whose file system the data file is made, if one is needed.
    pub data_directory: std::path::PathBuf,
    /// Seed of the physical order of rows and of the keys that sessions draw.
    pub seed: u64,
    /// What to do.
    pub task: Task,
}

/// What an instance is started for.
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
    /// One trial of many short windows, each opened by the coordinator; between them the sessions
    /// are parked, so that instances of other cases can have windows of theirs.
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
        /// Whether workers take work that is not theirs.
        stealing: Stealing,
        /// Length of the measured window, to the end of the scan under way.
        window_s: f64,
        /// Length of the warm-up, likewise.
        warm_up_s_min: f64,
    },
    /// Nothing but being there, until the coordinator ends it.
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
        /// Gain of a doubling below which the plateau is reached, relative.
        gain_min: f64,
        /// Largest work unit to try.
        work_unit_max: u32,
    },
}

/// What the coordinator tells an instance with [`Task::Windows`] once it is ready, one JSON
/// document a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceCommand {
    /// Let the sessions run, measure a window, park them again.
    Open {
        /// From the moment the sessions run to the start of the window.
        lead_in_s: f64,
        /// Length of the window.
        window_s: f64,
    },
    /// Let the sessions run to warm up, tell how many units of work were done by when, and park
    /// them again.
    Trace {
        /// For how long.
        seconds: f64,
        /// How often to look.
        every_s: f64,
    },
    /// No window follows: report the trial.
    Close {
        /// Which of the windows count, in the order they were opened.
        kept: Vec<bool>,
    },
}

/// What the coordinator wants next; `None` when it is gone.
pub type Commands<'a> = dyn FnMut() -> Result<Option<InstanceCommand>, Error> + 'a;

/// What an instance says of one window, before anybody knows whether it counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowReport {
    /// Work of all sessions per second.
    pub work_per_s: f64,
    /// Seconds for which the hypervisor ran others, over all CPUs; `None` where nobody says.
    pub steal_s: Option<f64>,
    /// CPU time that other programs used meanwhile.
    pub other_cpu_s: Option<f64>,
}

/// What an instance process tells the coordinator, one JSON document a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceReport {
    /// What it is doing, with the live rate when there is one.
    Progress {
        /// Loading, warming up, measuring.
        phase: PhaseWord,
        /// The figure since the last report, in the metric of the run.
        value: Option<f64>,
    },
    /// One point of a calibration.
    Point(CalibrationPoint),
    /// The instance is up and stays.
    Held {
        /// Process id of the instance.
        instance_pid: u32,
        /// Process ids of its sessions.
        session_pids: Vec<u32>,
        /// Process ids of its database writers.
        writer_pids: Vec<u32>,
    },
    /// The sessions are there and parked.
    Parked,
    /// A window is over, and the sessions are parked.
    Window(WindowReport),
    /// Units of work done since the sessions ran, each with the seconds since then.
    Trace(Vec<(f64, u64)>),
    /// The trial ended; valid or not.
    Trial(Box<Trial>),
    /// The calibration ended.
    Calibrated,
    /// The instance could not do it.
    Failed {
        /// Why.
        reason: String,
    },
    /// The instance may not do it, and no other trial may.
    NotPermitted {
        /// What was refused, and a hint.
        reason: String,
    },
}

/// Told what the instance is doing.
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

/// What a session process does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "role")]
pub enum Role {
    /// Executes statements.
    Statements {
        /// Of a hundred statements, those that update the rows they come by.
        update_pct: u32,
        /// Extra work, as a percentage of the time of the logical reads.
        handicap_pct: f64,
    },
    /// Is a worker of a parallel scan.
    Scan {
        /// Whether it takes work that is not its own.
        stealing: Stealing,
    },
    /// Writes the dirty buffers of a pool.
    Writer {
        /// Number of the pool.
        pool: u32,
    },
}

/// What an instance asks of a session process, or of a database writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionOrder {
    /// Process id of the instance.
    pub parent_pid: u32,
    /// Number of its slot, from 0: sessions come first.
    pub session: u32,
    /// CPUs to bind itself to, those of its pool's node; `None` leaves it where the instance is.
    pub cpus: Option<CpuSet>,
    /// What it does.
    pub role: Role,
    /// What it does in memory of its own; `None`: it reads rows.
    pub own: Option<OwnMemory>,
    /// Size of the pages of that memory.
    pub page_bytes: u64,
    /// Seed of the keys it draws.
    pub seed: u64,
    /// Layout of the SGA.
    pub layout: SgaLayout,
    /// How to find the SGA.
    pub ticket: TicketWord,
    /// How to find the data file, where there is one.
    pub data: Option<DataTicketWord>,
}

/// [`DataFileTicket`] on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataTicketWord {
    /// Inherited file descriptor.
    pub descriptor: i32,
    /// Whether the kernel's file cache has no part in it.
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
}

impl From<TicketWord> for linux::shared_memory::Ticket {
    fn from(word: TicketWord) -> Self {
        match word {
            TicketWord::Sysv(id) => Self::Sysv(id),
            TicketWord::Descriptor(fd) => Self::Descriptor(fd),
        }
    }
}

impl From<linux::shared_memory::Ticket> for TicketWord {
    fn from(ticket: linux::shared_memory::Ticket) -> Self {
        match ticket {
            linux::shared_memory::Ticket::Sysv(id) => Self::Sysv(id),
            linux::shared_memory::Ticket::Descriptor(fd) => Self::Descriptor(fd),
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
