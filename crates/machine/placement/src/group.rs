//! Processor groups: a private cpuset cgroup for one trial, made through the journal.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linux::Root;
use linux::control_group::{self, ControlGroupError};
use model::{CpuSet, GroupEvidence, Id, IdSet, NodeSet};
use serde::{Deserialize, Serialize};

use journal::{Change, Journal, Presence, ProcessIdentity, TakeBack, is_cgroup};

use crate::Error;
use crate::hierarchy::Hierarchy;

/// Prefix of the names of cgroups for one command or trial.
const OWN_GROUPS: &str = "numalab-";
/// The controllers that numalab enables.
const CONTROLLERS: [&str; 2] = ["cpuset", "cpu"];
/// How long a group whose processes were just killed may take to become empty.
const EMPTY_WITHIN: Duration = Duration::from_secs(5);

/// A processor group that exists; removed by [`Group::remove`] or on drop.
#[derive(Debug)]
pub struct Group {
    directory: PathBuf,
    version: u8,
    journal: Journal,
    entry: u64,
    removed: bool,
}

impl Group {
    /// Creates the group `name` with these CPUs and memory nodes; `None` takes those of the parent,
    /// since cgroup v1 demands both.
    ///
    /// # Errors
    /// When the journal or a cgroup file cannot be written; nothing is left behind then.
    pub fn create(
        hierarchy: &Hierarchy,
        name: &str,
        cpus: Option<&CpuSet>,
        memory_nodes: Option<&NodeSet>,
        journal: &Journal,
    ) -> Result<Self, Error> {
        if hierarchy.version == 2 {
            enable_controller(&hierarchy.parent, "cpuset", journal)?;
        }
        let directory = hierarchy.parent.join(name);
        let entry = GroupCreated {
            directory: directory.clone(),
        }
        .record(journal)?;
        if let Err(error) = control_group::create(&directory) {
            journal.mark_undone(entry)?;
            return Err(error.into());
        }
        let version = hierarchy.version;
        // From here on dropping the group removes it, whatever fails.
        let group = Group {
            directory,
            version,
            journal: journal.clone(),
            entry,
            removed: false,
        };
        let parent = |kind| effective_text(&hierarchy.parent, version, kind);
        let cpus = cpus.map_or_else(|| parent("cpus"), |cpus| Ok(cpus.to_string()))?;
        let nodes = memory_nodes.map_or_else(|| parent("mems"), |nodes| Ok(nodes.to_string()))?;
        control_group::write(&group.directory.join("cpuset.mems"), &nodes)?;
        control_group::write(&group.directory.join("cpuset.cpus"), &cpus)?;
        Ok(group)
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the group back.
    ///
    /// # Errors
    /// When a file is gone or malformed.
    pub fn evidence(&self) -> Result<GroupEvidence, Error> {
        Ok(GroupEvidence {
            path: self.directory.display().to_string(),
            cgroup_version: self.version,
            cpus: effective(&self.directory, self.version, "cpus")?,
            memory_nodes: effective(&self.directory, self.version, "mems")?,
        })
    }

    /// Removes the group, and kills the processes in it if it is a trial's.
    ///
    /// # Errors
    /// [`journal::Error::Undo`] when processes remain in it; it is still in the journal then.
    pub fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        self.removed = true;
        undo_created(&self.directory)?;
        Ok(self.journal.mark_undone(self.entry)?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.removed {
            // What fails here stays in the journal, for `numalab undo`.
            let _ = self.remove_once();
        }
    }
}

/// A cgroup was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupCreated {
    /// Its directory.
    pub directory: PathBuf,
}

impl Display for GroupCreated {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "processor group {}", self.directory.display())
    }
}

impl Change for GroupCreated {
    const KIND: &'static str = "group-created";

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, journal::Error> {
        let name = self.directory.file_name().unwrap_or_default();
        let is_ours = name.to_string_lossy().starts_with(OWN_GROUPS) && is_cgroup(&self.directory)?;
        Ok(Presence::there_if(is_ours, self.directory.display()))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, journal::Error> {
        undo_created(&self.directory).map(|()| None)
    }
}

/// A controller was enabled for the children of a cgroup (v2, `cgroup.subtree_control`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ControllerEnabled {
    /// Directory of the parent.
    pub directory: PathBuf,
    /// The controller.
    pub controller: String,
}

impl Display for ControllerEnabled {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (controller, directory) = (&self.controller, self.directory.display());
        write!(f, "controller {controller} enabled in {directory}")
    }
}

impl Change for ControllerEnabled {
    const KIND: &'static str = "controller-enabled";

    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, journal::Error> {
        let is_ours =
            CONTROLLERS.contains(&self.controller.as_str()) && is_cgroup(&self.directory)?;
        Ok(Presence::there_if(is_ours, self.directory.display()))
    }

    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, journal::Error> {
        self.disable().map(|()| None)
    }
}

