//! A running instance: its parts, and operations on it as a whole. `instance_process` starts it.

use std::sync::atomic::Ordering;

use linux::Root;
use linux::shared_memory::Mapping;
use model::SgaEvidence;
use placement::evidence::Residency;

use crate::order::InstanceOrder;
use crate::sga::Sga;
use crate::storage::Storage;
use crate::{Error, sga_memory};

/// A running instance.
pub(crate) struct Instance<'m> {
    pub order: &'m InstanceOrder,
    pub root: Root,
    pub sga: Sga<'m>,
    pub mapping: &'m Mapping,
    pub storage: Option<Storage<'m>>,
}

impl Instance<'_> {
    /// Returns what the kernel reports about the SGA, given where its pages were before.
    pub(crate) fn sga_evidence(&self, before: &Residency) -> Result<SgaEvidence, Error> {
        let (plan, layout) = (&self.order.work.sga, &self.sga.layout);
        sga_memory::evidence(&self.root, self.mapping, plan, layout, before)
    }

    /// Starts the sessions that wait at the barrier.
    pub(crate) fn open_barrier(&self) {
        let start = &self.sga.control.gate.0.start;
        start.store(1, Ordering::Release);
        linux::futex::wake(start, u32::MAX >> 1);
    }

    /// Returns warnings about the instance itself for readers of the trial.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let indirect = self
            .storage
            .as_ref()
            .is_some_and(|storage| !storage.file().is_direct());
        let warning = "reads of the data file go through the page cache: its file system does not \
                       support O_DIRECT";
        indirect.then(|| warning.to_owned()).into_iter().collect()
    }

    /// Tells every session to end at its next statement.
    pub(crate) fn stop(&self) {
        let stop = &self.sga.control.gate.0.stop;
        stop.store(1, Ordering::Release);
        linux::futex::wake(stop, u32::MAX >> 1);
    }
}
