//! The owner of pages that were moved: a shared object, or a process. Its lock covers every change
//! of its memory.

use std::cmp::Ordering;
use std::time::Instant;

use journal::{Claim, Error, Lock, Thing, claim_file};
use linux::{Root, file_lock, proc_stat};
use serde::{Deserialize, Serialize};

use super::object_words::ObjectWords;
use super::whereabouts;

/// The owner of pages. Two are the same if the kernel's ids agree: an object may have been renamed
/// since.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Owner {
    /// A shared object; pages are counted in it.
    Object {
        /// Which one.
        #[serde(flatten)]
        id: ObjectWords,
        /// Its name in /proc/PID/maps.
        name: String,
    },
    /// A process; pages are counted in its address space.
    Process {
        /// Its id.
        pid: u32,
        /// When it started: a later process with this id is a different one.
        start_ticks: u64,
    },
}

impl Owner {
    /// The ids by which the kernel knows it.
    fn id(&self) -> Result<ObjectWords, (u32, u64)> {
        match self {
            Owner::Object { id, .. } => Ok(*id),
            Owner::Process { pid, start_ticks } => Err((*pid, *start_ticks)),
        }
    }

    /// Its name, for messages.
    pub(super) fn words(&self) -> String {
        match self {
            Owner::Object { name, .. } => name.clone(),
            Owner::Process { pid, .. } => format!("the private memory of process {pid}"),
        }
    }

    /// An aspect of its memory, as a thing of a change.
    pub(super) fn thing(&self, aspect: &str) -> Thing {
        let (key, owner) = (self.key(), self.clone());
        let lock = Lock::new(format!("memory {key}"), move |root, deadline| {
            owner.claim(root, deadline)
        });
        Thing::locked(format!("{aspect} of {key}"), lock)
    }

    /// Its ids as text, ordered as owners are.
    fn key(&self) -> String {
        match self {
            Owner::Object { id, .. } => {
                let ObjectWords {
                    major,
                    minor,
                    inode,
                    is_sysv,
                    ipc_namespace,
                } = id;
                let namespace = ipc_namespace.map_or(0, |namespace| namespace.saturating_add(1));
                let is_sysv = u8::from(*is_sysv);
                format!("object {major:010} {minor:010} {inode:020} {is_sysv} {namespace:020}")
            }
            Owner::Process { pid, start_ticks } => format!("process {pid:010} {start_ticks:020}"),
        }
    }

    /// Takes the lock on its memory; `None` when it is gone.
    ///
    /// # Errors
    /// [`Error::AtWork`] when another process is changing it; another error when it cannot be
    /// reached.
    pub(super) fn claim(&self, root: &Root, deadline: Instant) -> Result<Option<Claim>, Error> {
        match self {
            Owner::Object { id, name } => match whereabouts::object(root, id, name)? {
                Some(object) => claim_file(object.file(), &self.words(), deadline).map(Some),
                None => Ok(None),
            },
            Owner::Process { pid, start_ticks } => {
                let file = file_lock::open_process(root, *pid).map_err(|cause| Error::Claim {
                    what: self.words(),
                    cause,
                })?;
                let is_same = |_: &_| {
                    proc_stat::read(root, *pid).is_ok_and(|it| it.start_ticks == *start_ticks)
                };
                let file = file.filter(is_same);
                file.map(|file| claim_file(&file, &self.words(), deadline))
                    .transpose()
            }
        }
    }
}

impl Ord for Owner {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id().cmp(&other.id())
    }
}

impl PartialOrd for Owner {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Owner {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owner() -> impl Strategy<Value = Owner> {
        let number = || prop_oneof![0..3_u64, any::<u64>()];
        let object = (
            0..2_u32,
            any::<u32>(),
            number(),
            any::<bool>(),
            proptest::option::of(number()),
        );
        let object = object.prop_map(|(major, minor, inode, is_sysv, ipc_namespace)| {
            let id = ObjectWords {
                major,
                minor,
                inode,
                is_sysv,
                ipc_namespace: ipc_namespace.map(|it| it.min(u64::MAX - 1)),
            };
            let name = "/dev/shm/x".to_owned();
            Owner::Object { id, name }
        });
        let process = (any::<u32>(), number());
        let process = process.prop_map(|(pid, start_ticks)| Owner::Process { pid, start_ticks });
        prop_oneof![object, process]
    }

    proptest! {
        /// A move takes its locks in the order of owners, undo in that of their names.
        #[test]
        fn locks_are_ordered_as_owners_are(one in owner(), other in owner()) {
            prop_assert_eq!(one.cmp(&other), one.key().cmp(&other.key()));
        }
    }
}