impl ControllerEnabled {
    /// Disables the controller again. Safe to call twice.
    ///
    /// # Errors
    /// [`journal::Error::Undo`] when another cgroup has come to use it.
    pub(crate) fn disable(&self) -> Result<(), journal::Error> {
        if let Some(user) = user_of(&self.directory, &self.controller) {
            return Err(journal::Error::Undo {
                change: self.to_string(),
                reason: format!("cgroup {user} now uses it"),
            });
        }
        let file = self.directory.join("cgroup.subtree_control");
        if !file.exists() {
            return Ok(());
        }
        let minus = format!("-{}", self.controller);
        Ok(control_group::write(&file, &minus)?)
    }
}

/// Returns the name of a child of `parent` that has set something of `controller`, or delegates it:
/// disabling the controller would silently discard that.
fn user_of(parent: &Path, controller: &str) -> Option<String> {
    let sets = |child: &Path, file: String| {
        control_group::read(&child.join(file)).is_ok_and(|value| !value.is_empty())
    };
    let uses = |name: &String| {
        let child = parent.join(name);
        let handed_on = control_group::read(&child.join("cgroup.subtree_control"));
        handed_on.is_ok_and(|names| names.split_ascii_whitespace().any(|it| it == controller))
            || sets(&child, format!("{controller}.cpus"))
            || sets(&child, format!("{controller}.mems"))
            || limits(&child, controller)
    };
    let children = Root::live().entries(parent.to_str()?).ok().flatten();
    children.unwrap_or_default().into_iter().find(uses)
}

/// Whether a cgroup's CPU limit or weight differs from the default.
fn limits(child: &Path, controller: &str) -> bool {
    let differs = |file: &str, usual: &str| {
        let value = control_group::read(&child.join(file));
        value.is_ok_and(|value| value.split(' ').next() != Some(usual))
    };
    controller == "cpu" && (differs("cpu.max", "max") || differs("cpu.weight", "100"))
}

/// Prefix of the name of a trial's group; the process that made it follows.
const TRIAL_NAME: &str = "numalab-";
/// Number of the first PID namespace (Linux, include/uapi/linux/nsfs.h, `PID_NS_INIT_INO`).
const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// This process in words that no other on this machine has: containers that share control groups
/// may have processes of the same id.
pub(crate) fn own_word() -> String {
    let pid = std::process::id();
    match linux::proc_status::pid_namespace(&Root::live()) {
        None | Some(FIRST_PID_NAMESPACE) => pid.to_string(),
        Some(other) => format!("{other}-{pid}"),
    }
}

/// The name of a group that this process makes for a trial: `numalab-4242`, or `numalab-4242-1` for
/// one of several; in a container, the number of its PID namespace comes first.
pub fn trial_name(number: Option<usize>) -> String {
    let own = format!("{TRIAL_NAME}{}", own_word());
    number.map_or(own.clone(), |number| format!("{own}-{number}"))
}

/// Whether a group was made for a trial, and so holds only what the trial started.
fn is_of_trial(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    let maker = name.and_then(|name| name.strip_prefix(TRIAL_NAME));
    maker.is_some_and(|maker| maker.split('-').all(|part| part.parse::<u32>().is_ok()))
}

/// Removes a group; kills what the programs of a trial left in it. A program that was started by
/// `numalab bind` belongs to its user, who ends it.
pub(crate) fn undo_created(directory: &Path) -> Result<(), journal::Error> {
    match is_of_trial(directory) {
        true => remove_after(directory, control_group::kill_members),
        false => remove_directory(directory),
    }
}

/// Removes a group, waiting for killed processes to leave it.
pub(crate) fn remove_directory(directory: &Path) -> Result<(), journal::Error> {
    remove_after(directory, |_| Ok(()))
}

