//! How shared memory is spread when a server is started again.

use model::{NodeSet, SegmentKind, shell_word};

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
    let settings = input.server.as_ref();
    let is_mariadb = settings.is_some_and(|it| it.value("innodb_buffer_pool_size").is_some());
    let mut lines = Vec::new();
    if has(true) {
        lines.push("# interleave files created in /dev/shm from now on,".to_owned());
        lines.push(format!("mount -o remount,mpol=interleave:{nodes} /dev/shm"));
        lines.push("# then restart the instance, which makes its files again".to_owned());
    }
    if is_mariadb {
        lines.push("# innodb_numa_interleave = ON in its configuration, and restart it".to_owned());
    } else if has(false) || has_private {
        lines.push("# restart the server interleaved (with its private memory):".to_owned());
        let words = format!("--interleave={nodes}");
        lines.extend(restarted_with(input, "interleave", Some(nodes), &words));
    }
    lines
}

/// How the server is started with another policy: by its unit, if it has one.
pub(crate) fn restarted_with(
    input: &DoctorInput,
    policy: &str,
    nodes: Option<&NodeSet>,
    numactl: &str,
) -> Vec<String> {
    let mask = nodes.map_or_else(String::new, |nodes| format!("NUMAMask={nodes}\\n"));
    let by = input.placed_by.iter();
    let by = by.map(|by| match by.value.starts_with("Exec") {
        true => format!(
            "# its command wins over that: take the placement out of {} in {}",
            by.value, by.source
        ),
        false => format!("# placed by {}: {}", by.source, by.value),
    });
    let Some(unit) = input.units.values().next() else {
        let command = [
            format!("numactl {numactl} COMMAND"),
            "# with COMMAND as it was started, without another numactl before it".to_owned(),
        ];
        return command.into_iter().chain(by).collect();
    };
    let folder = format!("/etc/systemd/system/{unit}.d");
    // The last drop-in by name wins, whatever its folder (systemd.unit(5)).
    let file = format!("{folder}/zz-numa.conf");
    let lines = [
        format!("mkdir -p {}", shell_word(&folder)),
        format!(
            "printf '[Service]\\nNUMAPolicy={policy}\\n{mask}' >{}",
            shell_word(&file)
        ),
        format!(
            "systemctl daemon-reload && systemctl restart {}",
            shell_word(unit)
        ),
    ];
    lines.into_iter().chain(by).collect()
}
