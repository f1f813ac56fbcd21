//! The kernel's evidence of the placement in plain words, over the trials of a case.

use std::collections::BTreeMap;

use model::{
    ByteSize, CpuSet, Evidence, HugePoolEvidence, NodeId, SgaEvidence, Topology, Trial, counted,
};

use crate::run::distance;
use crate::run::figures::{decimals, ids, whole};

/// Maximum number of different answers to one question that are shown; the rest are counted.
const VARIANTS_SHOWN: usize = 3;

/// CPU time of parked sessions that is reported as none, in percent of the parked time: falling
/// asleep and waking up.
const PARKED_PERCENT_MAX: f64 = 0.1;

/// Describes one trial's evidence on a machine.
type Describe = fn(&Evidence, &Topology) -> Option<String>;

/// Returns the evidence of these trials, a sentence for each kind.
pub(crate) fn evidence_lines(trials: &[&Trial], topology: &Topology) -> Vec<String> {
    let by_trial: [Describe; 13] = [
        |evidence, _| server(evidence),
        |evidence, _| server_memory(evidence),
        |evidence, _| sga(evidence),
        |evidence, _| sessions(evidence),
        |evidence, _| own_memory(evidence),
        |evidence, _| measurements(evidence),
        distance::of_sessions_to_sga,
        |evidence, _| group(evidence),
        |evidence, _| caging(evidence),
        |evidence, _| quota(evidence),
        |evidence, _| huge_pages(evidence),
        |evidence, _| migrated(evidence),
        |evidence, _| parked(evidence),
    ];
    let mut lines: Vec<String> = by_trial
        .iter()
        .flat_map(|describe| {
            merged(
                trials
                    .iter()
                    .map(|trial| describe(&trial.evidence, topology)),
            )
        })
        .collect();
    lines.extend(number_read(trials));
    lines.extend(left_out(trials));
    lines.extend(steal(trials));
    lines.extend(others(trials));
    lines.extend(rows(trials));
    lines
}

/// Merges the answers of the trials to one question: a single answer if they agree, otherwise each
/// answer with its number of trials.
fn merged(answers: impl Iterator<Item = Option<String>>) -> Vec<String> {
    let mut variants: Vec<(String, usize)> = Vec::new();
    let mut count = 0;
    for answer in answers {
        count += 1;
        let Some(answer) = answer else { continue };
        match variants.iter_mut().find(|(known, _)| *known == answer) {
            Some((_, times)) => *times += 1,
            None => variants.push((answer, 1)),
        }
    }
    let hidden = variants.len().saturating_sub(VARIANTS_SHOWN);
    let mut lines: Vec<String> = variants
        .into_iter()
        .take(VARIANTS_SHOWN)
        .map(|(answer, times)| match times {
            times if times == count => answer,
            times => format!("{answer} ({times} of {})", counted(count, "trial")),
        })
        .collect();
    if hidden > 0 {
        lines.push(format!("(and {})", counted(hidden, "other answer")));
    }
    lines
}

/// Describes what was read of a program's output in the first trial that has a number.
fn number_read(trials: &[&Trial]) -> Option<String> {
    let mut read = trials
        .iter()
        .filter_map(|it| it.evidence.number_read.as_ref());
    read.next().map(|read| format!("first number read: {read}"))
}

fn sga(evidence: &Evidence) -> Option<String> {
    evidence.sga.as_ref().map(|sga| lay("SGA", sga))
}

/// Describes where the memory of a server that a program started lay.
fn server_memory(evidence: &Evidence) -> Option<String> {
    let memory = evidence.server_memory.as_ref()?;
    let (before, after) = (&memory.bytes_by_node_before, &memory.bytes_by_node_after);
    Some(format!(
        "memory of the server: {} when it answered, {} after the load",
        nodes(before),
        nodes(after)
    ))
}

/// Describes the sessions' own memory, all of it together.
fn own_memory(evidence: &Evidence) -> Option<String> {
    let mut all = evidence
        .sessions
        .iter()
        .filter_map(|it| it.own_memory.as_ref());
    let mut sum = all.next()?.clone();
    let add = |sum: &mut BTreeMap<NodeId, u64>, bytes_by_node: &BTreeMap<NodeId, u64>| {
        for (node, bytes) in bytes_by_node {
            let total = sum.entry(*node).or_default();
            *total = total.saturating_add(*bytes);
        }
    };
    let mut sessions = 1;
    for memory in all {
        sessions += 1;
        add(&mut sum.bytes_by_node_before, &memory.bytes_by_node_before);
        add(&mut sum.bytes_by_node_after, &memory.bytes_by_node_after);
        sum.bytes_without_node = sum
            .bytes_without_node
            .saturating_add(memory.bytes_without_node);
    }
    let what = match sessions {
        1 => "own memory of the session".to_string(),
        _ => format!("own memory of {}", counted(sessions, "session")),
    };
    Some(lay(&what, &sum))
}

