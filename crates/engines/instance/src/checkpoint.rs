//! The end of a trial with updates: writes everything, and verifies that the data file has exactly
//! the updates that the sessions made.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::counted;

use crate::Error;
use crate::block::Kind;
use crate::instance::Instance;
use crate::layout::{BLOCK_BYTES, SessionState};
use crate::sessions::Sessions;
use crate::sga::Sga;
use crate::sga_layout::SgaLayout;
use crate::storage::{COPY_BLOCKS, CopyArea, Storage};

/// Timeout of a checkpoint: every buffer of the largest SGA on a slow device.
const CHECKPOINT_WITHIN: Duration = Duration::from_secs(600);

/// Result of a checkpoint.
pub(crate) struct Checkpoint {
    pub seconds: f64,
    /// Updates counted in the rows of the data file.
    pub updates_in_file: u64,
    /// How the data file differs from the updates that the sessions made.
    pub wrong: Option<String>,
}

/// Makes the writers write everything, and compares the data file with the updates of the sessions,
/// which must have finished.
///
/// # Errors
/// When a writer fails, or a block of the file does not hold what was written.
pub(crate) fn run(instance: &Instance<'_>, sessions: &mut Sessions) -> Result<Checkpoint, Error> {
    let sga = &instance.sga;
    let storage = instance.storage.as_ref().ok_or(Error::Protocol {
        what: "checkpoint",
        cause: "there is no data file".to_owned(),
    })?;
    let started = Instant::now();
    request(sga);
    sessions.wait_for(sga, sga.slots, SessionState::Finished, CHECKPOINT_WITHIN)?;
    let seconds = started.elapsed().as_secs_f64();
    let found = updates_in_file(&sga.layout, storage)?;
    Ok(Checkpoint {
        seconds,
        updates_in_file: found.iter().map(|table| table.updates).sum(),
        wrong: difference(&found, &updates_made(sga)),
    })
}

fn request(sga: &Sga<'_>) {
    let checkpoint = &sga.control.gate.0.checkpoint;
    checkpoint.store(1, Ordering::Release);
    for pool in sga.pools {
        let wanted = &pool.writing.0.wanted;
        wanted.store(1, Ordering::Release);
        linux::futex::wake(wanted, 1);
    }
}

/// The updates of one table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TableUpdates {
    /// Number of updates.
    pub updates: u64,
    /// Sum of the keys of the updated rows, one term per update, modulo 2^64.
    pub keys: u64,
}

/// Returns the updates that the sessions counted, by table.
pub(crate) fn updates_made(sga: &Sga<'_>) -> Vec<TableUpdates> {
    let mut tables = vec![TableUpdates::default(); sga.layout.tables as usize];
    for (session, slot) in sga.session_slots().iter().enumerate() {
        let table = &mut tables[session % sga.layout.tables as usize];
        let live = &slot.live.0;
        table.updates += live.updates.load(Ordering::Relaxed);
        let keys = live.updated_keys.load(Ordering::Relaxed);
        table.keys = table.keys.wrapping_add(keys);
    }
    tables
}

/// Returns the updates counted in the rows of the data file, by table; verifies every block.
///
/// # Errors
/// [`Error::Unreadable`] and [`Error::Corrupt`], with the block and its offset.
pub(crate) fn updates_in_file(
    layout: &SgaLayout,
    storage: &Storage<'_>,
) -> Result<Vec<TableUpdates>, Error> {
    let area = CopyArea::new()?;
    let mut tables = vec![TableUpdates::default(); layout.tables as usize];
    let places = layout.data_file_bytes() / BLOCK_BYTES;
    for first in (0..places).step_by(COPY_BLOCKS) {
        let count = COPY_BLOCKS.min((places - first) as usize);
        storage.read_copies(layout, first, &area, count)?;
        for (place, block) in (first..).zip(&area.blocks()[..count]) {
            if !block.is(Kind::Row) {
                continue;
            }
            let id = layout.block_in_place(place);
            let number = (id.0 >> 33) as u32;
            let row = block.row(0).filter(|row| row.is(number, row.key));
            let row = row.ok_or(Error::Corrupt {
                block: id,
                position: place * BLOCK_BYTES,
            })?;
            let table = &mut tables[number as usize];
            table.updates += row.updates;
            let keys = row.key.wrapping_mul(row.updates);
            table.keys = table.keys.wrapping_add(keys);
        }
    }
    Ok(tables)
}

/// Describes the first table whose rows do not count exactly the updates made; `None` if all do.
pub(crate) fn difference(found: &[TableUpdates], made: &[TableUpdates]) -> Option<String> {
    let mut tables = found.iter().zip(made).enumerate();
    let (table, (found, made)) = tables.find(|(_, (found, made))| found != made)?;
    Some(match found.updates == made.updates {
        false => format!(
            "the data file has {} of table {table}, its sessions made {}",
            counted(found.updates, "update"),
            made.updates
        ),
        true => {
            format!(
                "the data file has updates of other rows of table {table} than the sessions \
                     made"
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{TableUpdates, difference};

    #[test]
    fn lost_and_misplaced_updates_are_told_apart_and_named_with_their_table() {
        let table = |updates, keys| TableUpdates { updates, keys };
        let made = [table(3, 30), table(5, 50)];
        assert_eq!(difference(&made, &made), None);
        let lost = difference(&[made[0], table(4, 50)], &made).unwrap();
        assert!(lost.contains("has 4 updates of table 1, its sessions made 5"));
        let misplaced = difference(&[table(3, 31), made[1]], &made).unwrap();
        assert!(misplaced.contains("other rows of table 0"), "{misplaced}");
    }
}
