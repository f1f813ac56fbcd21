//! A real MariaDB with system tables, as people run it, for the tests that look at one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::{Need, not_run};

use crate::patience::until;
use crate::running::Running;
use crate::unmet_need::is_root;
use crate::user::open_to_all;

/// A server; root is known to it by its socket.
pub(crate) struct MariaDbServer {
    pub(crate) server: Running,
    folder: tempfile::TempDir,
}

impl MariaDbServer {
    /// Returns a server, or reports that `test` is not run.
    pub(crate) fn start(test: &str, settings: &[&str]) -> Option<Self> {
        let folder = Self::installed(test)?;
        Some(Self::in_folder(folder, settings))
    }

    /// The same, started by a command, which becomes the server.
    pub(crate) fn start_behind(test: &str, launcher: &[String], settings: &[&str]) -> Option<Self> {
        let folder = Self::installed(test)?;
        let mut server = Command::new(&launcher[0]);
        server.args(&launcher[1..]).arg("mariadbd");
        server.args(words(&folder.path().join("data")));
        server.args(settings);
        Some(Self::running(folder, server))
    }

    fn in_folder(folder: tempfile::TempDir, settings: &[&str]) -> Self {
        let mut server = Command::new("mariadbd");
        server.args(words(&folder.path().join("data")));
        server.args(settings);
        Self::running(folder, server)
    }

    /// Kills the server and starts it again.
    pub(crate) fn killed_and_started(self, settings: &[&str]) -> Self {
        let Self { server, folder } = self;
        drop(server);
        fs::remove_file(folder.path().join("data/socket")).unwrap();
        Self::in_folder(folder, settings)
    }

    /// Returns a server in a mount namespace of its own, where its directory is [`ELSEWHERE`].
    pub(crate) fn start_elsewhere(test: &str) -> Option<Self> {
        let folder = Self::installed(test)?;
        let script = format!("mount --bind \"$0\" {ELSEWHERE} && exec mariadbd \"$@\"");
        let mut server = Command::new("unshare");
        server.args(["--mount", "sh", "-c", &script]);
        server.arg(folder.path().join("data"));
        server.args(words(Path::new(ELSEWHERE)));
        Some(Self::running(folder, server))
    }

    /// Returns a folder with a data directory.
    fn installed(test: &str) -> Option<tempfile::TempDir> {
        let is_installed = |program: &str| {
            let found = Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .output();
            found.is_ok_and(|it| it.status.success())
        };
        if !is_installed("mariadb-install-db") {
            not_run(
                test,
                Need::Package,
                "there is no mariadb-install-db (Debian: mariadb-server)",
            );
            return None;
        }
        if !is_root(test) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        for folder in [folder.path(), &data] {
            open_to_all(folder);
        }
        // A server that starts removes the temporary tables of others in its directory for these.
        let temporary = format!("--tmpdir={}", data.display());
        let data = format!("--datadir={}", data.display());
        let mut install = Command::new("mariadb-install-db");
        install.args([
            "--no-defaults",
            "--user=mysql",
            "--skip-test-db",
            &data,
            &temporary,
        ]);
        let installed = install.output().unwrap();
        assert!(
            installed.status.success(),
            "{}",
            String::from_utf8_lossy(&installed.stderr)
        );
        Some(folder)
    }

    fn running(folder: tempfile::TempDir, mut server: Command) -> Self {
        server
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Self {
            server: Running(server.spawn().unwrap()),
            folder,
        };
        until("the server answers", || {
            server.socket().exists().then_some(())
        });
        until("the server lets root in", || {
            (server.sql("SELECT 1") == "1\n").then_some(())
        });
        server
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("data/socket")
    }

    /// What the client of MariaDB prints, a line for each row.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--socket",
        ]);
        client.arg(self.socket()).args(["--execute", sql]);
        String::from_utf8(client.output().unwrap().stdout).unwrap()
    }

    pub(crate) fn target(&self) -> String {
        format!("mysql:{}", self.folder.path().join("data").display())
    }
}

/// A directory that every machine has, and that is no database.
pub(crate) const ELSEWHERE: &str = "/mnt";

/// The words that start a server in a directory.
fn words(data: &Path) -> Vec<String> {
    let data = data.display();
    let words = format!(
        "--no-defaults --user=mysql --skip-networking --datadir={data} --socket={data}/socket \
         --tmpdir={data} --innodb-buffer-pool-size=64M --innodb-use-native-aio=0"
    );
    words.split(' ').map(str::to_owned).collect()
}
