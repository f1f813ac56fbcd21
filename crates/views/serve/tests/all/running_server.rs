//! A server with described content, and a client that sends any bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{NodeId, NodeSnapshot, ProcessSnapshot, RunHeader, RunStatus, Snapshot};
use serve::{
    Content, Exporter, Limits, Look, Problem, RunFigures, RunPage, Server, Settings, Token,
};

/// The token of servers that ask for one.
pub(crate) const TOKEN: &str = "0123456789abcdef";

/// Content with hostile names in it.
pub(crate) struct Described {
    pub looks: Arc<AtomicUsize>,
    pub slow: Arc<Slow>,
}

/// A run whose page takes as long as a test wants.
#[derive(Default)]
pub(crate) struct Slow {
    /// Held while it takes.
    pub held: Mutex<()>,
    /// How often it was asked for.
    pub asked: AtomicUsize,
}

impl Content for Described {
    fn look(&self) -> Result<Look, Problem> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let node = NodeSnapshot {
            id: NodeId(0),
            memory_bytes: Some(1 << 34),
            ..NodeSnapshot::default()
        };
        let process = ProcessSnapshot {
            pid: 17,
            name: "<script>".to_owned(),
            ..ProcessSnapshot::default()
        };
        Ok(Look {
            snapshot: Snapshot {
                nodes: vec![node],
                processes: vec![process],
                ..Snapshot::default()
            },
            ..Look::default()
        })
    }

    fn exporter(&self) -> Exporter {
        Exporter {
            cpu_s: 1.5,
            resident_bytes: Some(1 << 20),
            open_files: None,
            started_at_s: 1e9,
        }
    }

    fn snapshot_document(&self, _: &Look) -> Result<String, Problem> {
        Ok("{\"format\":\"numalab.snapshot/1\"}".to_owned())
    }

    fn runs(&self) -> Result<Vec<RunHeader>, Problem> {
        Ok(vec![RunHeader {
            id: "r1".to_owned(),
            experiment: "<b>".to_owned(),
            label: None,
            started_at: "2026-11-20T10:00:00Z".to_owned(),
            status: RunStatus::Settled,
            host: None,
            emulated: None,
            cases: 2,
            skipped: 0,
            trials_valid: 18,
            trials_invalid: 0,
            trials_failed: 0,
        }])
    }

    fn runs_document(&self) -> Result<String, Problem> {
        Err(Problem::Failed("the store is damaged".to_owned()))
    }

    fn run_figures(&self) -> Result<Vec<RunFigures>, Problem> {
        Ok(Vec::new())
    }

    fn run_page(&self, run: &str) -> Result<RunPage, Problem> {
        match run {
            "r1" => Ok(RunPage::Text("a < b".to_owned())),
            "slow" => {
                self.slow.asked.fetch_add(1, Ordering::Relaxed);
                drop(self.slow.held.lock());
                Ok(RunPage::Text("at last".to_owned()))
            }
            "r2" => Ok(RunPage::Document("<!doctype html><p>report".to_owned())),
            _ => Err(Problem::Missing(format!("no run {run}"))),
        }
    }

    fn run_document(&self, run: &str) -> Result<String, Problem> {
        Ok(format!("{{\"run\":\"{run}\"}}"))
    }

    fn comparison(&self, first: &str, second: &str) -> Result<RunPage, Problem> {
        Ok(RunPage::Text(format!("{first} against {second}")))
    }

    fn comparison_document(&self, first: &str, second: &str) -> Result<String, Problem> {
        Ok(format!("[\"{first}\",\"{second}\"]"))
    }
}

/// A server; ends when dropped.
pub(crate) struct Running {
    pub address: SocketAddr,
    pub looks: Arc<AtomicUsize>,
    pub slow: Arc<Slow>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a server on a free port.
    pub(crate) fn start(token: Option<Token>, limits: Limits) -> Self {
        let looks = Arc::new(AtomicUsize::new(0));
        let slow = Arc::<Slow>::default();
        let content = Described {
            looks: Arc::clone(&looks),
            slow: Arc::clone(&slow),
        };
        let settings = Settings {
            address: "127.0.0.1:0".parse().unwrap(),
            token,
            version: "0.0.0".to_owned(),
            limits,
        };
        let server = Server::bind(settings, Box::new(content)).unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || server.run(|| asked.load(Ordering::Relaxed)));
        Self {
            address,
            looks,
            slow,
            stop,
            thread: Some(thread),
        }
    }

    /// Starts a server without token.
    pub(crate) fn open() -> Self {
        Self::start(None, Limits::default())
    }

    /// Sends bytes, and returns all that comes until the server closes the connection.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may have refused before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request with these lines in its head, after a valid Host.
    pub(crate) fn ask(&self, first: &str, lines: &str) -> String {
        let head = format!("{first} HTTP/1.1\r\nHost: {}\r\n{lines}\r\n", self.address);
        self.send(head.as_bytes())
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path}"), "")
    }

    /// Connects; reading from it fails after a minute.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asserts the status of an answer.
#[track_caller]
pub(crate) fn has_status(answer: &str, status: u16) {
    let expected = format!("HTTP/1.1 {status} ");
    assert!(answer.starts_with(&expected), "not {status}: {answer}");
}
