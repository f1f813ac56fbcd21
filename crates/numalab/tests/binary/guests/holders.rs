//! Processes that hold memory, and where it lies by the kernel's own account.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;

use super::kernel_setting::KernelSettings;
use crate::laboratory::{Laboratory, kill, pid as id};
use crate::patience::until;
use crate::running::Running;

const PROGRAM: &str = include_str!("shared_memory.py");

/// A process and its child with the same memory; killed, and their memory freed, when dropped.
pub(super) struct Holders {
    pub(super) pid: String,
    pub(super) child: String,
    pages: u32,
    _parent: Running,
    _settings: KernelSettings,
}

impl Holders {
    /// On CPUs of `node`, they hold memory of this kind (`shared_memory.py` has them) on node 0.
    pub(super) fn start(laboratory: &Laboratory, mib: u32, kind: &str, node: u32) -> Self {
        let cpus = format!("--cpunodebind={node}");
        let launcher = ["numactl", "--membind=0", &cpus];
        Self::behind(laboratory, &launcher, mib, kind)
    }

    /// They are started behind a program that executes them.
    pub(super) fn behind(laboratory: &Laboratory, launcher: &[&str], mib: u32, kind: &str) -> Self {
        let settings = KernelSettings::no_transparent_huge_pages();
        let ready = laboratory.file("ready", "");
        fs::set_permissions(&ready, fs::Permissions::from_mode(0o666)).unwrap();
        let size = mib.to_string();
        let program = ["/usr/bin/python3", "-c", PROGRAM, &size, "2", kind, &ready];
        let parent = Running::start(&[launcher, &program].concat());
        let pid = parent.pid();
        until("the memory is held", || {
            (fs::read_to_string(&ready).unwrap() == pid).then_some(())
        });
        let child = children(&pid).remove(0);
        Holders {
            pid,
            child,
            pages: mib * 256,
            _parent: parent,
            _settings: settings,
        }
    }

    /// Returns pages by node and policy of the memory, as the kernel shows them: `N0=4096 bind:0`.
    pub(super) fn nodes(&self) -> String {
        nodes_of(&self.pid, self.pages)
    }

    /// Returns the number of its pages on a node.
    pub(super) fn pages_on(&self, node: u32) -> u32 {
        let (nodes, prefix) = (self.nodes(), format!("N{node}="));
        let mut words = nodes.split(' ');
        let pages = words.find_map(|word| word.strip_prefix(&prefix));
        pages.map_or(0, |pages| pages.parse().unwrap())
    }

    /// Ends both, and returns when their memory is free.
    pub(super) fn stop(&self) {
        for pid in [&self.child, &self.pid] {
            end(pid);
        }
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns pages by node and policy of the memory of a process that is shared, in huge pages, or
/// private with this many pages.
pub(super) fn nodes_of(pid: &str, private_pages: u32) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
    let private = format!(" anon={private_pages} ");
    let names = ["memfd", "anon_hugepage", &private];
    let lines = maps
        .lines()
        .filter(|line| names.iter().any(|name| line.contains(name)));
    let policies = ["default", "prefer", "bind", "interleave"];
    let is_shown = |word: &&str| {
        let is_node = word.starts_with('N') && word.contains('=');
        is_node || policies.iter().any(|policy| word.starts_with(policy))
    };
    let mut words: Vec<&str> = lines.flat_map(|line| line.split(' ')).collect();
    words.retain(is_shown);
    words.sort_unstable();
    words.join(" ")
}

/// Returns the ids of the children of a process.
pub(super) fn children(pid: &str) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().map(str::to_owned).collect()
}

/// Ends a process, and returns when it has no memory any more.
pub(super) fn end(pid: &str) {
    kill(pid.parse().unwrap());
    let maps = Path::new("/proc").join(pid).join("maps");
    until("its memory is free", || {
        fs::read(&maps).unwrap_or_default().is_empty().then_some(())
    });
}

/// Sends a signal to a process that may have ended.
pub(super) fn signal(pid: &str, signal: Signal) {
    let _ = rustix::process::kill_process(id(pid.parse().unwrap()), signal);
}
