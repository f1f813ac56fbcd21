//! What sessions of the embedded instance do in place of reading rows: one table, from which
//! definitions, reports and documents take their words.

use serde::{Deserialize, Serialize};

use crate::Metric;

/// What a session does in its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionLoad {
    /// Stores at random addresses.
    MemoryHammer,
    /// Sorts and joins, and reads rows from the buffer cache in between.
    Compute,
    /// Repeatedly writes a file in /dev/shm.
    ShmFill,
    /// Computes without memory.
    Spin,
}

/// The memory that a load uses besides the SGA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionMemory {
    /// None.
    None,
    /// Private memory of each session.
    Private,
    /// A file of each session in /dev/shm.
    File,
}

/// One row of the table of loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLoadFacts {
    /// The load.
    pub load: SessionLoad,
    /// Its name in definitions and documents.
    pub name: &'static str,
    /// What it means, as a sentence fragment.
    pub about: &'static str,
    /// What its sessions are doing, a participle.
    pub does: &'static str,
    /// The memory that it works in.
    pub memory: SessionMemory,
    /// Whether it also reads rows from the buffer cache, so that the placement of the SGA matters.
    pub reads_rows: bool,
    /// The metric by which its cases are compared.
    pub metric: Metric,
}

impl SessionLoad {
    /// Every load.
    pub const TABLE: &[SessionLoadFacts] = &[
        SessionLoadFacts {
            load: SessionLoad::MemoryHammer,
            name: "memory-hammer",
            about: "each session stores at random addresses in its own memory; the metric is the \
                    time per store",
            does: "storing at random",
            memory: SessionMemory::Private,
            reads_rows: false,
            metric: Metric::NsPerStore,
        },
        SessionLoadFacts {
            load: SessionLoad::Compute,
            name: "compute",
            about: "each session sorts and joins in its own memory and reads rows from the buffer \
                    cache in between; the metric is rows per second",
            does: "sorting and joining",
            memory: SessionMemory::Private,
            reads_rows: true,
            metric: Metric::RowsPerSecond,
        },
        SessionLoadFacts {
            load: SessionLoad::ShmFill,
            name: "shm-fill",
            about: "each session repeatedly fills its own file in /dev/shm; the metric is bytes \
                    per second",
            does: "filling files in /dev/shm",
            memory: SessionMemory::File,
            reads_rows: false,
            metric: Metric::BytesPerSecond,
        },
        SessionLoadFacts {
            load: SessionLoad::Spin,
            name: "spin",
            about: "each session computes without touching memory: a control that memory \
                    placement cannot affect; the metric is steps per second",
            does: "computing without memory",
            memory: SessionMemory::None,
            reads_rows: false,
            metric: Metric::StepsPerSecond,
        },
    ];

    /// The row of this load.
    pub fn facts(self) -> &'static SessionLoadFacts {
        let row = Self::TABLE.iter().find(|facts| facts.load == self);
        row.expect("every load has a row")
    }

    /// The metric by which cases of this load are compared.
    pub fn metric(self) -> Metric {
        self.facts().metric
    }

    /// Whether it has its own memory at all.
    pub fn has_memory(self) -> bool {
        self.facts().memory != SessionMemory::None
    }
}

#[cfg(test)]
mod tests {
    use super::SessionLoad;

    #[test]
    fn a_load_is_called_the_same_in_definitions_and_in_documents() {
        for facts in SessionLoad::TABLE {
            let name = serde_json::to_value(facts.load).unwrap();
            assert_eq!(name, facts.name);
            assert_eq!(facts.load.facts(), facts);
        }
    }
}
