//! Environments in which numalab has less than root has on a host: another user, a seccomp filter,
//! control groups and /sys that are read-only or absent, a container. numalab is started behind
//! programs that set them up.

use std::process::Command;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::unmet_need::is_root;
use crate::user::NOBODY;

/// mbind, set_mempolicy, get_mempolicy, migrate_pages and move_pages, which Docker's default
/// profile refuses without CAP_SYS_NICE (moby, profiles/seccomp/default.json).
#[cfg(target_arch = "x86_64")]
const REFUSED: &str = "237,238,239,256,279";
/// The same, with the numbers that newer architectures share (include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
const REFUSED: &str = "235,237,236,238,239";

/// The environment that numalab runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    /// Root on the host.
    Root,
    /// An unprivileged user.
    Nobody,
    /// Root, with a filter that refuses the calls that place memory and report where it is.
    Seccomp,
    /// The same filter for an unprivileged user.
    SeccompNobody,
    /// Root, with read-only control groups.
    ReadOnlyGroups,
    /// Root, without control groups.
    NoGroups,
    /// Root, with a read-only /sys.
    ReadOnlySys,
    /// Root in a container: its own PID namespace, one CPU, read-only control groups.
    Container,
}

impl Environment {
    /// All environments.
    pub(crate) const ALL: [Environment; 8] = [
        Environment::Root,
        Environment::Nobody,
        Environment::Seccomp,
        Environment::SeccompNobody,
        Environment::ReadOnlyGroups,
        Environment::NoGroups,
        Environment::ReadOnlySys,
        Environment::Container,
    ];

    /// Returns a laboratory in this environment, or reports that `test` is not run if it cannot be
    /// set up.
    pub(crate) fn laboratory(self, test: &str) -> Option<Laboratory> {
        if !is_root(test) {
            return None;
        }
        let mut laboratory = match self {
            Environment::Nobody | Environment::SeccompNobody => Laboratory::of(NOBODY),
            _ => Laboratory::new(),
        };
        if matches!(self, Environment::Seccomp | Environment::SeccompNobody) {
            behind_filter(test, &mut laboratory, REFUSED).then_some(())?;
        }
        if self == Environment::Container {
            let cpu = linux::affinity::of_this_thread().unwrap().last().unwrap();
            laboratory.launch_behind(&["taskset", "--cpu-list", &cpu.to_string()]);
            let own = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
            laboratory.launch_behind(&own);
        }
        if let Some(script) = self.mounts() {
            let script = format!("{script} && exec \"$@\"");
            laboratory.launch_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"]);
        }
        Some(laboratory)
    }

    /// Returns the script that sets up its file systems, for a shell in its own mount namespace.
    fn mounts(self) -> Option<String> {
        let read_only = |paths: &str| {
            format!("for path in {paths}; do mount -o remount,bind,ro $path || exit 111; done")
        };
        Some(match self {
            Environment::ReadOnlyGroups | Environment::Container => {
                read_only("$(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts)")
            }
            Environment::NoGroups => "mount -t tmpfs none /sys/fs/cgroup".to_owned(),
            Environment::ReadOnlySys => read_only("/sys"),
            _ => return None,
        })
    }

    /// Whether cgroups can be created there, provided that root can on the host.
    pub(crate) fn has_groups(self) -> bool {
        use Environment::{ReadOnlySys, Root, Seccomp};
        matches!(self, Root | Seccomp | ReadOnlySys)
    }

    /// Whether memory policies can be set.
    pub(crate) fn has_policies(self) -> bool {
        !matches!(self, Environment::Seccomp | Environment::SeccompNobody)
    }
}

/// Runs numalab behind a filter that refuses these system calls (numbers separated by commas).
/// Reports that `test` is not run if there is no C compiler to build the filter.
pub(crate) fn behind_filter(test: &str, laboratory: &mut Laboratory, refused: &str) -> bool {
    let source = laboratory.file("refuse_calls.c", include_str!("refuse_calls.c"));
    let filter = source.strip_suffix(".c").unwrap().to_owned();
    let Ok(built) = Command::new("cc").args(["-o", &filter, &source]).status() else {
        let why = "it needs a C compiler, to set a filter of system calls";
        not_run(test, Need::Package, why);
        return false;
    };
    assert!(built.success(), "{source} is not built: {built}");
    laboratory.launch_behind(&[&filter, refused]);
    true
}
