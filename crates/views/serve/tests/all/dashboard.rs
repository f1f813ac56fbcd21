//! The dashboard of Grafana in `packaging/`: it asks for metrics and labels that exist.

use std::collections::BTreeSet;

use serde_json::Value;
use serve::metrics;

const DASHBOARD: &str = include_str!("../../../../../packaging/grafana-dashboard.json");

/// Returns the words of a text that a name of a metric or label may be.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_exist() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let names: BTreeSet<&str> = metrics().map(|metric| metric.name).collect();
    // Prometheus adds the label with the address that it scraped.
    let labels = metrics().flat_map(|metric| metric.labels);
    let labels: BTreeSet<&str> = labels.copied().chain(["instance"]).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 5, "{panels:?}");
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title}");
        for target in targets {
            let expression = target["expr"].as_str().unwrap();
            // Each panel follows both variables, however many machines there are.
            let chosen = expression
                .matches("job=~\"$job\",instance=~\"$instance\"")
                .count();
            assert_eq!(chosen, expression.matches("$instance").count(), "{title}");
            assert!(chosen > 0, "{title}");
            let used = words(expression).filter(|word| word.starts_with("numalab_"));
            let used: Vec<&str> = used.collect();
            assert!(!used.is_empty(), "{title}: {expression}");
            // A pattern for several names ends with an underscore.
            let is_known = |word: &&str| match word.ends_with('_') {
                true => names.iter().any(|name| name.starts_with(word)),
                false => names.contains(word),
            };
            let do_exist = used.iter().all(is_known);
            assert!(do_exist, "{title}: {expression}");
            let legend = target["legendFormat"].as_str().unwrap();
            let in_legend = legend.split("{{").skip(1);
            let mut in_legend = in_legend.map(|rest| rest.split("}}").next().unwrap());
            assert!(
                in_legend.all(|label| labels.contains(label)),
                "{title}: {legend}"
            );
        }
        let mut described = words(panel["description"].as_str().unwrap());
        assert!(
            described.all(|word| !word.starts_with("numalab_") || names.contains(word)),
            "{title}"
        );
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let asked = variables.iter().map(|it| it["name"].as_str().unwrap());
    assert_eq!(asked.collect::<Vec<_>>(), ["job", "instance"]);
    for variable in variables {
        let definition = variable["definition"].as_str().unwrap();
        assert!(words(definition).any(|word| names.contains(word)));
    }
}
