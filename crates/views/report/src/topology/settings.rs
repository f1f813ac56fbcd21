//! Kernel settings as text, each with the meaning of its value.

use model::{CgroupVersion, CpuGovernor, KernelSettings, Topology, cpu_words};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};

/// Formats the settings of a machine.
pub(crate) fn settings_text(topology: &Topology, options: &TextOptions) -> String {
    let settings = &topology.settings;
    let facts = [
        (
            "NUMA balancing",
            settings.numa_balancing.map(numa_balancing),
        ),
        ("numa= at boot", numa_option(settings)),
        ("zone reclaim", settings.zone_reclaim_mode.map(zone_reclaim)),
        (
            "demotion",
            settings.demotion.map(|on| on_or_off(on).to_owned()),
        ),
        (
            "swappiness",
            settings.swappiness.map(|value| value.to_string()),
        ),
        ("transparent huge pages", transparent_huge_pages(settings)),
        ("control groups", settings.cgroup.map(control_groups)),
        ("SMT", settings.smt.as_deref().map(plain)),
        (
            "CPU governor",
            settings.cpu_governors.as_deref().map(governors),
        ),
    ];
    let facts: Vec<_> = facts
        .into_iter()
        .map(|(name, value)| {
            (
                name,
                value.unwrap_or_else(|| "unknown".to_owned()),
                Style::Usual,
            )
        })
        .collect();
    options.facts("Kernel settings", &facts)
}

/// Describes a value of `numa_balancing` (kernel, `Documentation/admin-guide/sysctl/kernel.rst`).
fn numa_balancing(value: u32) -> String {
    let meaning = match value {
        0 => "off",
        1 => "moves pages to the nodes that use them",
        2 => "moves pages between fast and slow memory",
        3 => "moves pages to the nodes that use them, and between fast and slow memory",
        _ => return value.to_string(),
    };
    format!("{value}: {meaning}")
}

/// Describes a value of `zone_reclaim_mode` (kernel, `Documentation/admin-guide/sysctl/vm.rst`).
fn zone_reclaim(value: u32) -> String {
    let meaning = match value {
        0 => "off, the kernel uses memory of other nodes before it reclaims pages",
        _ => "on, the kernel reclaims pages before it uses memory of other nodes",
    };
    format!("{value}: {meaning}")
}

fn numa_option(settings: &KernelSettings) -> Option<String> {
    let off = settings.numa_off?;
    match &settings.numa_option {
        Some(value) if off => Some(format!("{}: NUMA is disabled", plain(value))),
        Some(value) => Some(plain(value)),
        None => Some("not given".to_owned()),
    }
}

fn transparent_huge_pages(settings: &KernelSettings) -> Option<String> {
    let part = |name: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| format!("{name}{}", plain(value)))
    };
    let parts = [
        part("", &settings.transparent_huge_pages),
        part("defrag ", &settings.transparent_huge_pages_defrag),
        part("shared memory ", &settings.transparent_huge_pages_shmem),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn control_groups(version: CgroupVersion) -> String {
    let text = match version {
        CgroupVersion::V1 => "version 1",
        CgroupVersion::V2 => "version 2",
        CgroupVersion::Hybrid => "hybrid: version 1, with version 2 beside it",
        CgroupVersion::None => "not mounted",
    };
    text.to_owned()
}

fn governors(governors: &[CpuGovernor]) -> String {
    let shown: Vec<String> = match governors {
        [only] => vec![plain(&only.name)],
        several => several
            .iter()
            .map(|governor| format!("{} ({})", plain(&governor.name), cpu_words(&governor.cpus)))
            .collect(),
    };
    shown.join("; ")
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
