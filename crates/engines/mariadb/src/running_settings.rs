//! The settings of a running server, for the doctor.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use linux::{Root, proc_net_unix, proc_status};
use model::ServerSettings;
use observed::{Address, HeldAddress};
use server::Error;

use crate::client::Client;
use crate::credentials::Credentials;
use crate::error::{is_silence, no_user};
use crate::kind::KIND;

/// What is asked for. Names that a version does not have are not answered.
const SETTINGS: &str = "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE \
    FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME IN \
    ('LARGE_PAGES', 'INNODB_NUMA_INTERLEAVE', 'INNODB_BUFFER_POOL_SIZE', \
     'INNODB_BUFFER_POOL_LOAD_AT_STARTUP') \
    UNION ALL SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE \
    FROM information_schema.GLOBAL_STATUS \
    WHERE VARIABLE_NAME = 'INNODB_BUFFER_POOL_BYTES_DATA'";

/// The time that the answer may take, and its length.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// The user of a server in a container, whose id has another name or none here.
const USUAL_USER: &str = "mysql";

/// Asks server `pid`.
///
/// # Errors
/// When it does not let this user in, does not answer, or an answer is not understood.
pub(crate) fn ask(root: &Root, pid: u32) -> Result<ServerSettings, Error> {
    const WHAT: &str = "asking for the server's settings";
    let mut client = connect(root, pid)?;
    client.limit(ANSWER_WITHIN, ANSWER_BYTES_MAX);
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

/// Connects to server `pid` at one of its sockets: with the name and password of the user's option
/// files, or where there are none or it refuses them, as a user whom it knows by the socket (the
/// plugin unix_socket), its own if this process is root, else that of this process.
///
/// # Errors
/// When it listens on none, is silent, or does not let this user in.
pub(crate) fn connect(root: &Root, pid: u32) -> Result<Client, Error> {
    let paths = proc_net_unix::listening_paths(root, pid)?;
    if paths.is_empty() {
        let what = format!("the sockets of server {pid}");
        return Err(Error::answer(what, "one that listens", "none"));
    }
    let held = paths.iter().map(|path| hold(root, pid, path)).collect();
    let (owner, _) = proc_status::user(root, pid)?;
    let asker = observed::name_of_user(linux::process::user());
    let owner = observed::name_of_user(owner);
    let credentials = Credentials::of_process()?.for_server_of(owner.as_deref(), asker.as_deref());
    let named = credentials.map(|it| (it.user.or(asker).unwrap_or_default(), it.password));
    observed::as_user_of(root, pid, |user| {
        let mut users = vec![user.unwrap_or(USUAL_USER), USUAL_USER];
        users.dedup();
        let by_socket = users.into_iter().map(|user| (user.to_owned(), None));
        let logins: Vec<Login> = named.into_iter().chain(by_socket).collect();
        connect_to_one(held, &logins)
    })
}

/// A name, and a password if there is one.
type Login = (String, Option<String>);

/// Connects to the first socket that lets one of the users in. A server that is silent at one has
/// nobody who answers at the others.
fn connect_to_one(
    held: Vec<Result<HeldAddress, observed::Error>>,
    logins: &[Login],
) -> Result<Client, Error> {
    let mut last = None;
    for address in held {
        let connected = address.map_err(Error::from).and_then(|address| {
            let mut refused = None;
            for (user, password) in logins {
                match Client::connect_as(&address, user, password.as_deref()) {
                    Err(error) if error.code().is_some() => refused = refused.or(Some(error)),
                    other => return other,
                }
            }
            Err(refused.unwrap_or_else(no_user))
        });
        match connected {
            Err(error) if !is_silence(&error) => last = Some(error),
            other => return other,
        }
    }
    Err(last.unwrap_or_else(no_user))
}

/// Holds a socket of the server for us, who may have another root directory.
fn hold(root: &Root, pid: u32, path: &Path) -> Result<HeldAddress, observed::Error> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let reachable = root.path(&format!("proc/{pid}/root")).join(relative);
    Address::Socket(reachable).hold()
}
