//! Notes that a reader should see before a run.

use model::{ByteSize, CasePlan, Work, counted};

use super::host::{Host, Support};
use crate::definition::{AllocationChoice, CaseDefinition, Definition, MemoryChoice};

const EMULATED_COST: &str = "Emulated cost: what a read costs is read from a table, so the figures \
                             say nothing about hardware.";

/// Returns notes, in whole sentences, about the machine and the cases that it will run.
pub(super) fn of(definition: &Definition, host: &Host, cases: &[CasePlan]) -> Vec<String> {
    let mut notes = Vec::new();
    if cases.iter().any(|case| case.emulated_cost().is_some()) {
        notes.push(EMULATED_COST.to_owned());
    } else if definition.asks_about_memory && host.topology.emulated == Some(true) {
        notes.push(
            "This machine is emulated: its nodes are equally far, so there is no winner."
                .to_owned(),
        );
    }
    notes.extend(without_policies(definition, host));
    notes.extend(merged(cases, |case| crowded(case, host)));
    notes.extend(merged(cases, |case| in_caches(case, host)));
    notes
}

/// Merges equal notes on several cases into one that lists the names of the cases.
fn merged(cases: &[CasePlan], said: impl Fn(&CasePlan) -> Option<String>) -> Vec<String> {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for case in cases {
        let Some(text) = said(case) else {
            continue;
        };
        match notes.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(&case.name),
            None => notes.push((text, vec![&case.name])),
        }
    }
    let sentence = |(text, names): (String, Vec<&str>)| format!("{}: {text}.", names.join(", "));
    notes.into_iter().map(sentence).collect()
}

/// Notes that a case has more running sessions than CPUs.
fn crowded(case: &CasePlan, host: &Host) -> Option<String> {
    let load = &case.instance()?.load;
    let cpus = case.placement.cpus.as_ref();
    let cpus = cpus.map_or(host.cpus().len(), model::CpuSet::len);
    let running = load.cpu_count.unwrap_or(load.sessions) as usize;
    (running > cpus).then(|| {
        let (sessions, cpus) = (counted(running, "session"), counted(cpus, "CPU"));
        format!("{sessions} share {cpus}")
    })
}

/// Notes how much the processor's caches may hold of what a case uses of its buffer cache.
fn in_caches(case: &CasePlan, host: &Host) -> Option<String> {
    let sga = &case.instance()?.sga;
    let cache_bytes = sga.cache_bytes;
    let used_bytes = match case.work {
        Work::LogicalReads(_) => sga.bytes_used_by_rows(),
        Work::ParallelScan(_) => cache_bytes,
        // Sessions work in memory of their own.
        _ => return None,
    };
    let caches = host.caches_that_hide(used_bytes)?;
    let percent = (caches.saturating_mul(100) / used_bytes.max(1)).min(100);
    let (cache, used) = (ByteSize(cache_bytes), ByteSize(used_bytes));
    let caches = ByteSize(caches);
    Some(match case.work {
        Work::LogicalReads(_) => format!(
            "reads use about {used} of the buffer cache ({cache}), of which the processor's caches \
             ({caches}) may hold up to {percent} %"
        ),
        _ => format!(
            "the processor's caches ({caches}) may hold up to {percent} % of the buffer cache \
             ({cache})"
        ),
    })
}

/// Notes that memory policies are refused although a case requests one. Cases that need one are
/// skipped.
fn without_policies(definition: &Definition, host: &Host) -> Option<String> {
    let (Support::NotPermitted { reason } | Support::Missing { reason }) = &host.policies else {
        return None;
    };
    let asks = |case: &CaseDefinition| {
        case.allocation != AllocationChoice::OsDefault
            || case.own_allocation != AllocationChoice::OsDefault
            || case.memory_nodes != MemoryChoice::Inherited
    };
    definition.cases.iter().any(asks).then(|| {
        format!(
            "Memory policies are not available here ({reason}): cases that take all memory from \
             one node run without one."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::planner::plan;
    use super::super::test_hosts::article_000;
    use super::*;
    use crate::find;

    #[test]
    fn an_emulated_machine_is_told_that_it_has_no_answer() {
        let mut machine = article_000();
        machine.emulated = Some(true);
        let notes = |name| {
            plan(&find(name).unwrap(), &Host::new(&machine))
                .unwrap()
                .notes
        };
        assert!(notes("local-vs-remote")[0].starts_with("This machine is emulated"));
    }
}
