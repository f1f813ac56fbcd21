//! Takes back what the journal still holds.

use linux::Root;

use crate::journal::{Change, Entry, Journal};
use crate::{Error, group, groups, kernel_file, mount_policy, moving, pools, scratch_cluster};

/// What became of one change.
#[derive(Debug)]
pub struct Undone {
    /// The change.
    pub entry: Entry,
    /// Why it could not be taken back.
    pub failure: Option<Error>,
}

/// Takes back the changes in force that `wanted` chooses, newest first: what a later change stands
/// on is taken back after it. With `force`, also what somebody else has changed since.
///
/// # Errors
/// [`Error::Journal`] when the journal itself cannot be used; a change that cannot be taken back
/// is in the answer and stays in the journal.
pub fn undo(
    journal: &Journal,
    wanted: impl Fn(&Entry) -> bool,
    force: bool,
) -> Result<Vec<Undone>, Error> {
    let mut done = Vec::new();
    for entry in journal.in_force()?.into_iter().filter(wanted).rev() {
        let failure = match entry.maker.is_of_an_earlier_boot(&Root::live()) {
            // What is there now under the same name is somebody else's; a folder on a disk is not.
            true if !entry.change.outlives_a_boot() => None,
            _ => take_back(journal, &entry, force).err(),
        };
        if failure.is_none() {
            journal.mark_undone(entry.entry)?;
        }
        done.push(Undone { entry, failure });
    }
    Ok(done)
}

/// Takes back one change. Safe to call twice.
fn take_back(journal: &Journal, entry: &Entry, force: bool) -> Result<(), Error> {
    let change = &entry.change;
    match change {
        Change::GroupCreated { .. } | Change::ControllerEnabled { .. } => group::undo(change),
        Change::ClusterMade { directory } => scratch_cluster::remove(directory),
        Change::SchemaMade { schema, .. } => Err(Error::Undo {
            change: change.to_string(),
            reason: format!("only its server can: DROP SCHEMA \"{schema}\" CASCADE"),
        }),
        Change::FileWritten { .. } => kernel_file::undo(change, force),
        Change::PoolResized { .. } => pools::undo(change, force),
        Change::MountPolicySet { .. } => mount_policy::undo(change, force),
        Change::SegmentPolicySet { .. } => moving::undo_policy(&Root::live(), change, force),
        Change::PagesMoved { .. } => moving::undo_pages(&Root::live(), journal, entry, force),
        Change::GroupNamed { .. } | Change::MemberMoved { .. } => groups::undo(change),
    }
}
