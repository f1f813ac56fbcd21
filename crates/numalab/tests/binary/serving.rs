//! `numalab serve` and `numalab metrics` as users and hostile clients meet them.
//!
//! Tests of serve, live.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;
use store::Store;
use testing::reports;

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server;
use crate::served::{Served, curl, has_curl, stored_run};

/// A token that is long enough.
const TOKEN: &str = "0123456789abcdef-token";

#[test]
fn every_path_of_the_table_answers() {
    if !has_curl("every_path_of_the_table_answers") {
        return;
    }
    let laboratory = Laboratory::new();
    let run = stored_run(&laboratory);
    let server = Served::start(&laboratory);
    let table = serve::routes_markdown();
    let paths = table
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let paths: Vec<&str> = paths.collect();
    assert!(paths.len() > 10, "{table}");
    for path in paths {
        let query = match path.ends_with("compare") {
            true => format!("?a={run}&b=last"),
            false => String::new(),
        };
        let reply = server.get(&(path.replace("ID", &run) + &query));
        let reply = reply.with_status(200);
        assert!(!reply.body.is_empty(), "{path}");
        let is_page = reply.head.contains("text/html");
        assert!(
            is_page || reply.head.contains("default-src 'none'"),
            "{path}: {}",
            reply.head
        );
        if path.starts_with("/api/") {
            let format = reply.document()["format"].as_str().unwrap().to_owned();
            let (_, shown) = table.split_once(&format!("| `{path}` | `")).unwrap();
            assert!(shown.starts_with(&format), "{path}: {format}");
        }
    }
    // Two looks have rates between them.
    until("rates are shown", || {
        let part = server.get("/live").body;
        part.contains("Rates are means of the last").then_some(())
    });
}

/// Returns the value of a series whose labels include these.
fn sample(metrics: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""))
        .collect();
    let mut lines = metrics.lines();
    let line = lines.find(|line| {
        let is_it = line
            .strip_prefix(name)
            .is_some_and(|it| it.starts_with(['{', ' ']));
        is_it && labels.iter().all(|label| line.contains(label))
    })?;
    line.rsplit_once(' ')?.1.parse().ok()
}

/// Checks that the served page, documents and metrics of a run are those of the commands.
fn check_same_figures(laboratory: &Laboratory, server: &Served, run: &str) {
    let document = laboratory.document(&["show", run, "--json"]);
    let served = server.get(&format!("/api/runs/{run}")).with_status(200);
    assert_eq!(served.document(), document);
    let page = laboratory.run(&["report", run, "--html", "-"]).with_code(0);
    let served = server.get(&format!("/runs/{run}")).with_status(200).body;
    let way_back = "<nav><a href=\"/runs\">Runs</a></nav>";
    assert_eq!(served.replacen(way_back, "", 1), page.stdout);
    let compared = ["compare", run, run, "--json"];
    let compared = laboratory.document(&compared);
    let path = format!("/api/compare?a={run}&b={run}");
    assert_eq!(server.get(&path).with_status(200).document(), compared);
    let metrics = laboratory.run(&["metrics"]).with_code(0).stdout;
    let scraped = server.get("/metrics").with_status(200).body;
    let text = |name: &str| document[name].as_str().unwrap();
    let mut intervals = 0;
    for case in document["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let labels = [("experiment", text("experiment")), ("case", name)];
        let check = |metric: &str, more: (&str, &str), expected: &Value| {
            let labels = [labels[0], labels[1], more];
            let expected = expected.as_f64();
            assert_eq!(
                sample(&metrics, metric, &labels),
                expected,
                "{metric} {name}"
            );
            assert_eq!(
                sample(&scraped, metric, &labels),
                expected,
                "{metric} {name}"
            );
        };
        let quantity = match text("metric") {
            "logical_reads_per_s" => "logical_reads_per_second",
            other => other,
        };
        for part in ["median", "low", "high"] {
            let metric = format!("numalab_run_{part}_{quantity}");
            check(&metric, labels[1], &case[part]);
        }
        check(
            "numalab_run_trials",
            ("outcome", "valid"),
            &case["trials_valid"],
        );
        check(
            "numalab_run_trials",
            ("outcome", "invalid"),
            &case["trials_invalid"],
        );
        intervals += usize::from(!case["low"].is_null());
        let shown = report_cell(&page.stdout, name);
        assert!(served.contains(&shown), "{shown}");
    }
    assert_eq!(
        intervals > 0,
        document["machine"].is_object(),
        "{document:#}"
    );
}

