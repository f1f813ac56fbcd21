//! Figures as labels of Node Feature Discovery, and as facts of Ansible.

use std::fmt::Write;

use serde_json::{Value, json};

use super::facts::Facts;

/// The namespace of labels that Node Feature Discovery allows without being configured. Newer
/// versions refuse labels without a namespace, older ones added this one.
const PREFIX: &str = "feature.node.kubernetes.io/";

/// The file of Node Feature Discovery's local source: a label a line. It is no longer believed
/// after `expires_at` (RFC 3339, in UTC).
///
/// A value with a blank would be dropped without a word, and so would a file above 64 KiB
/// (Node Feature Discovery, "local" source): figures have neither.
pub fn feature_file(facts: Facts<'_>, expires_at: &str) -> String {
    let mut text = format!("# Made by `numalab fleet feed`.\n# +expiry-time={expires_at}\n");
    for figure in facts.figures() {
        writeln!(text, "{PREFIX}numalab-{}={}", figure.name, figure.value)
            .expect("a string takes all");
    }
    text
}

/// Facts for Ansible: `ansible_local.numalab`. Numbers are numbers, absent is null.
pub fn ansible_facts(facts: Facts<'_>) -> Value {
    // A figure is a number as JSON writes it.
    let number = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let figures = facts.figures();
    let figures: serde_json::Map<String, Value> = figures
        .iter()
        .map(|it| (it.name.replace('-', "_"), number(&it.value)))
        .collect();
    let nodes = facts.topology.nodes.iter().map(|node| {
        json!({
            "id": node.id,
            "cpus": node.cpus.to_string(),
            "memory_bytes": node.memory_bytes,
        })
    });
    json!({
        "format": "numalab.facts/1",
        "host": facts.host,
        "figures": figures,
        "nodes": nodes.collect::<Vec<_>>(),
        "distances": facts.distances.map(|it| json!({
            "nodes": it.nodes,
            "measured": it.measured,
            "symmetrised": it.for_schedulers,
            "asymmetry": it.asymmetry,
            "source": it.source,
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::super::facts::tests::known;
    use super::{ansible_facts, feature_file};

    #[test]
    fn no_label_has_a_blank_and_the_file_says_how_long_it_is_true() {
        let known = known();
        let text = feature_file(known.facts(), "2026-10-08T00:00:00Z");
        assert!(
            text.contains("\n# +expiry-time=2026-10-08T00:00:00Z\n"),
            "{text}"
        );
        let labels: Vec<&str> = text.lines().filter(|it| !it.starts_with('#')).collect();
        assert!(
            labels.contains(&"feature.node.kubernetes.io/numalab-remote-ratio=3.1"),
            "{text}"
        );
        assert!(labels.iter().all(|it| !it.contains(' ')), "{text}");
    }

    #[test]
    fn facts_are_numbers() {
        let known = known();
        let facts = ansible_facts(known.facts());
        assert_eq!(facts["figures"]["remote_ratio"], 3.1);
        assert_eq!(facts["figures"]["nodes"], 5);
        assert_eq!(facts["nodes"][1]["cpus"], "4-7");
    }
}