/// Describes where memory lay.
fn lay(what: &str, sga: &SgaEvidence) -> String {
    let total = total(&sga.bytes_by_node_before).saturating_add(sga.bytes_without_node / 2);
    let lay = if sga.bytes_by_node_before == sga.bytes_by_node_after {
        format!("{} before and after", nodes(&sga.bytes_by_node_before))
    } else {
        format!(
            "{} before, {} after",
            nodes(&sga.bytes_by_node_before),
            nodes(&sga.bytes_by_node_after)
        )
    };
    let without = match sga.bytes_without_node {
        0 => String::new(),
        bytes => format!(", no node known for {}", ByteSize(bytes)),
    };
    format!(
        "{what}: {} of {}, policy {}, {lay}{without}",
        ByteSize(total),
        counted(ByteSize(sga.page_bytes), "page"),
        sga.policy,
    )
}

/// Returns `all on node 0`, or the bytes of each node.
fn nodes(bytes_by_node: &BTreeMap<NodeId, u64>) -> String {
    let mut used = bytes_by_node.iter().filter(|(_, bytes)| **bytes > 0);
    match (used.next(), used.next()) {
        (None, _) => "on no node".to_string(),
        (Some((node, _)), None) => format!("all on node {node}"),
        _ => {
            let each = bytes_by_node.iter().filter(|(_, bytes)| **bytes > 0);
            let each = each.map(|(node, bytes)| format!("{} on node {node}", ByteSize(*bytes)));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

fn total(bytes_by_node: &BTreeMap<NodeId, u64>) -> u64 {
    let add = |sum: u64, bytes: &u64| sum.saturating_add(*bytes);
    bytes_by_node.values().fold(0, add)
}

fn sessions(evidence: &Evidence) -> Option<String> {
    let sessions = &evidence.sessions;
    let first = sessions.first()?;
    let union = |of: fn(&model::SessionEvidence) -> &CpuSet| {
        let all = sessions.iter().flat_map(|session| of(session).iter());
        all.collect::<CpuSet>()
    };
    let (used, allowed) = (union(|it| &it.cpus_used), union(|it| &it.cpus_allowed));
    let alike = |of: fn(&model::SessionEvidence) -> String| {
        sessions.iter().all(|session| of(session) == of(first))
    };
    let each = match alike(|it| it.cpus_allowed.to_string()) {
        true => "",
        false => " (not all the same)",
    };
    let memory = match alike(|it| format!("{} {}", it.memory_nodes_allowed, it.policy)) {
        true => format!(
            "memory of {} allowed, policy {}",
            ids("node", &first.memory_nodes_allowed),
            first.policy
        ),
        false => "memory policies differ".to_string(),
    };
    let ran = match (used.len(), used.is_subset(&allowed)) {
        (0, _) => "CPUs used not known".to_string(),
        (_, true) => format!("ran on {} only", ids("CPU", &used)),
        (_, false) => format!("ran on {}", ids("CPU", &used)),
    };
    let count = counted(sessions.len(), "session");
    let allowed = ids("CPU", &allowed);
    Some(format!("{count}: {ran}, allowed {allowed}{each}; {memory}"))
}

/// Describes the threads of a measuring kernel and their memory.
fn measurements(evidence: &Evidence) -> Option<String> {
    let threads = &evidence.measurements;
    let first = threads.first()?;
    let used = threads.iter().flat_map(|thread| thread.cpus_used.iter());
    let used: CpuSet = used.collect();
    let mut by_node: BTreeMap<NodeId, u64> = BTreeMap::new();
    for (node, bytes) in threads
        .iter()
        .flat_map(|thread| &thread.memory_before.bytes_by_node)
    {
        let sum = by_node.entry(*node).or_default();
        *sum = sum.saturating_add(*bytes);
    }
    let stayed = threads
        .iter()
        .all(|thread| thread.memory_before.bytes_by_node == thread.memory_after.bytes_by_node);
    let after = match stayed {
        true => "before and after",
        false => "before, elsewhere after",
    };
    let count = counted(threads.len(), "thread");
    let memory = &first.memory_before;
    Some(format!(
        "{count}: ran on {}; memory of {} in {} of {}, policy {}, {} {after}",
        ids("CPU", &used),
        ByteSize(total(&by_node)),
        memory.page_kind.meaning(),
        ByteSize(memory.page_bytes),
        memory.policy,
        nodes(&by_node),
    ))
}

fn group(evidence: &Evidence) -> Option<String> {
    let group = evidence.group.as_ref()?;
    Some(format!(
        "processor group {} (cgroup v{}): {}, memory of {}",
        group.path,
        group.cgroup_version,
        ids("CPU", &group.cpus),
        ids("node", &group.memory_nodes),
    ))
}

fn caging(evidence: &Evidence) -> Option<String> {
    let most = evidence.running_sessions_max?;
    let sessions = counted(most, "session");
    Some(format!(
        "instance caging let at most {sessions} run at once"
    ))
}

fn server(evidence: &Evidence) -> Option<String> {
    Some(format!("server: {}", evidence.server.as_ref()?))
}

fn quota(evidence: &Evidence) -> Option<String> {
    let quota = evidence.cpu_quota.as_ref()?;
    Some(format!(
        "CPU quota of cgroup {}: {}",
        quota.path,
        counted(decimals(quota.cpus, 1), "CPU")
    ))
}

fn huge_pages(evidence: &Evidence) -> Option<String> {
    if evidence.huge_pages_during.is_empty() {
        return None;
    }
    let used = |pool: &HugePoolEvidence| pool.total.saturating_sub(pool.free);
    let taken: Vec<String> = evidence
        .huge_pages_during
        .iter()
        .filter_map(|during| {
            let before = evidence.huge_pages_before.iter().find(|before| {
                (before.node, before.page_bytes) == (during.node, during.page_bytes)
            });
            let taken = used(during).saturating_sub(before.map_or(0, used));
            (taken > 0).then(|| {
                format!(
                    "{} of {} from node {}",
                    whole(taken),
                    ByteSize(during.page_bytes),
                    during.node
                )
            })
        })
        .collect();
    Some(match taken.is_empty() {
        true => "huge pages: none taken".to_string(),
        false => format!("huge pages: {}", taken.join(", ")),
    })
}

fn migrated(evidence: &Evidence) -> Option<String> {
    Some(match evidence.numa_pages_migrated? {
        0 => "NUMA balancing migrated no pages on this machine".to_string(),
        pages => format!(
            "NUMA balancing migrated {} on this machine",
            counted(whole(pages), "page")
        ),
    })
}

/// Describes parked sessions, without figures where usage is negligible: they differ from trial to
/// trial, and more makes the trial invalid.
fn parked(evidence: &Evidence) -> Option<String> {
    let parked = evidence.parked?;
    let share = match parked.parked_s > 0.0 {
        true => parked.cpu_s / parked.parked_s * 100.0,
        false => 0.0,
    };
    Some(match share <= PARKED_PERCENT_MAX {
        true => "parked between windows: sessions used no CPU".to_string(),
        false => format!(
            "parked between windows: sessions used {} % of a CPU",
            decimals(share, 2)
        ),
    })
}

fn left_out(trials: &[&Trial]) -> Option<String> {
    let samples = trials.iter().filter(|trial| trial.has_alternated());
    let samples = samples.filter_map(|trial| trial.measured.as_ref()?.sessions.as_ref());
    let samples = samples.flat_map(|sessions| &sessions.samples);
    let (mut all, mut out) = (0, 0);
    for sample in samples {
        all += 1;
        out += u32::from(sample.left_out);
    }
    let sentence = || {
        format!(
            "{out} of {} are left out, with those of all cases: other processes \
                    ran",
            counted(all, "window")
        )
    };
    (out > 0).then(sentence)
}

fn steal(trials: &[&Trial]) -> Option<String> {
    let steals = trials.iter().filter_map(|trial| trial.evidence.steal_s);
    let most = steals.reduce(f64::max)?;
    Some(match most {
        0.0 => "steal: the hypervisor took no CPU time in any window".to_string(),
        most => format!(
            "steal: the hypervisor took up to {} s of CPU time in the windows of a trial",
            decimals(most, 2)
        ),
    })
}

fn others(trials: &[&Trial]) -> Option<String> {
    let others = trials.iter().filter_map(|trial| trial.evidence.other_cpu_s);
    let most = others.reduce(f64::max)?;
    Some(format!(
        "other processes used up to {} s of CPU time in the windows of a trial",
        decimals(most, 2)
    ))
}

fn rows(trials: &[&Trial]) -> Option<String> {
    let add = |sum: u64, trial: &&Trial| sum.saturating_add(trial.evidence.rows_verified);
    match trials.iter().fold(0, add) {
        0 => None,
        1 => Some("1 row was read and verified by its checksum".to_string()),
        rows => Some(format!(
            "{} rows were read and verified by their checksums",
            whole(rows)
        )),
    }
}