/// Returns the row of a case in the ranking of a page.
fn report_cell(page: &str, case: &str) -> String {
    let (_, rest) = page.split_once(&format!(">{case}</th>")).unwrap();
    rest.split("</tr>").next().unwrap().to_owned()
}

#[test]
fn pages_documents_and_metrics_of_a_run_have_the_figures_of_the_commands() {
    if !has_curl("pages_documents_and_metrics_of_a_run_have_the_figures_of_the_commands") {
        return;
    }
    let laboratory = Laboratory::new();
    let server = Served::start(&laboratory);
    let files = (1..).zip(reports::ARTICLE_001);
    let files = files.map(|(test, text)| laboratory.file(&format!("test{test}.txt"), text));
    let files: Vec<String> = files.collect();
    let words = ["import", "awr"].into_iter();
    let words: Vec<&str> = words.chain(files.iter().map(String::as_str)).collect();
    let imported = laboratory.run(&words).with_code(0).stdout;
    // Stored after the server was started.
    check_same_figures(&laboratory, &server, imported.trim_end());
    check_same_figures(&laboratory, &server, &stored_run(&laboratory));
    let listed = laboratory.document(&["history", "--json"]);
    assert_eq!(server.get("/api/runs").with_status(200).document(), listed);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    if !has_curl("what_makes_no_sense_is_refused_by_name") {
        return;
    }
    let laboratory = Laboratory::new();
    let server = Served::start(&laboratory);
    let check = |path: &str, status: u16, expected: &str| {
        let reply = server.get(path).with_status(status);
        assert!(reply.body.contains(expected), "{path}: {reply:?}");
        assert!(!reply.body.contains("root:"), "{path}: {reply:?}");
    };
    check("/runs", 200, "No run is stored");
    check("/runs/none", 404, "run an experiment");
    let run = stored_run(&laboratory);
    check("/runs/none", 404, &run);
    check("/api/runs/none", 404, &run);
    check("/compare?a=none&b=last", 404, "none");
    check("/compare", 400, "name two runs");
    for path in [
        "/runs/../../etc/passwd",
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/%2e%2e/%2e%2e/etc/passwd",
        "/../../../etc/passwd",
        "//etc/passwd",
        "/runs//etc/passwd",
        "/runs/last%00",
        "/style.css/../../Cargo.toml",
    ] {
        check(path, 404, "This server has");
    }
    let long = format!("X-Long: {}", "x".repeat(20_000));
    server.ask("/", &["--header", &long]).with_status(431);
    let body = "x".repeat(10_000);
    server.ask("/login", &["--data", &body]).with_status(413);
    server
        .ask("/", &["--request", "GET", "--data", "x"])
        .with_status(413);
    server.ask("/", &["--request", "DELETE"]).with_status(405);
    let rebound = ["--header", "Host: other.example"];
    server.ask("/api/snapshot", &rebound).with_status(421);
    check("/healthz", 200, "ok");
}

#[test]
fn a_store_that_cannot_be_read_leaves_the_machine_to_be_seen() {
    if !has_curl("a_store_that_cannot_be_read_leaves_the_machine_to_be_seen") {
        return;
    }
    let check = |change: &dyn Fn(&std::path::Path), expected: &str| {
        let laboratory = Laboratory::new();
        drop(Store::open(&laboratory.store()).unwrap());
        change(&laboratory.store());
        let server = Served::start(&laboratory);
        let reply = server.get("/runs").with_status(500);
        assert!(reply.body.contains(expected), "{reply:?}");
        let reply = server.get("/api/runs/last").with_status(500);
        assert!(reply.body.contains(expected), "{reply:?}");
        server.get("/").with_status(200);
        let scraped = server.get("/metrics").with_status(200).body;
        let written = laboratory.run(&["metrics"]).with_code(0);
        written.says(&["no metrics of runs", expected, "hint: "]);
        for metrics in [scraped, written.stdout] {
            assert_eq!(sample(&metrics, "numalab_store_readable", &[]), Some(0.0));
            assert!(metrics.contains("numalab_node_memory_bytes{"), "{metrics}");
        }
    };
    check(
        &|store| fs::write(store, "x".repeat(9000)).unwrap(),
        "damaged",
    );
    let newer = |store: &std::path::Path| {
        let connection = Connection::open(store).unwrap();
        connection
            .execute_batch("PRAGMA user_version = 99")
            .unwrap();
    };
    check(&newer, "schema version 99");
}

