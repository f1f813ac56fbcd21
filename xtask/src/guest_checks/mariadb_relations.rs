//! `numalab inspect mysql:… --relations` on article 002's four nodes: two tables that a MariaDB
//! reads on different nodes into its buffer pool are found there, with as many pages as the server
//! says, in small pages and in huge ones; `numalab move` spreads them, and undo gives them back.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, shell};
use super::relations::{document, relation};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "mariadb-relations",
    applies_to: |shape: &Shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 200,
    commands: |_| vec![shell(NAME, include_str!("mariadb_relations.sh"))],
    judge,
};

const NAME: &str = "mariadb-relations";

/// The tables, and the nodes whose threads read them.
const READERS: [(&str, u64); 2] = [("on_1", 1), ("on_3", 3)];

/// Page sizes: the name, the bytes, and the node that has the whole pool, if it is one.
const PAGES: [(&str, u64, Option<u64>); 2] = [("small", 4096, None), ("huge", 2 << 20, Some(2))];

/// The minimum share of a table on its node: a page of the table itself may have been read before.
const SHARE_MIN: f64 = 0.99;

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text(NAME)?;
    for (name, page_bytes, node_of_pool) in PAGES {
        let residency = document(text, &format!("{name}-relations"))?;
        let counts = document(text, &format!("{name}-counts"))?;
        let kernel = document(text, &format!("{name}-kernel"))?;
        let what = |part: &str| format!("MariaDB in {name} pages: {part}");
        let relations = &residency["relations"];
        let found = &relations["page_bytes"];
        complaints.expect(&what("page size"), found, &page_bytes.into());
        let view = &relations["server_view"];
        let state = view["state"].as_str().unwrap_or("none");
        complaints.expect(&what("view"), &state, &"pages-compared");
        complaints.expect(&what("only in the view"), &view["only_said"], &0.into());
        complaints.expect(
            &what("only in memory"),
            &view["only_found"],
            &view["unnamed"],
        );
        for (table, reader) in READERS {
            let node = node_of_pool.unwrap_or(reader);
            let relation = relation(relations, table)?;
            let bytes = relation["bytes"].as_u64().context("bytes")?;
            let counted = counts[format!("`shop`.`{table}`")]
                .as_u64()
                .context("a count")?;
            complaints.expect(&what(&format!("{table}: bytes")), &bytes, &(counted << 14));
            let there = bytes_on(&relation["bytes_by_node"], node);
            let share = there as f64 / bytes as f64;
            let sentence = what(&format!("{table}: {share:.3} of it on node {node}"));
            complaints.expect(&sentence, &(share >= SHARE_MIN), &true);
            let of_kernel = bytes_on(&kernel, node);
            let sentence = what(&format!("{there} of {of_kernel} bytes on node {node}"));
            complaints.expect(&sentence, &(there <= of_kernel), &true);
        }
    }
    judge_move(text, complaints)
}

/// Judges that the tables are on all nodes alike after a move, and where they were after undo.
fn judge_move(text: &str, complaints: &mut Complaints) -> Result<()> {
    let moved = document(text, "moved-relations")?;
    let undone = document(text, "undone-relations")?;
    for (table, reader) in READERS {
        let found = relation(&moved["relations"], table)?;
        let bytes = found["bytes"].as_u64().context("bytes")? as f64;
        for node in 0..4 {
            let share = bytes_on(&found["bytes_by_node"], node) as f64 / bytes;
            let sentence = format!("{table} moved: {share:.3} of it on node {node}");
            complaints.expect(&sentence, &((share - 0.25).abs() < 0.01), &true);
        }
        let found = relation(&undone["relations"], table)?;
        let share = bytes_on(&found["bytes_by_node"], reader) as f64 / bytes;
        let sentence = format!("{table} undone: {share:.3} of it on node {reader}");
        complaints.expect(&sentence, &(share >= SHARE_MIN), &true);
    }
    Ok(())
}

fn bytes_on(by_node: &Value, node: u64) -> u64 {
    by_node[node.to_string()].as_u64().unwrap_or(0)
}
