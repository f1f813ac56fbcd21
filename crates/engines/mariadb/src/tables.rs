//! The tables of the load: two rows in each page of 16 KiB, by primary key, with known values.

use model::ServerKind;
use server::{Error, TablesPlan};

use crate::client::{Client, Statement};
use crate::kind::KIND;
use crate::random::Random;

/// Bytes of the filler of a row. A page of InnoDB holds at least two rows, whatever their size; of
/// this size it holds exactly two, since three take more than 16 KiB.
const FILLER_BYTES: u32 = 7900;
/// Rows of a page.
pub(crate) const ROWS_PER_PAGE: u64 = 2;
/// Factor from the key of a row to its value.
const FACTOR: i64 = 7;
/// The database of the tables.
const DATABASE: &str = "numalab";
/// Rows that one statement inserts.
const ROWS_PER_INSERT: u64 = 256;
/// Pages that a table may have beyond those that its rows need: the first of a tree is split.
const PAGES_EXTRA: u64 = 4;

const _: () = assert!(ServerKind::named("mariadb").row_bytes() * ROWS_PER_PAGE == 16 << 10);

/// A table that one session reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its number, which is that of its session.
    number: u32,
    /// Its rows, with keys from 1.
    rows: u64,
}

/// What one statement returns: the sum of the values and the number of the rows.
pub(crate) type Sum = [i64; 2];

impl Table {
    /// Returns the tables of a plan.
    pub(crate) fn all(plan: &TablesPlan) -> Vec<Table> {
        let rows = u64::from(plan.rows_per_table());
        (0..plan.sessions)
            .map(|number| Table { number, rows })
            .collect()
    }

    /// Returns its rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    fn name(&self) -> String {
        format!("{DATABASE}.table_{}", self.number)
    }

    fn value(&self, key: u64) -> i64 {
        FACTOR * key.cast_signed() + 1000 + i64::from(self.number)
    }

    /// Returns the statement of the load, with the first and the last key as parameters.
    pub(crate) fn sql(&self) -> String {
        format!(
            "SELECT CAST(SUM(v) AS SIGNED), COUNT(*) FROM {} FORCE INDEX (PRIMARY) \
             WHERE k BETWEEN ? AND ?",
            self.name()
        )
    }

    /// Returns what the statement for `rows` rows from key `first` on must return.
    pub(crate) fn expected(&self, first: u64, rows: u64) -> Sum {
        let last = first + rows - 1;
        let count = rows.cast_signed();
        // Either the number of rows or the sum of the first and the last value is even.
        let sum = count * (self.value(first) + self.value(last)) / 2;
        [sum, count]
    }

    /// Reads `rows` rows from key `first` on; returns whether they are those that were written.
    ///
    /// # Errors
    /// When the statement fails.
    pub(crate) fn read(
        &self,
        client: &mut Client,
        statement: Statement,
        first: u64,
        rows: u64,
    ) -> Result<bool, Error> {
        let last = first + rows - 1;
        let keys = [first.cast_signed(), last.cast_signed()];
        let found: Sum = client.execute(statement, keys, "reading rows")?;
        Ok(found == self.expected(first, rows))
    }
}

/// Creates and fills the tables; those of an earlier load go.
///
/// # Errors
/// When a statement fails, above all on a full disk.
pub(crate) fn make(client: &mut Client, tables: &[Table]) -> Result<(), Error> {
    let database = "making the database of the load";
    client.query(&format!("DROP DATABASE IF EXISTS {DATABASE}"), database)?;
    client.query(&format!("CREATE DATABASE {DATABASE}"), database)?;
    for table in tables {
        let what = format!("loading {}", table.name());
        let sql = format!(
            "CREATE TABLE {} (k BIGINT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, \
             filler VARCHAR({FILLER_BYTES}) CHARACTER SET latin1 NOT NULL) \
             ENGINE = InnoDB ROW_FORMAT = DYNAMIC",
            table.name()
        );
        client.query(&sql, &what)?;
        // In the order of keys, so that each page is filled before the next one is begun.
        for first in (1..=table.rows).step_by(ROWS_PER_INSERT as usize) {
            let last = table.rows.min(first + ROWS_PER_INSERT - 1);
            let row = |key| {
                let value = table.value(key);
                format!("({key}, {value}, REPEAT('x', {FILLER_BYTES}))")
            };
            let rows: Vec<String> = (first..=last).map(row).collect();
            let sql = format!("INSERT INTO {} VALUES {}", table.name(), rows.join(", "));
            client.query(&sql, &what)?;
        }
    }
    Ok(())
}

/// Reads all pages of the tables into the buffer pool, in an order that `seed` determines, so that
/// neighbours by key are not neighbours in memory.
///
/// # Errors
/// When a statement fails, or the pool does not hold two rows in a page.
pub(crate) fn prewarm(client: &mut Client, tables: &[Table], seed: u64) -> Result<(), Error> {
    for table in tables {
        let what = format!("reading {} into the buffer pool", table.name());
        let statement = client.prepare(&table.sql(), &what)?;
        let mut random = Random::of(seed.wrapping_add(u64::from(table.number)));
        for key in random.order(table.rows) {
            if !table.read(client, statement, key + 1, 1)? {
                let found = format!("others at key {}", key + 1);
                return Err(Error::answer(what, "the rows that were written", found));
            }
        }
        require_two_rows_per_page(client, table)?;
    }
    Ok(())
}

/// Asks the server which pages of a table it has in its pool.
fn require_two_rows_per_page(client: &mut Client, table: &Table) -> Result<(), Error> {
    const WHAT: &str = "two rows in each page of the buffer pool";
    // An upper page has entries for hundreds of pages.
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE \
         WHERE TABLE_NAME = '`{DATABASE}`.`table_{}`' AND PAGE_TYPE = 'INDEX' \
         AND NUMBER_RECORDS <= {ROWS_PER_PAGE}",
        table.number
    );
    let pages = client.value(&sql, WHAT)?;
    let pages = pages.and_then(|pages| pages.parse::<u64>().ok());
    let expected = table.rows.div_ceil(ROWS_PER_PAGE);
    let is_fit = pages.is_some_and(|it| (expected..=expected + PAGES_EXTRA).contains(&it));
    if is_fit {
        return Ok(());
    }
    let (name, kind) = (table.name(), KIND.cache());
    let found = match pages {
        Some(pages) => format!("{pages} {kind} of {name}"),
        None => "nothing".to_owned(),
    };
    Err(Error::answer(WHAT, format!("{expected} {kind}"), found))
}

#[cfg(test)]
mod tests {
    use server::TablesPlan;

    use super::Table;

    #[test]
    fn the_expected_sum_is_that_of_the_rows() {
        let plan = TablesPlan {
            sessions: 3,
            cache_bytes: 3 << 20,
            row_bytes: 8192,
        };
        let tables = Table::all(&plan);
        assert_eq!((tables.len(), tables[2].rows()), (3, 128));
        for (first, rows) in [(5, 3), (5, 4), (1, 1), (1, 128)] {
            let last = (first + rows) as i64;
            let sum: i64 = (first as i64..last).map(|k| 7 * k + 1002).sum();
            assert_eq!(tables[2].expected(first, rows), [sum, rows as i64]);
        }
    }
}
