//! The instance of a case, kept up by `numalab run … --hold`, and what the kernel says meanwhile
//! about its processes: the CPUs and nodes allowed, and where their memory lies.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::numa_maps::{self, Mapping};
use crate::laboratory::Laboratory;
use crate::patience::until;

/// The processes of one case.
pub(super) struct Held {
    instance: Process,
    /// Its sessions; at least one.
    pub sessions: Vec<Process>,
}

/// One process.
pub(super) struct Process {
    /// The CPUs that it may use, as the kernel lists them.
    pub cpus: String,
    /// The nodes that it may use, as the kernel lists them.
    pub memory_nodes: String,
    /// Its mappings.
    pub maps: Vec<Mapping>,
}

impl Held {
    /// Holds a case of an experiment, with its sessions at the barrier and all their memory
    /// allocated, and looks at it.
    #[track_caller]
    pub(super) fn look(laboratory: &Laboratory, experiment: &str, case: &str) -> Self {
        let words = ["run", experiment, "--hold", case, "--idle", "--json"];
        let mut under_way = laboratory.start(&words);
        let document: Value = until("the document", || {
            let ended = under_way.has_ended();
            assert!(!ended, "{case} was not held: {}", under_way.stderr());
            serde_json::from_str(&under_way.stdout()).ok()
        });
        let sessions = document["session_pids"].as_array().unwrap();
        assert!(!sessions.is_empty(), "{case}: {document}");
        let held = Held {
            instance: Process::look(&document["instance_pid"]),
            sessions: sessions.iter().map(Process::look).collect(),
        };
        under_way.signal(Signal::INT);
        under_way.finish().with_code(0);
        held
    }

    /// Returns the mappings of the SGA in the instance process.
    pub(super) fn sga(&self) -> Vec<&Mapping> {
        let maps = self.instance.maps.iter();
        maps.filter(|mapping| mapping.is_of_sga).collect()
    }

    /// Asserts that the kernel has at least these bytes of the SGA, and returns its mappings.
    #[track_caller]
    pub(super) fn sga_of(&self, case: &str, bytes_min: u64) -> Vec<&Mapping> {
        let sga = self.sga();
        let bytes: u64 = sga.iter().map(|mapping| mapping.bytes()).sum();
        assert!(
            bytes >= bytes_min,
            "{case}: the kernel has {bytes} bytes of SGA: {sga:?}"
        );
        sga
    }
}

impl Process {
    fn look(pid: &Value) -> Self {
        let pid = pid.as_u64().unwrap();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.unwrap().trim().to_owned()
        };
        Process {
            cpus: field("Cpus_allowed_list:"),
            memory_nodes: field("Mems_allowed_list:"),
            maps: numa_maps::of(pid),
        }
    }
}
