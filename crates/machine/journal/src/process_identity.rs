//! Which process made a change, and on which machine. The process id alone does not tell: the
//! kernel reuses ids, a killed process keeps its id until its parent reaps it, a container counts
//! from 1, and several machines may share the directory that the journal is in.

use linux::{Root, machine_id, proc_stat, proc_status};
use serde::{Deserialize, Serialize};

/// The process that made a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its id.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id` at the time; `None` when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    /// Its start in clock ticks since boot; `None` when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_ticks: Option<u64>,
    /// The PID namespace of its id; `None` when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pid_namespace: Option<u64>,
    /// The machine; `None` in lines of the first versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
}

/// A machine, as it calls itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Machine {
    /// Its id (machine-id(5)); `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The name of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

/// Where and when a change was made, as seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On this machine since it booted.
    ThisBoot,
    /// On this machine before it rebooted, which undid every change to the running kernel (but see
    /// `Change::outlives_a_boot`).
    EarlierBoot,
    /// On another machine, or on one that is not known: in words that follow "made".
    Elsewhere(String),
}

impl ProcessIdentity {
    /// This process.
    pub(crate) fn this_process(root: &Root) -> Self {
        let pid = std::process::id();
        ProcessIdentity {
            pid,
            boot: boot(root),
            start_ticks: proc_stat::read(root, pid).ok().map(|stat| stat.start_ticks),
            pid_namespace: proc_status::pid_namespace(root),
            machine: Some(Machine::this(root)),
        }
    }

    /// Whether it is this process.
    pub fn is_this_process(&self, root: &Root) -> bool {
        let this = ProcessIdentity {
            // A machine may have been renamed since.
            machine: self.machine.clone(),
            ..ProcessIdentity::this_process(root)
        };
        *self == this
    }

    /// Where it ran. The boot id identifies the running kernel, whatever else differs, as it does
    /// in a container. For different boots, the machine ids tell whether they are of one machine.
    pub fn origin(&self, root: &Root) -> Origin {
        match (&self.boot, boot(root)) {
            (Some(then), Some(now)) if *then != now => {}
            _ => return Origin::ThisBoot,
        }
        let (there, here) = (
            self.machine.clone().unwrap_or_default(),
            Machine::this(root),
        );
        let host = there.host.as_deref().unwrap_or("another machine");
        let is_same_host = there.host.is_none() || there.host == here.host;
        match (&there.id, &here.id) {
            (Some(then), Some(now)) if then == now && is_same_host => Origin::EarlierBoot,
            (Some(then), Some(now)) if then == now => Origin::Elsewhere(format!(
                "on {host}, which has the machine id of this machine"
            )),
            (Some(_), Some(_)) => Origin::Elsewhere(format!("on {host}")),
            _ if !is_same_host => Origin::Elsewhere(format!("on {host}")),
            (None, _) => Origin::Elsewhere(
                "under another boot id, on an unknown machine (it had no machine id)".to_owned(),
            ),
            (_, None) => Origin::Elsewhere(
                "under another boot id, on an unknown machine (this one has no machine id)"
                    .to_owned(),
            ),
        }
    }

    /// Whether it still runs. In doubt, yes: what it uses must not be taken from it.
    pub fn still_runs(&self, root: &Root) -> bool {
        match self.origin(root) {
            Origin::EarlierBoot => return false,
            Origin::Elsewhere(_) => return true,
            Origin::ThisBoot => {}
        }
        match (self.pid_namespace, proc_status::pid_namespace(root)) {
            (Some(then), Some(now)) if then != now => self.runs_in_another_container(root, now),
            _ => self.is_process(root, self.pid),
        }
    }

    /// Whether it ran in a PID namespace whose processes cannot be seen from here, so that it
    /// counts as running for ever.
    pub fn is_out_of_sight(&self, root: &Root) -> bool {
        let own = proc_status::pid_namespace(root);
        let is_of_another = self
            .pid_namespace
            .zip(own)
            .filter(|(then, now)| then != now);
        let is_seen = |(_, own)| own == proc_status::INITIAL_PID_NAMESPACE;
        self.origin(root) == Origin::ThisBoot && is_of_another.is_some_and(|it| !is_seen(it))
    }

