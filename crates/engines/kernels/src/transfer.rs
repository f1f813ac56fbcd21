//! Measures how long a cache line takes to move from the CPU that wrote it to the CPU that reads it
//! next. The caller chooses the node whose memory holds the line: the line's home takes part in
//! every transfer between sockets, and a fixed home makes one of two equal CPUs look slower
//! (core-to-core-latency, issues 97 and 156).

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use linux::{Root, affinity};
use model::{CpuId, CpuSet, MeasurementEvidence, PageKind};

use crate::Error;
use crate::contradictions::contradictions;
use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};
use crate::placed_thread::{Watch, join};
use crate::timer::Timer;

/// How to measure a transfer, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferPlan {
    /// The CPU that writes first and keeps the time.
    pub from: CpuId,
    /// The CPU that answers; must differ from `from`.
    pub to: CpuId,
    /// Node of the line.
    pub home: MemoryNodes,
    /// Number of timed windows.
    pub windows: u32,
    /// Round trips in a window.
    pub round_trips: u32,
}

/// Result of one transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferMeasurement {
    /// One-way latency in each window, in ns: half a round trip.
    pub samples_ns: Vec<f64>,
    /// The last number exchanged: twice the number of round trips.
    pub checksum: u64,
    /// What the kernel reports about the line's page and the thread that kept the time.
    pub evidence: MeasurementEvidence,
    /// How the evidence contradicts the plan; a measurement with any contradiction is invalid.
    pub contradictions: Vec<String>,
}

/// Untimed round trips before the first window: the first ones fetch the line from memory.
const ROUND_TRIPS_UNTIMED: u32 = 100;

/// Polls of the line between two clock readings: about 0.1 ms.
const LOOKS: u32 = 1 << 16;

/// Timeout for an answer. A CPU that runs other work comes back within about 0.1 s.
const ANSWER_NS: u64 = 2_000_000_000;

/// Written by a side that gives up, so that the other gives up, too.
const OVER: u64 = u64::MAX;

/// Measures the transfer between two CPUs once, on a fresh page.
///
/// # Errors
/// [`Error::NoAnswer`] when a CPU does not answer for two seconds. Also when a CPU cannot be used,
/// the page cannot be allocated, or evidence cannot be read.
///
/// # Panics
/// When both CPUs are the same.
pub fn measure_transfer(
    plan: &TransferPlan,
    timer: &Timer,
    root: &Root,
) -> Result<TransferMeasurement, Error> {
    assert!(plan.from != plan.to, "a line goes from one CPU to another");
    let small = PageChoice::Only(PageKind::Small);
    let mut memory = PlacedMemory::make(root, 1, &plan.home, small)?;
    let address = memory.address();
    let line: *mut u64 = memory.words_mut().as_mut_ptr();
    // SAFETY: the word is aligned and mapped, `memory` outlives the threads, and its words are
    // accessed only through this reference.
    let line = unsafe { AtomicU64::from_ptr(line) };
    let in_all =
        u64::from(ROUND_TRIPS_UNTIMED) + u64::from(plan.windows) * u64::from(plan.round_trips);
    thread::scope(|scope| {
        let answering = scope.spawn(move || {
            let bound = affinity::bind_this_thread(&CpuSet::of(plan.to));
            let answered = bound
                .map_err(Error::from)
                .and_then(|()| answer(line, in_all, plan));
            if answered.is_err() {
                line.store(OVER, Ordering::Release);
            }
            answered
        });
        let asking = scope.spawn(move || {
            let asked = ask(line, plan, timer, || Watch::begin(root, address));
            if asked.is_err() {
                line.store(OVER, Ordering::Release);
            }
            asked
        });
        let asked = join(plan.from, asking);
        // Report the answering side's error first: the asking side sees only that no answer came.
        join(plan.to, answering)?;
        asked
    })
}

