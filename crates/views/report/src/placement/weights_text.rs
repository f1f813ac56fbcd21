//! Weights of weighted interleaving from measured bandwidth, as text and as the document
//! `numalab.weights/1`.

use std::collections::BTreeMap;

use model::{MeasuredWeights, NodeId, WeightOfNode, node_words};
use serde::Serialize;

use crate::form::style::{Style, TextOptions};
use crate::form::table::{Side, Table};
use crate::memory::latency_figures::gigabytes_per_s;

/// Name and version of the document.
const WEIGHTS_FORMAT: &str = "numalab.weights/1";

/// What is in force on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WeightsInForce {
    /// The kernel's weights by node; null where it has none, or the figures are of another machine.
    pub in_force: Option<BTreeMap<NodeId, u64>>,
    /// Whether the kernel sets the weights itself; null where it never does.
    pub automatic: Option<bool>,
}

/// The document.
#[derive(Debug, Serialize)]
pub struct WeightsDocument<'a> {
    format: &'static str,
    #[serde(flatten)]
    weights: &'a MeasuredWeights,
    #[serde(flatten)]
    in_force: &'a WeightsInForce,
}

/// Returns the document.
pub fn weights_document<'a>(
    weights: &'a MeasuredWeights,
    in_force: &'a WeightsInForce,
) -> WeightsDocument<'a> {
    WeightsDocument {
        format: WEIGHTS_FORMAT,
        weights,
        in_force,
    }
}

/// Formats the table of weights.
pub fn weights_text(
    weights: &MeasuredWeights,
    in_force: &WeightsInForce,
    options: &TextOptions,
) -> String {
    let mut text = options.heading(&format!(
        "Weights from measured bandwidth ({}), for CPUs of {}",
        weights.source,
        node_words(&weights.cpu_nodes)
    ));
    let names = [
        "node",
        "GB/s",
        "interval",
        "share",
        "weight",
        "by weight",
        "in force",
    ];
    let columns = names.map(|name| (name, Side::Right));
    let mut table = Table::new(&columns);
    for row in &weights.nodes {
        let now = in_force.in_force.as_ref();
        let now = now.and_then(|weights| weights.get(&row.node));
        let cells = [
            row.node.to_string(),
            gigabytes_per_s(row.bytes_per_s),
            interval(row),
            percent(row.share),
            row.weight.to_string(),
            percent(row.share_by_weight),
            now.map_or_else(|| "?".to_owned(), u64::to_string),
        ];
        table.row(cells);
    }
    text.push_str(&table.text(options));
    let about = format!(
        "a round has as many pages on each node as its weight says; the share of a node is up to \
         {} off that of its bandwidth",
        percent(weights.error)
    );
    text.push_str(&options.paragraph("note: ", &about, Style::Usual));
    if in_force.automatic == Some(true) {
        let about = "the kernel sets the weights in force itself, from bandwidths that the \
                     firmware states, until weights are set";
        text.push_str(&options.paragraph("note: ", about, Style::Usual));
    }
    text
}

/// `198.0 to 202.1`, or a dash where unknown.
fn interval(row: &WeightOfNode) -> String {
    match (row.bytes_per_s_low, row.bytes_per_s_high) {
        (Some(low), Some(high)) => {
            format!("{} to {}", gigabytes_per_s(low), gigabytes_per_s(high))
        }
        _ => "-".to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_beside_bandwidths_and_what_is_in_force() {
        let row = |node, bytes_per_s, weight, share, share_by_weight| WeightOfNode {
            node: NodeId(node),
            bytes_per_s,
            bytes_per_s_low: Some(bytes_per_s - 1e9),
            bytes_per_s_high: None.or((node == 0).then_some(bytes_per_s + 1e9)),
            cpu_node: NodeId(0),
            share,
            weight,
            share_by_weight,
        };
        let weights = MeasuredWeights {
            source: "a run".to_owned(),
            cpu_nodes: "0".parse().unwrap(),
            nodes: vec![
                row(0, 201e9, 2, 0.67, 2.0 / 3.0),
                row(1, 99e9, 1, 0.33, 1.0 / 3.0),
            ],
            error: 0.0033,
        };
        let in_force = WeightsInForce {
            in_force: Some([(NodeId(0), 7)].into()),
            automatic: Some(true),
        };
        let text = weights_text(&weights, &in_force, &TextOptions::default());
        for line in [
            "   0  201.0  200.0 to 202.0  67.0 %       2     66.7 %         7\n",
            "   1   99.0               -  33.0 %       1     33.3 %         ?\n",
            "up to 0.3 % off",
            "the kernel sets the weights in force itself",
        ] {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
        let document = serde_json::to_value(weights_document(&weights, &in_force)).unwrap();
        assert_eq!(document["format"], "numalab.weights/1");
        assert_eq!(document["nodes"][0]["weight"], 2);
        assert_eq!(document["in_force"]["0"], 7);
    }
}
