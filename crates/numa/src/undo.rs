//! Takes back what the journal still holds.

use linux::Root;

use crate::Error;
use crate::group;
use crate::journal::{Entry, Journal};

/// What became of one change.
#[derive(Debug)]
pub struct Undone {
    /// The change.
    pub entry: Entry,
    /// Why it could not be taken back.
    pub failure: Option<Error>,
}

/// Takes back the changes in force that `wanted` chooses, newest first.
///
/// # Errors
/// [`Error::Journal`] when the journal itself cannot be used; a change that cannot be taken back
/// is in the answer and stays in the journal.
pub fn undo(journal: &Journal, wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Undone>, Error> {
    let mut done = Vec::new();
    for entry in journal.in_force()?.into_iter().filter(wanted).rev() {
        let failure = match entry.maker.is_of_an_earlier_boot(&Root::live()) {
            // What is there now under the same name is somebody else's.
            true => None,
            false => group::undo(&entry.change).err(),
        };
        if failure.is_none() {
            journal.mark_undone(entry.entry)?;
        }
        done.push(Undone { entry, failure });
    }
    Ok(done)
}
