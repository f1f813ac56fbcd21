//! Where the stores of tests are: a file, and a database of a real PostgreSQL, so that every
//! promise is tested on both.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use store::{Place, Store};
use tempfile::TempDir;
use testing::{Need, not_run};

/// Where a new store may be made.
pub(crate) enum Home {
    File(TempDir),
    Server(Arc<Cluster>, String),
}

/// Runs a test on both kinds of stores.
#[track_caller]
pub(crate) fn on_both(test: &str, check: impl Fn(&Home)) {
    check(&Home::of_file());
    if let Some(home) = Home::of_server(test) {
        check(&home);
    }
}

/// Runs a test of any run on both kinds, unless it has a zero byte, which PostgreSQL refuses.
pub(crate) fn on_both_of(test: &str, runs: &[model::Run], check: impl Fn(&Home)) {
    match format!("{runs:?}").contains("\\0") {
        true => check(&Home::of_file()),
        false => on_both(test, check),
    }
}

impl Home {
    pub(crate) fn of_file() -> Self {
        Home::File(tempfile::tempdir().unwrap())
    }

    /// A new database; reports that the test was not run on it where there is no PostgreSQL.
    pub(crate) fn of_server(test: &str) -> Option<Self> {
        let cluster = Cluster::of_all_tests(test)?;
        // A database is used again: to make and to drop one takes a checkpoint.
        let unused = cluster.unused.lock().unwrap().pop();
        let name = unused.unwrap_or_else(|| {
            let name = format!("test_{}", cluster.made.fetch_add(1, Ordering::Relaxed));
            cluster.query("postgres", &format!("CREATE DATABASE {name}"));
            name
        });
        Some(Home::Server(cluster, name))
    }

    /// Another, of the same kind.
    pub(crate) fn another(&self) -> Self {
        match self {
            Home::File(_) => Home::of_file(),
            Home::Server(..) => Home::of_server("another").unwrap(),
        }
    }

    /// What a user would name.
    pub(crate) fn named(&self) -> PathBuf {
        match self {
            Home::File(folder) => folder.path().join("store.db"),
            Home::Server(cluster, name) => cluster.url(name).into(),
        }
    }

    pub(crate) fn place(&self) -> Place {
        Place::named(&self.named()).unwrap()
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.place()).unwrap()
    }

    pub(crate) fn open_existing(&self) -> Store {
        Store::open_existing(self.place()).unwrap()
    }

    /// Runs statements beside numalab; returns the rows of psql.
    pub(crate) fn sql(&self, sql: &str) -> String {
        match self {
            Home::File(_) => {
                let connection = rusqlite::Connection::open(self.named()).unwrap();
                connection.execute_batch(sql).unwrap();
                String::new()
            }
            Home::Server(cluster, name) => cluster.query(name, sql),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Home::Server(cluster, name) = self
            && !std::thread::panicking()
        {
            cluster.query(name, "DROP SCHEMA IF EXISTS numalab CASCADE");
            cluster.unused.lock().unwrap().push(name.clone());
        }
    }
}

/// A server that ends with the last test that uses it.
pub(crate) struct Cluster {
    folder: TempDir,
    bin: PathBuf,
    made: AtomicU32,
    unused: Mutex<Vec<String>>,
}

