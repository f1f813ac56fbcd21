//! What numalab changes on a machine, as the kernel shows it, one fact a line: what tests compare
//! with the state before.

use std::fs;
use std::path::Path;

use crate::laboratory::Laboratory;
use crate::processes;

/// Returns the state of the machine: pools of huge pages, processor groups, mounts, shared memory;
/// and what the journal says.
pub(super) fn of_machine(laboratory: &Laboratory) -> Vec<String> {
    let mut lines = Vec::new();
    files_below(Path::new("/sys/devices/system/node"), &mut lines);
    files_below(Path::new("/sys/fs/cgroup"), &mut lines);
    for file in ["/proc/mounts", "/proc/sysvipc/shm"] {
        lines.extend(fs::read_to_string(file).unwrap().lines().map(str::to_owned));
    }
    lines.extend(names(Path::new("/dev/shm")));
    let ours = names(&laboratory.state().join("numalab")).into_iter();
    lines.extend(ours.filter(|name| !name.starts_with("runs") && name != "journal.jsonl"));
    let processes = processes::of_state_folder(&laboratory.state());
    lines.extend(processes.iter().map(|process| format!("{process:?}")));
    let listed = laboratory.run(&["undo", "--list"]);
    lines.push(format!("{listed:?}"));
    lines
}

/// Returns the state of a process: its groups, where it may be, and its memory.
pub(super) fn of_process(pid: &str) -> Vec<String> {
    let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let mut lines: Vec<String> = read("cgroup").lines().map(str::to_owned).collect();
    let status = read("status");
    let allowed = status.lines().filter(|line| line.contains("_allowed_list"));
    lines.extend(allowed.map(str::to_owned));
    lines.extend(memory(pid, |line| !line.contains("file=/usr")));
    lines
}

/// Returns policy and pages by node of the mappings of a process that `which` selects.
pub(super) fn memory(pid: &str, which: impl Fn(&str) -> bool) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap();
    let shown = |line: &str| {
        let words = line.split(' ').enumerate();
        let is_shown = |(at, word): &(usize, &str)| {
            let is_node = word.starts_with('N') && word.contains('=');
            *at < 2 || is_node || word.starts_with("anon=")
        };
        let words: Vec<_> = words.filter(is_shown).map(|(_, word)| word).collect();
        format!("{pid} {}", words.join(" "))
    };
    maps.lines().filter(|line| which(line)).map(shown).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Adds the folders below this one, and the files in them that numalab writes.
fn files_below(folder: &Path, lines: &mut Vec<String>) {
    for name in names(folder) {
        let path = folder.join(&name);
        let written = ["nr_hugepages", "cgroup.subtree_control", "cpu.max"];
        if path.is_dir() && !path.is_symlink() {
            lines.push(path.display().to_string());
            files_below(&path, lines);
        } else if written.contains(&&*name) || name.starts_with("cpuset.") {
            let content = fs::read_to_string(&path).unwrap_or_default();
            lines.push(format!("{}: {content}", path.display()));
        }
    }
}
