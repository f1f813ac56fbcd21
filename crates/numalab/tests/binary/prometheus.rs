//! The metrics as Prometheus, its promtool and node-exporter read them, all as Debian packages
//! them.
//!
//! Tests of serve, live.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::running::Running;
use crate::served::{Reply, Served, curl, has_curl, stored_run};
use crate::unpacked_programs::find;

/// Returns a program; if it is missing, reports that `test` is not run.
pub(crate) fn program(test: &str, name: &str) -> Option<PathBuf> {
    let found = find(name, &["prometheus", "prometheus-node-exporter"]);
    if found.is_none() {
        let why = format!("it needs {name} (cargo xtask test --only packages)");
        not_run(test, Need::Package, &why);
    }
    found
}

/// Returns a port of the loopback interface that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Starts a program that listens on a port, which takes the place of `PORT` in its words; again on
/// another port if it ends, since another process may have taken the first.
pub(crate) fn started(program: &Path, words: &[String]) -> (Running, u16) {
    until("the program listens", || {
        let port = free_port();
        let words = words
            .iter()
            .map(|word| word.replace("PORT", &port.to_string()));
        let mut command = Command::new(program);
        command
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut running = Running::of(&mut command);
        let listens = until("it listens or ends", || {
            let listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
            match running.0.try_wait().unwrap() {
                Some(_) => Some(false),
                None => listens.then_some(true),
            }
        });
        listens.then_some((running, port))
    })
}

/// Asserts that promtool has nothing to say.
#[track_caller]
fn check_metrics(promtool: &Path, metrics: &str) {
    let mut command = Command::new(promtool);
    command.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut checking = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    checking
        .stdin
        .take()
        .unwrap()
        .write_all(metrics.as_bytes())
        .unwrap();
    let output = checking.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(
        output.status.success() && said.is_empty(),
        "{said}\n{metrics}"
    );
}

/// Returns the samples of a metric that numalab wrote, without comments.
fn samples(metrics: &str) -> Vec<&str> {
    let lines = metrics.lines();
    lines.filter(|line| line.starts_with("numalab_")).collect()
}

#[test]
fn promtool_has_nothing_to_say_about_the_metrics() {
    let test = "promtool_has_nothing_to_say_about_the_metrics";
    let Some(promtool) = program(test, "promtool") else {
        return;
    };
    if !has_curl(test) {
        return;
    }
    let laboratory = Laboratory::new();
    stored_run(&laboratory);
    let server = Served::start(&laboratory);
    let scraped = server.get("/metrics").with_status(200).body;
    let written = laboratory.run(&["metrics"]).with_code(0).stdout;
    for metrics in [scraped, written] {
        assert!(metrics.contains("numalab_run_low_gain{"), "{metrics}");
        check_metrics(&promtool, &metrics);
    }
}

#[test]
fn each_alert_fires_when_it_should_and_not_before() {
    let test = "each_alert_fires_when_it_should_and_not_before";
    let Some(promtool) = program(test, "promtool") else {
        return;
    };
    let packaging = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    let read = |name: &str| fs::read_to_string(format!("{packaging}/{name}")).unwrap();
    let (rules, tests) = (read("numalab-rules.yml"), read("numalab-rules-test.yml"));
    for alert in rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        assert!(
            tests.contains(&format!("alertname: {alert}\n")),
            "{alert} has no test"
        );
    }
    // What no command writes would never fire.
    for word in rules.split(|it: char| !it.is_ascii_alphanumeric() && it != '_') {
        let is_known = serve::metrics().any(|metric| metric.name == word);
        assert!(
            is_known || !word.starts_with("numalab_"),
            "no metric is called {word}"
        );
    }
    let mut command = Command::new(promtool);
    command.args(["test", "rules", "numalab-rules-test.yml"]);
    let tested = command.current_dir(packaging).output().unwrap();
    let said = String::from_utf8_lossy(&[tested.stdout, tested.stderr].concat()).into_owned();
    assert!(tested.status.success(), "{said}");
}

/// Asks Prometheus for a metric; returns its series.
pub(crate) fn query(port: u16, metric: &str) -> Vec<Value> {
    let url = format!("http://127.0.0.1:{port}/api/v1/query");
    let query = format!("query={metric}");
    let reply: Reply = curl(&url, &["--get", "--data-urlencode", &query]);
    let document = match reply.status {
        200 => reply.document(),
        // It is not ready yet.
        _ => return Vec::new(),
    };
    document["data"]["result"].as_array().unwrap().clone()
}

/// Checks that Prometheus understands every expression of the dashboard for Grafana.
fn check_dashboard(port: u16) {
    let dashboard = include_str!("../../../../packaging/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        // As Grafana replaces its variables.
        let expression = expression.replace("$instance", ".*").replace("$job", ".*");
        let expression = expression.replace("$__rate_interval", "1m");
        let query = format!("query={expression}");
        let url = format!("http://127.0.0.1:{port}/api/v1/query");
        let reply = curl(&url, &["--get", "--data-urlencode", &query]).with_status(200);
        let found = reply.document()["data"]["result"].as_array().unwrap().len();
        if expression.contains("numalab_node_memory") || expression.contains("time()") {
            assert!(found > 0, "{expression} has no series");
        }
    }
}

