//! `numalab inspect --relations` on article 002's four nodes: two tables that backends on different
//! nodes read into the shared buffers of a PostgreSQL are found there, with as many buffers as the
//! server says, and the inspection allocates nothing.

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::{Answers, Check, Complaints, GuestCommand, with_postgresql};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "relations",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands,
    judge,
};

/// The nodes whose backends read a table each.
const NODES: [u64; 2] = [1, 3];

/// Shared memory that a connection itself may need: blocks of catalogs, and the server's own
/// structures. The free buffers are six times as much.
const CONNECTION_BYTES: u64 = 3 << 20;

/// Page sizes: the name, the bytes, and the minimum share of a table on its node. A page that holds
/// the end of one table and the beginning of the next is where it was touched first; each table of
/// 12 MiB has at most one such huge page.
const PAGES: [(&str, u64, f64); 2] = [("small", 4096, 0.99), ("huge", 2 << 20, 0.7)];

fn commands(_: &Shape) -> Vec<GuestCommand> {
    vec![with_postgresql("relations", include_str!("relations.sh"))]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let text = answers.text("relations")?;
    for (name, page_bytes, share_min) in PAGES {
        let before = document(text, name)?;
        let residency = document(text, &format!("{name}-relations"))?;
        let counts = document(text, &format!("{name}-counts"))?;
        let what = |part: &str| format!("relations in {name} pages: {part}");
        let relations = &residency["relations"];
        let found = &relations["page_bytes"];
        complaints.expect(&what("page size"), found, &page_bytes.into());
        let grown = shared_bytes(&residency)?.saturating_sub(shared_bytes(&before)?);
        let sentence = what(&format!("shared memory grew by {grown} while looking"));
        complaints.expect(&sentence, &(grown <= CONNECTION_BYTES), &true);
        for node in NODES {
            let table = format!("public.on_{node}");
            let relation = relation(relations, &table)?;
            let bytes = relation["bytes"].as_u64().context("bytes")?;
            let counted = counts[&table].as_u64().context("a count")? * 8192;
            complaints.expect(&what(&format!("{table}: bytes")), &bytes, &counted);
            let by_node = relation["bytes_by_node"].as_object().context("by node")?;
            let sum: u64 = by_node.values().filter_map(Value::as_u64).sum();
            complaints.expect(&what(&format!("{table}: sum of nodes")), &sum, &bytes);
            let there = relation["bytes_by_node"][node.to_string()].as_u64();
            let share = there.unwrap_or(0) as f64 / bytes as f64;
            let sentence = what(&format!("{table}: {share:.3} of it on node {node}"));
            complaints.expect(&sentence, &(share >= share_min), &true);
        }
    }
    Ok(())
}

/// Returns the document after the line with its name.
pub(super) fn document(text: &str, name: &str) -> Result<Value> {
    let (_, after) = text
        .split_once(&format!("{name}\n"))
        .with_context(|| format!("no document {name} in: {text}"))?;
    let mut documents = serde_json::Deserializer::from_str(after).into_iter();
    let document = documents.next().context("nothing after the name")?;
    document.with_context(|| format!("document {name} of: {text}"))
}

/// Returns the relation of this name.
pub(super) fn relation<'d>(relations: &'d Value, name: &str) -> Result<&'d Value> {
    let list = relations["relations"].as_array().context("relations")?;
    let found = list.iter().find(|relation| relation["name"] == name);
    found.with_context(|| format!("no relation {name} in {relations}"))
}

/// Returns the bytes of memory that processes share.
fn shared_bytes(residency: &Value) -> Result<u64> {
    let segments = residency["segments"].as_array().context("segments")?;
    let shared = segments.iter().filter(|segment| {
        let kind = segment["kind"].as_str().unwrap_or("");
        !matches!(kind, "program-text" | "file")
    });
    let nodes = shared.flat_map(|segment| segment["bytes_by_node"].as_object().into_iter());
    Ok(nodes
        .flat_map(|by_node| by_node.values())
        .filter_map(Value::as_u64)
        .sum())
}
