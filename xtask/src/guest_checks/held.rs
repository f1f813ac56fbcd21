//! The instance of a case, kept up by `numalab run … --hold`, and what the kernel says meanwhile
//! about its processes: allowed CPUs and nodes, and where their memory lies. numalab is not asked.

use anyhow::{Context, Result, ensure};

use super::numa_maps::{Line, ids, lines};

/// The processes of one case.
#[derive(Debug)]
pub(super) struct Held {
    /// The case.
    pub name: String,
    /// The instance process comes first.
    processes: Vec<Process>,
}

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    /// Cpus_allowed_list of /proc/PID/status.
    pub cpus: Vec<u64>,
    /// Mems_allowed_list of /proc/PID/status.
    pub memory_nodes: Vec<u64>,
    /// The lines of numa_maps that belong to an SGA or have their own policy.
    pub maps: Vec<Line>,
}

impl Held {
    /// Returns the lines of the SGA, as the instance process has it mapped.
    pub(super) fn sga(&self) -> Vec<Line> {
        let instance = self.processes.iter().take(1);
        let lines = instance.flat_map(|process| process.maps.iter());
        lines.filter(|line| line.is_of_sga).cloned().collect()
    }

    /// Returns the sessions.
    pub(super) fn sessions(&self) -> &[Process] {
        self.processes.get(1..).unwrap_or_default()
    }
}

/// Returns a script that holds each of these cases of an experiment, with its sessions at the
/// barrier and all their memory allocated, and prints for each:
///
/// ```text
/// case NAME
/// process 0-3 0-1                 one line for each process: CPUs allowed, nodes allowed
/// 7f2c00000000 bind:1 …           its lines of numa_maps
/// ended 0
/// ```
pub(super) fn script(experiment: &str, names: &[String]) -> String {
    format!(
        r#"for name in {}; do
echo "case $name"
numalab run {experiment} --hold $name --idle --json >/tmp/held 2>/tmp/said & pid=$!
until grep -q session_pids /tmp/held || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
instance=$(grep -o '"instance_pid": *[0-9]*' /tmp/held | grep -o '[0-9]*$')
sessions=$(tr -d '\n ' </tmp/held | sed -n 's/.*"session_pids":\[\([0-9,]*\)\].*/\1/p' | tr , ' ')
for process in ${{instance:-none}} $sessions; do
echo "process$(awk '/^(Cpus|Mems)_allowed_list/ {{ printf " %s", $2 }}' /proc/$process/status)"
grep -E '^[0-9a-f]+ (bind|interleave|prefer)|numalab-sga|/SYSV|/dev/shm/' /proc/$process/numa_maps
done
[ "$instance" ] || cat /tmp/said
kill -INT $pid; wait $pid; echo "ended $?"
done"#,
        names.join(" ")
    )
}

/// Reads what the script printed.
///
/// # Errors
/// When a case was not held; the error has the output instead.
pub(super) fn parse(text: &str) -> Result<Vec<Held>> {
    let cases = text.split("case ").skip(1);
    cases
        .map(|case| held(case).with_context(|| case.to_owned()))
        .collect()
}

fn held(text: &str) -> Result<Held> {
    let (name, rest) = text.split_once('\n').context("a name")?;
    let rest = rest.trim_end().strip_suffix("\nended 0");
    let rest = rest.context("it did not end as it should")?;
    let processes = rest.split("process ").skip(1).map(process);
    let processes: Vec<Process> = processes.collect::<Result<_>>()?;
    ensure!(processes.len() > 1, "an instance and its sessions");
    let name = name.to_owned();
    Ok(Held { name, processes })
}

fn process(text: &str) -> Result<Process> {
    let (allowed, maps) = text.split_once('\n').unwrap_or((text, ""));
    let (cpus, nodes) = allowed.split_once(' ').context("CPUs and nodes")?;
    Ok(Process {
        cpus: ids(cpus)?,
        memory_nodes: ids(nodes)?,
        maps: lines(maps),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn processes_are_told_apart() {
        let text = "case near\nprocess 0-1 0\n\
            7f00 bind:0 file=/memfd:numalab-sga\\040(deleted) N0=3 kernelpagesize_kB=4\n\
            process 0 0-1\n7f10 bind:1 anon=2 N1=2 kernelpagesize_kB=4\nended 0\n";
        let held = parse(text).unwrap();
        assert_eq!((held.len(), held[0].name.as_str()), (1, "near"));
        assert_eq!(held[0].sga().len(), 1);
        let [session] = held[0].sessions() else {
            panic!("one session");
        };
        assert_eq!(
            (&session.cpus, &session.memory_nodes),
            (&vec![0], &vec![0, 1])
        );
        assert_eq!(session.maps[0].nodes(), [1]);
    }

    #[test]
    fn a_case_that_was_not_held_is_shown() {
        for text in [
            "case far\nprocess\nno such node\nended 3\n",
            "case far\nprocess 0 0\nended 0\n",
            "case far\n",
        ] {
            assert!(
                format!("{:#}", parse(text).unwrap_err()).contains("far"),
                "{text}"
            );
        }
    }
}