/// Removes a group; while it is busy, calls `about_members` and retries.
fn remove_after(
    directory: &Path,
    about_members: impl Fn(&Path) -> Result<(), ControlGroupError>,
) -> Result<(), journal::Error> {
    let deadline = Instant::now() + EMPTY_WITHIN;
    loop {
        let Err(error) = control_group::remove(directory) else {
            return Ok(());
        };
        if error.cause.kind() != std::io::ErrorKind::ResourceBusy {
            return Err(error.into());
        }
        if Instant::now() >= deadline {
            let pids = control_group::read(&directory.join("cgroup.procs")).unwrap_or_default();
            let change = format!("processor group {}", directory.display());
            let pids = pids.split_ascii_whitespace().collect::<Vec<_>>().join(", ");
            return Err(journal::Error::Undo {
                change,
                reason: format!("processes are in it: {pids}"),
            });
        }
        about_members(directory)?;
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Enables a controller for the children of `parent`; journals that if it was not enabled.
pub(crate) fn enable_controller(parent: &Path, name: &str, journal: &Journal) -> Result<(), Error> {
    let file = parent.join("cgroup.subtree_control");
    let is_enabled = || {
        let enabled = control_group::read(&file)?;
        Ok::<_, Error>(enabled.split_ascii_whitespace().any(|it| it == name))
    };
    if is_enabled()? {
        return Ok(());
    }
    let controller = name.to_owned();
    let entry = ControllerEnabled {
        directory: parent.to_owned(),
        controller,
    }
    .record(journal)?;
    if let Err(error) = control_group::write(&file, &format!("+{name}")) {
        let is_as_before = is_enabled().is_ok_and(|it| !it);
        return Err(journal.failed(entry, is_as_before, error.into()).into());
    }
    Ok(())
}

/// Returns the effective list of `kind` (`cpus` or `mems`) of a group, as text.
pub(crate) fn effective_text(directory: &Path, version: u8, kind: &str) -> Result<String, Error> {
    let name = match version {
        1 => format!("cpuset.effective_{kind}"),
        _ => format!("cpuset.{kind}.effective"),
    };
    Ok(control_group::read(&directory.join(name))?)
}

pub(crate) fn effective<T: Id>(
    directory: &Path,
    version: u8,
    kind: &str,
) -> Result<IdSet<T>, Error> {
    let text = effective_text(directory, version, kind)?;
    text.parse().map_err(|_| Error::NoGroups {
        reason: format!("{}: effective {kind} are {text:?}", directory.display()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use journal::Journal;

    use super::{ControllerEnabled, enable_controller, is_of_trial, trial_name};

    fn cgroup(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory).unwrap();
        for (name, text) in files {
            fs::write(directory.join(name), text).unwrap();
        }
    }

    fn controller_in(directory: &Path) -> ControllerEnabled {
        ControllerEnabled {
            directory: directory.to_owned(),
            controller: "cpuset".to_owned(),
        }
    }

    /// Checks what undoing returns, and what it writes, when the one child has these files.
    fn check(child: &[(&str, &str)], expected: Result<&str, &str>) {
        let parent = tempfile::tempdir().unwrap();
        cgroup(parent.path(), &[("cgroup.subtree_control", "")]);
        cgroup(&parent.path().join("system.slice"), child);
        let outcome = controller_in(parent.path()).disable();
        let control = fs::read_to_string(parent.path().join("cgroup.subtree_control")).unwrap();
        match expected {
            Ok(written) => assert_eq!((outcome.unwrap(), control.as_str()), ((), written)),
            Err(reason) => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains(reason) && control.is_empty(), "{error}");
            }
        }
    }

    #[test]
    fn a_controller_is_left_to_the_cgroups_that_use_it() {
        check(
            &[("cpuset.cpus", "\n"), ("cpuset.mems", "\n")],
            Ok("-cpuset"),
        );
        check(&[("cgroup.subtree_control", "cpu memory\n")], Ok("-cpuset"));
        let used = Err("cgroup system.slice now uses it");
        check(&[("cpuset.cpus", "0-1\n")], used);
        check(&[("cpuset.mems", "0\n")], used);
        check(&[("cgroup.subtree_control", "cpu cpuset\n")], used);
    }

    #[test]
    fn only_a_trials_group_is_known_by_its_name() {
        let check = |name: &str, expected: bool| {
            assert_eq!(
                is_of_trial(&Path::new("/sys/fs/cgroup").join(name)),
                expected,
                "{name}"
            );
        };
        check(&trial_name(None), true);
        check(&trial_name(Some(3)), true);
        check("numalab-4026532450-1-3", true);
        check("numalab-bind-4711", false);
        check("numalab-db", false);
        check("numalab-", false);
        check("system.slice", false);
        assert!(!is_of_trial(Path::new("/")));
    }

    #[test]
    fn a_controller_of_a_cgroup_that_is_gone_is_undone() {
        let gone = controller_in(Path::new("/nonexistent/cgroup"));
        gone.disable().unwrap();
    }

    #[test]
    fn a_controller_that_cannot_be_enabled_is_not_in_the_journal() {
        let parent = tempfile::tempdir().unwrap();
        let control = parent.path().join("cgroup.subtree_control");
        fs::write(&control, "cpu\n").unwrap();
        let journal = Journal::in_directory(parent.path());
        enable_controller(parent.path(), "cpuset", &journal).unwrap();
        assert_eq!(journal.in_force().unwrap().len(), 1);
        fs::remove_file(&control).unwrap();
        // A file that can be read but not written, even by root.
        std::os::unix::fs::symlink("/proc/self/stat", &control).unwrap();
        enable_controller(parent.path(), "cpuset", &journal).unwrap_err();
        assert_eq!(journal.in_force().unwrap().len(), 1);
    }
}