/// Runs the side that keeps the time: writes odd numbers and waits for the even ones that follow.
fn ask<'r>(
    line: &AtomicU64,
    plan: &TransferPlan,
    timer: &Timer,
    watch: impl FnOnce() -> Result<Watch<'r>, Error>,
) -> Result<TransferMeasurement, Error> {
    affinity::bind_this_thread(&CpuSet::of(plan.from))?;
    let mut number = 0;
    let mut round_trips = |count: u32| -> Result<(), Error> {
        for _ in 0..count {
            line.store(number + 1, Ordering::Release);
            number += 2;
            wait_for(line, number, plan.to)?;
        }
        Ok(())
    };
    let mut watch = watch()?;
    round_trips(ROUND_TRIPS_UNTIMED)?;
    let mut samples_ns = Vec::with_capacity(plan.windows as usize);
    for _ in 0..plan.windows {
        let begin = timer.now();
        round_trips(plan.round_trips)?;
        let end = timer.now();
        samples_ns.push(timer.ns_between(begin, end) / f64::from(plan.round_trips) / 2.0);
        watch.look();
    }
    let evidence = watch.end()?;
    Ok(TransferMeasurement {
        samples_ns,
        checksum: number,
        contradictions: contradictions(plan.from, &plan.home, &evidence),
        evidence,
    })
}

/// Runs the side that answers: waits for odd numbers and writes the next even one.
fn answer(line: &AtomicU64, round_trips: u64, plan: &TransferPlan) -> Result<(), Error> {
    for round_trip in 0..round_trips {
        let number = 2 * round_trip + 1;
        wait_for(line, number, plan.from)?;
        line.store(number + 1, Ordering::Release);
    }
    Ok(())
}

/// Polls the line until it holds `number`. Uses no pause instruction, which would add to the
/// latency.
#[inline]
fn wait_for(line: &AtomicU64, number: u64, from: CpuId) -> Result<(), Error> {
    let mut begin_ns = None;
    loop {
        for _ in 0..LOOKS {
            if line.load(Ordering::Acquire) == number {
                return Ok(());
            }
        }
        let now_ns = linux::clock::monotonic_ns();
        let waited_ns = now_ns - *begin_ns.get_or_insert(now_ns);
        if waited_ns > ANSWER_NS || line.load(Ordering::Acquire) == OVER {
            return Err(Error::NoAnswer { cpu: from });
        }
    }
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CpuId, NodeId};
    use testing::{Need, not_run};

    use super::{ROUND_TRIPS_UNTIMED, TransferPlan, measure_transfer};
    use crate::placed_memory::MemoryNodes;
    use crate::timer::Timer;

    fn plan(from: CpuId, to: CpuId) -> TransferPlan {
        TransferPlan {
            from,
            to,
            home: MemoryNodes::Bind(NodeId(0)),
            windows: 3,
            round_trips: 20,
        }
    }

    #[test]
    fn a_line_goes_to_and_fro() {
        let cpus = linux::affinity::of_this_thread().unwrap();
        let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else {
            unreachable!("a thread has a CPU");
        };
        if first == last {
            let why = "this process may use one CPU only";
            return not_run("a_line_goes_to_and_fro", Need::Hardware, why);
        }
        let timer = Timer::for_tests();
        let measured = measure_transfer(&plan(first, last), &timer, &Root::live()).unwrap();
        assert_eq!(measured.contradictions, Vec::<String>::new());
        assert_eq!(measured.samples_ns.len(), 3);
        assert!(measured.samples_ns.iter().all(|ns| *ns > 0.0));
        assert_eq!(measured.checksum, 2 * u64::from(ROUND_TRIPS_UNTIMED + 60));
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named_by_either_side() {
        let cpu = linux::affinity::of_this_thread().unwrap().first().unwrap();
        for plan in [plan(cpu, CpuId(8000)), plan(CpuId(8000), cpu)] {
            let error = measure_transfer(&plan, &Timer::for_tests(), &Root::live()).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("8000"), "{text}");
        }
    }
}
