//! The document `numalab.groups/1`.

use model::GroupState;
use serde::Serialize;

/// The name of the format.
pub const GROUPS_FORMAT: &str = "numalab.groups/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct GroupsDocument<'a> {
    /// [`GROUPS_FORMAT`].
    pub format: &'static str,
    /// The groups.
    pub groups: &'a [GroupState],
}

/// Returns the document of these groups.
pub fn groups_document(groups: &[GroupState]) -> GroupsDocument<'_> {
    GroupsDocument {
        format: GROUPS_FORMAT,
        groups,
    }
}
