//! Clients that are slow, that send what is malformed or too large, or that lead elsewhere. After
//! each, the server answers others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::{any, prop_assert, proptest};
use serve::Limits;

use crate::running_server::{Running, has_status};

#[test]
fn malformed_requests_are_refused() {
    let server = Running::open();
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
    ] {
        has_status(&server.send(bytes), 400);
    }
    has_status(&server.get("/healthz"), 200);
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    let server = Running::open();
    let long = format!("X-Long: {}\r\n", "x".repeat(20_000));
    has_status(&server.ask("GET /", &long), 431);
    let many = "X: y\r\n".repeat(500);
    has_status(&server.ask("GET /", &many), 431);
    has_status(&server.get("/healthz"), 200);
}

#[test]
fn a_body_is_refused() {
    let server = Running::open();
    let lines = "Content-Length: 5\r\n\r\nhello";
    has_status(&server.ask("GET /runs", lines), 413);
    let lines = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n";
    has_status(&server.ask("GET /runs", lines), 413);
    let lines = "Content-Length: 1000000000000\r\n";
    has_status(&server.ask("GET /runs", lines), 413);
    has_status(&server.ask("POST /login", lines), 413);
}

#[test]
fn what_would_change_something_is_refused() {
    let server = Running::open();
    for method in [
        "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT",
    ] {
        let answer = server.ask(&format!("{method} /runs"), "");
        assert!(
            answer.starts_with("HTTP/1.1 405") || answer.starts_with("HTTP/1.1 400"),
            "{method}: {answer}"
        );
    }
}

#[test]
fn no_path_leads_to_a_file() {
    let server = Running::open();
    for path in [
        "/../../../etc/passwd",
        "/runs/../../etc/passwd",
        "/runs/..%2f..%2fetc%2fpasswd",
        "/runs/%2e%2e/%2e%2e/etc/passwd",
        "/api/runs/....//etc/passwd",
        "//etc/passwd",
        "/style.css/../../Cargo.toml",
    ] {
        let answer = server.get(path);
        has_status(&answer, 404);
        assert!(!answer.contains("root:"), "{path}: {answer}");
    }
}

#[test]
fn a_page_of_another_site_that_leads_its_name_here_reads_nothing() {
    let server = Running::open();
    let request = |host: &str| format!("GET / HTTP/1.1\r\n{host}\r\n").into_bytes();
    has_status(&server.send(&request("Host: evil.example\r\n")), 421);
    has_status(
        &server.send(&request("Host: 127.0.0.1.evil.example\r\n")),
        421,
    );
    let nameless = server.send(b"GET / HTTP/1.0\r\n\r\n");
    assert!(nameless.starts_with("HTTP/1.0 421 "), "{nameless}");
    has_status(&server.send(&request("Host: localhost\r\n")), 200);
}

#[test]
fn a_slow_client_is_let_go() {
    let limits = Limits {
        head_within: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = Running::start(None, limits);
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    let mut answer = Vec::new();
    // The end of the connection, and no answer of the page.
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    has_status(&server.get("/healthz"), 200);
}

#[test]
fn too_many_connections_are_refused_and_a_place_becomes_free_again() {
    let limits = Limits {
        connections: 2,
        ..Limits::default()
    };
    let server = Running::start(None, limits);
    let held = server.slow.held.lock().unwrap();
    let mut asked = [server.connect(), server.connect()];
    for stream in &mut asked {
        let head = format!(
            "GET /runs/slow HTTP/1.1\r\nHost: {}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    while server.slow.asked.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
    has_status(&server.get("/runs/r1"), 503);
    has_status(&server.get("/healthz"), 200);
    // Also in parts.
    let mut slow = server.connect();
    for part in ["GET /hea", "lthz HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        slow.set_nodelay(true).unwrap();
        slow.write_all(part.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    has_status(&answer, 200);
    drop(held);
    for mut stream in asked {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        has_status(&answer, 200);
    }
    let is_free = |_| server.get("/runs/r1").starts_with("HTTP/1.1 200");
    assert!((0..10_000).any(is_free));
}

#[test]
fn connections_that_ask_for_nothing_keep_nobody_out() {
    let server = Running::open();
    let idle: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    has_status(&server.get("/runs/r1"), 200);
    has_status(&server.get("/healthz"), 200);
    // Nor do heads, or forms, that do not go on.
    let mut begun: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    for (number, stream) in begun.iter_mut().enumerate() {
        let form = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nt";
        let text = if number % 2 == 0 {
            form
        } else {
            "GET / HTTP/1.1\r\nHo"
        };
        // The server may have closed it already.
        let _ = stream.write_all(text.as_bytes());
    }
    has_status(&server.get("/runs/r1"), 200);
    drop(idle);
}

#[test]
fn requests_for_two_hosts_are_refused() {
    let server = Running::open();
    let request = |first: &str, lines: &str| {
        server.send(format!("{first} HTTP/1.1\r\n{lines}\r\n").as_bytes())
    };
    let hosts = "Host: localhost\r\nHost: evil.example\r\n";
    has_status(&request("GET /", hosts), 400);
    has_status(&request("GET /healthz", hosts), 400);
    let host = "Host: localhost\r\n";
    has_status(&request("GET http://evil.example/", host), 400);
    has_status(&request("GET http://localhost/healthz", host), 400);
    has_status(&request("GET /healthz", host), 200);
}

#[test]
fn clients_that_leave_disturb_nobody() {
    let server = Running::open();
    for _ in 0..100 {
        let mut stream = server.connect();
        let head = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        drop(stream);
    }
    let is_free = |_| server.get("/healthz").starts_with("HTTP/1.1 200");
    assert!((0..10_000).any(is_free));
}

/// One server for all bytes: what ended it would be found by the next.
static SERVER: LazyLock<Running> = LazyLock::new(Running::open);

proptest! {
    #[test]
    fn no_bytes_end_the_server(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut stream = SERVER.connect();
        let _ = stream.write_all(&bytes);
        drop(stream);
        prop_assert!(SERVER.get("/healthz").starts_with("HTTP/1.1 200"));
    }
}
