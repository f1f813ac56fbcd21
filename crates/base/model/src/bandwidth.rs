//! The types of `numalab.bandwidth/1`: measured memory bandwidth.

use serde::{Deserialize, Serialize};

use crate::{Finding, Machine, NodeId, NodeMatrix, NodeSet, PageKind, TimerFacts};

/// Measured bandwidths and everything derived from them.
#[derive(Debug, Clone, PartialEq)]
pub struct BandwidthResult {
    /// The stored runs it was derived from, in the order of its parts.
    pub runs: Vec<String>,
    /// The machine it was measured on.
    pub machine: Option<Machine>,
    /// What the threads did.
    pub kernel: StreamKernel,
    /// How it was measured.
    pub method: Option<BandwidthMethod>,
    /// Bytes per second moved by the program, all CPUs of the row's node together.
    pub matrix: NodeMatrix,
    /// The same with increasing numbers of threads.
    pub sweeps: Vec<ThreadSweep>,
    /// All CPUs of the machine at once.
    pub whole_machine: Vec<WholeMachine>,
    /// Latency while other CPUs load the memory.
    pub ladders: Vec<LoadLadder>,
    /// What a user should know.
    pub findings: Vec<Finding>,
}

/// How bandwidths were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BandwidthMethod {
    /// Instructions used, such as `avx2`.
    pub simd: String,
    /// Where the pages came from.
    pub page_kind: PageKind,
    /// Their real size.
    pub page_bytes: u64,
    /// Memory of one thread, all of its arrays together.
    pub bytes_per_thread: u64,
    /// Rounds, each with fresh memory.
    pub rounds: u32,
    /// The clock.
    pub timer: TimerFacts,
}

/// What a thread does with its arrays, element by element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamKernel {
    /// Reads one array.
    Read,
    /// Writes one array.
    Write,
    /// Writes one array with non-temporal stores.
    NtWrite,
    /// Reads one array and writes it to another.
    Copy,
    /// The same with non-temporal stores.
    NtCopy,
    /// Reads two arrays and writes the first plus a multiple of the second to a third.
    Triad,
    /// The same with non-temporal stores.
    NtTriad,
}

/// One row of the table of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamKernelFacts {
    /// The kernel.
    pub kernel: StreamKernel,
    /// Its name in documents and on the command line.
    pub name: &'static str,
    /// What it does, in words.
    pub meaning: &'static str,
    /// Arrays it reads.
    pub arrays_read: u32,
    /// Arrays it writes.
    pub arrays_written: u32,
    /// Whether it bypasses the caches with non-temporal stores.
    pub is_non_temporal: bool,
}

impl StreamKernel {
    /// Every kernel.
    pub const TABLE: [StreamKernelFacts; 7] = [
        facts(StreamKernel::Read, "read", "reads", 1, 0, false),
        facts(StreamKernel::Write, "write", "writes", 0, 1, false),
        facts(
            StreamKernel::NtWrite,
            "nt-write",
            "writes, bypassing the caches",
            0,
            1,
            true,
        ),
        facts(StreamKernel::Copy, "copy", "copies", 1, 1, false),
        facts(
            StreamKernel::NtCopy,
            "nt-copy",
            "copies, bypassing the caches",
            1,
            1,
            true,
        ),
        facts(
            StreamKernel::Triad,
            "triad",
            "adds one array and a multiple of another",
            2,
            1,
            false,
        ),
        facts(
            StreamKernel::NtTriad,
            "nt-triad",
            "the same, bypassing the caches",
            2,
            1,
            true,
        ),
    ];