    /// Whether process `pid` is this one, and runs.
    fn is_process(&self, root: &Root, pid: u32) -> bool {
        match proc_stat::read(root, pid) {
            Ok(stat) => {
                let same = self
                    .start_ticks
                    .is_none_or(|ticks| ticks == stat.start_ticks);
                same && !stat.has_ended
            }
            // Gone, or hidden from us (proc(5), `hidepid`).
            Err(_) => linux::process::exists(pid),
        }
    }

    /// Whether it runs under another id than its own, in a PID namespace below ours. Processes that
    /// are not below ours cannot be seen; every namespace is below the initial one.
    fn runs_in_another_container(&self, root: &Root, own: u64) -> bool {
        let Ok(pids) = proc_stat::pids(root) else {
            return true;
        };
        let is_it = |pid: &u32| {
            proc_status::innermost_pid(root, *pid) == Some(self.pid) && self.is_process(root, *pid)
        };
        own != proc_status::INITIAL_PID_NAMESPACE || pids.iter().any(is_it)
    }
}

impl Machine {
    fn this(root: &Root) -> Self {
        let host = root.read_optional("proc/sys/kernel/hostname");
        let host = host
            .ok()
            .flatten()
            .map(|file| file.text().trim().to_owned());
        Machine {
            id: machine_id::read(root),
            host: host.filter(|host| !host.is_empty()),
        }
    }
}

