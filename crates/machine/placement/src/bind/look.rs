//! One look at a placed program: where its memory is, where it may run, and which policies are in
//! force that were not requested.

use std::collections::BTreeMap;

use linux::{Root, proc_stat};
use model::{BytesByNode, OverrideKind, PolicyOverride, Residency, Topology};

use residency::instances::Target;
use residency::numa_maps::{self, NumaMapsLine};
use residency::{self, InspectError, Options};

/// What one look saw.
#[derive(Debug, Clone)]
pub struct Look {
    /// Where all of its memory is.
    pub residency: Residency,
    /// Private and shared memory; not programs and files, which other processes may have read.
    pub memory: BytesByNode,
    /// Policies in force that were not requested.
    pub overrides: Vec<PolicyOverride>,
    /// Bytes of its memory that may be anywhere, whatever was requested: the pages with arguments
    /// and environment while the kernel balances. It balances a page for whoever touches it next.
    /// Reading /proc/PID/cmdline, as `ps` and numalab do, is such a touch, by a process with
    /// another cpuset and policy (mm/memory.c, `do_numa_page`, by way of `access_remote_vm`).
    pub bytes_of_readers: u64,
}

/// Looks at a program and its descendants, or at all of its group. `policy` is the one in force
/// when it started, in the kernel's words.
///
/// # Errors
/// When no such process exists any more, or none of it may be read.
pub fn look(
    root: &Root,
    target: &Target,
    topology: &Topology,
    policy: &str,
) -> Result<Look, InspectError> {
    let residency = residency::inspect(root, target, topology, &Options::default())?;
    let memory = residency::own_memory(&residency);
    // A kernel that cannot balance has no such setting.
    let balancing = topology.settings.numa_balancing.unwrap_or(0);
    Ok(Look {
        bytes_of_readers: match balancing {
            0 => 0,
            _ => argument_bytes(root, &residency),
        },
        overrides: overrides(root, &residency, policy),
        residency,
        memory,
    })
}

/// The pages with arguments and environment of all processes.
fn argument_bytes(root: &Root, residency: &Residency) -> u64 {
    let pids = residency.processes.iter().map(|process| process.pid);
    let stats = pids.filter_map(|pid| proc_stat::read(root, pid).ok());
    stats.fold(0, |sum, stat| sum.saturating_add(stat.argument_bytes))
}

/// The overrides of all processes, with equal ones added up.
fn overrides(root: &Root, residency: &Residency, policy: &str) -> Vec<PolicyOverride> {
    let mut found: BTreeMap<(String, OverrideKind, String), (u32, u64)> = BTreeMap::new();
    for process in &residency.processes {
        // A process that has ended by now overrides nothing.
        let Ok(file) = root.read_lossy(&format!("proc/{}/numa_maps", process.pid)) else {
            continue;
        };
        for ((how, policy), bytes) in of_process(file.text(), policy) {
            let key = (process.name.clone(), how, policy);
            let (processes, sum) = found.entry(key).or_default();
            *processes += 1;
            *sum += bytes;
        }
    }
    let of_name = |((name, how, policy), (processes, bytes))| PolicyOverride {
        name,
        processes,
        how,
        policy,
        bytes,
    };
    found.into_iter().map(of_name).collect()
}

/// Bytes under each policy other than `asked`, in one numa_maps.
///
/// A stack has no mbind(2) policy, so its line shows that of the process (fs/proc/task_mmu.c,
/// `show_numa_map`); a line that differs from it has its own.
fn of_process(text: &str, asked: &str) -> BTreeMap<(OverrideKind, String), u64> {
    let mut found = BTreeMap::new();
    let stack = text.lines().find(|line| line.contains(" stack"));
    let Some(own) = stack.and_then(|line| numa_maps::parse_line(line).ok()) else {
        return found;
    };
    // A line that cannot be read was cut: the process was ending.
    let lines = text
        .lines()
        .filter_map(|line| numa_maps::parse_line(line).ok());
    for line in lines.filter(|line| line.policy != asked) {
        let how = match line.policy == own.policy {
            true => OverrideKind::SetMempolicy,
            false if is_shared(&line) => OverrideKind::MbindShared,
            false => OverrideKind::Mbind,
        };
        let bytes = line
            .pages()
            .saturating_mul(line.kernel_page_bytes.unwrap_or(0));
        *found.entry((how, line.policy)).or_insert(0_u64) += bytes;
    }
    found
}

/// Whether the memory belongs to a named object, which several processes can map.
fn is_shared(line: &NumaMapsLine) -> bool {
    line.file.is_some() && line.anonymous_pages == 0
}

#[cfg(test)]
mod tests {
    use super::of_process;

    const ORDINARY: &str = "\
        55d0 bind:1 file=/usr/bin/x mapped=4 N0=4 kernelpagesize_kB=4\n\
        7f00 bind:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=4\n\
        7ffc bind:1 stack anon=3 dirty=3 N1=3 kernelpagesize_kB=4\n";

    fn check(text: &str, asked: &str, expected: &[(&str, &str, u64)]) {
        let found = of_process(text, asked);
        let found: Vec<_> = found
            .iter()
            .map(|((how, policy), bytes)| (format!("{how:?}"), policy.as_str(), *bytes))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(how, policy, bytes)| (how.as_str(), *policy, *bytes))
            .collect();
        assert_eq!(found, expected, "{text} {asked}");
    }

    #[test]
    fn a_program_that_keeps_the_policy_overrides_nothing() {
        check(ORDINARY, "bind:1", &[]);
        check("", "bind:1", &[]);
        check(
            "7f00 bind:0 anon=1 N0=1 kernelpagesize_kB=4\n",
            "bind:1",
            &[],
        );
    }

    #[test]
    fn a_process_policy_is_told_from_that_of_a_mapping() {
        check(
            ORDINARY,
            "interleave:0-1",
            &[("SetMempolicy", "bind:1", 36 << 10)],
        );
        let own = "7e00 interleave:0-3 anon=8 N0=2 N1=6 kernelpagesize_kB=4\n\
                   7e01 prefer (many):0 file=/SYSV00000001\\040(deleted) huge N0=1 \
                   kernelpagesize_kB=2048\n";
        check(
            &format!("{own}{ORDINARY}"),
            "bind:1",
            &[
                ("Mbind", "interleave:0-3", 32 << 10),
                ("MbindShared", "prefer (many):0", 2 << 20),
            ],
        );
    }
}
