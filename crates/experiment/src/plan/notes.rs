//! What a reader should know before a run.

use model::{ByteSize, CasePlan};

use super::host::{Host, Support};
use crate::definition::{AllocationChoice, CaseDefinition, Definition, MemoryChoice};

/// Whole sentences about the machine and the cases that it will run.
pub(super) fn of(definition: &Definition, host: &Host<'_>, cases: &[CasePlan]) -> Vec<String> {
    let mut notes = Vec::new();
    if definition.asks_about_memory && host.topology.emulated == Some(true) {
        notes.push(
            "This machine is emulated: its nodes are equally far, so no winner will be named."
                .to_owned(),
        );
    }
    notes.extend(without_policies(definition, host));
    for case in cases {
        let Some(work) = case.instance() else {
            continue;
        };
        let cpus = case
            .placement
            .cpus
            .as_ref()
            .map_or(host.cpus().len(), model::CpuSet::len);
        let load = &work.load;
        let running = load.cpu_count.unwrap_or(load.sessions) as usize;
        if running > cpus {
            let name = &case.name;
            let unit = if cpus == 1 { "CPU" } else { "CPUs" };
            notes.push(format!(
                "Case {name}: {running} sessions share {cpus} {unit}."
            ));
        }
        if let Some(caches) = host.caches_that_hide(work.sga.cache_bytes) {
            notes.push(format!(
                "Case {}: the buffer cache ({}) is not much larger than the processor's caches \
                 ({}), which may answer in place of memory.",
                case.name,
                ByteSize(work.sga.cache_bytes),
                ByteSize(caches)
            ));
        }
    }
    notes
}

/// Where memory policies are refused, and cases ask for one. Those that need it are skipped.
fn without_policies(definition: &Definition, host: &Host<'_>) -> Option<String> {
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
            "Memory policies are refused here ({reason}): where all memory comes from one node \
             anyway, none is set."
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
