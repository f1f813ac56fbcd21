//! The locks on memory that is moved: one on every shared object, which covers all processes that
//! have it mapped, and one on every process whose private memory is moved.

use std::collections::BTreeMap;
use std::time::Instant;

use linux::{Root, file_lock, proc_stat};

use super::chunk_log::Owner;
use super::memory::{PartKind, Source};
use super::survey::Survey;
use super::whereabouts;
use crate::Error;
use crate::claim::{self, Claim};

/// The locks on all memory that a survey found.
#[derive(Debug)]
#[must_use]
pub struct Claims(#[expect(dead_code, reason = "held, not read")] Vec<Claim>);

/// Takes these locks. Look up where the memory is only afterwards.
///
/// # Errors
/// [`Error::AtWork`] when another process is changing some of it.
pub fn claim(root: &Root, survey: &Survey) -> Result<Claims, Error> {
    let deadline = claim::deadline();
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
                claims.push(claim::of_file(object.file(), &owner.words(), deadline)?);
            }
            Source::Process => claims.extend(of_owner(root, &owner, deadline)?),
        }
    }
    Ok(Claims(claims))
}

/// Locks an owner that an entry of the journal names; `None` when it is gone.
///
/// # Errors
/// [`Error::AtWork`] when another process is changing it; another error when it cannot be reached.
pub(crate) fn of_owner(
    root: &Root,
    owner: &Owner,
    deadline: Instant,
) -> Result<Option<Claim>, Error> {
    match owner {
        Owner::Object { id, name } => match whereabouts::object(root, id, name)? {
            Some(object) => claim::of_file(object.file(), &owner.words(), deadline).map(Some),
            None => Ok(None),
        },
        Owner::Process { pid, start_ticks } => {
            let file = file_lock::open_process(root, *pid).map_err(|cause| Error::Claim {
                what: owner.words(),
                cause,
            })?;
            let is_same =
                |_: &_| proc_stat::read(root, *pid).is_ok_and(|it| it.start_ticks == *start_ticks);
            let file = file.filter(is_same);
            file.map(|file| claim::of_file(&file, &owner.words(), deadline))
                .transpose()
        }
    }
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
