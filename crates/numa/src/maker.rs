//! Which process made a change. Its id alone does not say: the kernel gives ids anew, and a process
//! that was killed keeps its own until somebody collects it.

use linux::{Root, proc_stat};
use serde::{Deserialize, Serialize};

/// The process that made a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// Its id.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id` at the time; `None` when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    /// When it started, in clock ticks since the machine did; `None` when it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start_ticks: Option<u64>,
}

impl Maker {
    /// This process.
    pub fn this_process(root: &Root) -> Self {
        let pid = std::process::id();
        Maker {
            pid,
            boot: boot(root),
            start_ticks: proc_stat::read(root, pid).ok().map(|stat| stat.start_ticks),
        }
    }

    /// Whether the machine was started anew since, which took back whatever it had changed: all
    /// changes are to the running kernel. In doubt it was not.
    pub fn is_of_an_earlier_boot(&self, root: &Root) -> bool {
        self.boot.is_some() && boot(root).is_some_and(|now| self.boot != Some(now))
    }

    /// Whether it still runs. In doubt it does: what it uses must not be taken from it.
    pub fn still_runs(&self, root: &Root) -> bool {
        if self.is_of_an_earlier_boot(root) {
            return false;
        }
        match proc_stat::read(root, self.pid) {
            Ok(stat) => {
                let same = self
                    .start_ticks
                    .is_none_or(|ticks| ticks == stat.start_ticks);
                same && !stat.has_ended
            }
            // Gone, or hidden from us (proc(5), `hidepid`).
            Err(_) => linux::process::exists(self.pid),
        }
    }
}

fn boot(root: &Root) -> Option<String> {
    let file = root
        .read_optional("proc/sys/kernel/random/boot_id")
        .ok()??;
    Some(file.text().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use linux::Root;

    use super::Maker;

    /// No process has this id: it is the highest, and the kernel's limit is far below.
    const PID: u32 = i32::MAX as u32;

    fn check(state: &str, started: &str, boot: &str, expected: bool) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let kernel = root.join("proc/sys/kernel/random");
        let process = root.join(format!("proc/{PID}"));
        std::fs::create_dir_all(&kernel).unwrap();
        std::fs::create_dir_all(&process).unwrap();
        std::fs::write(kernel.join("boot_id"), format!("{boot}\n")).unwrap();
        let fields = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18";
        let line = format!("{PID} (a ) Z (b) {state} {fields} {started} 20\n");
        std::fs::write(process.join("stat"), line).unwrap();
        let maker = Maker {
            pid: PID,
            boot: Some("b-1".to_owned()),
            start_ticks: Some(500),
        };
        let root = Root::at(root).unwrap();
        assert_eq!(
            maker.still_runs(&root),
            expected,
            "{state} {started} {boot}"
        );
    }

    #[test]
    fn only_the_same_process_still_runs() {
        check("S", "500", "b-1", true);
        check("R", "500", "b-1", true);
        check("Z", "500", "b-1", false);
        check("X", "500", "b-1", false);
        check("S", "501", "b-1", false);
        check("S", "500", "b-2", false);
        // Not to be understood, and the live machine has no such process.
        check("S", "soon", "b-1", false);
    }

    #[test]
    fn this_process_runs() {
        let maker = Maker::this_process(&Root::live());
        assert!(maker.boot.is_some() && maker.start_ticks.is_some());
        assert!(maker.still_runs(&Root::live()));
    }

    #[test]
    fn of_a_maker_without_times_the_id_decides() {
        let first: Maker = serde_json::from_str("{\"pid\":1}").unwrap();
        assert!(first.still_runs(&Root::live()));
        let none = Maker { pid: PID, ..first };
        assert!(!none.still_runs(&Root::live()));
    }
}
