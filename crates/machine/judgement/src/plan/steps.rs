//! What to type: now, to take it back, for good, and to see that it is in force.

use std::collections::BTreeSet;
use std::time::Duration;

use model::{ByteSize, CurePlan, NodeSet, PlanFile, ShellLine, node_words, shell_line, shell_word};
use placement::Destination;

use super::candidate::Candidate;
use super::patient::Patient;
use crate::doctor::DoctorInput;
use crate::doctor::cure::{Start, files_of_spreading, spread_at_restart};

/// Fills in the steps of a plan.
pub(crate) fn add_steps(
    plan: &mut CurePlan,
    input: &DoctorInput,
    patient: &Patient<'_>,
    candidate: &Candidate,
) {
    let target = input.residency.as_ref().map_or("", |it| &it.target);
    plan.now = now(input, candidate, target);
    let cure = format!("{} ", candidate.cure);
    let lacks_room = plan.no_room.iter().find(|why| why.starts_with(&cure));
    let first = lacks_room.map(|why| ShellLine::remark(format!("make room first: {why}")));
    plan.now.splice(0..0, first);
    plan.undo = vec![ShellLine::of("numalab undo")];
    (plan.for_good, plan.files) = for_good(input, candidate);
    let later_in_huge_pages = candidate.destination().is_some()
        && patient
            .segments
            .iter()
            .any(|it| it.page_bytes.unwrap_or(0) > input.topology.base_page_bytes());
    if later_in_huge_pages {
        plan.for_good.push(ShellLine::of(
            "# huge pages that are first touched later follow the server's own policy, too",
        ));
    }
    let left_out = input.topology.memory_nodes().difference(&patient.allowed);
    if candidate.destination().is_some() && !left_out.is_empty() {
        plan.for_good.push(ShellLine::remark(format!(
            "left out: {} (no CPUs, as CXL memory and GPUs, or forbidden by a \
             cpuset); name them to use them",
            node_words(left_out)
        )));
    }
    plan.verify = vec![shell_line!(
        "numalab doctor {} --verify {}",
        target,
        candidate.cure.to_string()
    )];
}

/// The commands that put it in force now.
fn now(input: &DoctorInput, candidate: &Candidate, target: &str) -> Vec<ShellLine> {
    let cure = &candidate.cure;
    if candidate.cpus.is_some() {
        return vec![
            shell_line!("numalab doctor {} --apply={}", target, cure.to_string()),
            ShellLine::of(
                "# binds every thread, also those that their program has bound; sessions \
                 that start later inherit it",
            ),
        ];
    }
    let line = shell_line!("numalab move {} --to {}", target, cure.to_string());
    vec![
        match candidate.moves_private {
            true => line,
            false => shell_line!("{} --shared", line),
        },
        ShellLine::remark(time(input, candidate.bytes_to_move)),
    ]
}

/// What makes it so for good, and the files of that.
fn for_good(input: &DoctorInput, candidate: &Candidate) -> (Vec<ShellLine>, Vec<PlanFile>) {
    let has_private = candidate.moves_private;
    match (candidate.destination(), &candidate.cpus) {
        (Some(Destination::Interleave(Some(nodes))), _) => (
            spread_at_restart(input, nodes, has_private),
            files_of_spreading(input, nodes, has_private),
        ),
        (Some(Destination::WeightedInterleave(Some(nodes))), _) => {
            (weighted_at_restart(input, nodes), Vec::new())
        }
        (Some(Destination::Spread(Some(weights))), _) => {
            let nodes = weights.iter().map(|(node, _)| *node).collect();
            let mut lines = vec![ShellLine::of(keeps_no_proportions(input))];
            lines.extend(spread_at_restart(input, &nodes, has_private));
            (lines, files_of_spreading(input, &nodes, has_private))
        }
        (None, Some(cure)) => {
            let start = Start::on_cpus(&cure.cpus);
            (start.lines(input), start.files(input))
        }
        _ => near_cpus(input),
    }
}

/// What becomes of memory in proportions that comes later.
fn keeps_no_proportions(input: &DoctorInput) -> &'static str {
    match input.topology.settings.interleave_weights.is_some() {
        true => {
            "# later memory keeps proportions only by the kernel's weights (`numalab firmware \
             --weights --set`, then weighted-interleave); without them it is interleaved evenly:"
        }
        false => {
            "# this kernel keeps no proportions (that needs Linux 6.9): memory that is allocated \
             later is interleaved evenly, at best:"
        }
    }
}

/// Units have no weighted interleaving (systemd.exec(5), `NUMAPolicy=`), so it is in the command.
fn weighted_at_restart(input: &DoctorInput, nodes: &NodeSet) -> Vec<ShellLine> {
    let mut lines = vec![
        ShellLine::of("# restart the server interleaved by the kernel's weights (numactl 2.0.19):"),
        shell_line!("numactl --weighted-interleave={} COMMAND", nodes),
    ];
    let units: BTreeSet<&String> = input.units.values().collect();
    lines.extend(units.into_iter().map(|unit| {
        ShellLine::remark(format!(
            "in ExecStart= of {}: units have no setting for this policy",
            shell_word(unit)
        ))
    }));
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

fn near_cpus(input: &DoctorInput) -> (Vec<ShellLine>, Vec<PlanFile>) {
    let Some(policy) = policy(input) else {
        let nothing = "# nothing: memory that is allocated later lies near the CPUs of its process \
                       anyway";
        return (vec![ShellLine::of(nothing)], Vec::new());
    };
    let start = Start::near_cpus();
    let mut lines = vec![ShellLine::remark(format!(
        "the server has policy {policy}, and so has all memory that it allocates later:"
    ))];
    lines.extend(start.lines(input));
    (lines, start.files(input))
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
