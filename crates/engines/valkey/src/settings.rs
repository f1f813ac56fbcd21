//! The settings of a running server, for the doctor.

use std::collections::BTreeMap;

use linux::{Root, proc_stat, proc_status};
use model::exit::ExitCode;
use model::{ServerKind, ServerSettings};
use observed::{Address, HeldAddress};
use residency::instances::ServerTarget;
use server::Error;

use crate::address::address_of;
use crate::client::Client;

/// What is asked for: patterns, because Redis and Valkey write some names with `_` and others with
/// `-`, and a server before 6.0 has none of these lists.
const PATTERNS: [&str; 6] = [
    "*cpulist",
    "io-threads",
    "save",
    "appendonly",
    "disable-thp",
    "maxmemory",
];
/// The variable with the password, as redis-cli and valkey-cli take it.
const PASSWORD: &str = "REDISCLI_AUTH";

/// Asks the server of a process, as the user of that process if this one is root.
///
/// # Errors
/// When it does not answer, refuses, or another process answers.
pub(crate) fn ask(
    server: ServerKind,
    target: &ServerTarget,
    pid: u32,
) -> Result<ServerSettings, Error> {
    let values = asked(target, pid, values)?;
    Ok(ServerSettings {
        server,
        pid,
        source: "CONFIG GET",
        values,
    })
}

/// Connects to the server of a process, as the user of that process if this one is root, and has
/// `work` ask it.
///
/// # Errors
/// As [`ask`], and those of `work`.
pub(crate) fn asked<T: Send>(
    target: &ServerTarget,
    pid: u32,
    work: impl FnOnce(Client) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let root = Root::live();
    let title = proc_stat::title(&root, pid);
    let title = title.map_err(|error| Error::failed(error.to_string()))?;
    let address = address_of(&title, &target.place).ok_or_else(|| {
        Error::failed(format!(
            "the title of process {pid} names no address: {title}"
        ))
    })?;
    let address = address.hold()?;
    observed::as_user_of(&root, pid, |_| work(connect(&address, pid)?))
}

fn connect(address: &HeldAddress, pid: u32) -> Result<Client, Error> {
    let mut client = Client::connect_to(address)?;
    if let Some(password) = std::env::var_os(PASSWORD) {
        client.ask(&[b"AUTH", password.as_encoded_bytes()])?;
    }
    let answers = client.ask(&[b"INFO", b"server"]).map_err(refused)?;
    is_process(&answers, pid, address.address())?;
    Ok(client)
}

fn values(mut client: Client) -> Result<BTreeMap<String, String>, Error> {
    let mut values = BTreeMap::new();
    for pattern in PATTERNS {
        let found = client.ask_all(&[b"CONFIG", b"GET", pattern.as_bytes()]);
        let words = found.map_err(refused)?;
        let pairs = words.chunks_exact(2);
        values.extend(pairs.map(|pair| (pair[0].replace('_', "-"), pair[1].clone())));
    }
    Ok(values)
}

/// What to do where the server wants a password or hides a command.
pub(crate) fn refused(error: Error) -> Error {
    let said = error.to_string();
    match said.contains("NOAUTH") || said.contains("NOPERM") || said.contains("WRONGPASS") {
        true => Error::new(ExitCode::NotPermitted, said)
            .advise("set REDISCLI_AUTH to the password, as for redis-cli"),
        false => error,
    }
}

/// Checks that the process which answers is the one that was meant: a port may belong to another
/// server where the network namespace is another.
fn is_process(info: &str, pid: u32, address: &Address) -> Result<(), Error> {
    let id = info
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"));
    let answers: Option<u32> = id.and_then(|id| id.trim().parse().ok());
    // In a container, a process knows itself by its innermost id.
    let known = [Some(pid), proc_status::innermost_pid(&Root::live(), pid)];
    if answers.is_some() && known.contains(&answers) {
        return Ok(());
    }
    let answers = answers.map_or("none".to_owned(), |id| id.to_string());
    Err(Error::failed(format!(
        "at {address}, process {answers} answers and not {pid}: is it in a container?"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_server_at_the_same_address_is_refused() {
        let address = Address::Socket("/run/a".into());
        let own = std::process::id();
        let info = format!("# Server\r\nredis_version:7.0.15\r\nprocess_id:{own}\r\n");
        assert!(is_process(&info, own, &address).is_ok());
        let error = is_process(&info, own + 1, &address)
            .unwrap_err()
            .to_string();
        assert!(error.contains("is it in a container?"), "{error}");
        assert!(is_process("", own, &address).is_err());
    }
}
