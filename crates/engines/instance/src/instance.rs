//! An instance that is up: its parts, and what can be asked and told of it as a whole. How it comes
//! up is `instance_process`'s.

use std::sync::atomic::Ordering;

use linux::Root;
use linux::shared_memory::Mapping;
use model::SgaEvidence;
use numa::evidence::Residency;

use crate::order::InstanceOrder;
use crate::sga::Sga;
use crate::storage::Storage;
use crate::{Error, sga_memory};

/// An instance that is up.
pub(crate) struct Instance<'m> {
    pub order: &'m InstanceOrder,
    pub root: Root,
    pub sga: Sga<'m>,
    pub mapping: &'m Mapping,
    pub storage: Option<Storage<'m>>,
}

impl Instance<'_> {
    /// What the kernel says of the SGA, given where its pages were before.
    pub(crate) fn sga_evidence(&self, before: &Residency) -> Result<SgaEvidence, Error> {
        let (plan, layout) = (&self.order.work.sga, &self.sga.layout);
        sga_memory::evidence(&self.root, self.mapping, plan, layout, before)
    }

    /// Lets the sessions run that wait at the barrier.
    pub(crate) fn open_barrier(&self) {
        let start = &self.sga.control.gate.0.start;
        start.store(1, Ordering::Release);
        linux::futex::wake(start, u32::MAX >> 1);
    }

    /// What a reader of the trial should know of the instance itself.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let indirect = self
            .storage
            .as_ref()
            .is_some_and(|storage| !storage.file().is_direct());
        let warning = "the data file is read through the kernel's file cache: its file system has \
                       no O_DIRECT";
        indirect.then(|| warning.to_owned()).into_iter().collect()
    }

    /// Tells every session to end at its next statement.
    pub(crate) fn stop(&self) {
        let stop = &self.sga.control.gate.0.stop;
        stop.store(1, Ordering::Release);
        linux::futex::wake(stop, u32::MAX >> 1);
    }
}