impl Cluster {
    fn of_all_tests(test: &str) -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        thread_local! {
            /// Each test has a thread of its own, with whose end this goes.
            static USED: RefCell<Option<Arc<Cluster>>> = const { RefCell::new(None) };
        }
        let mut running = RUNNING.lock().unwrap_or_else(|broken| broken.into_inner());
        let cluster = match running.upgrade() {
            Some(cluster) => cluster,
            None => Arc::new(Self::start(test)?),
        };
        *running = Arc::downgrade(&cluster);
        USED.set(Some(Arc::clone(&cluster)));
        Some(cluster)
    }

    /// Starts one for a test alone.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let Some(bin) = newest_bin() else {
            not_run(test, Need::Package, "no PostgreSQL is installed");
            return None;
        };
        let cluster = Cluster {
            folder: tempfile::tempdir().unwrap(),
            bin,
            made: AtomicU32::new(0),
            unused: Mutex::default(),
        };
        let folder = cluster.folder.path();
        let ended = Command::new("chown").arg("nobody").arg(folder).status();
        assert!(ended.is_ok());
        let data = folder.join("data");
        let words = ["-U", "postgres", "--locale", "C", "-E", "UTF8", "--no-sync"];
        let data_text = data.to_str().unwrap();
        cluster.succeeds("initdb", &[&words[..], &["-D", data_text]].concat());
        let settings = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\n\
             shared_buffers = 16MB\nautovacuum = off\nport = 54399\nmax_connections = 80\n",
            folder.display()
        );
        let settings_file = folder.join("settings");
        std::fs::write(&settings_file, settings).unwrap();
        let include = format!("include '{}'\n", settings_file.display());
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .unwrap();
        std::io::Write::write_all(&mut file, include.as_bytes()).unwrap();
        cluster.start_again();
        Some(cluster)
    }

    pub(crate) fn start_again(&self) {
        let data = self.folder.path().join("data");
        let log = self.folder.path().join("log");
        let words = ["-D", data.to_str().unwrap(), "-w", "-t", "120", "-l"];
        self.succeeds(
            "pg_ctl",
            &[&words[..], &[log.to_str().unwrap(), "start"]].concat(),
        );
    }

    /// Ends the server with SIGQUIT, as after a crash of one of its processes.
    pub(crate) fn kill(&self) {
        let data = self.folder.path().join("data");
        let words = [
            "-D",
            data.to_str().unwrap(),
            "-m",
            "immediate",
            "-w",
            "stop",
        ];
        self.succeeds("pg_ctl", &words);
    }

    /// The process id of the postmaster.
    pub(crate) fn pid(&self) -> i32 {
        let file = self.folder.path().join("data/postmaster.pid");
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().next().unwrap().parse().unwrap()
    }

    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.path().to_str().unwrap().replace('/', "%2F");
        format!("postgresql://postgres@{folder}:54399/{database}")
    }

    /// Runs statements with psql; returns their rows.
    pub(crate) fn query(&self, database: &str, sql: &str) -> String {
        let folder = self.folder.path().to_str().unwrap();
        let words = [
            "-XAtq",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            folder,
            "-p",
            "54399",
        ];
        let asked = ["-U", "postgres", "-d", database, "-c", sql];
        let said = self.succeeds("psql", &[&words[..], &asked].concat());
        said.trim().to_owned()
    }

    fn succeeds(&self, program: &str, words: &[&str]) -> String {
        // PostgreSQL does not run as root. A server must not hold a pipe open.
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--clear-groups"]);
        if !is_root() {
            command = Command::new("env");
        }
        command.arg(self.bin.join(program)).args(words);
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        command.env("PGOPTIONS", "-c search_path=numalab");
        command.stdin(Stdio::null());
        if program == "psql" {
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words:?}: {said}");
            return String::from_utf8(output.stdout).unwrap();
        }
        let said = self.folder.path().join("said");
        let file = std::fs::File::create(&said).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let ended = command.status().unwrap();
        let said = std::fs::read_to_string(said).unwrap();
        assert!(ended.success(), "{program} {words:?}: {said}");
        said
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.folder.path().join("data/postmaster.pid").exists() {
            self.kill();
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The programs of the newest PostgreSQL of Debian or Red Hat, or those in the path.
fn newest_bin() -> Option<PathBuf> {
    let of_debian = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let of_debian = of_debian.flatten().map(|it| it.path().join("bin"));
    let mut all: Vec<PathBuf> = of_debian.collect();
    all.sort();
    all.push("/usr/bin".into());
    let has_all = |bin: &&PathBuf| {
        let mut programs = ["initdb", "pg_ctl", "psql"].into_iter();
        programs.all(|program| Path::new(bin).join(program).exists())
    };
    all.iter()
        .rev()
        .find(has_all)
        .or(all.first())
        .filter(has_all)
        .cloned()
}
