//! How shared memory is spread when a server is started again.

use std::collections::BTreeSet;

use model::{CpuSet, NodeSet, PlanFile, SegmentKind, ShellLine, shell_line, shell_word};

use super::input::DoctorInput;

/// The commands that spread memory over these nodes when the server is started again.
pub(crate) fn spread_at_restart(
    input: &DoctorInput,
    nodes: &NodeSet,
    has_private: bool,
) -> Vec<ShellLine> {
    let has = |is_file: bool| {
        let mut shared = input.shared();
        shared.any(|segment| (segment.kind == SegmentKind::DevShm) == is_file)
    };
    let mut lines = Vec::new();
    if has(true) {
        lines.push(ShellLine::of(
            "# interleave files created in /dev/shm from now on,",
        ));
        lines.push(shell_line!(
            "mount -o remount,mpol=interleave:{} /dev/shm",
            nodes
        ));
        lines.push(ShellLine::of(
            "# then restart the instance, which makes its files again",
        ));
    }
    if is_mariadb(input) {
        lines.push(ShellLine::of(
            "# innodb_numa_interleave = ON in its configuration, and restart it",
        ));
    } else if has(false) || has_private {
        lines.push(ShellLine::of(
            "# restart the server interleaved (with its private memory):",
        ));
        lines.extend(Start::interleaved(nodes).lines(input));
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
        false if has_private || has_anonymous() => Start::interleaved(nodes).files(input),
        false => Vec::new(),
    }
}

fn is_mariadb(input: &DoctorInput) -> bool {
    let settings = input.server.as_ref();
    settings.is_some_and(|it| it.value("innodb_buffer_pool_size").is_some())
}

/// How a server is started with another placement.
pub(crate) struct Start {
    /// In its units.
    settings: Vec<String>,
    /// Before its command, where it has none.
    numactl: String,
}

impl Start {
    /// Its memory interleaved.
    pub(crate) fn interleaved(nodes: &NodeSet) -> Self {
        Start {
            settings: vec![
                "NUMAPolicy=interleave".to_owned(),
                format!("NUMAMask={nodes}"),
            ],
            numactl: format!("--interleave={nodes}"),
        }
    }

    /// Its memory near its CPUs.
    pub(crate) fn near_cpus() -> Self {
        Start {
            settings: vec!["NUMAPolicy=local".to_owned()],
            numactl: "--localalloc".to_owned(),
        }
    }

    /// On these CPUs. Without the empty one, `CPUAffinity=` adds to what other files say
    /// (systemd.exec(5)).
    pub(crate) fn on_cpus(cpus: &CpuSet) -> Self {
        Start {
            settings: vec!["CPUAffinity=".to_owned(), format!("CPUAffinity={cpus}")],
            numactl: format!("--physcpubind={cpus}"),
        }
    }

    /// The commands: by its units, if it has any.
    pub(crate) fn lines(&self, input: &DoctorInput) -> Vec<ShellLine> {
        let units: BTreeSet<&String> = input.units.values().collect();
        let mut lines: Vec<ShellLine> = match units.is_empty() {
            true => vec![
                shell_line!("numactl {} COMMAND", self.numactl),
                ShellLine::of(
                    "# with COMMAND as it was started, without another numactl before it",
                ),
            ],
            false => units
                .into_iter()
                .flat_map(|unit| self.drop_in(unit))
                .collect(),
        };
        // What others wrote is one word here, also for a shell that knows no remarks.
        lines.extend(input.placed_by.iter().map(|by| {
            let (value, source) = (shell_word(&by.value), shell_word(&by.source));
            match by.value.starts_with("Exec") {
                true => ShellLine::remark(format!(
                    "its command wins over that: take the placement out of {value} in {source}"
                )),
                false => ShellLine::remark(format!("placed by {source}: {value}")),
            }
        }));
        lines
    }

    /// The files that say the same: drop-ins of its units.
    pub(crate) fn files(&self, input: &DoctorInput) -> Vec<PlanFile> {
        let units: BTreeSet<&String> = input.units.values().collect();
        let file = |unit: &String| PlanFile {
            path: drop_in_path(unit),
            text: format!("[Service]\n{}\n", self.settings.join("\n")),
            then: restart(unit),
        };
        units.into_iter().map(file).collect()
    }

    /// Gives a unit these settings, and restarts it.
    fn drop_in(&self, unit: &str) -> [ShellLine; 3] {
        let file = drop_in_path(unit);
        let folder = file.trim_end_matches("/zz-numa.conf");
        let settings = self.settings.join("\\n");
        [
            shell_line!("mkdir -p {}", folder),
            shell_line!("printf {} >{}", format!("[Service]\\n{settings}\\n"), file),
            restart(unit),
        ]
    }
}

/// The last drop-in by name wins, whatever its folder (systemd.unit(5)).
fn drop_in_path(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d/zz-numa.conf")
}

fn restart(unit: &str) -> ShellLine {
    shell_line!("systemctl daemon-reload && systemctl restart {}", unit)
}