    /// The row of this kernel.
    pub fn facts(self) -> &'static StreamKernelFacts {
        let row = Self::TABLE.iter().find(|row| row.kernel == self);
        row.expect("the table has a row for every variant")
    }

    /// The name in documents and on the command line.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The kernel of this name.
    pub fn named(name: &str) -> Option<Self> {
        let row = Self::TABLE.iter().find(|row| row.name == name);
        row.map(|row| row.kernel)
    }

    /// The ratio of bytes on the memory bus to bytes moved by the program, if every ordinary write
    /// first reads the line it writes to (write allocate).
    ///
    /// This is an upper bound: a processor that detects full-line writes may skip that read.
    pub fn traffic_factor_max(self) -> f64 {
        let facts = self.facts();
        let moved = facts.arrays_read + facts.arrays_written;
        let allocated = if facts.is_non_temporal {
            0
        } else {
            facts.arrays_written
        };
        f64::from(moved + allocated) / f64::from(moved)
    }
}

const fn facts(
    kernel: StreamKernel,
    name: &'static str,
    meaning: &'static str,
    arrays_read: u32,
    arrays_written: u32,
    is_non_temporal: bool,
) -> StreamKernelFacts {
    StreamKernelFacts {
        kernel,
        name,
        meaning,
        arrays_read,
        arrays_written,
        is_non_temporal,
    }
}

/// Bandwidth of one pair of nodes with 1 thread, 2 threads, and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadSweep {
    /// The node whose CPUs measured.
    pub cpu_node: NodeId,
    /// The node whose memory was used.
    pub memory_node: NodeId,
    /// By ascending number of threads.
    pub points: Vec<ThreadPoint>,
    /// The fewest threads that reach nearly the full bandwidth.
    pub knee_threads: Option<u32>,
}

/// One point of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ThreadPoint {
    /// Threads.
    pub threads: u32,
    /// Bytes per second moved by all of them.
    pub bytes_per_s: f64,
}

/// All CPUs of the machine at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WholeMachine {
    /// Where the memory of the threads lay.
    pub memory: WholeMachineMemory,
    /// The nodes whose CPUs took part.
    pub cpu_nodes: NodeSet,
    /// Threads.
    pub threads: u32,
    /// Bytes per second moved by all of them.
    pub bytes_per_s: f64,
}

/// Where the memory of the threads lies when all CPUs work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WholeMachineMemory {
    /// On the node of each thread.
    Local,
    /// Interleaved over all nodes.
    Interleaved,
    /// On a node other than that of the thread.
    Remote,
}

/// Latency of one pair of nodes under increasing load from other CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadLadder {
    /// The node whose CPU measured latency.
    pub cpu_node: NodeId,
    /// The node whose memory was read.
    pub memory_node: NodeId,
    /// The nodes whose CPUs generated the load.
    pub load_nodes: NodeSet,
    /// Threads that generated the load.
    pub load_threads: u32,
    /// From no load to the highest.
    pub points: Vec<LoadPoint>,
}

/// One rung of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Iterations of an empty loop between two blocks of load; `None`: no load.
    pub delay: Option<u32>,
    /// Bytes per second moved by the load.
    pub bytes_per_s: f64,
    /// Median latency of one access under this load.
    pub ns: f64,
}

#[cfg(test)]
mod tests {
    use super::StreamKernel;

    #[test]
    fn every_kernel_has_a_row_and_a_name_of_its_own() {
        for row in StreamKernel::TABLE {
            assert_eq!(row.kernel.facts(), &row);
            assert_eq!(StreamKernel::named(row.name), Some(row.kernel));
            let json = serde_json::to_string(&row.kernel).unwrap();
            assert_eq!(json, format!("\"{}\"", row.name));
        }
        assert_eq!(StreamKernel::named("sum"), None);
    }

    #[test]
    fn write_allocate_is_counted_for_ordinary_writes_only() {
        let factor = |kernel: StreamKernel| kernel.traffic_factor_max();
        assert_eq!(factor(StreamKernel::Read), 1.0);
        assert_eq!(factor(StreamKernel::Write), 2.0);
        assert_eq!(factor(StreamKernel::NtWrite), 1.0);
        assert_eq!(factor(StreamKernel::Copy), 1.5);
        assert_eq!(factor(StreamKernel::Triad), 4.0 / 3.0);
        assert_eq!(factor(StreamKernel::NtTriad), 1.0);
    }
}
