//! The settings of a running server, for the doctor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use linux::{Root, proc_net_unix};
use model::ServerSettings;
use nix::unistd::{Uid, User};

use crate::Error;
use crate::client::Client;
use crate::kind::KIND;

/// What is asked for. Names that a version does not have are not answered.
const SETTINGS: &str = "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE \
    FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME IN \
    ('LARGE_PAGES', 'INNODB_NUMA_INTERLEAVE', 'INNODB_BUFFER_POOL_SIZE', \
     'INNODB_BUFFER_POOL_LOAD_AT_STARTUP') \
    UNION ALL SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE \
    FROM information_schema.GLOBAL_STATUS \
    WHERE VARIABLE_NAME = 'INNODB_BUFFER_POOL_BYTES_DATA'";

/// Asks server `pid`.
///
/// # Errors
/// When it does not let this user in, or an answer is not understood.
pub(crate) fn ask(root: &Root, pid: u32) -> Result<ServerSettings, Error> {
    const WHAT: &str = "asking for the server's settings";
    let mut client = connect(root, pid)?;
    let mut values = BTreeMap::new();
    for row in client.query(SETTINGS, WHAT)? {
        if let [Some(name), Some(value)] = &row[..] {
            values.insert(name.clone(), value.clone());
        }
    }
    Ok(ServerSettings {
        server: KIND,
        pid,
        source: "SHOW GLOBAL VARIABLES and STATUS",
        values,
    })
}

/// Connects to server `pid` at one of its sockets, as the user of this process, whom it knows by
/// the socket (the plugin unix_socket).
///
/// # Errors
/// When it listens on none, or does not let this user in.
pub(crate) fn connect(root: &Root, pid: u32) -> Result<Client, Error> {
    let user = User::from_uid(Uid::effective()).ok().flatten();
    let user = user.map_or_else(|| "root".to_owned(), |user| user.name);
    let mut last = None;
    for path in proc_net_unix::listening_paths(root, pid)? {
        match Client::connect_as(&reachable(root, pid, &path), &user) {
            Ok(client) => return Ok(client),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| {
        let what = format!("the sockets of server {pid}");
        Error::answer(what, "one that listens", "none")
    }))
}

/// Returns the path of a socket of the server for us, who may have another root directory.
fn reachable(root: &Root, pid: u32, path: &Path) -> PathBuf {
    let relative = path.strip_prefix("/").unwrap_or(path);
    root.path(&format!("proc/{pid}/root")).join(relative)
}
