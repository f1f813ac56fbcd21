//! The locks on memory that is moved: one on every shared object, which covers all processes that
//! have it mapped, and one on every process whose private memory is moved.

use std::collections::BTreeMap;

use journal::{Claim, Error, claim_file, deadline};
use linux::Root;

use super::memory::{PartKind, Source};
use super::owner::Owner;
use super::survey::Survey;

/// The locks on all memory that a survey found.
#[derive(Debug)]
#[must_use]
pub struct Claims(#[expect(dead_code, reason = "held, not read")] Vec<Claim>);

#[cfg(test)]
impl Claims {
    /// No locks, for memory that no other process can know.
    pub(super) fn of_nothing() -> Self {
        Claims(Vec::new())
    }
}

/// Takes these locks. Look up where the memory is only afterwards.
///
/// # Errors
/// [`Error::AtWork`] when another process is changing some of it.
pub fn claim(root: &Root, survey: &Survey) -> Result<Claims, Error> {
    let deadline = deadline();
    // In a fixed order: of two processes that want the same locks, one gets all.
    let owners: BTreeMap<Owner, _> = survey
        .parts
        .iter()
        .map(|part| (part.owner(), part))
        .collect();
    let mut claims = Vec::new();
    for (owner, part) in owners {
        match &part.source {
            Source::Window(_, object) | Source::HugeObject(_, object) => {
                claims.push(claim_file(object.file(), &owner.words(), deadline)?);
            }
            Source::Process => claims.extend(owner.claim(root, deadline)?),
        }
    }
    Ok(Claims(claims))
}

impl super::memory::Part {
    /// The owner of its pages.
    pub(super) fn owner(&self) -> Owner {
        match (self.object(), self.kind) {
            (Some(id), _) => Owner::Object {
                id: id.into(),
                name: self.name.clone(),
            },
            (None, PartKind::Private { pid, start_ticks }) => Owner::Process { pid, start_ticks },
            (None, PartKind::Segment(_)) => unreachable!("a segment is an object"),
        }
    }
}
