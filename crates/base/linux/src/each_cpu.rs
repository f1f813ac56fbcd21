//! Reads what each CPU says about itself, on several threads where there are many CPUs: a machine
//! with 1,152 of them has some 30 files for each.

use std::num::NonZero;
use std::thread;

use model::{CpuId, CpuSet};

use crate::Error;

/// A thread reads at least this many CPUs: that takes milliseconds, and starting one a fraction of
/// that.
const CPUS_PER_THREAD: usize = 32;

/// More threads get in one another's way in the kernel's file system.
const THREADS_MAX: usize = 16;

/// What `read` says of each CPU, ascending.
///
/// # Errors
/// That of the first CPU that has one.
pub fn of_each<T: Send>(
    cpus: &CpuSet,
    read: impl Fn(CpuId) -> Result<T, Error> + Sync,
) -> Result<Vec<(CpuId, T)>, Error> {
    let usable = thread::available_parallelism().map_or(1, NonZero::get);
    on_threads(usable.min(THREADS_MAX), cpus, read)
}

fn on_threads<T: Send>(
    threads_max: usize,
    cpus: &CpuSet,
    read: impl Fn(CpuId) -> Result<T, Error> + Sync,
) -> Result<Vec<(CpuId, T)>, Error> {
    let cpus: Vec<CpuId> = cpus.iter().collect();
    let threads = threads_max.min(cpus.len() / CPUS_PER_THREAD).max(1);
    let read = &|cpus: &[CpuId]| -> Result<Vec<(CpuId, T)>, Error> {
        let with_answer = |cpu: &CpuId| Ok((*cpu, read(*cpu)?));
        cpus.iter().map(with_answer).collect()
    };
    let (own, others) = cpus.split_at(cpus.len().div_ceil(threads));
    let parts = thread::scope(|scope| {
        let size = others.len().div_ceil(threads.saturating_sub(1).max(1));
        let start = |part| thread::Builder::new().spawn_scoped(scope, move || read(part));
        let started = others.chunks(size.max(1)).map(|part| (part, start(part)));
        let started: Vec<_> = started.collect();
        let mut parts = vec![read(own)];
        for (part, thread) in started {
            parts.push(match thread.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(answers)) => answers,
                Ok(Err(why)) => std::panic::resume_unwind(why),
                // Where no more threads may be started, this one reads their part.
                Err(_) => read(part),
            });
        }
        parts
    });
    let mut all = Vec::with_capacity(cpus.len());
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::thread;

    use model::{CpuId, CpuSet};
    use proptest::prelude::*;

    use super::on_threads;
    use crate::Error;

    fn error(cpu: CpuId) -> Error {
        Error::NoCpu {
            path: PathBuf::from(cpu.to_string()),
        }
    }

    #[test]
    fn many_cpus_are_read_on_several_threads() {
        let cpus: CpuSet = (0..1152).map(CpuId).collect();
        let seen = Mutex::new(HashSet::new());
        let read = |cpu: CpuId| {
            seen.lock().unwrap().insert(thread::current().id());
            Ok(cpu.0 * 2)
        };
        let all = on_threads(4, &cpus, read).unwrap();
        assert!(all.iter().map(|(cpu, _)| cpu.0).eq(0..1152));
        assert!(all.iter().all(|(cpu, twice)| *twice == cpu.0 * 2));
        assert_eq!(seen.lock().unwrap().len(), 4);
        let few: CpuSet = (0..63).map(CpuId).collect();
        let own = thread::current().id();
        let all = on_threads(4, &few, |_| Ok(thread::current().id())).unwrap();
        assert!(all.iter().all(|(_, thread)| *thread == own));
    }

    proptest! {
        #[test]
        fn every_cpu_is_read_once_and_the_first_error_is_told(
            cpus in prop::collection::btree_set(0..5000_u32, 0..400),
            wrong in prop::collection::btree_set(0..5000_u32, 0..3),
            threads in 1..20_usize,
        ) {
            let set: CpuSet = cpus.iter().copied().map(CpuId).collect();
            let read = |cpu: CpuId| match wrong.contains(&cpu.0) {
                true => Err(error(cpu)),
                false => Ok(cpu),
            };
            let found = on_threads(threads, &set, read);
            match cpus.iter().find(|cpu| wrong.contains(cpu)) {
                Some(first) => {
                    let expected = error(CpuId(*first)).to_string();
                    prop_assert_eq!(found.unwrap_err().to_string(), expected);
                }
                None => {
                    let expected: Vec<_> = set.iter().map(|cpu| (cpu, cpu)).collect();
                    prop_assert_eq!(found.unwrap(), expected);
                }
            }
        }
    }
}
