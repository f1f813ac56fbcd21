//! Compares what numalab found in one look of `node_counters.sh` with what the kernel counted
//! around it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::Complaints;

/// The shell functions of scripts that look.
pub(super) const FUNCTIONS: &str = include_str!("node_counters.sh");

/// Maximum number of free pages of a node that a look may use up (16 MiB): the kernel keeps some of
/// the files of /proc that were read, and the other processes of the guest take some meanwhile. On
/// an idle host 161 were seen for the first look of a boot and 66 for later ones, on a busy one up
/// to 834. A look that touches its target would take 60,000 in `inspect-postgres`, and Shmem, which
/// is compared exactly, would grow by as much.
const TAKEN_PAGES_MAX: u64 = 4096;

/// One look.
pub(super) struct Look<'a> {
    name: String,
    answer: &'a Value,
}

impl<'a> Look<'a> {
    /// Returns the look of this name in an answer of the check's command.
    pub(super) fn new(command: &str, name: &str, answer: &'a Value) -> Self {
        Look {
            name: format!("{command}, {name}"),
            answer: &answer[name],
        }
    }

    /// Returns the document `numalab.residency/1`.
    pub(super) fn residency(&self) -> &'a Value {
        &self.answer["residency"]
    }

    /// Returns a sentence about it.
    pub(super) fn what(&self, part: &str) -> String {
        format!("{}: {part}", self.name)
    }

    /// Checks that what was found on each node is, within `others_bytes`, what Shmem has grown by
    /// since `before`; and that the look has changed neither Shmem nor, beyond [`TAKEN_PAGES_MAX`],
    /// free memory.
    pub(super) fn judge(
        &self,
        before: &Value,
        others_bytes: u64,
        complaints: &mut Complaints,
    ) -> Result<()> {
        let (during, after) = (&self.answer["during"], &self.answer["after"]);
        let shmem = "Shmem by node after the look";
        complaints.expect(&self.what(shmem), &after["shmem"], &during["shmem"]);
        let method = &self.residency()["method"];
        complaints.expect(&self.what("method"), method, &"pagemap".into());
        let found = self.shared_memory()?;
        let (before, grown) = (numbers(&before["shmem"])?, numbers(&during["shmem"])?);
        for (node, (before, during)) in before.iter().zip(&grown).enumerate() {
            let bytes = found.get(&(node as u64)).copied().unwrap_or(0);
            let grown = during.saturating_sub(*before) * 1024;
            let agree = grown.abs_diff(bytes) <= others_bytes;
            let sentence = format!("node {node}: Shmem grew by {grown}, found {bytes}: they agree");
            complaints.expect(&self.what(&sentence), &agree, &true);
        }
        self.judge_free_memory(during, after, complaints)
    }

    fn judge_free_memory(
        &self,
        during: &Value,
        after: &Value,
        complaints: &mut Complaints,
    ) -> Result<()> {
        let pages = |state: &Value| numbers(&state["free_pages"]);
        let (during, after) = (pages(during)?, pages(after)?);
        complaints.expect(&self.what("some nodes"), &during.is_empty(), &false);
        for (node, (during, after)) in during.iter().zip(&after).enumerate() {
            let taken = during.saturating_sub(*after);
            let sentence =
                format!("it took {taken} pages of node {node}, {TAKEN_PAGES_MAX} at most");
            complaints.expect(&self.what(&sentence), &(taken <= TAKEN_PAGES_MAX), &true);
        }
        Ok(())
    }

    /// Checks that this many processes were found.
    pub(super) fn judge_processes(&self, expected: usize, complaints: &mut Complaints) {
        let processes = self.residency()["processes"].as_array();
        let count = processes.map(Vec::len);
        complaints.expect(&self.what("processes"), &count, &Some(expected));
    }

    /// Returns all shared memory that was found, by node: everything but programs and files.
    pub(super) fn shared_memory(&self) -> Result<BTreeMap<u64, u64>> {
        let segments = self.residency()["segments"].as_array();
        let mut sum = BTreeMap::new();
        for segment in segments.context("a list of segments")? {
            let kind = segment["kind"].as_str().unwrap_or("");
            if !matches!(kind, "program-text" | "file") {
                for (node, bytes) in bytes_by_node(segment) {
                    *sum.entry(node).or_default() += bytes;
                }
            }
        }
        Ok(sum)
    }
}

/// Returns the bytes of a segment on each node.
pub(super) fn bytes_by_node(segment: &Value) -> BTreeMap<u64, u64> {
    let nodes = segment["bytes_by_node"].as_object().into_iter().flatten();
    nodes
        .filter_map(|(node, bytes)| Some((node.parse().ok()?, bytes.as_u64()?)))
        .collect()
}

/// Reads a list of figures.
pub(super) fn numbers(figures: &Value) -> Result<Vec<u64>> {
    let figures = figures.as_array().context("a list of figures")?;
    let number = |figure: &Value| figure.as_u64().context("a figure");
    figures.iter().map(number).collect()
}
