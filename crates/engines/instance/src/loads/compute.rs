//! A sort and a hash join in private memory, with reads from the buffer cache in between: the
//! pattern of the test behind article 004's 12 to 15 %.
//!
//! Each piece draws a run of keys, sorts it, appends it to the previous runs, and looks each key up
//! in a hash table that is larger than the processor's caches. The table takes up to half of the
//! memory; the rest holds runs.
//!
//! One piece: 8,192 rows and 64 rows read from the buffer cache. Verified: the sum of what the join
//! found; the last run is sorted and has the sum of what was drawn.

use linux::anonymous_memory::AnonymousMemory;

use super::load::mix;
use super::{Ingredients, Load};
use crate::Error;
use crate::buffer_cache::Reader;
use crate::statement::{Table, select};

/// Rows per piece.
const RUN_ROWS: usize = 1 << 13;
/// Rows read from the buffer cache per piece.
const CACHED_ROWS: u32 = 64;
/// Words in a slot of the hash table: key and value.
const SLOT_WORDS: usize = 2;

/// The load.
pub(super) struct Compute {
    memory: AnonymousMemory,
    /// Slots of the hash table, a power of two; half of them hold the keys from 1 on.
    slots: usize,
    /// Position of the next run, in words from the start of the runs.
    next_run: usize,
    run: Vec<u64>,
    table: Table,
    random: fastrand::Rng,
    /// Sums of the values found, and of those expected.
    found: u64,
    expected: u64,
    last_run: Option<(usize, u64)>,
}

impl Compute {
    pub(super) fn new(of: &Ingredients<'_>) -> Result<Self, Error> {
        let mut memory = of.own_memory()?;
        let words = memory.words_mut();
        let most = (words.len() / 2 / SLOT_WORDS).max(2);
        // The largest power of two that fits.
        let slots = 1 << most.ilog2();
        for key in 1..=(slots / 2) as u64 {
            let mut slot = slot_of(key, slots);
            while words[slot * SLOT_WORDS] != 0 {
                slot = (slot + 1) % slots;
            }
            words[slot * SLOT_WORDS] = key;
            words[slot * SLOT_WORDS + 1] = mix(key);
        }
        Ok(Compute {
            memory,
            slots,
            next_run: 0,
            run: Vec::with_capacity(RUN_ROWS),
            table: of.table,
            random: fastrand::Rng::with_seed(of.seed),
            found: 0,
            expected: 0,
            last_run: None,
        })
    }
}

/// Returns the first slot of a key's probe sequence (multiplicative hashing, Knuth, TAOCP 6.4).
fn slot_of(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - slots.trailing_zeros())) as usize
}

/// Returns the value of a key, or 0 if the table does not have it.
#[inline]
fn value_of(table: &[u64], slots: usize, key: u64) -> u64 {
    let mut slot = slot_of(key, slots);
    loop {
        match table[slot * SLOT_WORDS] {
            0 => return 0,
            there if there == key => return table[slot * SLOT_WORDS + 1],
            _ => slot = (slot + 1) % slots,
        }
    }
}

fn sum(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

impl Load for Compute {
    fn piece(&mut self, reader: &mut Reader<'_>) -> Result<u64, Error> {
        let count = CACHED_ROWS.min(self.table.rows);
        let first_key = self.random.u64(0..=u64::from(self.table.rows - count));
        let answer = select(reader, self.table, first_key, count)?;
        if answer.wrong > 0 {
            return Err(Error::WrongResult {
                what: "rows of the buffer cache",
                found: format!("{} that are wrong", answer.wrong),
                expected: "none".to_owned(),
            });
        }
        let keys = (self.slots / 2) as u64;
        let words = self.memory.words_mut();
        let (table, runs) = words.split_at_mut(self.slots * SLOT_WORDS);
        let rows = RUN_ROWS.min(runs.len());
        self.run.clear();
        for _ in 0..rows {
            self.run.push(self.random.u64(1..=keys));
        }
        let drawn = sum(&self.run);
        self.run.sort_unstable();
        if self.next_run + rows > runs.len() {
            self.next_run = 0;
        }
        runs[self.next_run..self.next_run + rows].copy_from_slice(&self.run);
        self.last_run = Some((self.next_run, drawn));
        self.next_run += rows;
        for key in &self.run {
            self.expected = self.expected.wrapping_add(mix(*key));
            self.found = self.found.wrapping_add(value_of(table, self.slots, *key));
        }
        Ok(rows as u64)
    }

    fn memory(&self) -> Option<(usize, usize)> {
        Some((self.memory.address(), self.memory.len()))
    }

    /// Verifies that the join found the value of every key, and that the last run holds the drawn
    /// keys in order.
    fn verify(&mut self) -> Result<(), Error> {
        if self.found != self.expected {
            return Err(Error::WrongResult {
                what: "the sum of the join",
                found: format!("{:#x}", self.found),
                expected: format!("{:#x}", self.expected),
            });
        }
        let Some((start, drawn)) = self.last_run else {
            return Ok(());
        };
        let runs = &self.memory.words_mut()[self.slots * SLOT_WORDS..];
        let run = &runs[start..start + self.run.len()];
        if sum(run) != drawn || !run.is_sorted() {
            return Err(Error::WrongResult {
                what: "the sum of the sorted run",
                found: format!("{:#x}, sorted: {}", sum(run), run.is_sorted()),
                expected: format!("{drawn:#x}, sorted"),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::SessionLoad;

    use super::super::load::tests::with_load;
    use super::RUN_ROWS;

    #[test]
    fn rows_are_sorted_joined_and_read() {
        with_load(SessionLoad::Compute, 1 << 20, |load, reader| {
            // Enough pieces for the runs to wrap around.
            for _ in 0..20 {
                assert_eq!(load.piece(reader).unwrap(), RUN_ROWS as u64);
            }
            load.verify().unwrap();
            assert!(reader.logical_reads > 20);
        });
    }

    #[test]
    fn memory_too_small_for_a_whole_run_has_shorter_ones() {
        with_load(SessionLoad::Compute, 4096, |load, reader| {
            let rows = load.piece(reader).unwrap();
            assert!((1..RUN_ROWS as u64).contains(&rows), "{rows}");
            load.verify().unwrap();
        });
    }
}
