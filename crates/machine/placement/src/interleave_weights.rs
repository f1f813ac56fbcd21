//! The weights of weighted interleaving (Linux 6.9), one for each node, set through the journal.
//! They belong to the whole machine: every later allocation under that policy follows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use journal::{
    Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing, claim_path, deadline,
    kernel_place,
};
use linux::Root;
use linux::control_group::{self, ControlGroupError};
use linux::kernel_place::KernelPlace;
use linux::kernel_settings::{automatic_weights, interleave_weights, interleave_weights_folder};
use model::NodeId;
use serde::{Deserialize, Serialize};

/// Sets the weights of these nodes and leaves those of others. Returns whether anything had to be
/// changed. Where the kernel sets the weights itself (Linux 6.16), it ceases to with the first one
/// that is written.
///
/// # Errors
/// When the kernel has no weights or none for a node, the journal or a file cannot be written, or
/// another numalab is changing them; nothing is changed then.
pub fn set(
    root: &Root,
    journal: &Journal,
    weights: &BTreeMap<NodeId, u8>,
) -> Result<bool, crate::Error> {
    let folder = interleave_weights_folder(root);
    let _claim = claim_path(&folder, deadline())?;
    let now = interleave_weights(root)?.ok_or(crate::Error::NoWeights)?;
    let mut before = BTreeMap::new();
    for node in weights.keys() {
        let weight = now
            .get(node)
            .ok_or(crate::Error::NoWeightOf { node: *node })?;
        before.insert(*node, *weight);
    }
    let written: BTreeMap<NodeId, u64> = weights
        .iter()
        .map(|(node, weight)| (*node, u64::from(*weight)))
        .collect();
    if written == before {
        return Ok(false);
    }
    let entry = WeightsSet {
        before: before.clone(),
        written: written.clone(),
        was_automatic: automatic_weights(root)?.map(|(_, is_on)| is_on),
    }
    .record(journal)?;
    if let Err(error) = write(root, &before, &written) {
        // Nothing is left of a request that the kernel refused, as far as it lets us.
        let now = interleave_weights(root).ok().flatten();
        let is_as_before = now.is_some_and(|now| write(root, &now, &before).is_ok());
        return Err(journal.failed(entry, is_as_before, error.into()).into());
    }
    Ok(true)
}

/// Writes the weights that differ.
fn write(
    root: &Root,
    now: &BTreeMap<NodeId, u64>,
    wanted: &BTreeMap<NodeId, u64>,
) -> Result<(), ControlGroupError> {
    for (node, weight) in wanted {
        if now.get(node) != Some(weight) {
            control_group::write(&file_of(root, *node), &weight.to_string())?;
        }
    }
    Ok(())
}

fn file_of(root: &Root, node: NodeId) -> PathBuf {
    interleave_weights_folder(root).join(format!("node{node}"))
}

/// The weights of weighted interleaving were set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WeightsSet {
    /// The weights before, by node.
    before: BTreeMap<NodeId, u64>,
    /// The weights since.
    written: BTreeMap<NodeId, u64>,
    /// Whether the kernel set them itself before; `None`: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    was_automatic: Option<bool>,
}

impl Display for WeightsSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (written, before) = (words(&self.written), words(&self.before));
        write!(
            f,
            "weights of interleaving set to {written} (were {before})"
        )
    }
}

/// `0:2,1:1`.
fn words(weights: &BTreeMap<NodeId, u64>) -> String {
    let parts = weights
        .iter()
        .map(|(node, weight)| format!("{node}:{weight}"));
    parts.collect::<Vec<_>>().join(",")
}

/// `ENODEV` (errno(3)): firmware states no bandwidths, so the kernel cannot set weights itself
/// (mm/mempolicy.c, `weighted_interleave_auto_store`).
const NO_BANDWIDTHS: i32 = 19;

