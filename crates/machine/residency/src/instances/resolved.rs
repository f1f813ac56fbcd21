//! Short names of PostgreSQL clusters: `postgres:5432` by port, `postgres:15/main` by version and
//! name as Debian's pg_lsclusters(1) has them. Both stand for the data directory.

use linux::Root;

use super::running::databases_of_machine;
use super::{InstanceError, Target};

/// The line of postmaster.pid with the port (src/include/utils/pidfile.h, `LOCK_FILE_LINE_PORT`).
const PORT_LINE: usize = 3;

/// Returns the target with the data directory of a running cluster in the place of its short name;
/// any other target as it is.
///
/// # Errors
/// When no running cluster has that name, or several have.
pub fn resolved(root: &Root, target: Target) -> Result<Target, InstanceError> {
    let Target::Postgres(name) = &target else {
        return Ok(target);
    };
    if root.require(name).is_ok() {
        return Ok(target);
    }
    let is_it = |directory: &str| match (name.parse::<u16>(), name.split_once('/')) {
        (Ok(port), _) => Some(port_of(root, directory) == Some(port)),
        (_, Some((version, cluster))) if is_version(version) && is_word(cluster) => {
            Some(directory.ends_with(&format!("/{name}")))
        }
        _ => None,
    };
    if is_it("").is_none() {
        return Ok(target);
    }
    let running = databases_of_machine(root)?.into_iter();
    let running = running.filter_map(|database| match database.target {
        Target::Postgres(directory) => Some(directory),
        _ => None,
    });
    let mut found: Vec<String> = running
        .filter(|directory| is_it(directory) == Some(true))
        .collect();
    let refused = |reason: String| InstanceError::NoServer {
        directory: name.clone(),
        reason,
    };
    match (found.pop(), found.len()) {
        (Some(directory), 0) => Ok(Target::Postgres(directory)),
        (None, _) => Err(refused(
            "no running server has this port or cluster, as far as this user can see; `numalab \
             targets` lists those that run"
                .to_owned(),
        )),
        (Some(_), _) => Err(refused(
            "several running servers have it: name one by its data directory".to_owned(),
        )),
    }
}

fn port_of(root: &Root, directory: &str) -> Option<u16> {
    let file = root
        .read_lossy(&format!("{directory}/postmaster.pid"))
        .ok()?;
    let port = file.text().lines().nth(PORT_LINE)?.trim().parse();
    port.ok()
}

/// `9.6`, `15`.
fn is_version(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_digit())
        && text.chars().all(|it| it.is_ascii_digit() || it == '.')
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine with two clusters that run.
    fn machine() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let zeros = "0 ".repeat(40);
        for (pid, directory, port) in [
            (100, "/var/lib/postgresql/15/main", 5432),
            (200, "/data/16/main", 5599),
        ] {
            let process = folder.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&process).unwrap();
            fs::write(
                process.join("stat"),
                format!("{pid} (postgres) S 1 1 1 0 -1 0 {zeros}"),
            )
            .unwrap();
            fs::write(
                process.join("cmdline"),
                format!("postgres\0-D\0{directory}\0"),
            )
            .unwrap();
            let data = folder.path().join(directory.trim_start_matches('/'));
            fs::create_dir_all(&data).unwrap();
            let text = format!("{pid}\n{directory}\n1700000000\n{port}\n/tmp\n\n 1 2\nready\n");
            fs::write(data.join("postmaster.pid"), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_port_or_a_cluster_stands_for_its_data_directory() {
        let folder = machine();
        let root = Root::at(folder.path()).unwrap();
        let of = |name: &str| resolved(&root, Target::Postgres(name.to_owned()));
        let directory = |name: &str| match of(name) {
            Ok(Target::Postgres(directory)) => directory,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(directory("5432"), "/var/lib/postgresql/15/main");
        assert_eq!(directory("5599"), "/data/16/main");
        assert_eq!(directory("15/main"), "/var/lib/postgresql/15/main");
        assert_eq!(directory("16/main"), "/data/16/main");
        assert_eq!(directory("/data/16/main"), "/data/16/main");
        // Not a short name: whoever reads the directory says that there is none.
        assert_eq!(directory("/nowhere"), "/nowhere");
        for none in ["5433", "17/main"] {
            let error = of(none).unwrap_err().to_string();
            assert!(error.contains("numalab targets"), "{error}");
        }
    }
}
