//! The server of one process that listens on a port or works in a directory.

use std::path::Path;

use linux::proc_net_tcp::listening_ports;
use linux::proc_stat::{self, ProcessStat};
use linux::{Root, process};

use super::class::server_of;
use super::{InstanceError, Place, ServerTarget};

/// Returns its PID.
///
/// # Errors
/// When there is none, or several in containers have the same port, or a permission is missing to
/// tell them apart.
pub(super) fn find(
    root: &Root,
    target: &ServerTarget,
    candidates: &[ProcessStat],
) -> Result<u32, InstanceError> {
    let mut unread = None;
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for process in candidates {
        let title = proc_stat::title(root, process.pid).unwrap_or_default();
        let is_gone = process.has_ended || process.is_kernel_thread;
        if is_gone || server_of(&process.name, &title) != Some(target.server) {
            continue;
        }
        match is_at(root, process.pid, &title, &target.place) {
            Ok(true) => found.push(process.pid),
            Ok(false) => others.push(process.pid),
            // It ended since its title was read.
            Err(error) if error.is_gone() => {}
            Err(error) => {
                others.push(process.pid);
                unread = Some(error);
            }
        }
    }
    // In a container, the directory may be one that only the server knows by this name.
    if let (Place::Directory(directory), [], true) = (&target.place, &found[..], root.is_live()) {
        found.extend(
            others
                .iter()
                .filter(|pid| works_in_its_own(**pid, directory)),
        );
    }
    // A snapshot's child has the sockets, the directory and the title of its parent.
    let parent = |pid: &u32| {
        candidates
            .iter()
            .find(|it| it.pid == *pid)
            .map(|it| it.parent)
    };
    let first: Vec<u32> = found
        .iter()
        .copied()
        .filter(|pid| parent(pid).is_none_or(|parent| !found.contains(&parent)))
        .collect();
    // A capture has neither sockets nor working directories.
    let only = |pids: &[u32]| (!root.is_live() && pids.len() == 1).then(|| pids[0]);
    match (&first[..], unread) {
        ([pid], _) => Ok(*pid),
        ([], Some(error)) => Err(error.into()),
        ([], None) => only(&others).ok_or_else(|| InstanceError::NotServing {
            target: target.clone(),
            others,
        }),
        (several, _) => Err(InstanceError::ServingTwice {
            target: target.clone(),
            pids: several.to_vec(),
        }),
    }
}

fn is_at(root: &Root, pid: u32, title: &str, place: &Place) -> Result<bool, linux::Error> {
    match place {
        Place::Directory(directory) if root.is_live() => {
            root.require(&format!("proc/{pid}/cwd"))?;
            Ok(process::works_in(pid, Path::new(directory)) == Some(true))
        }
        Place::Directory(_) => Ok(false),
        // The title names the port for everyone; descriptors are shown to the owner and root.
        Place::Port(port) if port_of_title(title) == Some(*port) => Ok(true),
        Place::Port(port) => Ok(listening_ports(root, pid)?.contains(port)),
    }
}

/// Whether a process works in a directory that has this name below the process's own root.
fn works_in_its_own(pid: u32, directory: &str) -> bool {
    let below_its_root = format!("/proc/{pid}/root/{}", directory.trim_start_matches('/'));
    process::works_in(pid, Path::new(&below_its_root)) == Some(true)
}

/// `redis-server 127.0.0.1:6379 [cluster]` (server.c, `redisSetProcTitle`).
pub(super) fn port_of_title(title: &str) -> Option<u16> {
    let address = title.split(' ').nth(1)?;
    let (_, port) = address.rsplit_once(':')?;
    if address.starts_with("unixsocket:") {
        return None;
    }
    port.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::instances::{Target, find};

    /// A process that calls itself mariadbd, works in `directory` and listens on a port.
    #[test]
    fn a_live_server_is_found_by_its_port_and_by_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // It inherits the socket as its standard input.
        let mut server = Command::new("sleep")
            .arg0("mariadbd")
            .arg("60")
            .current_dir(directory.path())
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(listener)))
            .spawn()
            .unwrap();
        // The kernel closes what tells us of exec(2) before it shows the new command line.
        let title = format!("/proc/{}/cmdline", server.id());
        while !std::fs::read(&title).unwrap().starts_with(b"mariadbd\0") {
            std::thread::yield_now();
        }
        let found = |target: String| find(&Root::live(), &target.parse::<Target>().unwrap());
        let by_port = found(format!("mysql:{port}"));
        let by_directory = found(format!("mariadb:{}", directory.path().display()));
        let elsewhere = found("mysql:/proc".to_owned());
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(by_port.unwrap()[0].stat.pid, server.id());
        assert_eq!(by_directory.unwrap()[0].stat.pid, server.id());
        let error = elsewhere.unwrap_err().to_string();
        assert!(error.contains("works in /proc; those that run"), "{error}");
    }

    #[test]
    fn a_title_names_the_port() {
        let check = |title, expected| assert_eq!(port_of_title(title), expected, "{title}");
        check("redis-server *:6379", Some(6379));
        check("/usr/bin/valkey-server [::1]:7000 [cluster]", Some(7000));
        check("redis-server unixsocket:/run/a:1", None);
        check("redis-server", None);
        check("redis-server *:70000", None);
    }
}
