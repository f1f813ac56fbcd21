//! Measures how long a cache line takes from the CPU that wrote it to the CPU that reads it next.
//! The node whose memory holds the line is the caller's choice: the line's home takes part in every
//! transfer between sockets, and a fixed home makes one of two equal CPUs look slower
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

/// How a transfer is to be measured, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferPlan {
    /// The CPU that begins, and keeps the time.
    pub from: CpuId,
    /// The CPU that answers; another one.
    pub to: CpuId,
    /// Where the line is to lie.
    pub home: MemoryNodes,
    /// Windows timed.
    pub windows: u32,
    /// Round trips in a window.
    pub round_trips: u32,
}

/// What one transfer gave.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferMeasurement {
    /// One way in each window, in ns: half of a round trip.
    pub samples_ns: Vec<f64>,
    /// The last number that went to and fro: twice the round trips made.
    pub checksum: u64,
    /// What the kernel says of the line's page and of the thread that kept the time.
    pub evidence: MeasurementEvidence,
    /// How the evidence contradicts the plan; a measurement with any is invalid.
    pub contradictions: Vec<String>,
}

/// Round trips that come before the first window: the first ones find the line in memory.
const ROUND_TRIPS_UNTIMED: u32 = 100;

/// Looks at the line between two looks at the clock: some 0.1 ms.
const LOOKS: u32 = 1 << 16;

/// How long an answer is waited for. A CPU that serves others comes back within some 0.1 s.
const ANSWER_NS: u64 = 2_000_000_000;

/// What is written when one side gives up, so that the other does, too.
const OVER: u64 = u64::MAX;

/// Measures the transfer between two CPUs, once, on a fresh page.
///
/// # Errors
/// [`Error::NoAnswer`] when a CPU does not answer for two seconds; when a CPU cannot be used, the
/// page cannot be had, or evidence cannot be read.
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
    // SAFETY: the word is aligned and mapped, `memory` outlives the threads, and nobody uses its
    // words but through this.
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
        // Why the other side gave up says more than that it did.
        join(plan.to, answering)?;
        asked
    })
}

/// The side that keeps the time: writes odd numbers, waits for the even ones that follow.
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

/// The side that answers: waits for odd numbers and writes the next even one.
fn answer(line: &AtomicU64, round_trips: u64, plan: &TransferPlan) -> Result<(), Error> {
    for round_trip in 0..round_trips {
        let number = 2 * round_trip + 1;
        wait_for(line, number, plan.from)?;
        line.store(number + 1, Ordering::Release);
    }
    Ok(())
}

/// Looks at the line until it holds `number`. Without a pause instruction: it would be measured.
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
