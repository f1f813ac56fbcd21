//! One statement of the load: checks that its plan is an index scan, and reads from EXPLAIN how
//! many blocks it finds in the shared buffers.

use model::counted;
use postgres::{Client, SimpleQueryMessage};
use serde_json::Value;
use server::Error;

use crate::error;
use crate::tables::Table;

/// Number of statements to explain: where a range of keys starts in a leaf decides whether it needs
/// another leaf.
const STATEMENTS: u32 = 16;

/// What EXPLAIN reports about one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Explained {
    hits: u64,
    reads: u64,
    is_index_scan: bool,
}

/// Returns the mean hits of one statement of `work_unit` rows.
///
/// # Errors
/// When the plan is not an index scan, or a block is read from outside the shared buffers.
pub(crate) fn hits_per_statement(
    client: &mut Client,
    table: &Table,
    work_unit: u32,
    seed: u64,
) -> Result<f64, Error> {
    let starts = table.rows().saturating_sub(u64::from(work_unit)) + 1;
    let mut hits = 0;
    for number in 0..u64::from(STATEMENTS) {
        // Any spread is fine; this one is the same for all cases of a round.
        let draw = (seed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        let first = table.key_min + (draw % starts).cast_signed();
        let last = first + i64::from(work_unit) - 1;
        let explained = explain(client, table, first, last)?;
        let found = match explained {
            Explained {
                is_index_scan: false,
                ..
            } => "another plan".to_owned(),
            Explained { reads: 1.., .. } => {
                format!("{} read from outside", counted(explained.reads, "block"))
            }
            _ => {
                hits += explained.hits;
                continue;
            }
        };
        return Err(Error::answer(
            "EXPLAIN of the load",
            format!("an index scan of {} with all blocks cached", table.name),
            found,
        ));
    }
    Ok(hits as f64 / f64::from(STATEMENTS))
}

fn explain(client: &mut Client, table: &Table, first: i64, last: i64) -> Result<Explained, Error> {
    let statement = table.statement(&first.to_string(), &last.to_string());
    let sql = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}");
    let messages = client
        .simple_query(&sql)
        .map_err(error::client("EXPLAIN of the load"))?;
    let text = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    parse(text.unwrap_or_default()).ok_or_else(|| {
        Error::answer(
            "EXPLAIN of the load",
            "a plan with its buffers, in JSON",
            text.map_or("nothing".to_owned(), |text| {
                text.chars().take(200).collect()
            }),
        )
    })
}

fn parse(text: &str) -> Option<Explained> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let plan = &answer[0]["Plan"];
    Some(Explained {
        hits: plan["Shared Hit Blocks"].as_u64()?,
        reads: plan["Shared Read Blocks"].as_u64()?,
        is_index_scan: has_index_scan(plan),
    })
}

fn has_index_scan(plan: &Value) -> bool {
    let below = plan["Plans"].as_array().into_iter().flatten();
    plan["Node Type"] == "Index Scan" || below.into_iter().any(has_index_scan)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Explained, parse};

    #[test]
    fn hits_and_plan_are_read() {
        let text = r#"[{"Plan": {"Node Type": "Aggregate", "Shared Hit Blocks": 258,
            "Shared Read Blocks": 1, "Plans": [{"Node Type": "Index Scan",
            "Shared Hit Blocks": 258}]}, "Planning": {"Shared Hit Blocks": 21}}]"#;
        let expected = Explained {
            hits: 258,
            reads: 1,
            is_index_scan: true,
        };
        assert_eq!(parse(text), Some(expected));
        let bitmap = text.replace("Index Scan", "Bitmap Heap Scan");
        assert!(!parse(&bitmap).unwrap().is_index_scan);
        for text in ["", "[]", "{}", r#"[{"Plan": {"Shared Hit Blocks": -1}}]"#] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            parse(&text);
        }
    }
}
