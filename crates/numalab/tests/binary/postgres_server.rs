//! A running PostgreSQL server of a test, for numalab to find.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use testing::{Need, not_run};

use crate::user::{NOBODY, User, open_to_all};

/// Finds the installed PostgreSQL, or reports that `test` is not run if there is none.
pub(crate) fn installed(test: &str) -> Option<PathBuf> {
    let places = postgresql::Places {
        path: std::env::var_os("PATH"),
        ..postgresql::Places::default()
    };
    match postgresql::find(&places) {
        // The other programs are in the directory that symbolic links to the server resolve to.
        Ok(found) => {
            let server = fs::canonicalize(found.program("postgres")).unwrap();
            Some(server.parent().unwrap().to_owned())
        }
        Err(error) => {
            not_run(test, Need::Package, &error.to_string());
            None
        }
    }
}

/// A server; stopped when dropped.
pub(crate) struct Server {
    folder: TempDir,
    bin: PathBuf,
}

impl Server {
    /// Creates and starts a server; its superuser is `postgres`.
    pub(crate) fn start(bin: &Path) -> Self {
        let server = Self::create(bin, &std::env::temp_dir(), "");
        server.start_again();
        server
    }

    /// Creates a server with further settings, and starts it through a command.
    pub(crate) fn start_behind(bin: &Path, through: &[&str], more: &str) -> Self {
        let server = Self::create(bin, &std::env::temp_dir(), more);
        server.start_through(through);
        server
    }

    /// Creates a server below this folder, with settings beyond those of all, and does not start
    /// it.
    pub(crate) fn create(bin: &Path, parent: &Path, more: &str) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        if linux::process::is_root() {
            open_to_all(folder.path());
            let User(id) = NOBODY;
            std::os::unix::fs::chown(folder.path(), Some(id), Some(id)).unwrap();
        }
        let server = Server {
            folder,
            bin: bin.to_owned(),
        };
        let data = server.data();
        let words = [
            "-U",
            "postgres",
            "--locale",
            "C",
            "--encoding",
            "UTF8",
            "--no-sync",
            "-D",
        ];
        server.succeeds(&[], "initdb", &[&words[..], &[&data]].concat());
        let settings = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nshared_buffers = 16MB\n\
             huge_pages = off\nfsync = off\nautovacuum = off\nport = 54399\n{more}\n",
            server.folder.path().display()
        );
        let file = Path::new(&data).join("postgresql.conf");
        fs::write(file, settings).unwrap();
        server
    }

    /// Starts the server, also after it was stopped.
    pub(crate) fn start_again(&self) {
        self.start_through(&[]);
    }

    /// Starts the server through a command, for instance numactl.
    pub(crate) fn start_through(&self, through: &[&str]) {
        let (data, log) = (self.data(), self.folder.path().join("log"));
        let log = log.display().to_string();
        let words = ["-D", &data, "-w", "-t", "300", "-l", &log, "start"];
        self.succeeds(through, "pg_ctl", &words);
    }

    /// Returns its connection string for `numalab run --connect`.
    pub(crate) fn url(&self, role: &str) -> String {
        let folder = self.folder.path().display();
        format!("host='{folder}' port=54399 user={role} dbname=postgres")
    }

    /// Returns the data directory.
    pub(crate) fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    /// Returns the ids of its processes, the postmaster first.
    pub(crate) fn pids(&self) -> Vec<String> {
        let file = Path::new(&self.data()).join("postmaster.pid");
        let text = fs::read_to_string(file).unwrap();
        let postmaster = text.lines().next().unwrap().to_owned();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = fs::read_to_string(children).unwrap();
        let children = children.split_whitespace().map(str::to_owned);
        [postmaster].into_iter().chain(children).collect()
    }

    /// Returns its name as a target of `numalab inspect`.
    pub(crate) fn target(&self) -> String {
        format!("postgres:{}", self.data())
    }

    /// Runs a statement as superuser; returns its rows.
    pub(crate) fn query(&self, sql: &str) -> String {
        let output = self.succeeds(&[], "psql", &["-XAtc", sql]);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Stops the server.
    pub(crate) fn stop(&self) {
        let data = self.data();
        self.command("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"])
            .output()
            .unwrap();
    }

    /// Returns the lines of its log that are errors.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        let is_error = |line: &&str| {
            ["ERROR", "FATAL", "PANIC"]
                .iter()
                .any(|it| line.contains(it))
        };
        log.lines().filter(is_error).map(str::to_owned).collect()
    }

    /// Returns a program of PostgreSQL as the user to whom the server belongs; a client connects to
    /// the server as superuser.
    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        self.command_through(&[], program, words)
    }

    fn command_through(&self, through: &[&str], program: &str, words: &[&str]) -> Command {
        let program = self.bin.join(program).display().to_string();
        let launcher = match linux::process::is_root() {
            true => NOBODY.launcher(),
            false => Vec::new(),
        };
        let mut command = Command::new("env");
        command
            .args(through)
            .args(launcher)
            .arg(program)
            .args(words);
        let folder = self.folder.path();
        command.current_dir(folder).env("LC_ALL", "C");
        command.env("PGHOST", folder).env("PGPORT", "54399");
        command
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres");
        command
    }

    #[track_caller]
    fn succeeds(&self, through: &[&str], program: &str, words: &[&str]) -> Output {
        // Files, not pipes: the server would hold a pipe open.
        let said = self.folder.path().join("said");
        let file = fs::File::create(&said).unwrap();
        let mut command = self.command_through(through, program, words);
        let is_query = program == "psql";
        if !is_query {
            command.stdout(file.try_clone().unwrap());
        }
        command.stderr(file);
        let output = match is_query {
            true => command.output().unwrap(),
            false => {
                let status = command.status().unwrap();
                Output {
                    status,
                    stdout: Vec::new(),
                    stderr: Vec::new(),
                }
            }
        };
        let said = fs::read_to_string(said).unwrap();
        assert!(output.status.success(), "{program} {words:?}: {said}");
        output
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
