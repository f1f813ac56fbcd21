//! What a reader should know before a run.

use model::{ByteSize, CasePlan};

use super::host::Host;
use crate::definition::Definition;

/// Whole sentences about the machine and the cases that it will run.
pub(super) fn of(definition: &Definition, host: &Host<'_>, cases: &[CasePlan]) -> Vec<String> {
    let mut notes = Vec::new();
    if definition.asks_about_memory && host.topology.emulated == Some(true) {
        notes.push(
            "This machine is emulated: its nodes are equally far, so no winner will be named."
                .to_owned(),
        );
    }
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
