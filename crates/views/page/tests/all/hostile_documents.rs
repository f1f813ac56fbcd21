//! Whatever a document holds, there is a page or an error that names what is wrong.

use page::document_page;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FORMATS: [&str; 7] = [
    "latency",
    "bandwidth",
    "topology",
    "residency",
    "move",
    "doctor",
    "firsttouch",
];

/// Documents with most fields, so that a change of one of them reaches what is behind it.
fn samples() -> Vec<Value> {
    vec![
        latency(),
        bandwidth(),
        topology(),
        residency(),
        moved(),
        balanced(),
        first_touches(),
        json!({"format": "numalab.doctor/1", "target": null, "looked_for": 3,
            "findings": [finding()]}),
    ]
}

fn finding() -> Value {
    json!({"id": "a", "severity": "error", "message": "m",
        "evidence": [{"source": "s", "value": "v"}], "cost": {"estimate": "e", "source": "s"},
        "fix": ["f"]})
}

fn by_node() -> Value {
    json!({"0": 4_194_304, "8": 10_000_000})
}

fn latency() -> Value {
    let matrix = json!([[90.0, 200.0], [null, 95.5]]);
    let finding = finding();
    json!({"format": "numalab.latency/1", "cpu_nodes": [0, 8], "memory_nodes": [0, 8],
            "ns": matrix, "ns_low": matrix, "ns_high": matrix, "confidence": 0.95,
            "not_measured": [{"cpu_node": 8, "memory_node": 0, "reason": "no memory"}],
            "unsteady": [{"cpu_node": 0, "memory_node": 8}],
            "distances": [[10, 20], [20, 10]],
            "hop_classes": [{"cpu_node": 0, "class": 1, "memory_nodes": "8", "ns_min": 200.0,
                "ns": 200.0, "ns_max": 200.0, "distances": [20]}],
            "links": [{"from": 0, "to": 8, "is_mutual": true}], "findings": [finding],
            "curves": [{"cpu_node": 0, "memory_node": 0, "cpu": 0, "page_kind": "small",
                "page_bytes": 4096, "points": [
                {"bytes": 1024, "ns": 1.0, "ns_min": 0.9, "ns_max": 1.1},
                {"bytes": 1_048_576, "ns": 5.0, "ns_min": 0.9, "ns_max": 1.1}],
                "levels": [{"ns": 1.0, "fits_bytes": 1024}]}],
            "transfers": [{"home_node": 0, "cpus": [0, 1], "ns": [[null, 40.0], [41.0, null]]}]})
}

fn bandwidth() -> Value {
    let finding = finding();
    json!({"format": "numalab.bandwidth/1", "kernel": "read", "cpu_nodes": [0, 8],
            "memory_nodes": [0, 8], "bytes_per_s": [[90e9, 2e10], [null, 8e10]],
            "sweeps": [{"cpu_node": 0, "memory_node": 0, "knee_threads": 1,
                "points": [{"threads": 1, "bytes_per_s": 1e9}]}],
            "whole_machine": [{"memory": "local", "cpu_nodes": "0,8", "threads": 2,
                "bytes_per_s": 1e11}],
            "ladders": [{"cpu_node": 0, "memory_node": 8, "load_nodes": "0", "load_threads": 1,
                "points": [{"delay": null, "bytes_per_s": 0.0, "ns": 90.0},
                {"delay": 3, "bytes_per_s": 1e10, "ns": 150.0}]}],
            "findings": [finding]})
}

fn topology() -> Value {
    json!({"format": "numalab.topology/1", "cpu_model": "x", "cpus": "0-3", "packages": 1,
            "nodes": [{"id": 0, "cpus": "0-3", "memory_bytes": 1, "free_bytes": 1,
                "huge_pages": [{"page_bytes": 2_097_152, "total": 1, "free": 0}]},
                {"id": 8, "cpus": null, "memory_bytes": 0, "free_bytes": null, "huge_pages": []}],
            "distances": [[10, 20], [20, 10]],
            "core_list": [{"cpus": "0-1", "node": 0, "package": 0, "core": 0}],
            "caches": [{"level": 1, "kind": "data", "size_bytes": 32768, "shared_by": ["0-1"]}],
            "devices": [{"address": "a", "kind": "gpu", "names": ["n"], "node": 8}]})
}

