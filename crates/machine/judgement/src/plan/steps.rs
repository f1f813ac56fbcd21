//! What to type: now, to take it back, for good, and to see that it is in force.

use std::time::Duration;

use model::{ByteSize, BytesByNode, CurePlan, node_words, shell_word};
use placement::Destination;

use super::candidates::Candidate;
use super::patient::Patient;
use crate::doctor::DoctorInput;
use crate::doctor::cure::{
    files_at_restart, files_of_spreading, restarted_with, spread_at_restart,
};

/// Fills in the steps of a plan.
pub(crate) fn add_steps(
    plan: &mut CurePlan,
    input: &DoctorInput,
    patient: &Patient<'_>,
    candidate: &Candidate,
) {
    let target = input.residency.as_ref().map_or("", |it| &it.target);
    let target = shell_word(target);
    let scope = match candidate.moves_private {
        true => "",
        false => " --shared",
    };
    plan.now = vec![
        format!(
            "numalab move {target} --to {}{scope}",
            candidate.destination
        ),
        format!("# {}", time(input, candidate.bytes_to_move)),
    ];
    let cure = format!("{} ", candidate.destination);
    let lacks_room = plan.no_room.iter().find(|why| why.starts_with(&cure));
    let first = lacks_room.map(|why| format!("# make room first: {why}"));
    let elsewhere = first.is_some().then(|| cpus_to_memory(patient));
    plan.now.splice(0..0, first);
    plan.now.extend(elsewhere.into_iter().flatten());
    plan.undo = vec!["numalab undo".to_owned()];
    plan.for_good = match &candidate.destination {
        Destination::Interleave(Some(nodes)) => {
            spread_at_restart(input, nodes, candidate.moves_private)
        }
        _ => near_cpus(input),
    };
    plan.files = match &candidate.destination {
        Destination::Interleave(Some(nodes)) => {
            files_of_spreading(input, nodes, candidate.moves_private)
        }
        _ if policy(input).is_some() => files_at_restart(input, "local", None),
        _ => Vec::new(),
    };
    let later_in_huge_pages = patient
        .segments
        .iter()
        .any(|it| it.page_bytes.unwrap_or(0) > linux::process::page_bytes());
    if later_in_huge_pages {
        plan.for_good.push(
            "# huge pages that are first touched later follow the server's own policy, too"
                .to_owned(),
        );
    }
    let left_out = input.topology.memory_nodes().difference(&patient.allowed);
    if !left_out.is_empty() {
        plan.for_good.push(format!(
            "# left out: {} (no CPUs, as CXL memory and GPUs, or forbidden by a \
             cpuset); name them to use them",
            node_words(left_out)
        ));
    }
    plan.verify = vec![format!(
        "numalab doctor {target} --verify {}",
        candidate.destination
    )];
}

/// The processes whose CPUs are listed; the others follow the same pattern.
const PROCESSES_MAX: usize = 4;
/// Memory is on one node above this share of it.
const HOME_SHARE: f64 = 0.9;

/// The other way round, for memory that has no room near its CPUs: the CPUs to the memory. Remarks,
/// since whoever types all lines of a step must not do both.
fn cpus_to_memory(patient: &Patient<'_>) -> Vec<String> {
    let layout = patient.layout();
    let all = layout.shared.iter().chain(&layout.private).flatten();
    let mut by_node = BytesByNode::new();
    for (node, bytes) in all {
        *by_node.entry(*node).or_default() += bytes;
    }
    let sum: u64 = by_node.values().sum();
    let home = by_node.iter().max_by_key(|(_, bytes)| **bytes);
    let home = home.filter(|(_, bytes)| **bytes as f64 >= HOME_SHARE * sum as f64);
    let Some(node) = home.and_then(|(node, _)| patient.topology.node(*node)) else {
        return Vec::new();
    };
    if node.cpus.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "# or the other way round, if node {} may have the load: its CPUs for all threads",
        node.id
    )];
    for user in patient.users.iter().take(PROCESSES_MAX) {
        let (pid, old) = (user.process.pid, &user.process.cpus);
        let new = &node.cpus;
        lines.push(format!(
            "# taskset --all-tasks --cpu-list --pid {new} {pid}; back: the same with {old}"
        ));
    }
    let more = patient.users.len().saturating_sub(PROCESSES_MAX);
    lines.extend((more > 0).then(|| format!("# and so on for its other processes ({more})")));
    lines
}

fn time(input: &DoctorInput, bytes: u64) -> String {
    let Some(rate) = input.move_rate else {
        return format!("for {}, see docs/move.md for the time", ByteSize(bytes));
    };
    let time = |bytes_per_s: f64| rounded(Duration::from_secs_f64(bytes as f64 / bytes_per_s));
    let (least, most) = (time(rate.most), time(rate.least));
    let time = match least == most {
        true => least,
        false => format!("{least} to {most}"),
    };
    format!(
        "{time} for {}, as measured here; longer while CPUs are busy",
        ByteSize(bytes)
    )
}

/// An estimated time, in words.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        0..2 => "a second".to_owned(),
        seconds @ 2..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The policy of the server, if it is not that memory follows the CPUs.
fn policy(input: &DoctorInput) -> Option<&str> {
    let mut policies = input.policies.values().map(String::as_str);
    policies.find(|policy| !["default", "local"].contains(policy))
}

fn near_cpus(input: &DoctorInput) -> Vec<String> {
    match policy(input) {
        None => vec![
            "# nothing: memory that is allocated later lies near the CPUs of its process anyway"
                .to_owned(),
        ],
        Some(policy) => {
            let mut lines = vec![format!(
                "# the server has policy {policy}, and so has all memory that it allocates later:"
            )];
            lines.extend(restarted_with(input, "local", None, "--localalloc"));
            lines
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded() {
        let check = |seconds, expected: &str| {
            assert_eq!(rounded(Duration::from_secs(seconds)), expected);
        };
        check(0, "a second");
        check(99, "99 s");
        check(100, "2 min");
        check(7201, "3 h");
    }
}