#[test]
fn a_store_of_an_older_version_is_served() {
    if !has_curl("a_store_of_an_older_version_is_served") {
        return;
    }
    let laboratory = Laboratory::new();
    drop(Store::open(&laboratory.store()).unwrap());
    let older = include_bytes!("../../../lab/store/tests/released/version-1.db");
    fs::write(laboratory.store(), older).unwrap();
    let server = Served::start(&laboratory);
    let listed = server.get("/api/runs").with_status(200).document();
    let run = listed["runs"][0]["id"].as_str().unwrap();
    server.get(&format!("/runs/{run}")).with_status(200);
}

#[test]
fn without_a_store_there_are_metrics_of_the_machine_and_no_complaint() {
    let laboratory = Laboratory::new();
    let file = laboratory.file("numalab.prom", "as it was");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let written = laboratory
        .run(&["metrics", "--textfile", &file])
        .with_code(0);
    assert_eq!((written.stdout.as_str(), written.stderr.as_str()), ("", ""));
    let metrics = fs::read_to_string(&file).unwrap();
    assert_eq!(sample(&metrics, "numalab_store_readable", &[]), Some(1.0));
    assert!(metrics.contains("numalab_node_memory_bytes{") && !metrics.contains("forecast"));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "the collector is another user");
    assert!(!laboratory.store().exists(), "looking makes nothing");
    // As in a unit of systemd without HOME: the machine is still seen, and the reason said.
    let mut homeless = laboratory.command(&["metrics"]);
    let output = homeless
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("XDG_STATE_HOME"),
        "{said}"
    );
    let metrics = String::from_utf8(output.stdout).unwrap();
    assert_eq!(sample(&metrics, "numalab_store_readable", &[]), Some(0.0));
    let refused = laboratory.run(&["metrics", "--textfile", "/no/such/numalab.prom"]);
    refused
        .with_code(2)
        .says(&["/no/such/numalab.prom", "hint: "]);
}

#[test]
fn the_memory_of_a_database_is_known_at_the_first_look() {
    let test = "the_memory_of_a_database_is_known_at_the_first_look";
    let Some(bin) = postgres_server::installed(test).filter(|_| has_curl(test)) else {
        return;
    };
    let laboratory = Laboratory::new();
    let database = postgres_server::Server::start(&bin);
    let name = format!("postgres:{}", database.data());
    let server = Served::start(&laboratory);
    let written = || laboratory.run(&["metrics"]).with_code(0).stdout;
    let scraped = || server.get("/metrics").with_status(200).body;
    // A server that nobody uses has touched a part of its buffers.
    let bytes_min = f64::from(1 << 20);
    let is_known = |metrics: &str| {
        let of_it = [("database", name.as_str())];
        let processes = sample(metrics, "numalab_instance_processes", &of_it).unwrap();
        assert!(processes > 1.0, "{metrics}");
        let lines = metrics.lines();
        let lines = lines.filter(|it| it.starts_with("numalab_instance_memory_bytes{"));
        let lines = lines.filter(|it| it.contains(&name));
        let bytes = lines.map(|it| it.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap());
        (bytes.sum::<f64>() > bytes_min).then_some(())
    };
    // No scrape waits for the look, and on a busy machine no look begins that would take long.
    until("a scrape has its memory", || is_known(&scraped()));
    until("metrics have its memory", || is_known(&written()));
    let page = server.get("/").with_status(200).body;
    let (_, row) = page.split_once(&format!("<td>{name}</td>")).unwrap();
    assert!(
        row.split("</tr>").next().unwrap().contains("node "),
        "{row}"
    );
}

#[test]
fn a_textfile_is_not_written_through_a_link_beside_it() {
    let laboratory = Laboratory::new();
    let precious = laboratory.file("precious", "precious");
    // `sh` becomes numalab, so that its process id is known beforehand.
    let script = "ln -s \"$0\" .numalab.prom.numalab-$$ && exec \"$@\"";
    let mut behind = Laboratory::new();
    behind.launch_behind(&["sh", "-c", script, &precious]);
    let file = behind.file("numalab.prom", "");
    behind.run(&["metrics", "--textfile", &file]).with_code(0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        written.starts_with("# HELP numalab_build_info"),
        "{written}"
    );
    assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
}

#[test]
fn slow_clients_and_those_that_leave_keep_nobody_waiting() {
    if !has_curl("slow_clients_and_those_that_leave_keep_nobody_waiting") {
        return;
    }
    let laboratory = Laboratory::new();
    let server = Served::start(&laboratory);
    let connect = || TcpStream::connect(server.address).unwrap();
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: local").unwrap();
            stream
        })
        .collect();
    for sent in [
        &b"GET /met"[..],
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"",
    ] {
        let mut stream = connect();
        let _ = stream.write_all(sent);
    }
    server.get("/metrics").with_status(200);
    drop(slow);
    server.get("/").with_status(200);
}

