//! The machine of a run in one line, as far as known.

use model::{ByteSize, CacheSizeSource, LoadReport, Machine, NamedCache, ReportHost, Run, counted};
use unicode_width::UnicodeWidthStr;
use verdict::is_emulated;

use crate::form::plain::plain;

/// Returns the machine that a run was measured on, or the hosts named in its reports.
pub(crate) fn machine(run: &Run) -> String {
    match &run.machine {
        Some(machine) => measured_on(run, machine),
        None => reported_on(run),
    }
}

/// Returns the host of a run; `None` where its reports name none, or several.
pub(crate) fn host(run: &Run) -> Option<String> {
    if let Some(machine) = &run.machine {
        return Some(machine.host.clone());
    }
    let mut hosts = reports(run).map(|report| report.host.name.as_ref());
    let first = hosts.next()??;
    hosts.all(|it| it == Some(first)).then(|| first.clone())
}

/// Returns the machine within `columns`, the most important parts first; parts that do not fit are
/// omitted.
pub(crate) fn machine_within(run: &Run, columns: usize) -> String {
    let Some(machine) = &run.machine else {
        return reported_on(run);
    };
    let mut shown = plain(&machine.host);
    for part in parts(run, machine).into_iter().skip(1) {
        let longer = format!("{shown}, {}", plain(&part));
        if longer.width() <= columns {
            shown = longer;
        }
    }
    shown
}

fn measured_on(run: &Run, machine: &Machine) -> String {
    let mut parts = parts(run, machine);
    parts.push(format!("numalab {}", machine.numalab));
    parts.join(", ")
}

fn parts(run: &Run, machine: &Machine) -> Vec<String> {
    let topology = &machine.topology;
    let mut parts = vec![
        machine.host.clone(),
        machine
            .cpu_model
            .clone()
            .unwrap_or_else(|| "CPU model not known".to_string()),
        counted(topology.nodes.len(), "node"),
        counted(topology.cpus.len(), "CPU"),
    ];
    parts.extend(
        topology
            .memory_bytes
            .map(|bytes| ByteSize(bytes).to_string()),
    );
    parts.extend(machine.last_level_cache.map(named_cache));
    parts.push(format!("Linux {}", machine.kernel));
    if is_emulated(run) {
        parts.push("emulated".to_string());
    } else {
        let hypervisor = machine.hypervisor.as_ref();
        parts.extend(hypervisor.map(|signature| format!("guest of {signature}")));
    }
    parts
}

/// Describes the last-level cache size that the plan used instead of the kernel's.
fn named_cache(named: NamedCache) -> String {
    let size = ByteSize(named.bytes);
    let shown = named.shown_bytes.map(ByteSize);
    let shown = shown.map_or_else(
        || "none shown".to_string(),
        |shown| format!("{shown} shown"),
    );
    let source = match named.source {
        CacheSizeSource::Option => "by --last-level-cache",
        CacheSizeSource::Measured => "measured",
    };
    format!("last-level cache of {size} {source} ({shown})")
}

/// Returns the reports of a run.
pub(crate) fn reports(run: &Run) -> impl Iterator<Item = &LoadReport> {
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    trials.filter_map(|trial| trial.report.as_deref())
}

fn reported_on(run: &Run) -> String {
    let mut hosts: Vec<&ReportHost> = Vec::new();
    for report in reports(run) {
        if !hosts.contains(&&report.host) {
            hosts.push(&report.host);
        }
    }
    match hosts.as_slice() {
        [host] if **host != ReportHost::default() => host_line(host),
        [] | [_] => "not stated".to_string(),
        hosts => format!("{} different hosts, by the reports", hosts.len()),
    }
}

fn host_line(host: &ReportHost) -> String {
    let number = |number: Option<u32>, noun: &str| number.map(|number| counted(number, noun));
    let name = host.name.clone();
    let mut parts = vec![name.unwrap_or_else(|| "name not known".to_string())];
    parts.extend(host.platform.clone());
    parts.extend(number(host.cpus, "CPU"));
    parts.extend(number(host.cores, "core"));
    parts.extend(number(host.sockets, "socket"));
    parts.extend(host.memory_bytes.map(|bytes| ByteSize(bytes).to_string()));
    format!("{}, by the reports", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_was_named_is_said_with_the_one_that_the_kernel_shows() {
        let check = |source, shown_bytes, expected: &str| {
            let named = NamedCache {
                bytes: 24 << 20,
                shown_bytes,
                source,
            };
            assert_eq!(named_cache(named), expected);
        };
        let option = CacheSizeSource::Option;
        let start = "last-level cache of 24 MiB by --last-level-cache";
        check(option, Some(300 << 20), &format!("{start} (300 MiB shown)"));
        check(option, None, &format!("{start} (none shown)"));
        let expected = "last-level cache of 24 MiB measured (300 MiB shown)";
        check(CacheSizeSource::Measured, Some(300 << 20), expected);
    }
}
