//! `postmaster.pid` of a running server: its PID and where it listens.

use std::path::{Path, PathBuf};

use linux::Root;
use server::Error;

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LockFile {
    pub postmaster: u32,
    pub port: u16,
    /// Directory of its socket.
    pub socket: PathBuf,
}

impl LockFile {
    /// Reads the file of a data directory.
    ///
    /// # Errors
    /// When there is none (the server does not run), or it names no socket directory.
    pub(super) fn read(data: &Path) -> Result<Self, Error> {
        let path = data.join("postmaster.pid");
        let file = Root::live().read_lossy(&path.to_string_lossy())?;
        let found = parse(file.text()).ok_or_else(|| {
            Error::answer(
                "postmaster.pid of the data directory",
                "the PID of a postmaster, a port, and the folder of its socket (does \
                       unix_socket_directories name one?)"
                    .to_owned(),
                format!("{:?}", file.text().chars().take(200).collect::<String>()),
            )
        })?;
        Ok(found.seen_from_here())
    }

    /// Resolves the socket directory, which is named as the server sees it: in a container it is
    /// below another root, which /proc shows.
    fn seen_from_here(mut self) -> Self {
        if !self.socket.exists() {
            let root = PathBuf::from(format!("/proc/{}/root", self.postmaster));
            let below = self.socket.strip_prefix("/").unwrap_or(&self.socket);
            self.socket = root.join(below);
        }
        self
    }
}

/// ```text
/// 4711                 line 1: PID
/// /var/lib/postgresql/18/main
/// 1795248000
/// 5432                 line 4: port
/// /var/run/postgresql  line 5: the first folder of sockets; empty without one
/// localhost
///   16803073     32770
/// ready
/// ```
fn parse(text: &str) -> Option<LockFile> {
    let mut lines = text.lines().map(str::trim);
    let postmaster = lines.next()?.parse().ok()?;
    let port = lines.nth(2)?.parse().ok()?;
    let socket = lines.next().filter(|socket| socket.starts_with('/'))?;
    Some(LockFile {
        postmaster,
        port,
        socket: PathBuf::from(socket),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[test]
    fn pid_port_and_socket_are_read() {
        let text = "4711\n/data\n1795248000\n5433\n/run/pg\nlocalhost\n  1 2\nready   \n";
        let found = parse(text).unwrap();
        assert_eq!((found.postmaster, found.port), (4711, 5433));
        assert_eq!(found.socket.to_str(), Some("/run/pg"));
        for text in ["", "4711\n", "x\n\n\n5433\n/run\n", "4711\n/d\n1\n5433\n\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}(\n[0-9/ -]{0,30}){0,9}") {
            parse(&text);
        }
    }
}
