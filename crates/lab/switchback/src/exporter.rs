//! A counter of work on a page of metrics, as exporters for Prometheus serve them: one plain HTTP
//! request a second, with limits on time and bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use observed::{Address, Socket};
use server::{Error, WorkCounters, WorkDone};

/// An answer is wanted every second.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Addresses of a host that are tried.
const ADDRESSES_MAX: usize = 4;
/// A page has at most so many bytes.
const BYTES_MAX: u64 = 8 << 20;

/// A label: its name and its value.
type Label = (String, String);
type Labels = Vec<Label>;

/// A counter on a page, as a user names it:
/// `http://localhost:9187/metrics#pg_stat_database_xact_commit{datname="shop"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    host: String,
    path: String,
    name: String,
    labels: Labels,
    text: String,
}

impl Exported {
    /// Reads what a user names.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected http://HOST:PORT/PATH#METRIC or …#METRIC{{LABEL=\"VALUE\"}}, found \
                 {text:?}"
            )
        };
        if text.contains(|letter: char| letter.is_control() || letter == ' ') {
            return Err(expected());
        }
        let (url, query) = text.split_once('#').ok_or_else(expected)?;
        let rest = url.strip_prefix("http://").ok_or_else(expected)?;
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) => (host, format!("/{path}")),
            None => (rest, "/metrics".to_owned()),
        };
        let (name, labels) = series(query).ok_or_else(expected)?;
        // The port of the protocol, where there is none.
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        match host.starts_with(':') || host.contains('@') {
            true => Err(expected()),
            false => Ok(Exported {
                host,
                path,
                name: name.to_owned(),
                labels,
                text: text.to_owned(),
            }),
        }
    }

    /// Requests the page.
    fn page(&self) -> io::Result<String> {
        let mut socket = connected(self.host.to_socket_addrs()?)?;
        socket.limit(ANSWER_WITHIN, BYTES_MAX);
        // Of version 1.0, so that the answer ends with the connection and has no chunks.
        let request = format!(
            "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
            self.path, self.host
        );
        socket.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        body(&answer).map(str::to_owned).map_err(io::Error::other)
    }
}

impl WorkCounters for Exported {
    fn unit(&self) -> &'static str {
        "unit"
    }

    fn mix(&self) -> Option<&'static str> {
        None
    }

    fn read(&mut self) -> Result<WorkDone, Error> {
        let page = self.page();
        let units =
            page.and_then(|page| sum(&page, &self.name, &self.labels).map_err(io::Error::other));
        let units = units.map_err(Error::io(format!("reading the counter of {}", self.text)))?;
        Ok(WorkDone { units, mix: None })
    }
}

/// Connects to the first address that lets us: `localhost` is `::1`, too, where many exporters do
/// not listen.
fn connected(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<Socket> {
    let mut refused = None;
    for address in addresses.take(ADDRESSES_MAX) {
        let held = Address::Tcp(address).hold();
        match held.and_then(|it| it.connect(ANSWER_WITHIN)) {
            Ok(socket) => return Ok(socket),
            Err(error) => refused = refused.or(Some(error.to_string())),
        }
    }
    let refused = refused.unwrap_or_else(|| "the host has no address".to_owned());
    Err(io::Error::other(refused))
}

/// The body of an answer, whose first line is `HTTP/1.1 200 OK`.
fn body(answer: &str) -> Result<&str, String> {
    let status = answer.lines().next().unwrap_or_default();
    let mut words = status.split(' ');
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/"));
    if !is_http || words.next() != Some("200") {
        let status: String = status.chars().take(80).collect();
        return Err(format!("expected HTTP status 200, found {status:?}"));
    }
    let parts = answer
        .split_once("\r\n\r\n")
        .or_else(|| answer.split_once("\n\n"));
    parts
        .map(|(_, body)| body)
        .ok_or_else(|| "the answer has no end of its head".to_owned())
}

/// The sum of the samples of a metric that have these labels, as a whole number.
fn sum(page: &str, name: &str, labels: &[Label]) -> Result<u64, String> {
    let of_name = page.lines().filter_map(sample).filter(|it| it.0 == name);
    let has_labels = |of: &Labels| labels.iter().all(|it| of.contains(it));
    let values: Vec<f64> = of_name
        .filter(|it| has_labels(&it.1))
        .map(|it| it.2)
        .collect();
    let sum: f64 = values.iter().sum();
    match values.is_empty() {
        true => Err(format!(
            "the page has no sample of {name} with these labels"
        )),
        // Larger ones are not exact.
        false if (0.0..9e15).contains(&sum) => Ok(sum as u64),
        false => Err(format!("{name} is {sum}, which is no counter")),
    }
}

/// A line such as `http_requests_total{method="post",code="200"} 1027 1395066363000`
/// (prometheus.io/docs, "Text-based format"); `None` of comments and what is no such line.
fn sample(line: &str) -> Option<(&str, Labels, f64)> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels_of(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    (is_name(name)).then_some((name, labels, value))
}

/// A metric as a user names it, with its labels.
fn series(query: &str) -> Option<(&str, Labels)> {
    let (name, labels) = match query.split_once('{') {
        None => (query, Vec::new()),
        Some((name, rest)) => {
            let (labels, rest) = labels_of(rest)?;
            (name, rest.is_empty().then_some(labels)?)
        }
    };
    is_name(name).then_some((name, labels))
}

fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    !name.is_empty() && name.chars().all(is_letter)
}

