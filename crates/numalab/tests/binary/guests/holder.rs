//! Processes that hold memory for numalab to look at or to move, and where the kernel says that
//! memory is.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::laboratory::kill;
use crate::patience::until_within;
use crate::running::Running;

/// The program that holds memory.
const PROGRAM: &str = include_str!("shared_memory.py");

/// A process and its children, all attached to the same memory. When dropped, they are killed and
/// their memory is free again.
pub(super) struct Holder(Running);

impl Holder {
    /// Starts as many processes, through the command `launcher`; `memory` is the FILE of
    /// `shared_memory.py`. Returns when all of it has been touched.
    pub(super) fn start(launcher: &[&str], mib: u64, processes: usize, memory: &str) -> Self {
        let (mib, processes) = (mib.to_string(), processes.to_string());
        let python = ["/usr/bin/python3", "-c", PROGRAM, &mib, &processes, memory];
        let words = [launcher, &python, &["/dev/stdout"]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).process_group(0);
        let mut program = Running::of(&mut command);
        let mut ready = [0];
        let stdout = program.0.stdout.as_mut().unwrap();
        stdout.read_exact(&mut ready).unwrap();
        Self(program)
    }

    /// Returns the id of the process that touched the memory first.
    pub(super) fn pid(&self) -> String {
        self.0.pid()
    }

    /// Returns the ids of the other processes.
    pub(super) fn children(&self) -> Vec<String> {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        children.split_whitespace().map(str::to_owned).collect()
    }

    /// Returns policy and pages by node of its memory, as [`placed`].
    #[track_caller]
    pub(super) fn placed(&self, memory: &str) -> String {
        let maps = fs::read_to_string(format!("/proc/{}/numa_maps", self.pid())).unwrap();
        placed(&maps, memory)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let children = self.children();
        for child in &children {
            kill(child.parse().unwrap());
        }
        let _ = self.0.0.kill();
        let _ = self.0.0.wait();
        let holds_memory = |child: &String| {
            let maps = fs::read_to_string(format!("/proc/{child}/maps"));
            maps.is_ok_and(|maps| !maps.is_empty())
        };
        until_within(Duration::from_secs(120), || {
            (!children.iter().any(holds_memory)).then_some(())
        });
    }
}

/// Returns the policy and the pages by node of the first file whose name contains `file`, from the
/// text of a numa_maps: `prefer:1 N1=1` for
///
/// ```text
/// 7f2c00000000 prefer:1 file=/SYSV00000000\040(deleted) huge N1=1 kernelpagesize_kB=2048
/// ```
#[track_caller]
pub(super) fn placed(numa_maps: &str, file: &str) -> String {
    let mut lines = numa_maps.lines();
    let line = lines.find(|line| line.contains(file));
    let line = line.unwrap_or_else(|| panic!("no {file} in {numa_maps}"));
    let (place, rest) = line.split_once(" file=").unwrap();
    let (_, policy) = place.split_once(' ').unwrap();
    let pages = rest.split(' ').filter(|word| word.starts_with('N'));
    [policy]
        .into_iter()
        .chain(pages)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Gives every thread of these processes these CPUs.
#[track_caller]
pub(super) fn use_cpus(pids: &[String], cpus: &str) {
    for pid in pids {
        let mut taskset = Command::new("taskset");
        let output = taskset.args(["-acp", cpus, pid]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// Returns the list of the CPUs of a node.
pub(super) fn cpus_of(node: usize) -> String {
    let list = format!("/sys/devices/system/node/node{node}/cpulist");
    fs::read_to_string(list).unwrap().trim().to_owned()
}
