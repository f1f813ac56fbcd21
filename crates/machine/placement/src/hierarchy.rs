//! Finds the cgroup hierarchy in which processor groups can be created: v2, v1, or both mounted.

use std::path::{Path, PathBuf};

use linux::{Root, control_group};

use crate::Error;

/// The cgroup of a command in its own scope, beside which its groups are created: only the root may
/// have both processes and children with controllers (cgroups(7), "no internal processes").
const COMMAND_LEAF: &str = "numalab-command";

/// Where processor groups are created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// 1 or 2.
    pub version: u8,
    /// The cgroup that becomes their parent.
    pub parent: PathBuf,
    /// Where the hierarchy is mounted.
    pub mount: PathBuf,
}

impl Hierarchy {
    /// Whether systemd owns this tree: version 2 where it is the init, and of version 1 the
    /// hierarchies it uses, which do not include `cpuset` (systemd, "Control Group APIs and
    /// Delegation").
    pub fn belongs_to_systemd(&self, root: &Root) -> bool {
        self.version == 2 && linux::systemd::is_booted(root)
    }

    /// The directory of a cgroup by its path in this hierarchy: `/db`.
    pub fn directory(&self, path: &str) -> PathBuf {
        self.mount.join(path.trim_start_matches('/'))
    }

    /// Why this process cannot create a cgroup with a controller in the parent, in words; `None`
    /// when it can. In version 2 the parent must delegate the controller, which only the real root
    /// may do while it has processes (cgroups(7), "no internal processes"); a container's root is
    /// not the real one, and has a `cgroup.type`.
    fn obstacle(&self, controller: &str) -> Option<String> {
        let refused = |path: &Path| {
            let obstacle = control_group::obstacle(path)?;
            Some(format!("{} {obstacle}", path.display()))
        };
        let parent = &self.parent;
        if let Some(obstacle) = refused(parent) {
            return Some(obstacle);
        }
        let file = parent.join("cgroup.subtree_control");
        let handed_on = control_group::read(&file).unwrap_or_default();
        if self.version == 1 || handed_on.split(' ').any(|name| name == controller) {
            return None;
        }
        let is_root_of_all = !parent.join("cgroup.type").exists();
        let has_processes = || {
            let processes = control_group::read(&parent.join("cgroup.procs"));
            processes.is_ok_and(|processes| !processes.is_empty())
        };
        refused(&file).or_else(|| {
            (!is_root_of_all && has_processes()).then(|| {
                let parent = parent.display();
                format!("{parent} has processes, so it cannot delegate {controller}")
            })
        })
    }

    /// The path of a cgroup in this hierarchy by its directory.
    pub fn path(&self, directory: &Path) -> String {
        let below = directory.strip_prefix(&self.mount).unwrap_or(directory);
        format!("/{}", below.display())
    }
}

/// Finds the hierarchy that has the cpuset controller, and checks that a group can be made there.
///
/// # Errors
/// As [`find_writable`].
pub fn find(root: &Root) -> Result<Hierarchy, Error> {
    find_writable(root, "cpuset")
}

/// Finds the hierarchy that has a controller, and checks that this process can create a cgroup with
/// that controller there. Creates none.
///
/// # Errors
/// [`Error::NoGroups`] when no mounted hierarchy has the controller,
/// [`Error::GroupsNotPermitted`] when none that has it may be written.
pub fn find_writable(root: &Root, controller: &str) -> Result<Hierarchy, Error> {
    let mut refused = Vec::new();
    for hierarchy in all_with(root, controller)? {
        let Some(obstacle) = hierarchy.obstacle(controller) else {
            return Ok(hierarchy);
        };
        refused.push(obstacle);
    }
    Err(Error::GroupsNotPermitted {
        reason: refused.join("; "),
    })
}

/// Finds the hierarchy that has a controller, whether or not it may be written.
///
/// # Errors
/// [`Error::NoGroups`] when none has it.
pub fn find_controller(root: &Root, controller: &str) -> Result<Hierarchy, Error> {
    let all = all_with(root, controller)?;
    Ok(all
        .into_iter()
        .next()
        .expect("there is at least one, or an error"))
}

/// Every mounted hierarchy with a controller, at least one.
fn all_with(root: &Root, controller: &str) -> Result<Vec<Hierarchy>, Error> {
    let mounts = root.read("proc/mounts")?;
    let mut found = Vec::new();
    for (_, line) in mounts.lines() {
        found.extend(hierarchy_with(root, controller, line)?);
    }
    if found.is_empty() {
        let reason = format!("no cgroup hierarchy with the {controller} controller is mounted");
        return Err(Error::NoGroups { reason });
    }
    Ok(found)
}

/// The hierarchy behind one line of /proc/mounts, if it has the controller.
///
/// Real lines: `cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0` and
/// `cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0`.
fn hierarchy_with(root: &Root, controller: &str, line: &str) -> Result<Option<Hierarchy>, Error> {
    let mut fields = line.split(' ');
    let (_device, mount) = (fields.next(), fields.next().unwrap_or(""));
    let (kind, options) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
    match kind {
        "cgroup" if options.split(',').any(|option| option == controller) => {
            let mount = root.path(mount);
            Ok(Some(Hierarchy {
                version: 1,
                parent: mount.join(own_group(root, controller)?),
                mount,
            }))
        }
        "cgroup2" => {
            let controllers = root.read_optional(&format!("{mount}/cgroup.controllers"))?;
            let has = controllers.is_some_and(|file| {
                file.text()
                    .split_ascii_whitespace()
                    .any(|name| name == controller)
            });
            if !has {
                return Ok(None);
            }
            let mount = root.path(mount);
            let own = mount.join(own_group(root, "")?);
            let scope = own.parent().filter(|_| own.ends_with(COMMAND_LEAF));
            Ok(Some(Hierarchy {
                version: 2,
                parent: scope.unwrap_or(&mount).to_owned(),
                mount,
            }))
        }
        _ => Ok(None),
    }
}

