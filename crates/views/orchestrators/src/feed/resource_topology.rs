//! Costs between nodes for NodeResourceTopology, by which schedulers of Kubernetes place pods.
//!
//! Ten times the ratio to local, the same for all nodes of a hop class, at most 254: a scheduler
//! takes costs above 255 for unknown, and raw nanoseconds would let a choice hang on one of them.
//! Some readers refuse costs that differ by direction, so both directions have one, and the text
//! says how much that hides.

use std::fmt::Write;

use super::facts::Facts;

/// The zones of a machine with their costs, as a manifest.
pub fn resource_topology(facts: Facts<'_>) -> String {
    let mut text = format!(
        "# Made by `numalab fleet feed`: 10 is local memory.\n{}\
         apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\nmetadata:\n  \
         name: {}\ntopologyPolicies: []\nzones:\n",
        remarks(facts),
        serde_json::Value::from(facts.host)
    );
    let nodes: Vec<_> = facts.topology.nodes.iter().map(|node| node.id).collect();
    let cost = |from: usize, to: usize| match facts.distances {
        Some(distances) if distances.nodes == nodes => {
            Some(u32::from(distances.for_schedulers[from][to]))
        }
        _ if from == to => Some(10),
        _ => None,
    };
    for (from, node) in nodes.iter().enumerate() {
        write!(text, "- name: node-{node}\n  type: Node\n  costs:\n").expect("a string takes all");
        for (to, other) in nodes.iter().enumerate() {
            if let Some(cost) = cost(from, to) {
                writeln!(text, "  - {{name: node-{other}, value: {cost}}}").expect("as above");
            }
        }
    }
    text
}

fn remarks(facts: Facts<'_>) -> String {
    match facts.distances {
        None if facts.topology.nodes.len() > 1 => {
            "# Nothing was measured, so costs between nodes are absent.\n".to_owned()
        }
        None => String::new(),
        Some(distances) if distances.asymmetry > 0.0 => format!(
            "# Symmetrised: the two directions of a pair differ by up to {:.0} %.\n",
            distances.asymmetry * 100.0
        ),
        Some(_) => "# Symmetrised: both directions of each pair are alike.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::Facts;
    use super::super::facts::tests::known;
    use super::resource_topology;

    #[test]
    fn costs_are_those_of_hop_classes_and_the_text_says_what_they_hide() {
        let known = known();
        let text = resource_topology(known.facts());
        assert!(text.contains("differ by up to 8 %"), "{text}");
        assert_eq!(
            text.matches("{name: node-4, value: 31}").count(),
            5,
            "{text}"
        );
        let without = Facts {
            distances: None,
            ..known.facts()
        };
        let text = resource_topology(without);
        assert!(text.contains("Nothing was measured"), "{text}");
        assert_eq!(text.matches("value:").count(), 5, "{text}");
    }
}
