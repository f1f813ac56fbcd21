//! The requested load of a case: the work and the amount of data.

use std::sync::LazyLock;

use model::{ByteSize, Metric, SessionLoad, Stealing, StreamKernel, StreamKernelFacts};

use super::sga::{CACHE_BYTES_MAX, CACHE_BYTES_MIN};
use super::vocabulary::Word;

/// What the sessions of a case do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkChoice {
    /// They read rows through an index.
    LogicalReads,
    /// They are workers that together add up a column.
    ParallelScan,
    /// They work in memory of their own.
    Own(SessionLoad),
    /// There are no sessions: an external program runs.
    Command,
    /// There are no sessions: a measuring kernel runs.
    Kernel(KernelChoice),
}

/// A measuring kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelChoice {
    /// One CPU follows a chain of pointers.
    PointerChase,
    /// A thread on each CPU moves bytes.
    Stream(StreamKernel),
}

impl KernelChoice {
    /// Returns what it measures.
    pub(crate) fn metric(self) -> Metric {
        match self {
            KernelChoice::PointerChase => Metric::NsPerAccess,
            KernelChoice::Stream(_) => Metric::BytesPerSecond,
        }
    }
}

/// The table of what threads of a stream do.
pub(crate) static STREAMS: LazyLock<Vec<Word<StreamKernel>>> = LazyLock::new(|| {
    let word = |facts: &StreamKernelFacts| Word {
        value: facts.kernel,
        name: facts.name,
        about: facts.meaning,
    };
    StreamKernel::TABLE.iter().map(word).collect()
});

/// The table of kinds of work.
pub(crate) static WORKS: LazyLock<Vec<Word<WorkChoice>>> = LazyLock::new(|| {
    let readers = [
        Word {
            value: WorkChoice::LogicalReads,
            name: "logical-reads",
            about: "each session reads rows of its table through the index; the metric is logical \
                    reads per second",
        },
        Word {
            value: WorkChoice::ParallelScan,
            name: "parallel-scan",
            about: "the sessions are workers that together sum one column repeatedly; the metric \
                    is bytes per second",
        },
    ];
    let own = SessionLoad::TABLE.iter().map(|facts| Word {
        value: WorkChoice::Own(facts.load),
        name: facts.name,
        about: facts.about,
    });
    let command = Word {
        value: WorkChoice::Command,
        name: "command",
        about: "no sessions: a shell runs `command` until it exits; the run compares the number \
                it prints",
    };
    let kernels = [
        Word {
            value: WorkChoice::Kernel(KernelChoice::PointerChase),
            name: "pointer-chase",
            about: "no sessions: the first CPU of `cpus` follows a chain of pointers through \
                    memory of one node; the metric is ns per access",
        },
        Word {
            value: WorkChoice::Kernel(KernelChoice::Stream(StreamKernel::Read)),
            name: "stream",
            about: "no sessions: a thread on each CPU of `cpus` moves bytes as `kernel` says; the \
                    metric is bytes per second",
        },
    ];
    let others = [command].into_iter().chain(kernels);
    readers.into_iter().chain(own).chain(others).collect()
});

/// The table of stealing policies.
pub(crate) const STEALINGS: &[Word<Stealing>] = &[
    Word {
        value: Stealing::Off,
        name: "off",
        about: "a worker reads only granules whose home is its own node",
    },
    Word {
        value: Stealing::AfterLocal,
        name: "after-local",
        about: "a worker takes granules of other nodes when its own node has none left",
    },
    Word {
        value: Stealing::Free,
        name: "free",
        about: "workers take granules in storage order, regardless of home",
    },
];

/// The word for a work unit that a calibration finds before the run.
pub(crate) const CALIBRATED: &str = "calibrated";

/// Maximum work unit, in rows per statement.
pub(crate) const WORK_UNIT_MAX: u32 = 1 << 20;

/// Rows per statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUnit {
    /// The number that the calibration finds.
    Calibrated,
    /// A fixed number.
    Rows(u32),
}

impl WorkUnit {
    /// Returns the accepted values, for messages.
    pub(crate) fn expected() -> String {
        format!("a number of rows from 1 to {WORK_UNIT_MAX}, or {CALIBRATED:?}")
    }

    /// Returns a fixed number of rows, if it is in range.
    pub(crate) fn of_number(rows: u32) -> Option<Self> {
        (1..=WORK_UNIT_MAX)
            .contains(&rows)
            .then_some(WorkUnit::Rows(rows))
    }

    /// Returns the requested rows; `None` for those of the calibration.
    pub(crate) fn rows(self) -> Option<u32> {
        match self {
            WorkUnit::Calibrated => None,
            WorkUnit::Rows(rows) => Some(rows),
        }
    }
}

/// The word for data that fits in the buffer cache.
pub(crate) const CACHED: &str = "cached";

/// The amount of data, indexes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSize {
    /// As much as the buffer cache holds.
    Cached,
    /// A fixed number of bytes; blocks not in the cache are read from a data file.
    Bytes(u64),
}

impl DataSize {
    /// Parses a size or [`CACHED`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == CACHED {
            return Some(DataSize::Cached);
        }
        let ByteSize(bytes) = text.parse().ok()?;
        let can_be = CACHE_BYTES_MIN..=CACHE_BYTES_MAX;
        can_be.contains(&bytes).then_some(DataSize::Bytes(bytes))
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        let (min, max) = (ByteSize(CACHE_BYTES_MIN), ByteSize(CACHE_BYTES_MAX));
        format!("a size from {min} to {max} such as 1GiB, or {CACHED}")
    }

    /// Returns the requested bytes; `None` for as much as the cache holds.
    pub(crate) fn bytes(self) -> Option<u64> {
        match self {
            DataSize::Cached => None,
            DataSize::Bytes(bytes) => Some(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::DataSize;

    #[test]
    fn data_is_cached_or_has_a_size() {
        let check = |text, expected| assert_eq!(DataSize::parse(text), expected, "{text}");
        check("cached", Some(DataSize::Cached));
        check("1GiB", Some(DataSize::Bytes(1 << 30)));
        check("1KiB", None);
        check("all", None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = DataSize::parse(&text);
        }
    }
}
