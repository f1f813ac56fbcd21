//! What the findings on a PostgreSQL server share.

use model::{ProcessResidency, Residency};

use super::input::{DoctorInput, PostgresSettings};
use super::memory::WORTH_BYTES;

/// The postmaster of the target, if it is a PostgreSQL server.
pub(crate) fn postmaster(residency: &Residency) -> Option<&ProcessResidency> {
    let mut processes = residency.processes.iter();
    processes.find(|process| process.class == "postmaster")
}

/// Whether the main segment is in small pages; `None` when none is large enough for a finding.
pub(crate) fn is_in_small_pages(input: &DoctorInput, settings: &PostgresSettings) -> Option<bool> {
    let segments = &input.residency.as_ref()?.segments;
    // By mapped size: a server that has just started has touched next to nothing.
    let shared = segments.iter().filter(|it| it.kind.is_shared_memory());
    let segment = shared.max_by_key(|segment| segment.mapped_bytes)?;
    if segment.mapped_bytes < WORTH_BYTES {
        return None;
    }
    Some(segment.page_bytes? < settings.huge_page_bytes?)
}
