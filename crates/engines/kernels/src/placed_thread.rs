//! Runs threads on chosen CPUs and collects evidence of where they ran.

use std::thread;

use linux::{Root, affinity, machine_counters, schedstat};
use model::{CpuId, CpuSet, MeasurementEvidence, MemoryEvidence};

use crate::Error;
use crate::placed_memory::MemoryAddress;

/// Runs `work` on a new thread bound to `cpu` and waits for it. The affinity of the calling thread
/// does not change.
///
/// # Errors
/// When the CPU is offline or forbidden, and the errors of `work`.
pub(crate) fn on_cpu<T: Send>(
    cpu: CpuId,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let bound = || {
            bind_to(cpu)?;
            work()
        };
        let thread = thread::Builder::new().spawn_scoped(scope, bound);
        let thread = thread.map_err(|cause| Error::Thread {
            cpu,
            reason: cause.to_string(),
        })?;
        join(cpu, thread)
    })
}

/// Binds this thread to a CPU.
///
/// # Errors
/// When the CPU is offline or forbidden.
pub(crate) fn bind_to(cpu: CpuId) -> Result<(), Error> {
    affinity::bind_this_thread(&CpuSet::of(cpu)).map_err(|cause| Error::NoCpu { cpu, cause })
}

/// Returns the result of a thread; a panic becomes an error that names the CPU.
pub(crate) fn join<T>(
    cpu: CpuId,
    thread: thread::ScopedJoinHandle<'_, Result<T, Error>>,
) -> Result<T, Error> {
    thread.join().unwrap_or_else(|_| {
        let reason = "it panicked".to_owned();
        Err(Error::Thread { cpu, reason })
    })
}

/// Watches a measuring thread from before its first window to after its last.
pub(crate) struct Watch<'r> {
    root: &'r Root,
    memory: MemoryAddress,
    memory_before: MemoryEvidence,
    wait_before_ns: Option<u64>,
    counters_before: machine_counters::MachineCounters,
    cpus_used: CpuSet,
}

impl<'r> Watch<'r> {
    /// Starts the watch. Call it on the measuring thread.
    pub(crate) fn begin(root: &'r Root, memory: MemoryAddress) -> Result<Self, Error> {
        Ok(Watch {
            root,
            memory,
            memory_before: memory.evidence(root)?,
            wait_before_ns: schedstat::run_queue_wait_of_thread_ns(root)?,
            counters_before: machine_counters::read(root)?,
            cpus_used: CpuSet::of(affinity::current_cpu()),
        })
    }

    /// Records the CPU the thread runs on; called between windows.
    pub(crate) fn look(&mut self) {
        self.cpus_used.insert(affinity::current_cpu());
    }

    /// Ends the watch. Call it on the measuring thread.
    pub(crate) fn end(mut self) -> Result<MeasurementEvidence, Error> {
        self.look();
        let wait_after_ns = schedstat::run_queue_wait_of_thread_ns(self.root)?;
        let counters = machine_counters::read(self.root)?;
        let before = self.counters_before;
        let pages = counters.numa_pages_migrated;
        Ok(MeasurementEvidence {
            cpus_allowed: affinity::of_this_thread()?,
            cpus_used: self.cpus_used,
            memory_before: self.memory_before,
            memory_after: self.memory.evidence(self.root)?,
            run_queue_wait_ns: difference(wait_after_ns, self.wait_before_ns),
            numa_pages_migrated: difference(pages, before.numa_pages_migrated),
            steal_s: match (counters.steal_s, before.steal_s) {
                (Some(after), Some(before)) => Some((after - before).max(0.0)),
                _ => None,
            },
        })
    }
}

fn difference(after: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

#[cfg(test)]
mod tests {
    use linux::{Root, affinity};
    use model::{CpuId, NodeId, PageKind};

    use super::{Watch, on_cpu};
    use crate::placed_memory::{MemoryNodes, PageChoice, PlacedMemory};

    #[test]
    fn work_runs_where_it_is_told_and_the_caller_stays_free() {
        let before = affinity::of_this_thread().unwrap();
        let last = before.last().unwrap();
        let cpu = on_cpu(last, || Ok(affinity::current_cpu())).unwrap();
        assert_eq!(cpu, last);
        assert_eq!(affinity::of_this_thread().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_does_not_exist_and_a_panic_are_errors() {
        let error = on_cpu(CpuId(8000), || Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("CPU 8000 is offline or "), "{error}");
        let cpu = affinity::of_this_thread().unwrap().first().unwrap();
        let error = on_cpu(cpu, || -> Result<(), _> { panic!("a test") }).unwrap_err();
        assert!(error.to_string().contains("it panicked"), "{error}");
    }

    #[test]
    fn a_watch_tells_what_came_of_the_placement() {
        let root = Root::live();
        let cpu = affinity::of_this_thread().unwrap().last().unwrap();
        let evidence = on_cpu(cpu, || {
            let nodes = MemoryNodes::Bind(NodeId(0));
            let small = PageChoice::Only(PageKind::Small);
            let memory = PlacedMemory::make(&root, 1 << 20, &nodes, small)?;
            Watch::begin(&root, memory.address())?.end()
        })
        .unwrap();
        assert_eq!(evidence.cpus_allowed.to_string(), cpu.to_string());
        assert_eq!(evidence.cpus_used, evidence.cpus_allowed);
        assert_eq!(evidence.memory_before, evidence.memory_after);
    }
}
