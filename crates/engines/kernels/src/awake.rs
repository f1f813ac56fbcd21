//! Keeps CPUs busy with an empty loop, so that the clocks of their packages (mesh, links, memory
//! controllers) do not slow down while another CPU measures (as Intel MLC does).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use model::{CpuId, CpuSet};

use crate::Error;

/// CPUs kept busy until this is dropped. Their threads access no memory except one flag.
#[derive(Debug)]
pub(crate) struct Awake {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps each of `cpus` busy. Skips CPUs that are offline or forbidden, which cannot measure
    /// either.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn keep(cpus: &CpuSet) -> Result<Self, Error> {
        let mut awake = Awake {
            is_over: Arc::new(AtomicBool::new(false)),
            threads: Vec::with_capacity(cpus.len()),
        };
        for cpu in cpus {
            let is_over = Arc::clone(&awake.is_over);
            let thread = thread::Builder::new().spawn(move || spin(cpu, &is_over));
            awake.threads.push(thread.map_err(|cause| Error::Thread {
                cpu,
                reason: cause.to_string(),
            })?);
        }
        Ok(awake)
    }
}

fn spin(cpu: CpuId, is_over: &AtomicBool) {
    if linux::affinity::bind_this_thread(&CpuSet::of(cpu)).is_err() {
        return;
    }
    while !is_over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A spinning thread cannot panic.
            let _spun = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Awake;

    #[test]
    fn busy_cpus_are_let_go() {
        let allowed = linux::affinity::of_this_thread().unwrap();
        drop(Awake::keep(&allowed).unwrap());
        drop(Awake::keep(&"8000".parse().unwrap()).unwrap());
    }
}