/// Labels up to the closing brace, and what follows it.
fn labels_of(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    letter => value.push(letter),
                },
                (_, letter) => value.push(letter),
            }
        };
        labels.push((name.trim().to_owned(), value));
        rest = &quoted[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "# HELP xact_commit Transactions\n# TYPE xact_commit counter\n\
                        xact_commit{datid=\"1\",datname=\"shop\"} 1.5e+03\n\
                        xact_commit{datid=\"2\",datname=\"a \\\"b\\\"\"} 7 1395066363000\n\
                        xact_commit_total 9\nup 1\nbad{x=\"\nnot_a_number NaN\n";

    #[test]
    fn samples_with_the_labels_are_summed() {
        let check = |query: &str, expected: Result<u64, &str>| {
            let (name, labels) = series(query).unwrap();
            match (sum(PAGE, name, &labels), expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{query}"),
            }
        };
        check("xact_commit", Ok(1507));
        check("xact_commit{datname=\"shop\"}", Ok(1500));
        check("xact_commit{datname=\"a \\\"b\\\"\",datid=\"2\"}", Ok(7));
        check("xact_commit_total", Ok(9));
        check("xact_commit{datname=\"none\"}", Err("no sample"));
        check("bad", Err("no sample"));
        check("not_a_number", Err("is no counter"));
    }

    #[test]
    fn what_is_no_page_is_refused_by_name() {
        for (text, host, path) in [
            ("http://db1:9187/metrics#up", "db1:9187", "/metrics"),
            ("http://db1#up", "db1:80", "/metrics"),
            (
                "http://[::1]:9187/m?x=1#up{a=\"b\"}",
                "[::1]:9187",
                "/m?x=1",
            ),
        ] {
            let parsed = Exported::parse(text).unwrap();
            assert_eq!((parsed.host.as_str(), parsed.path.as_str()), (host, path));
        }
        for text in [
            "",
            "http://db1",
            "https://db1#up",
            "http://u@db1#up",
            "http://:80/#up",
            "http://db1/#",
            "http://db1/a b#up",
            "http://db1/\r\nX: y#up",
            "http://db1/#up{a=b}",
            "http://db1/#up{a=\"b\"}x",
        ] {
            let error = Exported::parse(text).unwrap_err();
            assert!(
                error.starts_with("expected http://HOST:PORT/PATH#METRIC"),
                "{error}"
            );
        }
    }

    /// Answers one request with this, and reads what was asked.
    fn answered(answer: &'static str, query: &str) -> (Result<WorkDone, Error>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                asked.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        let text = format!("http://{address}/metrics#{query}");
        let read = Exported::parse(&text).unwrap().read();
        (read, serving.join().unwrap())
    }

    #[test]
    fn a_page_is_requested_and_read() {
        let (read, asked) = answered("HTTP/1.1 200 OK\r\nX: y\r\n\r\nup 41\nup 1\n", "up");
        assert_eq!(read.unwrap().units, 42);
        assert!(
            asked.starts_with("GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:"),
            "{asked}"
        );
        for (answer, expected) in [
            (
                "HTTP/1.1 404 Not Found\r\n\r\nup 1\n",
                "found \"HTTP/1.1 404 Not Found\"",
            ),
            ("SSH-2.0-x\r\n\r\nup 1\n", "expected HTTP status 200"),
            ("HTTP/1.1 200 OK\r\n\r\ndown 1\n", "no sample of up"),
            ("", "expected HTTP status 200"),
        ] {
            let error = answered(answer, "up").0.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn an_address_where_nobody_listens_is_passed_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // No program can listen on port 0, so that a connection to it is refused.
        let silent: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let open = listener.local_addr().unwrap();
        assert!(connected([silent, open].into_iter()).is_ok());
        let refused = connected([silent].into_iter()).unwrap_err().to_string();
        assert!(refused.contains(&silent.to_string()), "{refused}");
        let none = connected([].into_iter()).unwrap_err().to_string();
        assert_eq!(none, "the host has no address");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z{}=\"\\\\,# 0-9\n:/.]{0,60}|\\PC{0,40}") {
            let _ = Exported::parse(&format!("http://{text}"));
            let _ = sum(&text, "a", &[]);
            let _ = body(&text);
        }
    }
}