fn residency() -> Value {
    let finding = finding();
    let by_node = by_node();
    json!({"format": "numalab.residency/1", "target": "t", "method": "pagemap",
            "complete": false, "gaps": ["g"], "memory_nodes": "0,8", "processes": [{"pid": 1,
                "name": "n", "class": "c", "cpus": "0-3", "nodes_of_cpus": "0",
                "pinned_to_node": 0, "last_node": 0, "memory_nodes_allowed": "0,8",
                "private_bytes_by_node": by_node, "private_local_share": 0.5,
                "shared_local_share": 0.5, "touched_bytes_by_node": by_node,
                "touched_pool_bytes_by_node": null, "transparent_huge_bytes": 1,
                "page_table_bytes": 1}],
            "segments": [{"name": "n", "kind": "sysv", "sysv": null, "page_bytes": 4096,
                "policy": "p", "areas": [
                {"policy": "a", "mapped_bytes": 1, "bytes_by_node": by_node},
                {"policy": "b", "mapped_bytes": 1, "bytes_by_node": by_node}],
                "processes": 1, "mapped_bytes": 1, "allocated_bytes": 1,
                "bytes_by_node": by_node, "bytes_without_node": 1, "complete": true,
                "sampled": null}],
            "private": [{"class": "c", "processes": 1, "bytes_by_node": by_node}],
            "bytes_by_node": by_node, "bytes_without_node": 1, "layout": "default",
            "findings": [finding], "relations": {"server_version": "18.0", "block_bytes": 8192,
                "page_bytes": 4096, "buffers": 10, "buffers_used": 5, "bytes_by_node": by_node,
                "bytes_without_node": 1, "databases_without_names": ["d"],
                "server_view": {"state": "compared", "pages": 3, "differing": 1, "unknown": 1},
                "relations": [{"database": "d", "name": "n", "kind": "table", "filenode": 1,
                    "buffers": 1, "bytes": 8192, "bytes_by_node": by_node,
                    "bytes_without_node": 1, "bytes_beyond_even": 1}]}})
}

fn moved() -> Value {
    let by_node = by_node();
    json!({"format": "numalab.move/1", "target": "t", "to": "0", "status": "complete",
            "parts": [{"name": "n", "kind": "k", "shared": true, "processes": 1,
                "page_bytes": 4096, "bytes_by_node_before": by_node,
                "bytes_by_node_planned": by_node, "bytes_by_node_after": by_node,
                "bytes_to_move": 1, "policy_before": "p", "policy_then": "q"}],
            "bytes_to_move": 1, "bytes_moved": 1, "pages_moved": 1, "system_calls": 1,
            "seconds": 1.0, "refused": [{"reason": "r", "bytes": 1}], "notes": ["n"]})
}

fn balanced() -> Value {
    let by_node = by_node();
    json!({"format": "numalab.balance/1", "target": "t", "end": "settled", "nodes": "0-1",
            "seconds_max": 60.0, "bytes_per_s_max": 1, "segments": [{"name": "n", "kind": "k",
                "page_bytes": 4096, "near_nodes": "0", "bytes_by_node_before": by_node,
                "bytes_by_node_after": by_node, "bytes_elsewhere": 1, "policy_before": "p",
                "policy_meanwhile": "q", "policy_after": "p"}],
            "seconds": 12.0, "samples": [
                {"at_s": 1.0, "hint_faults": 7, "hint_faults_local": 3, "bytes_migrated": 1,
                    "pages_watched": 9, "pages_changed": 2, "pages_returned": 1, "stopped_s": 0.0},
                {"at_s": 12.0, "hint_faults": 7, "hint_faults_local": 3, "bytes_migrated": 1,
                    "pages_watched": 9, "pages_changed": 2, "pages_returned": 1, "stopped_s": 0.5}],
            "is_kept": false, "notes": ["n"]})
}

fn first_touches() -> Value {
    let by_node = by_node();
    json!({"format": "numalab.firsttouch/1", "target": "t", "from_start": true, "seconds": 1.0,
            "complete": false, "gaps": ["g"], "faults": 1, "lost_events": 1,
            "has_kernel_mode": true, "memory_nodes": "0-1",
            "processes": [{"pid": 1, "name": "n", "class": "c", "has_ended": false}],
            "segments": [{"name": "n", "kind": "memfd", "page_bytes": 4096,
                "mapped_bytes": 8192, "processes": 1, "touched_bytes": 4096,
                "before_bytes": 1, "unseen_bytes": 1, "bytes_by_node": by_node,
                "touchers": [{"pid": 1, "class": "c", "cpu_node": 0, "bytes": 4096,
                    "later_faults": 1, "first_s": 0.1, "last_s": 0.2, "bytes_by_node": by_node}],
                "picture": {"columns": 2, "rows": 2, "first_s": 0.1, "last_s": 0.2,
                    "cells": [{"column": 0, "row": 0, "bytes_by_cpu_node": by_node}]}}],
            "private": [{"class": "c", "processes": 1, "faults_by_cpu_node": by_node}]})
}

fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1e308)),
        Just(json!(5e-324)),
    ];
    let text = prop_oneof![
        any::<String>(),
        Just("0-65535".to_owned()),
        Just("</script><b>".to_owned()),
        Just("\u{1b}[2J\u{202e}".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        let entry = ("[0-9]{1,5}|[a-z]{1,4}", inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            prop::collection::vec(entry, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Replaces the `at`-th value below the document, counted in order, by another one.
fn replace(value: &mut Value, at: &mut usize, other: &Value) {
    let children: Vec<&mut Value> = match value {
        Value::Array(values) => values.iter_mut().collect(),
        Value::Object(fields) => {
            let fields = fields.iter_mut().filter(|(name, _)| *name != "format");
            fields.map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    };
    for child in children {
        if *at == 0 {
            *child = other.clone();
            *at = usize::MAX;
            return;
        }
        *at -= 1;
        replace(child, at, other);
        if *at == usize::MAX {
            return;
        }
    }
}

/// Checks that there is a page, whose text is harmless, or an error of one line.
fn check(text: &str) -> Result<bool, TestCaseError> {
    match document_page(text) {
        Ok(page) => {
            prop_assert!(!page.contains("</script><b>"), "{page}");
            let is_harmless = |char: char| char == '\n' || !char.is_control();
            prop_assert!(page.chars().all(is_harmless), "{page:?}");
            prop_assert!(!page.contains("NaN") && !page.contains("\"inf"), "{page}");
            Ok(true)
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.len() < 1000 && !message.contains('\n'), "{message}");
            Ok(false)
        }
    }
}

#[test]
fn every_sample_has_a_page() {
    for sample in samples() {
        let page = document_page(&sample.to_string());
        assert!(page.is_ok(), "{sample}: {page:?}");
    }
}

#[test]
fn impossible_figures_are_named() {
    let check = |field: &str, value: Value, expected: &str| {
        let mut document = samples().swap_remove(0);
        document[field] = value;
        let error = document_page(&document.to_string())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(
        "ns",
        json!([[-5.0, 1.0], [1.0, 1.0]]),
        "ns: -5 from node 0 to node 0",
    );
    check("ns", json!([[1.0]]), "ns: a row of 1; expected 2 rows of 2");
    check("cpu_nodes", json!([0, 0]), "node 0 twice");
    check(
        "cpu_nodes",
        json!([0, 4_000_000_000_u32]),
        "ids of nodes up to 65535",
    );
    check(
        "transfers",
        json!([{"home_node": 0, "cpus": [0], "ns": []}]),
        "transfers: 0 rows",
    );
    check("distances", json!([]), "distances: 0 rows");
}

#[test]
fn empty_lists_have_a_page() {
    let text = r#"{"format":"numalab.latency/1","cpu_nodes":[],"memory_nodes":[],"ns":[]}"#;
    let page = document_page(text).unwrap();
    assert!(
        page.contains("No latency between nodes was measured."),
        "{page}"
    );
    let text = r#"{"format":"numalab.topology/1","nodes":[]}"#;
    assert!(document_page(text).unwrap().contains("0 nodes, 0 CPUs"));
}

#[test]
fn large_documents_say_what_is_left_out() {
    let nodes: Vec<u32> = (0..300).collect();
    let rows = vec![vec![100.0; 300]; 300];
    let document = json!({"format": "numalab.latency/1", "cpu_nodes": nodes,
        "memory_nodes": nodes, "ns": rows});
    let page = document_page(&document.to_string()).unwrap();
    assert!(
        page.contains("Left out of the picture: 172 nodes"),
        "{}",
        page.len()
    );
    assert!(page.contains("Left out of the table: 88976 more pairs"));
    assert!(page.len() < 8 << 20, "{}", page.len());
}

proptest! {
    // A failure prints its input; there is no source file next to which it could be stored.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_page_or_an_error(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_json_of_any_format_is_a_page_or_an_error(value in any_json(), format in 0..6_usize) {
        let mut value = value;
        check(&value.to_string())?;
        if let Value::Object(fields) = &mut value {
            let format = format!("numalab.{}/1", FORMATS[format]);
            fields.insert("format".to_owned(), Value::from(format));
            check(&value.to_string())?;
        }
    }

    #[test]
    fn a_document_with_one_value_replaced_is_a_page_or_an_error(
        sample in 0..6_usize, at in 0..110_usize, other in any_json(),
    ) {
        let mut document = samples().swap_remove(sample);
        replace(&mut document, &mut at.clone(), &other);
        check(&document.to_string())?;
    }

    #[test]
    fn a_document_with_one_number_replaced_is_a_page_or_an_error(
        sample in 0..6_usize, at in 0..110_usize, number in prop_oneof![
            any::<u32>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
        ],
    ) {
        let mut document = samples().swap_remove(sample);
        replace(&mut document, &mut at.clone(), &number);
        check(&document.to_string())?;
    }

    #[test]
    fn any_matrix_has_a_page(
        (rows, columns, ns) in (1..20_usize, 1..20_usize).prop_flat_map(|(rows, columns)| {
            let cell = prop::option::of(prop_oneof![1e-300..1e300_f64, 1.0..1000.0_f64]);
            let row = prop::collection::vec(cell, columns);
            (Just(rows), Just(columns), prop::collection::vec(row, rows))
        })
    ) {
        let nodes = |count: usize| (0..count).map(|node| 3 * node).collect::<Vec<_>>();
        let document = json!({"format": "numalab.latency/1", "cpu_nodes": nodes(rows),
            "memory_nodes": nodes(columns), "ns": ns,
            "distances": vec![vec![10; columns]; rows]});
        prop_assert!(check(&document.to_string())?, "{document}");
        let document = json!({"format": "numalab.bandwidth/1", "kernel": "copy",
            "cpu_nodes": nodes(rows), "memory_nodes": nodes(columns), "bytes_per_s": ns});
        prop_assert!(check(&document.to_string())?, "{document}");
    }
}
