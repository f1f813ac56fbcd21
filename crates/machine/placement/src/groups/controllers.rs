//! Gives back the controllers that were enabled for groups.

use journal::{Change, Entry, Journal, Kind, Kinds, Origin};
use linux::Root;

use super::changes::GroupNamed;
use crate::Error;
use crate::group::{ControllerEnabled, GroupCreated};

/// Disables the controllers that were enabled for groups once the last group is gone. One that
/// another cgroup uses by now stays enabled, and in the journal.
pub(super) fn give_back_controllers(root: &Root, journal: &Journal) -> Result<(), Error> {
    let in_force = journal.of_this_boot(root)?;
    let is_group = |entry: &Entry| {
        let kind = entry.change.kind();
        [GroupNamed::KIND, GroupCreated::KIND].contains(&kind)
    };
    if in_force.iter().any(is_group) {
        return Ok(());
    }
    const CONTROLLERS: Kinds = Kinds(&[&[Kind::of::<ControllerEnabled>()]]);
    let is_wanted = |entry: &Entry| {
        let is_controller = entry.change.kind() == ControllerEnabled::KIND;
        is_controller && entry.made_by.origin(root) == Origin::ThisBoot
    };
    // What another cgroup uses by now fails, and stays.
    journal::undo(journal, CONTROLLERS, is_wanted, false)?;
    Ok(())
}