#[test]
fn a_server_that_cannot_listen_says_how_it_can() {
    let laboratory = Laboratory::new();
    let check = |options: &[&str], code: i32, expected: &[&str]| {
        let refused = laboratory.run(&[&["serve"], options].concat());
        refused.with_code(code).says(expected);
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let port = address.rsplit_once(':').unwrap().1;
    let listener = format!("sport = :{port}");
    check(
        &["--listen", &address],
        2,
        &[&address, "hint: ", "--listen", &listener],
    );
    check(&["--listen", "7755"], 2, &["expected ADDRESS:PORT"]);
    // TEST-NET-1 of RFC 5737: no machine has it. Without a token, that is what is said.
    check(
        &["--listen", "192.0.2.1:7755"],
        2,
        &["no token", "hint: ", "--token-file"],
    );
    let token = laboratory.file("token", TOKEN);
    let readable = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&token, readable).unwrap();
    let with_token = ["--listen", "192.0.2.1:7755", "--token-file", token.as_str()];
    check(
        &with_token,
        4,
        &["others can read", "mode 0644", "umask 077"],
    );
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    check(
        &with_token,
        2,
        &["192.0.2.1:7755", "hint: ", "address of this machine"],
    );
    fs::write(&token, "short\n").unwrap();
    check(&with_token, 2, &["at least 16"]);
    check(&["--token-file", "/no/such/token"], 2, &["/no/such/token"]);
}

#[test]
fn whoever_has_no_token_sees_nothing() {
    if !has_curl("whoever_has_no_token_sees_nothing") {
        return;
    }
    let laboratory = Laboratory::new();
    let token = laboratory.file("token", format!("{TOKEN}\n"));
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let options = ["--listen", "0.0.0.0:0", "--token-file", &token];
    let server = Served::with(&laboratory, &options);
    let said = server.under_way.stderr();
    assert!(
        said.contains("without TLS") && !said.contains(TOKEN),
        "{said}"
    );
    let jar = laboratory.file("cookies", "");
    for path in [
        "/",
        "/live",
        "/runs",
        "/runs/last",
        "/metrics",
        "/api/snapshot",
        "/api/runs",
    ] {
        let refused = server.get(path).with_status(401);
        assert!(
            !refused.body.contains("MemTotal") && !refused.body.contains("GiB"),
            "{path}"
        );
        let wrong = ["--header", "Authorization: Bearer 0123456789abcdef-tokem"];
        server.ask(path, &wrong).with_status(401);
    }
    server.get("/healthz").with_status(200);
    let wrong = ["--data-urlencode", "token=wrong", "--cookie-jar", &jar];
    server.ask("/login", &wrong).with_status(401);
    assert!(
        !fs::read_to_string(&jar)
            .unwrap()
            .contains("numalab_session")
    );
    let header = format!("Authorization: Bearer {TOKEN}");
    for path in ["/", "/metrics", "/api/snapshot"] {
        server.ask(path, &["--header", &header]).with_status(200);
    }
    let right = format!("token={TOKEN}");
    let right = ["--data-urlencode", &right, "--cookie-jar", &jar];
    server.ask("/login", &right).with_status(303);
    server.ask("/", &["--cookie", &jar]).with_status(200);
    server
        .ask("/api/runs", &["--cookie", &jar])
        .with_status(200);
    // A token protects a server on the loopback interface, too, and may come by a variable.
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["env", &format!("NUMALAB_TOKEN={TOKEN}")]);
    let server = Served::start(&laboratory);
    server.get("/metrics").with_status(401);
    server
        .ask("/metrics", &["--header", &header])
        .with_status(200);
}

#[test]
fn a_server_that_is_asked_to_end_has_done_its_work() {
    if !has_curl("a_server_that_is_asked_to_end_has_done_its_work") {
        return;
    }
    let laboratory = Laboratory::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let server = Served::start(&laboratory);
        let address = server.address;
        server.get("/").with_status(200);
        server.under_way.signal(signal);
        let finished = server.under_way.finish().with_code(0);
        assert_eq!(finished.stdout, "");
        TcpStream::connect(address).unwrap_err();
    }
    // A client that never ends its request holds it for five seconds at most.
    let server = Served::start(&laboratory);
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.write_all(b"GET /").unwrap();
    curl(&server.url("/healthz"), &[]).with_status(200);
    server.under_way.signal(Signal::TERM);
    server.under_way.finish().with_code(0);
    laboratory.nothing_is_left();
}