fn boot(root: &Root) -> Option<String> {
    let file = root
        .read_optional("proc/sys/kernel/random/boot_id")
        .ok()??;
    Some(file.text().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this id: the kernel's limit is far below it.
    const PID: u32 = i32::MAX as u32;
    const ID: &str = "3d1219c7c4c5404aaa1f6d2a48adfda4";
    const OTHER_ID: &str = "00112233445566778899aabbccddeeff";

    /// A machine with these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        (directory, root)
    }

    fn process_identity(boot: &str, id: Option<&str>, host: Option<&str>) -> ProcessIdentity {
        ProcessIdentity {
            pid: PID,
            boot: Some(boot.to_owned()),
            start_ticks: Some(500),
            pid_namespace: None,
            machine: Some(Machine {
                id: id.map(str::to_owned),
                host: host.map(str::to_owned),
            }),
        }
    }

    const BOOT: &str = "proc/sys/kernel/random/boot_id";
    const HOST: &str = "proc/sys/kernel/hostname";

    fn check(state: &str, started: &str, boot: &str, expected: bool) {
        let fields = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18";
        let stat = format!("{PID} (a ) Z (b) {state} {fields} {started} 20");
        let path = format!("proc/{PID}/stat");
        let files = [(BOOT, boot), ("etc/machine-id", ID), (&path, &stat)];
        let (_directory, root) = machine(&files);
        let process_identity = process_identity("b-1", Some(ID), None);
        assert_eq!(
            process_identity.still_runs(&root),
            expected,
            "{state} {started} {boot}"
        );
    }

    #[test]
    fn only_the_same_process_still_runs() {
        check("S", "500", "b-1", true);
        check("R", "500", "b-1", true);
        check("Z", "500", "b-1", false);
        check("X", "500", "b-1", false);
        check("S", "501", "b-1", false);
        check("S", "500", "b-2", false);
        // Malformed, and the live machine has no such process.
        check("S", "soon", "b-1", false);
    }

    #[test]
    fn another_machine_is_told_from_an_earlier_boot_of_this_one() {
        let db1 = [(BOOT, "b-2"), ("etc/machine-id", ID), (HOST, "db1")];
        let without_id = [(BOOT, "b-2"), (HOST, "db1")];
        let check = |here: &[(&str, &str)],
                     process_identity: ProcessIdentity,
                     expected: Result<Origin, &str>| {
            let (_directory, root) = machine(here);
            match (process_identity.origin(&root), expected) {
                (Origin::Elsewhere(words), Err(part)) => {
                    assert!(words.contains(part), "{words}");
                    // What is elsewhere cannot be seen to have ended.
                    assert!(process_identity.still_runs(&root));
                }
                (found, expected) => assert_eq!(Ok(found), expected, "{process_identity:?}"),
            }
        };
        let db1_of = |boot| process_identity(boot, Some(ID), Some("db1"));
        check(&db1, db1_of("b-2"), Ok(Origin::ThisBoot));
        check(&db1, db1_of("b-1"), Ok(Origin::EarlierBoot));
        let other = process_identity("b-1", Some(OTHER_ID), Some("db2"));
        check(&db1, other, Err("on db2"));
        let other_of_same_name = process_identity("b-1", Some(OTHER_ID), Some("db1"));
        check(&db1, other_of_same_name, Err("on db1"));
        // A clone, or a container of the same image.
        let clone = process_identity("b-1", Some(ID), Some("db2"));
        check(&db1, clone, Err("which has the machine id of this machine"));
        // A container of this machine: another id and name, the same kernel.
        let container = process_identity("b-2", Some(OTHER_ID), Some("f00"));
        check(&db1, container, Ok(Origin::ThisBoot));

        let unknown = process_identity("b-1", None, Some("db1"));
        check(&db1, unknown, Err("it had no machine id"));
        check(
            &without_id,
            db1_of("b-1"),
            Err("this one has no machine id"),
        );
        let named = process_identity("b-1", None, Some("db2"));
        check(&without_id, named, Err("on db2"));
        let of_first_versions = ProcessIdentity {
            machine: None,
            ..db1_of("b-1")
        };
        check(&db1, of_first_versions, Err("it had no machine id"));
    }

    #[test]
    fn a_process_of_a_container_is_found_by_the_id_that_it_has_there() {
        let fields = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18";
        let stat = format!("4711 (numalab) S {fields} 500 20");
        let files = [
            (BOOT, "b-1"),
            ("proc/4711/stat", &stat),
            ("proc/4711/status", "Name:\tnumalab\nNSpid:\t4711\t7"),
        ];
        let (directory, root) = machine(&files);
        let own = directory.path().join("proc/self/ns");
        std::fs::create_dir_all(&own).unwrap();
        let check = |own_namespace: u64, pid: u32, expected: bool| {
            let link = own.join("pid");
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(format!("pid:[{own_namespace}]"), &link).unwrap();
            let process_identity = ProcessIdentity {
                pid,
                pid_namespace: Some(4_026_532_200),
                ..process_identity("b-1", None, None)
            };
            assert_eq!(
                process_identity.still_runs(&root),
                expected,
                "{own_namespace} {pid}"
            );
            let is_out_of_sight = own_namespace == 4_026_532_999;
            assert_eq!(process_identity.is_out_of_sight(&root), is_out_of_sight);
        };
        let outermost = proc_status::INITIAL_PID_NAMESPACE;
        check(outermost, 7, true);
        check(outermost, PID, false);
        check(4_026_532_200, PID, false);
        // A container cannot see into another one.
        check(4_026_532_999, PID, true);
    }

    #[test]
    fn this_process_runs() {
        let process_identity = ProcessIdentity::this_process(&Root::live());
        assert!(process_identity.boot.is_some() && process_identity.start_ticks.is_some());
        assert_eq!(process_identity.origin(&Root::live()), Origin::ThisBoot);
        assert!(process_identity.still_runs(&Root::live()));
        let line = serde_json::to_string(&process_identity).unwrap();
        assert_eq!(
            serde_json::from_str::<ProcessIdentity>(&line).unwrap(),
            process_identity
        );
    }

    #[test]
    fn of_a_maker_without_times_the_id_decides() {
        let first: ProcessIdentity = serde_json::from_str("{\"pid\":1}").unwrap();
        assert!(first.still_runs(&Root::live()));
        let none = ProcessIdentity { pid: PID, ..first };
        assert!(!none.still_runs(&Root::live()));
    }
}
