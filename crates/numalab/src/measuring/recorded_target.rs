//! What a target is and where its memory lies, at the begin and at the end of a record, and the
//! settings that matter for placement.

use std::collections::BTreeMap;
use std::path::Path;

use linux::{Root, proc_status};
use model::{RecordedTarget, Residency, Topology};
use postgresql::Places;
use residency::instances::{Target, server_process};
use residency::{Options, inspect};

use crate::arguments::values::SAMPLE_SEED;
use crate::databases::table::databases;

/// Looks at a target. What may not be read is a gap, and no reason not to record the load.
pub(crate) fn look(root: &Root, target: &Target, topology: &Topology) -> RecordedTarget {
    let options = Options {
        sample_seed: Some(SAMPLE_SEED),
        only_bytes: true,
        ..Options::default()
    };
    let residency = match inspect(root, target, topology, &options) {
        Ok(residency) => residency,
        Err(error) => {
            return RecordedTarget {
                gaps: vec![format!("where its memory lies is unknown: {error}")],
                ..RecordedTarget::default()
            };
        }
    };
    let first = residency.processes.first().map(|it| it.pid);
    let allowed = first.and_then(|pid| proc_status::allowed(root, pid).ok());
    RecordedTarget {
        processes: residency.processes.len() as u32,
        cpus: allowed
            .as_ref()
            .map_or(String::new(), |it| it.cpus.to_string()),
        memory_nodes: allowed.map_or(String::new(), |it| it.memory_nodes.to_string()),
        huge_bytes: huge_bytes(&residency),
        bytes_by_node: residency.bytes_by_node,
        gaps: residency.gaps,
    }
}

fn huge_bytes(residency: &Residency) -> u64 {
    let base = linux::process::page_bytes();
    let segments = residency.segments.iter();
    let pooled = segments.filter(|it| it.page_bytes.is_some_and(|bytes| bytes > base));
    pooled.map(model::SegmentResidency::bytes).sum()
}

/// The settings of a server that matter for placement; empty if it has none or does not answer.
pub(crate) fn server_settings(
    root: &Root,
    target: &Target,
    role: Option<&str>,
) -> BTreeMap<String, String> {
    match target {
        Target::Postgres(data) => {
            postgresql::recorded_settings(Path::new(data), role).unwrap_or_default()
        }
        Target::Server(server) => {
            let Ok(pid) = server_process(root, server) else {
                return BTreeMap::new();
            };
            let databases = databases(Places::default());
            let said = databases.iter().find_map(|it| it.settings(server, pid));
            said.and_then(Result::ok)
                .map_or_else(BTreeMap::new, |it| it.values)
        }
        _ => BTreeMap::new(),
    }
}

/// The settings of the kernel that matter for placement.
pub(crate) fn kernel_settings(topology: &Topology) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(&topology.settings) else {
        return BTreeMap::new();
    };
    let known = settings.into_iter().filter(|(_, value)| !value.is_null());
    known
        .map(|(name, value)| match value {
            serde_json::Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
}
