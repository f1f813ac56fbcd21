//! What /proc/PID/status says about placement.

use model::{CpuSet, IdSet, NodeSet};

use crate::{Error, Root, TextFile};

/// Where a process is allowed to run and to have memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// `Cpus_allowed_list`.
    pub cpus: CpuSet,
    /// `Mems_allowed_list`.
    pub memory_nodes: NodeSet,
}

/// Reads where process `pid` is allowed to run.
///
/// # Errors
/// When the process is gone, or the file lacks one of the two lines.
pub fn allowed(root: &Root, pid: u32) -> Result<Allowed, Error> {
    let file = root.read(&format!("proc/{pid}/status"))?;
    parse(&file)
}

/// One real line: `Cpus_allowed_list:\t0-1` (proc_pid_status(5)).
fn parse(file: &TextFile) -> Result<Allowed, Error> {
    Ok(Allowed {
        cpus: list(file, "Cpus_allowed_list:")?,
        memory_nodes: list(file, "Mems_allowed_list:")?,
    })
}

fn list<T: model::Id>(file: &TextFile, label: &str) -> Result<IdSet<T>, Error> {
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix(label)?)));
    let (number, text) = line.ok_or_else(|| file.ended(format!("a line {label}")))?;
    text.trim()
        .parse()
        .map_err(|_| file.malformed(number, "a list such as 0-3,8", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::{allowed, parse};
    use crate::{Root, TextFile};

    #[test]
    fn both_lists_are_read() {
        let text = "Name:\tx\nCpus_allowed_list:\t0-3,8\nMems_allowed_list:\t0,7\n";
        let allowed = parse(&TextFile::new("/proc/1/status", text)).unwrap();
        assert_eq!(allowed.cpus.to_string(), "0-3,8");
        assert_eq!(allowed.memory_nodes.to_string(), "0,7");
    }

    #[test]
    fn a_missing_or_malformed_line_is_named() {
        let cases = [
            ("Name:\tx\n", "a line Cpus_allowed_list:"),
            (
                "Cpus_allowed_list:\t0-\nMems_allowed_list:\t0\n",
                "a list such as 0-3,8",
            ),
        ];
        for (text, expected) in cases {
            let error = parse(&TextFile::new("/proc/1/status", text)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn this_process_is_allowed_somewhere() {
        let here = allowed(&Root::live(), std::process::id()).unwrap();
        assert!(!here.cpus.is_empty() && !here.memory_nodes.is_empty());
    }
}
