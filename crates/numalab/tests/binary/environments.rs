//! Where numalab has less than root has on a host: another user, a seccomp filter, control groups
//! and /sys that are read-only or absent, a container. Each is made by programs that numalab is
//! started behind.

use std::process::Command;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::unmet_need::is_root;
use crate::user::NOBODY;

/// mbind, set_mempolicy, get_mempolicy, migrate_pages and move_pages, which Docker's default
/// profile refuses without CAP_SYS_NICE (moby, profiles/seccomp/default.json).
#[cfg(target_arch = "x86_64")]
const REFUSED: &str = "237,238,239,256,279";
/// The same by the numbers that newer architectures share (include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
const REFUSED: &str = "235,237,236,238,239";

/// What numalab runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    /// Root on the host.
    Root,
    /// A user without any privilege.
    Nobody,
    /// Root, with a filter that refuses what places memory and says where it is.
    Seccomp,
    /// The same without any privilege.
    SeccompNobody,
    /// Root, whose control groups cannot be written.
    ReadOnlyGroups,
    /// Root, who sees no control groups.
    NoGroups,
    /// Root, whose /sys cannot be written.
    ReadOnlySys,
    /// Root of a container: processes of its own, one CPU, control groups that cannot be written.
    Container,
}

impl Environment {
    /// All of them.
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

    /// A numalab there; says that `test` is not run where there can be none.
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

    /// What makes its file systems, for a shell in a mount namespace of its own.
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

    /// Whether cgroups can be made there, if they can by root on the host.
    pub(crate) fn has_groups(self) -> bool {
        use Environment::{ReadOnlySys, Root, Seccomp};
        matches!(self, Root | Seccomp | ReadOnlySys)
    }

    /// Whether memory policies can be set.
    pub(crate) fn has_policies(self) -> bool {
        !matches!(self, Environment::Seccomp | Environment::SeccompNobody)
    }
}

/// Runs numalab behind a filter that refuses these system calls, numbers separated by commas; says
/// that `test` is not run where there is no C compiler to build it.
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