/// Checks what Prometheus knows of the server itself against ps.
fn check_own_use(port: u16, pid: u32) {
    let value = |metric: &str| {
        let found = query(port, metric);
        assert_eq!(found.len(), 1, "{metric}: {found:?}");
        found[0]["value"][1]
            .as_str()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    let mut ps = Command::new("ps");
    ps.args(["-o", "rss=,etimes=", "-p", &pid.to_string()]);
    let said = String::from_utf8(ps.output().unwrap().stdout).unwrap();
    let words: Vec<f64> = said
        .split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect();
    let share = value("process_resident_memory_bytes") / (words[0] * 1024.0);
    assert!((0.5..2.0).contains(&share), "{share} of {said} KiB");
    let age_s = value("time()-process_start_time_seconds");
    assert!((age_s - words[1]).abs() < 10.0, "{age_s}, not {said}");
    assert!(value("process_open_fds") >= 3.0);
    assert!(value("process_cpu_seconds_total") > 0.0);
}

#[test]
fn prometheus_scrapes_the_figures_of_the_snapshot() {
    let test = "prometheus_scrapes_the_figures_of_the_snapshot";
    let Some(prometheus) = program(test, "prometheus") else {
        return;
    };
    if !has_curl(test) {
        return;
    }
    let laboratory = Laboratory::new();
    let server = Served::start(&laboratory);
    let configuration = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: numalab\n  \
         static_configs: [{{targets: ['127.0.0.1:{}']}}]\n",
        server.address.port()
    );
    let configuration = laboratory.file("prometheus.yml", configuration);
    let data = laboratory.state().join("prometheus");
    let words = [
        format!("--config.file={configuration}"),
        format!("--storage.tsdb.path={}", data.display()),
        "--web.listen-address=127.0.0.1:PORT".to_owned(),
    ];
    let (_running, port) = started(&prometheus, &words);
    let of_nodes = until("Prometheus has scraped", || {
        let found = query(port, "numalab_node_memory_bytes");
        (!found.is_empty()).then_some(found)
    });
    let up = query(port, "up");
    assert_eq!(up[0]["value"][1], "1", "{up:?}");
    check_own_use(port, server.under_way.pid());
    check_dashboard(port);
    let snapshot = server.get("/api/snapshot").with_status(200).document();
    let nodes = snapshot["nodes"].as_array().unwrap().iter();
    let nodes: Vec<&Value> = nodes
        .filter(|node| !node["memory_bytes"].is_null())
        .collect();
    assert_eq!(of_nodes.len(), nodes.len(), "{of_nodes:?}");
    for node in nodes {
        let id = node["id"].to_string();
        let mut found = of_nodes.iter();
        let found = found
            .find(|series| series["metric"]["node"] == *id)
            .unwrap();
        let value: f64 = found["value"][1].as_str().unwrap().parse().unwrap();
        assert_eq!(Some(value), node["memory_bytes"].as_f64(), "{found}");
    }
}

#[test]
fn node_exporter_shows_the_metrics_of_the_textfile() {
    let test = "node_exporter_shows_the_metrics_of_the_textfile";
    let Some(exporter) = program(test, "prometheus-node-exporter") else {
        return;
    };
    if !has_curl(test) {
        return;
    }
    let laboratory = Laboratory::new();
    stored_run(&laboratory);
    let folder = laboratory.state().join("textfile");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("numalab.prom");
    let words = ["metrics", "--textfile", file.to_str().unwrap()];
    // The second replaces the first.
    laboratory.run(&words).with_code(0);
    laboratory.run(&words).with_code(0);
    let written = fs::read_to_string(&file).unwrap();
    let entries = fs::read_dir(&folder).unwrap().count();
    assert_eq!(entries, 1, "nothing else is left in the folder");
    let words = [
        "--collector.disable-defaults".to_owned(),
        "--collector.textfile".to_owned(),
        format!("--collector.textfile.directory={}", folder.display()),
        "--web.listen-address=127.0.0.1:PORT".to_owned(),
    ];
    let (_running, port) = started(&exporter, &words);
    let shown = curl(&format!("http://127.0.0.1:{port}/metrics"), &[])
        .with_status(200)
        .body;
    assert!(
        shown.contains("\nnode_textfile_scrape_error 0\n"),
        "{shown}"
    );
    assert_eq!(samples(&shown).len(), samples(&written).len(), "{shown}");
    // It writes labels and numbers in its own way; these two need no labels.
    for name in ["numalab_store_readable 1", "numalab_instances_left_out 0"] {
        assert!(shown.contains(name) && written.contains(name), "{shown}");
    }
}
