//! `numalab serve` for one test, and curl, a client that we did not write.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use testing::{Need, not_run};

use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;

/// Whether curl is installed; if not, reports that `test` is not run.
pub(crate) fn has_curl(test: &str) -> bool {
    let found = Command::new("curl").arg("--version").output().is_ok();
    if !found {
        not_run(test, Need::Package, "it needs curl, as a client");
    }
    found
}

/// Stores a run whose trials take milliseconds; returns its id.
pub(crate) fn stored_run(laboratory: &Laboratory) -> String {
    let load = "[load]\nwork = \"command\"\ncommand = \"echo $((40 + $$ % 7))\"";
    let experiment = ExperimentFile::new("one", load)
        .case("one", "cpus = \"all:1\"\nmechanism = \"affinity\"")
        .case("other", "cpus = \"all\"\nmechanism = \"affinity\"");
    let path = laboratory.file("served.toml", experiment.text());
    let run = ["run", &path, "--trials", "6", "--json"];
    let run = laboratory.document(&run);
    run["run"].as_str().unwrap().to_owned()
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    /// Status line and headers.
    pub head: String,
    pub body: String,
}

impl Reply {
    /// Asserts its status.
    #[track_caller]
    pub(crate) fn with_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Returns the JSON document in it.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A server.
pub(crate) struct Served<'l> {
    pub under_way: UnderWay<'l>,
    pub address: SocketAddr,
}

impl<'l> Served<'l> {
    /// Starts a server on a free port of the loopback interface.
    pub(crate) fn start(laboratory: &'l Laboratory) -> Self {
        Self::with(laboratory, &["--listen", "127.0.0.1:0"])
    }

    /// Starts a server with these options.
    pub(crate) fn with(laboratory: &'l Laboratory, options: &[&str]) -> Self {
        let mut under_way = laboratory.start(&[&["serve"], options].concat());
        let address = until("the server says where it listens", || {
            let said = under_way.stderr();
            assert!(!under_way.has_ended(), "{said}");
            let (_, rest) = said.split_once("http://")?;
            let (address, _) = rest.split_once(' ')?;
            address.parse::<SocketAddr>().ok()
        });
        Self { under_way, address }
    }

    /// Returns the URL of a path, on this machine.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.address.port())
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(path, &[])
    }

    /// Asks for a path, with these options of curl.
    pub(crate) fn ask(&self, path: &str, options: &[&str]) -> Reply {
        curl(&self.url(path), options)
    }
}

/// Asks for a URL, with these options of curl.
pub(crate) fn curl(url: &str, options: &[&str]) -> Reply {
    let mut command = Command::new("curl");
    let fixed = ["--silent", "--show-error", "--include", "--path-as-is"];
    let limits = ["--max-time", "120", "--noproxy", "*"];
    let output = command.args(fixed).args(limits).args(options).arg(url);
    let output = output.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let parts = text.split_once("\r\n\r\n");
    let (head, body) = parts.unwrap_or_else(|| panic!("{url}: {said} {text}"));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Reply {
        status: status.unwrap_or_else(|| panic!("{url}: {said} {text}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
