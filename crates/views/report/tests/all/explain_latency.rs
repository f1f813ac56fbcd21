//! Tests the part of latency in a difference against figures computed by hand.

use crate::run_samples::near_and_far;
use model::{MatrixCell, NodeId, NodeMatrix};
use report::{TextOptions, explain_document, explanation_text};
use serde_json::Value;
use verdict::explain;

fn latency(near_ns: f64, far_ns: f64) -> NodeMatrix {
    let cells = vec![vec![MatrixCell::of(near_ns), MatrixCell::of(far_ns)]];
    NodeMatrix::new(vec![NodeId(0)], vec![NodeId(0), NodeId(1)], cells).unwrap()
}

/// Returns the first difference, as a document.
fn difference(latency: Option<&NodeMatrix>) -> Value {
    let run = near_and_far();
    let found = explain(&run, None, latency).unwrap();
    let document = serde_json::to_value(explain_document(&run, &found)).unwrap();
    document["differences"][0].clone()
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found / expected - 1.0).abs() < 1e-3,
        "{found}, not {expected}"
    );
}

#[test]
fn the_share_of_memory_latency_is_what_the_two_latencies_say() {
    // 15 CPU seconds in 5 s, so 3 CPUs: 1000 ns per read near, 2000 ns far. Latency rises by 100
    // ns, so 10 accesses wait: all of the 1000 ns near, and all of the 2000 ns far.
    let memory = &difference(Some(&latency(100.0, 200.0)))["memory"];
    close(&memory["accesses_per_logical_read"], 10.0);
    close(&memory["share_of_cost"], 1.0);
    // Latency rises by 200 ns: 5 accesses, 500 of the 1000 ns near and 1500 of the 2000 ns far.
    let memory = &difference(Some(&latency(100.0, 300.0)))["memory"];
    close(&memory["accesses_per_logical_read"], 5.0);
    close(&memory["baseline_share_of_cost"], 0.5);
    close(&memory["share_of_cost"], 0.75);
}

#[test]
fn what_is_not_known_is_not_said() {
    assert!(difference(None)["memory"].is_null());
    // Nodes that are equally far explain nothing.
    let memory = &difference(Some(&latency(100.0, 101.0)))["memory"];
    assert!(memory["accesses_per_logical_read"].is_null());
    // A matrix of another machine lacks the node.
    let other = NodeMatrix::empty(vec![NodeId(7)], vec![NodeId(7)]);
    assert!(difference(Some(&other))["memory"].is_null());
}

#[test]
fn the_text_says_it_in_words() {
    let run = near_and_far();
    let found = explain(&run, None, Some(&latency(100.0, 300.0))).unwrap();
    let text = explanation_text(&run, &found, true, &TextOptions::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "5.0 accesses per read wait for memory",
        "75 % of the CPU time per read",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
