//! Reads back where the own memory of sessions lies.

use std::sync::atomic::Ordering;

use model::{Evidence, SgaEvidence};
use placement::evidence::{MappedMemory, of_mapping_in_process};

use crate::Error;
use crate::instance::Instance;

/// The own memory found of each session, in order of session number; `None` if it has none.
pub(crate) type Found = Vec<Option<MappedMemory>>;

/// Reads where the own memory of each session lies.
///
/// # Errors
/// [`Error::Process`] when the memory of a session cannot be read back.
pub(crate) fn found(instance: &Instance<'_>, pids: &[u32]) -> Result<Found, Error> {
    let slots = (0..).zip(pids.iter().zip(instance.sga.slots));
    let of_session = |(session, (pid, slot)): (u32, (&u32, &crate::layout::SessionSlot))| {
        let range = &slot.own_memory.0;
        let bytes = range.bytes.load(Ordering::Acquire);
        if bytes == 0 {
            return Ok(None);
        }
        let start = range.address.load(Ordering::Acquire);
        let range = start..start.saturating_add(bytes);
        of_mapping_in_process(&instance.root, *pid, range).map_err(|error| Error::Process {
            process: instance.sga.layout.name_of(session),
            cause: format!("its memory cannot be read back: {error}"),
        })
    };
    slots.map(of_session).collect()
}

/// Adds what was found before and after the window to the evidence of the sessions.
pub(crate) fn note(instance: &Instance<'_>, before: &Found, after: Found, evidence: &mut Evidence) {
    let asked = instance.sga.slots.iter().map(|slot| {
        let bytes = &slot.own_memory.0.bytes;
        bytes.load(Ordering::Relaxed)
    });
    let found = before.iter().zip(after).zip(asked);
    for (session, ((before, after), asked)) in evidence.sessions.iter_mut().zip(found) {
        let Some((before, after)) = before.as_ref().zip(after) else {
            continue;
        };
        let missing = |memory: &MappedMemory| {
            let there: u64 = memory.bytes_by_node.values().sum();
            asked.saturating_sub(there)
        };
        session.own_memory = Some(SgaEvidence {
            name: "own memory".to_owned(),
            page_bytes: after.page_bytes,
            bytes_without_node: missing(before) + missing(&after),
            policy: after.policy,
            bytes_by_node_before: before.bytes_by_node.clone(),
            bytes_by_node_after: after.bytes_by_node,
            ..SgaEvidence::default()
        });
    }
}
