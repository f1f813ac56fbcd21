//! The statement: read `work_unit` consecutive keys through the index.

use crate::block::{Kind, Row};
use crate::buffer_cache::{Pinned, Reader};
use crate::layout::BlockId;
use crate::sga_layout::SgaLayout;
use crate::{Error, btree};

/// A table as a statement sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Table {
    /// Number of the table.
    pub number: u32,
    /// Rows.
    pub rows: u32,
    /// Number of the root block of its index.
    pub root: u32,
}

impl Table {
    /// The table of a session.
    pub(crate) fn of(layout: &SgaLayout, session: u32) -> Self {
        let rows = layout.rows_per_table;
        Table {
            // A column has no tables.
            number: session % layout.tables.max(1),
            rows,
            root: btree::root(rows),
        }
    }
}

/// Result of one statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Sum of the values of the rows.
    pub sum: u64,
    /// Rows read and verified.
    pub rows: u32,
    /// Rows that do not match their index entry.
    pub wrong: u32,
}

/// Reads rows `first_key`, `first_key + 1`, … of `table`: `count` of them, or up to the last row.
///
/// # Errors
/// As for [`Reader::get`], for any block that the index names.
#[inline]
pub(crate) fn select(
    reader: &mut Reader<'_>,
    table: Table,
    first_key: u64,
    count: u32,
) -> Result<Answer, Error> {
    walk(reader, table, first_key, count, |reader, pinned, _| {
        reader.row(pinned)
    })
}

/// Updates the rows that [`select`] would read; returns them as they were before.
///
/// # Errors
/// As for [`select`].
#[inline]
pub(crate) fn update(
    reader: &mut Reader<'_>,
    table: Table,
    first_key: u64,
    count: u32,
) -> Result<Answer, Error> {
    walk(reader, table, first_key, count, |reader, pinned, key| {
        reader.update_row(pinned, table.number, key)
    })
}

/// Visits consecutive rows; `row_of` processes each row and returns it.
#[inline]
fn walk<'m>(
    reader: &mut Reader<'m>,
    table: Table,
    first_key: u64,
    count: u32,
    row_of: impl Fn(&mut Reader<'m>, &Pinned<'m>, u64) -> Option<Row>,
) -> Result<Answer, Error> {
    let mut answer = Answer::default();
    let mut leaf = find_leaf(reader, table, first_key)?;
    // Keys are dense: the entry with the highest key up to `first_key` is the key itself.
    let mut position = leaf.block.entries_up_to(first_key).saturating_sub(1);
    while answer.rows + answer.wrong < count {
        if position == leaf.block.items() {
            let next = leaf.block.next_leaf();
            reader.release(leaf);
            let Some(next) = next else { return Ok(answer) };
            leaf = reader.get(BlockId::index(table.number, next))?;
            position = 0;
            continue;
        }
        let (key, row_block) = leaf.block.entry(position);
        let pinned = reader.get(BlockId::row(table.number, row_block))?;
        match row_of(reader, &pinned, key) {
            Some(row) if row.is(table.number, key) => {
                answer.sum = answer.sum.wrapping_add(row.value);
                answer.rows += 1;
            }
            _ => answer.wrong += 1,
        }
        reader.release(pinned);
        position += 1;
    }
    reader.release(leaf);
    Ok(answer)
}

#[inline]
fn find_leaf<'m>(reader: &mut Reader<'m>, table: Table, key: u64) -> Result<Pinned<'m>, Error> {
    let mut pinned = reader.get(BlockId::index(table.number, table.root))?;
    while pinned.block.is(Kind::Branch) {
        let child = pinned.block.entries_up_to(key).saturating_sub(1);
        let (_, number) = pinned.block.entry(child);
        reader.release(pinned);
        pinned = reader.get(BlockId::index(table.number, number))?;
    }
    Ok(pinned)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Answer, Table, select};
    use crate::block::Row;
    use crate::buffer_cache::Reader;
    use crate::loader::load;
    use crate::sga::Sga;
    use crate::small_sga::{layout, mapped};
    use crate::wait_clock::WaitClock;

    /// Loads an SGA of two tables and hands it to `check` with the second.
    pub(crate) fn with_loaded_sga(cache_bytes: u64, check: impl FnOnce(Sga<'_>, Table)) {
        let layout = layout(2, cache_bytes);
        let mapping = mapped(layout.bytes);
        let sga = Sga::create(&mapping, layout);
        load(&sga, None, 7).unwrap();
        let rows = layout.rows_per_table;
        check(
            sga,
            Table {
                number: 1,
                rows,
                root: crate::btree::root(rows),
            },
        );
    }

    fn expected_sum(keys: std::ops::Range<u64>) -> u64 {
        keys.map(|key| Row::of(1, key).value).sum()
    }

    #[test]
    fn every_range_gives_the_sum_of_its_rows_and_counts_its_blocks() {
        with_loaded_sga(16 << 20, |sga, table| {
            let rows = u64::from(table.rows);
            assert!(rows > 1000, "two leaves at least");
            let mut reader = Reader::new(sga, None, 0, WaitClock::new().unwrap());
            for (first, count) in [
                (0, 1),
                (0, 509),
                (1, 512),
                (509, 2),
                (700, 100),
                (0, 100_000),
            ] {
                let end = rows.min(first + u64::from(count));
                let before = reader.logical_reads;
                let answer = select(&mut reader, table, first, count).unwrap();
                let expected = Answer {
                    sum: expected_sum(first..end),
                    rows: (end - first) as u32,
                    wrong: 0,
                };
                assert_eq!(answer, expected, "{count} rows from {first}");
                let leaves = (end - 1) / 510 - first / 510 + 1;
                let blocks = 1 + leaves + (end - first);
                assert_eq!(
                    reader.logical_reads - before,
                    blocks,
                    "{count} rows from {first}"
                );
            }
            let pins = sga
                .headers
                .iter()
                .map(|header| header.pins.load(std::sync::atomic::Ordering::Relaxed));
            assert_eq!(pins.sum::<u32>(), 0, "every pin is released");
        });
    }

    #[test]
    fn a_damaged_row_is_counted_as_wrong() {
        with_loaded_sga(1 << 20, |sga, table| {
            let mut reader = Reader::new(sga, None, 0, WaitClock::new().unwrap());
            let total = select(&mut reader, table, 0, u32::MAX).unwrap();
            let victim = sga
                .blocks
                .iter()
                .find(|block| block.row(0).is_some_and(|row| row.is(1, 17)))
                .expect("row 17 lies somewhere");
            let row = victim.row(0).unwrap();
            victim.write_row(
                victim.id(),
                Row {
                    value: row.value + 1,
                    ..row
                },
            );
            let damaged = select(&mut reader, table, 0, u32::MAX).unwrap();
            assert_eq!((damaged.rows, damaged.wrong), (total.rows - 1, 1));
        });
    }

    #[test]
    fn a_block_that_is_not_cached_is_an_error() {
        with_loaded_sga(1 << 20, |sga, table| {
            let mut reader = Reader::new(sga, None, 0, WaitClock::new().unwrap());
            let missing = Table { number: 5, ..table };
            let error = select(&mut reader, missing, 0, 1).unwrap_err();
            assert!(
                error.to_string().contains("not in the buffer cache"),
                "{error}"
            );
        });
    }
}
