//! What those who may read get.

use std::sync::atomic::Ordering;

use crate::running_server::{Running, has_status};

#[test]
fn every_place_answers_with_strict_headers() {
    let server = Running::open();
    let check = |path: &str, status, kind: &str, text: &str| {
        let answer = server.get(path);
        has_status(&answer, status);
        let head = answer
            .split("\r\n\r\n")
            .next()
            .unwrap()
            .to_ascii_lowercase();
        for header in [
            "content-security-policy: default-src 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
            &format!("content-type: {kind}"),
        ] {
            assert!(head.contains(header), "{path}: no {header} in\n{head}");
        }
        assert!(!head.contains("access-control-"), "{path}: {head}");
        assert!(answer.contains(text), "{path}: no {text} in\n{answer}");
    };
    check("/", 200, "text/html", "16.0 GiB");
    check("/live", 200, "text/html", "&lt;script&gt;");
    check("/runs", 200, "text/html", "&lt;b&gt;");
    check("/runs/r1", 200, "text/html", "a &lt; b");
    check("/runs/r2", 200, "text/html", "<p>report");
    check("/runs/r3", 404, "text/html", "no run r3");
    check("/compare?a=r1&b=r2", 200, "text/html", "r1 against r2");
    check("/compare?run=r2&run=r1", 200, "text/html", "r1 against r2");
    check("/compare?run=r1", 400, "text/html", "two runs");
    check(
        "/metrics",
        200,
        "text/plain; version=0.0.4",
        "numalab_node_memory_bytes{node=\"0\"}",
    );
    check(
        "/api/snapshot",
        200,
        "application/json",
        "numalab.snapshot/1",
    );
    check("/api/runs", 500, "text/plain", "the store is damaged");
    check("/api/runs/r1", 200, "application/json", "\"r1\"");
    check(
        "/api/compare?a=r1&b=r2",
        200,
        "application/json",
        "[\"r1\",\"r2\"]",
    );
    check("/healthz", 200, "text/plain", "ok");
    check("/style.css", 200, "text/css", "prefers-color-scheme");
    check("/live.js", 200, "text/javascript", "fetch(\"/live\"");
    check("/nothing", 404, "text/html", "/api/snapshot");
}

#[test]
fn a_report_can_ask_the_server_for_nothing() {
    let answer = Running::open().get("/runs/r2");
    assert!(answer.contains("sandbox allow-scripts"), "{answer}");
    assert!(!answer.contains("connect-src"), "{answer}");
    assert!(!answer.contains("allow-same-origin"), "{answer}");
}

#[test]
fn the_machine_is_looked_at_for_readers_only_and_once_a_second_at_most() {
    let server = Running::open();
    server.get("/healthz");
    server.get("/runs");
    assert_eq!(server.looks.load(Ordering::Relaxed), 0);
    let started = std::time::Instant::now();
    for _ in 0..5 {
        server.get("/metrics");
        server.get("/");
    }
    let seconds = usize::try_from(started.elapsed().as_secs()).unwrap();
    let looks = server.looks.load(Ordering::Relaxed);
    assert!(
        (1..=1 + seconds).contains(&looks),
        "{looks} looks in {seconds} s"
    );
}

#[test]
fn a_head_request_has_the_headers_only() {
    let answer = Running::open().ask("HEAD /runs", "");
    has_status(&answer, 200);
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}
