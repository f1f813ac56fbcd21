//! What a command knows of the machine: one look, by which it plans, checks and records. Two looks
//! could differ.

use std::path::Path;

use experiment::{Definition, Host};
use linux::Root;
use model::{ByteSize, Machine, NamedCache, WorkingSet};
use model::{name_last_level_cache, shrink_last_level_cache};

use crate::capture::MachineRoot;
use crate::failure::Failure;
use crate::measuring::fitness;
use crate::measuring::host;
use crate::measuring::machine;

/// A machine, and what this process may use of it.
pub(crate) struct Context {
    /// Its topology, and what plans may use.
    pub host: Host,
    /// Whether it is this machine: nothing can be measured of a captured one.
    pub is_live: bool,
    /// The size of its last-level caches that plans go by, in the place of the kernel's.
    last_level_cache: Option<NamedCache>,
}

impl Context {
    /// Looks at this machine. A given size of the last-level cache replaces the one that the kernel
    /// shows.
    pub(crate) fn live(last_level_cache: Option<ByteSize>) -> Result<Self, Failure> {
        let host = host::of_this_process(&machine::live_topology()?)?;
        Ok(Self::of(host, true, last_level_cache))
    }

    /// Looks at the machine of this folder or archive, or at this one.
    pub(crate) fn at(
        root: Option<&Path>,
        last_level_cache: Option<ByteSize>,
    ) -> Result<Self, Failure> {
        let Some(path) = root else {
            return Self::live(last_level_cache);
        };
        let topology = topology::read(MachineRoot::at(Some(path))?.root())?;
        Ok(Self::of(Host::new(&topology), false, last_level_cache))
    }

    fn of(mut host: Host, is_live: bool, last_level_cache: Option<ByteSize>) -> Self {
        let caches = &mut host.topology.caches;
        let last_level_cache = last_level_cache.map(|size| name_last_level_cache(caches, size.0));
        Context {
            host,
            is_live,
            last_level_cache,
        }
    }

    /// Measures the part of the last-level cache that a process gets, if it may be less than the
    /// kernel shows and would make memory of the experiment smaller, and plans with it. Where it
    /// cannot be measured, and while another numalab measures, plans use the size that the kernel
    /// shows. Without a named experiment there are several, and the memory of some depends on the
    /// caches.
    pub(crate) fn go_by_cache_share(&mut self, named: Option<&Definition>) {
        let root = Root::live();
        if self.last_level_cache.is_some()
            || !may_have_a_part(&root, &self.host)
            || !named.is_none_or(Definition::goes_by_caches)
            || !self.host.caches_make_memory_larger()
        {
            return;
        }
        let measure = || experiment::memory::cache_share(&root, &self.host);
        let measured = fitness::unless_another_measures(measure);
        // A run without this measurement is as valid; it only takes longer to set up.
        if let Some(Ok(Some(bytes))) = measured {
            let caches = &mut self.host.topology.caches;
            self.last_level_cache = shrink_last_level_cache(caches, bytes);
        }
    }

    /// The record that a run keeps of it.
    pub(crate) fn record(&self, working_set: Option<WorkingSet>) -> Machine {
        Machine {
            last_level_cache: self.last_level_cache,
            working_set,
            ..machine::record_of(self.host.topology.clone())
        }
    }
}

/// Whether others may use a part of the caches that the kernel shows: neighbours of a guest, or
/// other groups of resctrl. The caches that an emulated machine shows cannot be measured.
fn may_have_a_part(root: &Root, host: &Host) -> bool {
    let has_resctrl = || {
        let schemata = root.read_optional("sys/fs/resctrl/schemata");
        matches!(schemata, Ok(Some(_)))
    };
    let topology = &host.topology;
    topology.emulated != Some(true) && (topology.hypervisor.is_some() || has_resctrl())
}