impl Change for WeightsSet {
    const KIND: &'static str = "interleave-weights-set";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        let folder = interleave_weights_folder(&Root::live());
        Ok([Thing::file(&folder)].into())
    }

    /// It names no file to write, only nodes.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        let folder = interleave_weights_folder(&Root::live());
        Ok(match kernel_place(&folder)? {
            KernelPlace::Gone => Presence::Gone,
            place => Presence::there_if(place == KernelPlace::Sysfs, folder.display()),
        })
    }

    /// Restores the former weights, and lets the kernel set them itself again where it did. A
    /// weight between the former ones and ours is ours: a kill may have come between two writes.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let Some(now) = interleave_weights(how.root)? else {
            return Ok(None);
        };
        let automatic = automatic_weights(how.root)?;
        let is_automatic = automatic.is_some_and(|(_, is_on)| is_on);
        let was_automatic = self.was_automatic == Some(true);
        if is_automatic && was_automatic {
            return Ok(None);
        }
        if !how.force {
            self.check_ours(&now, is_automatic)?;
        }
        // A node that is gone has no weight to restore.
        let mut former = self.before.clone();
        former.retain(|node, _| now.contains_key(node));
        let Some((name, _)) = automatic.filter(|_| was_automatic) else {
            write(how.root, &now, &former)?;
            return Ok(None);
        };
        let file = interleave_weights_folder(how.root).join(name);
        match control_group::write(&file, "true") {
            Ok(()) => Ok(None),
            Err(error) if error.cause.raw_os_error() == Some(NO_BANDWIDTHS) => {
                write(how.root, &now, &former)?;
                let left = format!(
                    "{} stays off until the next boot: the kernel has no bandwidths from which it \
                     could set weights; they are as before",
                    file.display()
                );
                Ok(Some(left))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl WeightsSet {
    /// Refuses to overwrite what another process has set since.
    fn check_ours(&self, now: &BTreeMap<NodeId, u64>, is_automatic: bool) -> Result<(), Error> {
        let refused = |reason| Error::Undo {
            change: self.to_string(),
            reason,
        };
        if is_automatic {
            let reason = "another process has let the kernel set them itself since";
            return Err(refused(reason.to_owned()));
        }
        for (node, weight) in now {
            let known = [self.before.get(node), self.written.get(node)];
            if self.written.contains_key(node) && !known.contains(&Some(weight)) {
                let reason =
                    format!("another process has set the weight of node {node} to {weight} since");
                return Err(refused(reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    // Ordinary files stand in for the kernel's; a write replaces all of one only where the values
    // have the same length.
    use std::fs;

    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
        root: Root,
        journal: Journal,
    }

    impl Machine {
        /// Nodes 0 and 2 with weights 1 and 5, with the file by which the kernel sets them itself.
        fn new(automatic: Option<&str>) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::at(folder.path()).unwrap();
            let journal = Journal::in_directory(folder.path());
            let machine = Machine {
                folder,
                root,
                journal,
            };
            fs::create_dir_all(interleave_weights_folder(&machine.root)).unwrap();
            machine.write("node0", "1");
            machine.write("node2", "5");
            if let Some(text) = automatic {
                machine.write("auto", text);
            }
            machine
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(interleave_weights_folder(&self.root).join(name), text).unwrap();
        }

        fn weights(&self) -> String {
            words(&interleave_weights(&self.root).unwrap().unwrap())
        }

        fn set(&self, weights: &[(u32, u8)]) -> Result<bool, crate::Error> {
            let weights = weights
                .iter()
                .map(|(node, weight)| (NodeId(*node), *weight));
            set(&self.root, &self.journal, &weights.collect())
        }

        /// Takes back what the journal holds.
        fn take_back(&self, force: bool) -> Result<Option<String>, String> {
            let entry = self.journal.in_force().unwrap().pop().unwrap();
            let change = WeightsSet::of(&entry.change).unwrap();
            let how = TakeBack {
                root: &self.root,
                journal: &self.journal,
                entry: entry.entry,
                force,
                bytes_per_s: None,
            };
            change.take_back(&how).map_err(|error| error.to_string())
        }
    }

    #[test]
    fn weights_are_set_and_come_back() {
        let machine = Machine::new(None);
        assert!(!machine.set(&[(0, 1), (2, 5)]).unwrap());
        assert_eq!(machine.journal.in_force().unwrap().len(), 0);
        assert!(machine.set(&[(0, 3), (2, 2)]).unwrap());
        assert_eq!(machine.weights(), "0:3,2:2");
        assert_eq!(machine.take_back(false), Ok(None));
        assert_eq!(machine.weights(), "0:1,2:5");
        assert_eq!(machine.take_back(false), Ok(None));
    }

    #[test]
    fn weights_that_a_kill_left_halfway_come_back() {
        let machine = Machine::new(None);
        machine.set(&[(0, 3), (2, 2)]).unwrap();
        machine.write("node2", "5");
        assert_eq!(machine.take_back(false), Ok(None));
        assert_eq!(machine.weights(), "0:1,2:5");
    }

    #[test]
    fn what_another_process_set_stays_unless_forced() {
        let machine = Machine::new(None);
        machine.set(&[(0, 3), (2, 2)]).unwrap();
        machine.write("node0", "9");
        let refused = machine.take_back(false).unwrap_err();
        assert!(refused.contains("weight of node 0 to 9 since"), "{refused}");
        assert_eq!(machine.weights(), "0:9,2:2");
        assert_eq!(machine.take_back(true), Ok(None));
        assert_eq!(machine.weights(), "0:1,2:5");
    }

    #[test]
    fn the_kernel_sets_them_itself_again_where_it_did() {
        let machine = Machine::new(Some("true"));
        machine.set(&[(0, 3), (2, 2)]).unwrap();
        machine.write("auto", "false");
        assert_eq!(machine.take_back(false), Ok(None));
        let file = interleave_weights_folder(&machine.root).join("auto");
        let said = fs::read_to_string(file).unwrap();
        assert_eq!(
            said, "truee",
            "`true` was written to a file that is not the kernel's"
        );

        let machine = Machine::new(Some("false"));
        machine.set(&[(0, 3), (2, 2)]).unwrap();
        machine.write("auto", "true");
        let refused = machine.take_back(false).unwrap_err();
        assert!(refused.contains("set them itself since"), "{refused}");
    }

    #[test]
    fn a_kernel_or_a_node_without_weights_is_refused_and_nothing_is_written() {
        let machine = Machine::new(None);
        let refused = machine.set(&[(0, 3), (7, 2)]).unwrap_err().to_string();
        assert!(refused.contains("no weight of node 7"), "{refused}");
        assert_eq!(machine.weights(), "0:1,2:5");
        fs::remove_dir_all(machine.folder.path().join("sys")).unwrap();
        let refused = machine.set(&[(0, 3)]).unwrap_err().to_string();
        assert!(refused.contains("needs Linux 6.9"), "{refused}");
        assert_eq!(machine.journal.in_force().unwrap().len(), 0);
    }
}
