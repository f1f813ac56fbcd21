//! The tables of the load: one row per block in random physical order, an index, known values.

use model::counted;
use postgres::Client;
use server::{Error, TablesPlan};

use crate::error;

/// Bytes of the filler of a row, which makes the row about 1 KiB.
const FILLER_BYTES: u32 = 1000;
/// Factor from the key of a row to its value.
const FACTOR: i64 = 7;
/// The schema in a throw-away cluster.
pub(crate) const SCHEMA: &str = "numalab";

/// A table that sessions read, and its known properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name, quoted for SQL.
    pub name: String,
    /// The column that the index is on, quoted.
    pub key: String,
    /// The SQL aggregate that a statement computes from the rows.
    pub sum: String,
    /// The smallest key.
    pub key_min: i64,
    /// The largest key; there are no gaps.
    pub key_max: i64,
    /// The known values of its rows.
    pub values: Values,
}

/// The known values of a table, with which statements are verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// The value of row `k` is `7 k` plus this; statements sum the values.
    Ours(i64),
    /// Unknown, since the table is the user's; statements return the last key.
    LastKey,
}

impl Table {
    /// Returns table `number` of numalab's own design.
    pub(crate) fn ours(schema: &str, number: u32, rows: u32) -> Self {
        Table {
            name: format!("{}.table_{number}", quoted(schema)),
            key: "k".to_owned(),
            sum: "sum(v)".to_owned(),
            key_min: 1,
            key_max: i64::from(rows),
            values: Values::Ours(1000 + i64::from(number)),
        }
    }

    /// Returns the number of rows, which is that of keys.
    pub(crate) fn rows(&self) -> u64 {
        self.key_max.abs_diff(self.key_min) + 1
    }

    /// Returns the statement of the load with these bounds of the key.
    pub(crate) fn statement(&self, first: &str, last: &str) -> String {
        let Table { name, key, sum, .. } = self;
        format!("SELECT {sum}, count(*) FROM {name} WHERE {key} BETWEEN {first} AND {last}")
    }

    /// Returns the SQL expression of the expected result for the `work_unit` rows starting at
    /// `first`.
    pub(crate) fn expected_sum(&self, first: &str, work_unit: u32) -> String {
        let unit = i64::from(work_unit);
        let Values::Ours(tag) = self.values else {
            return format!("{first} + {unit} - 1");
        };
        // Either the number of rows or the sum of the first and the last key is even.
        format!("{FACTOR} * {unit}::bigint * (2 * {first} + {unit} - 1) / 2 + {tag} * {unit}")
    }
}

/// Quotes an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Creates and fills the tables of a load in `schema`, which must exist and not contain them.
/// `seed` determines the physical order of the rows.
///
/// # Errors
/// When a statement fails (above all on a full disk), or there is not one row per block.
pub(crate) fn make(
    client: &mut Client,
    schema: &str,
    load: TablesPlan,
    seed: u64,
) -> Result<Vec<Table>, Error> {
    let rows = load.rows_per_table();
    let tables: Vec<Table> = (0..load.sessions)
        .map(|number| Table::ours(schema, number, rows))
        .collect();
    for (number, table) in (0..).zip(&tables) {
        let what = || format!("loading {}", table.name);
        let sql = table_sql(table, rows, seed.wrapping_add(number));
        client.batch_execute(&sql).map_err(error::client(what()))?;
        // VACUUM cannot run in a transaction block, so not together with other statements.
        let vacuum = format!("VACUUM (FREEZE, ANALYZE) {}", table.name);
        client
            .batch_execute(&vacuum)
            .map_err(error::client(what()))?;
        let sql = "SELECT pg_relation_size($1::text::regclass, 'main') \
                   / current_setting('block_size')::bigint";
        let blocks: i64 = client
            .query_one(sql, &[&table.name])
            .map_err(error::client(what()))?
            .get(0);
        if blocks != i64::from(rows) {
            return Err(Error::answer(
                "one row per block",
                counted(rows, "block"),
                format!("{} in {}", counted(blocks, "block"), table.name),
            ));
        }
    }
    Ok(tables)
}

fn table_sql(table: &Table, rows: u32, seed: u64) -> String {
    let name = &table.name;
    let tag = match table.values {
        Values::Ours(tag) => tag,
        Values::LastKey => 0,
    };
    // hashint4extended takes a signed seed.
    let seed = seed.cast_signed();
    format!(
        "CREATE UNLOGGED TABLE {name} (k int, v int, filler text) WITH (fillfactor = 10);
         ALTER TABLE {name} ALTER filler SET STORAGE PLAIN;
         INSERT INTO {name} SELECT k, {FACTOR} * k + {tag}, repeat('x', {FILLER_BYTES})
           FROM (SELECT k FROM generate_series(1, {rows}) k
                 ORDER BY hashint4extended(k, ({seed})::bigint), k) AS shuffled;
         CREATE UNIQUE INDEX ON {name} (k);"
    )
}

#[cfg(test)]
mod tests {
    use super::{Table, quoted};

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b; DROP"), "\"a\"\"b; DROP\"");
        assert_eq!(Table::ours("x", 3, 10).name, "\"x\".table_3");
    }

    #[test]
    fn the_expected_sum_is_that_of_the_rows() {
        let table = Table::ours("x", 2, 100);
        let sum: i64 = (5..=7).map(|k| 7 * k + 1002).sum();
        assert_eq!(
            table.expected_sum("a", 3),
            "7 * 3::bigint * (2 * a + 3 - 1) / 2 + 1002 * 3"
        );
        assert_eq!(7 * 3 * (2 * 5 + 3 - 1) / 2 + 1002 * 3, sum);
        assert_eq!(table.rows(), 100);
    }
}