/// Makes room for groups in a cgroup that was delegated to this process alone: moves the process
/// into a leaf cgroup below it. The delegated cgroup is a scope, which vanishes with everything in
/// it when the process ends.
///
/// # Errors
/// When the cgroup may not be written.
pub fn sit_down(root: &Root) -> Result<(), Error> {
    let hierarchy = find_controller(root, "cpuset")?;
    let leaf = hierarchy
        .mount
        .join(own_group(root, "")?)
        .join(COMMAND_LEAF);
    control_group::create(&leaf)?;
    join(&leaf)
}

/// The cgroup of this process relative to the mount of its hierarchy: that of v1 for `controller`,
/// or of version 2, where the controller is the empty name.
///
/// Real lines of /proc/self/cgroup: `3:cpuset:/`, `0::/user.slice`.
pub(crate) fn own_group(root: &Root, controller: &str) -> Result<String, Error> {
    let file = root.read("proc/self/cgroup")?;
    let group = file.lines().find_map(|(_, line)| {
        let mut fields = line.splitn(3, ':').skip(1);
        let has = fields.next()?.split(',').any(|name| name == controller);
        fields
            .next()
            .filter(|_| has)
            .map(|group| group.trim_start_matches('/').to_owned())
    });
    Ok(group.unwrap_or_default())
}

/// Moves the calling process into a cgroup.
///
/// # Errors
/// When `cgroup.procs` may not be written, or the group has no CPUs or memory nodes.
pub fn join(directory: &Path) -> Result<(), Error> {
    // 0 is the writing process (cgroups(7)).
    Ok(control_group::write(&directory.join("cgroup.procs"), "0")?)
}

#[cfg(test)]
mod tests {
    use linux::Root;

    use super::find;

    fn check(mounts: &str, files: &[(&str, &str)], expected: Result<(u8, &str), &str>) {
        let directory = tempfile::tempdir().unwrap();
        let all = [
            ("proc/mounts", mounts),
            ("proc/self/cgroup", "3:cpuset:/db\n0::/\n"),
        ];
        for (path, text) in all.iter().chain(files) {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        match (find(&root), expected) {
            (Ok(found), Ok((version, parent))) => {
                assert_eq!((found.version, found.parent), (version, root.path(parent)));
            }
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
            (found, expected) => panic!("found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn version_1_groups_lie_in_our_own_group() {
        let mounts = "cgroup /c/cpu cgroup rw,cpu 0 0\ncgroup /c/set cgroup rw,cpuset 0 0\n";
        check(
            mounts,
            &[("c/set/db/cgroup.procs", "")],
            Ok((1, "c/set/db")),
        );
    }

    #[test]
    fn a_command_in_a_scope_of_its_own_has_its_groups_there() {
        let mounts = "cgroup2 /c cgroup2 rw,relatime 0 0\n";
        let check_own = |own: &str, parent: &str| {
            let own = format!("0::{own}\n");
            check(
                mounts,
                &[
                    ("c/cgroup.controllers", "cpuset cpu\n"),
                    ("c/cgroup.subtree_control", "cpu\n"),
                    ("c/system.slice/run-1.scope/cgroup.procs", ""),
                    ("c/system.slice/run-1.scope/cgroup.subtree_control", ""),
                    ("proc/self/cgroup", &own),
                ],
                Ok((2, parent)),
            );
        };
        let scope = "c/system.slice/run-1.scope";
        check_own("/system.slice/run-1.scope/numalab-command", scope);
        check_own("/system.slice/run-1.scope", "c");
        check_own("/user.slice/numalab-command-not", "c");
    }

    #[test]
    fn version_2_needs_the_cpuset_controller() {
        let mounts = "cgroup2 /c cgroup2 rw,relatime 0 0\n";
        check(
            mounts,
            &[
                ("c/cgroup.controllers", "cpuset cpu\n"),
                ("c/cgroup.subtree_control", ""),
            ],
            Ok((2, "c")),
        );
        check(
            mounts,
            &[("c/cgroup.controllers", "cpu io\n")],
            Err("no cgroup hierarchy"),
        );
    }

    /// A privileged container may write its cgroups, but cannot create any with a controller.
    #[test]
    fn a_container_whose_root_has_processes_hands_nothing_on() {
        let mounts = "cgroup2 /c cgroup2 rw,relatime 0 0\n";
        let check_root = |procs: &str, handed_on: &str, expected| {
            check(
                mounts,
                &[
                    ("c/cgroup.controllers", "cpuset cpu\n"),
                    ("c/cgroup.subtree_control", handed_on),
                    ("c/cgroup.type", "domain\n"),
                    ("c/cgroup.procs", procs),
                ],
                expected,
            );
        };
        let refused = Err("c has processes, so it cannot delegate cpuset");
        check_root("1\n7\n", "", refused);
        check_root("1\n7\n", "memory cpu\n", refused);
        check_root("1\n7\n", "memory cpuset\n", Ok((2, "c")));
        check_root("", "", Ok((2, "c")));
    }

    #[test]
    fn without_cgroups_it_says_so() {
        check("proc /proc proc rw 0 0\n", &[], Err("no cgroup hierarchy"));
    }
}
