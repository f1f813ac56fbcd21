//! How shared memory is spread when a server is started again.

use std::collections::BTreeSet;

use model::{NodeSet, PlanFile, SegmentKind, shell_word};

use super::input::DoctorInput;

/// The commands that spread memory over these nodes when the server is started again.
pub(crate) fn spread_at_restart(
    input: &DoctorInput,
    nodes: &NodeSet,
    has_private: bool,
) -> Vec<String> {
    let has = |is_file: bool| {
        let mut shared = input.shared();
        shared.any(|segment| (segment.kind == SegmentKind::DevShm) == is_file)
    };
    let mut lines = Vec::new();
    if has(true) {
        lines.push("# interleave files created in /dev/shm from now on,".to_owned());
        lines.push(format!("mount -o remount,mpol=interleave:{nodes} /dev/shm"));
        lines.push("# then restart the instance, which makes its files again".to_owned());
    }
    if is_mariadb(input) {
        lines.push("# innodb_numa_interleave = ON in its configuration, and restart it".to_owned());
    } else if has(false) || has_private {
        lines.push("# restart the server interleaved (with its private memory):".to_owned());
        let words = format!("--interleave={nodes}");
        lines.extend(restarted_with(input, "interleave", Some(nodes), &words));
    }
    lines
}

/// The files that spread memory over these nodes when the server is started again.
pub(crate) fn files_of_spreading(
    input: &DoctorInput,
    nodes: &NodeSet,
    has_private: bool,
) -> Vec<PlanFile> {
    let has_anonymous = || input.shared().any(|it| it.kind != SegmentKind::DevShm);
    match is_mariadb(input) {
        // Where its configuration is differs by distribution: what to write is among the lines.
        true => Vec::new(),
        false if has_private || has_anonymous() => {
            files_at_restart(input, "interleave", Some(nodes))
        }
        false => Vec::new(),
    }
}

fn is_mariadb(input: &DoctorInput) -> bool {
    let settings = input.server.as_ref();
    settings.is_some_and(|it| it.value("innodb_buffer_pool_size").is_some())
}

/// How the server is started with another policy: by its units, if it has any.
pub(crate) fn restarted_with(
    input: &DoctorInput,
    policy: &str,
    nodes: Option<&NodeSet>,
    numactl: &str,
) -> Vec<String> {
    let units: BTreeSet<&String> = input.units.values().collect();
    let mut lines: Vec<String> = match units.is_empty() {
        true => vec![
            format!("numactl {numactl} COMMAND"),
            "# with COMMAND as it was started, without another numactl before it".to_owned(),
        ],
        false => units
            .into_iter()
            .flat_map(|unit| drop_in(unit, policy, nodes))
            .collect(),
    };
    // What others wrote is one word here, also for a shell that knows no remarks.
    lines.extend(input.placed_by.iter().map(|by| {
        let (value, source) = (shell_word(&by.value), shell_word(&by.source));
        match by.value.starts_with("Exec") {
            true => format!(
                "# its command wins over that: take the placement out of {value} in {source}"
            ),
            false => format!("# placed by {source}: {value}"),
        }
    }));
    lines
}

/// The files that say the same: drop-ins of its units.
pub(crate) fn files_at_restart(
    input: &DoctorInput,
    policy: &str,
    nodes: Option<&NodeSet>,
) -> Vec<PlanFile> {
    let units: BTreeSet<&String> = input.units.values().collect();
    let mask = nodes.map_or_else(String::new, |nodes| format!("NUMAMask={nodes}\n"));
    let file = |unit: &String| PlanFile {
        path: drop_in_path(unit),
        text: format!("[Service]\nNUMAPolicy={policy}\n{mask}"),
        then: restart(unit),
    };
    units.into_iter().map(file).collect()
}

/// The last drop-in by name wins, whatever its folder (systemd.unit(5)).
fn drop_in_path(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d/zz-numa.conf")
}

fn restart(unit: &str) -> String {
    let unit = shell_word(unit);
    format!("systemctl daemon-reload && systemctl restart {unit}")
}

/// Gives a unit this policy, and restarts it.
fn drop_in(unit: &str, policy: &str, nodes: Option<&NodeSet>) -> [String; 3] {
    let mask = nodes.map_or_else(String::new, |nodes| format!("NUMAMask={nodes}\\n"));
    let file = drop_in_path(unit);
    let folder = file.trim_end_matches("/zz-numa.conf");
    [
        format!("mkdir -p {}", shell_word(folder)),
        format!(
            "printf '[Service]\\nNUMAPolicy={policy}\\n{mask}' >{}",
            shell_word(&file)
        ),
        restart(unit),
    ]
}
