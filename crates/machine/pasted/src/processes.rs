//! Processes whose memory texts show.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodeId, NodeSet};

use crate::line;
use crate::process_line::{self, Process};

/// What texts say of one process.
#[derive(Clone, Debug, Default)]
struct Said {
    /// Who it is; `None` where no line names it.
    process: Option<Process>,
    numa_maps: String,
    /// Lines of its status.
    status: BTreeMap<String, String>,
    /// Whether the next line of numa_maps begins another look at it.
    is_complete: bool,
}

/// The processes of a text, in the order in which they are named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    all: Vec<Said>,
    /// Where each is.
    places: BTreeMap<Process, usize>,
    current: Option<usize>,
    /// Remarks on how they were read.
    remarks: Vec<String>,
}

impl Processes {
    /// What follows is about this one.
    fn name(&mut self, process: Process) {
        let known = self.places.get(&process).copied();
        let at = known.unwrap_or_else(|| {
            self.places.insert(process.clone(), self.all.len());
            self.all.push(Said {
                process: Some(process),
                ..Said::default()
            });
            self.all.len() - 1
        });
        self.all[at].is_complete = !self.all[at].numa_maps.is_empty();
        self.current = Some(at);
    }

    /// A line without the file that grep -H put before it, whose process it is about.
    pub(crate) fn without_file(&mut self, line: String) -> String {
        let Some((process, rest)) = process_line::with_its_file(&line) else {
            return line;
        };
        let current = self.current.and_then(|at| self.all[at].process.as_ref());
        if current != Some(&process) {
            self.name(process);
        }
        rest.trim().to_owned()
    }

    /// What follows is what a command shows of this process; of an unknown one it is `None`.
    pub(crate) fn shown_by(&mut self, command: &str, process: Option<Process>, place: &str) {
        match process {
            Some(process) => self.name(process),
            None => self.forget(),
        }
        if process_line::is_of_part(command) {
            self.remarks.push(format!(
                "the command at {place} prints only some lines of numa_maps: what is said of that \
                 process is of these"
            ));
        }
    }

    /// Nothing that follows is about the last one.
    pub(crate) fn forget(&mut self) {
        self.current = None;
    }

    fn current(&mut self) -> &mut Said {
        let at = self.current.unwrap_or_else(|| {
            self.all.push(Said::default());
            self.all.len() - 1
        });
        self.current = Some(at);
        &mut self.all[at]
    }

    /// Adds a line of numa_maps.
    pub(crate) fn numa_maps(&mut self, line: &str, place: &str) {
        let said = self.current();
        if std::mem::take(&mut said.is_complete) {
            said.numa_maps.clear();
            let remark =
                format!("the memory of one process is there twice; the one at {place} counts");
            self.remarks.push(remark);
        }
        let said = self.current();
        said.numa_maps.push_str(line);
        said.numa_maps.push('\n');
    }

    /// Adds the rest of a line of numa_maps that was wrapped; `false` if there is none.
    pub(crate) fn rest_of_maps(&mut self, rest: &str) -> bool {
        let said = self.current.and_then(|at| self.all.get_mut(at));
        let Some(said) = said.filter(|it| !it.numa_maps.is_empty() && !it.is_complete) else {
            return false;
        };
        said.numa_maps.truncate(said.numa_maps.trim_end().len());
        said.numa_maps.push(' ');
        said.numa_maps.push_str(rest);
        said.numa_maps.push('\n');
        true
    }

    /// Adds a line of the status.
    pub(crate) fn status(&mut self, line: &str) {
        let key = line.split(':').next().unwrap_or_default().to_owned();
        self.current().status.insert(key, line.to_owned());
    }

    /// The nodes that their memory, their policies or their cpusets name.
    pub(crate) fn nodes(&self) -> NodeSet {
        let lines = self.all.iter().flat_map(|said| {
            let status = said.status.get("Mems_allowed_list");
            let allowed = status.and_then(|line| line.split_once(':'));
            let allowed = allowed.and_then(|(_, list)| list.trim().parse::<NodeSet>().ok());
            let maps = said.numa_maps.lines().flat_map(nodes_of_line);
            maps.chain(
                allowed
                    .into_iter()
                    .flat_map(|it| it.iter().collect::<Vec<_>>()),
            )
        });
        lines.collect()
    }

    /// Writes the files of all whose memory is known; returns their ids.
    pub(crate) fn write(
        self,
        files: &mut BTreeMap<String, String>,
        remarks: &mut Vec<String>,
        named: &mut BTreeMap<u32, String>,
    ) -> BTreeSet<u32> {
        remarks.extend(self.remarks);
        let with_memory = self.all.into_iter().filter(|it| !it.numa_maps.is_empty());
        let mut ids = BTreeSet::new();
        let taken: Vec<Said> = with_memory.collect();
        let given = taken.iter().filter_map(|it| match it.process {
            Some(Process::Id(id)) => Some(id),
            _ => None,
        });
        let given: BTreeSet<u32> = given.collect();
        let others = files
            .keys()
            .filter_map(|path| path.strip_prefix("proc/")?.split('/').next()?.parse().ok());
        let others: BTreeSet<u32> = others.collect();
        let mut free = (1..).filter(|id| !given.contains(id) && !others.contains(id));
        for said in taken {
            let (id, name) = match said.process {
                Some(Process::Id(id)) => (id, None),
                Some(Process::Name(name)) => (free.next().unwrap_or_default(), Some(name)),
                None => (free.next().unwrap_or_default(), None),
            };
            if !given.contains(&id) {
                named.insert(id, name.clone().unwrap_or_else(|| "PID".to_owned()));
                let who = name.as_deref().unwrap_or("a process without a name");
                remarks.push(format!(
                    "{who} has no process id in the text: it is shown as {id}"
                ));
            }
            let name = name.unwrap_or_else(|| "unknown".to_owned());
            let mut status = format!("Name:\t{name}\nTgid:\t{id}\nPid:\t{id}\n");
            said.status.values().for_each(|line| {
                status.push_str(line);
                status.push('\n');
            });
            files.insert(format!("proc/{id}/numa_maps"), said.numa_maps);
            // A whole file of it says more.
            let mut add = |file: &str, text: String| {
                files.entry(format!("proc/{id}/{file}")).or_insert(text);
            };
            add("status", status);
            add("comm", format!("{name}\n"));
            ids.insert(id);
        }
        ids
    }
}

/// The nodes of a line of numa_maps: of its policy, and of its pages.
fn nodes_of_line(line: &str) -> Vec<NodeId> {
    let mut words = line.split_whitespace().skip(1);
    let policy = words.next().and_then(|policy| policy.rsplit_once(':'));
    let policy = policy.and_then(|(_, nodes)| nodes.parse::<NodeSet>().ok());
    let of_policy = policy
        .into_iter()
        .flat_map(|it| it.iter().collect::<Vec<_>>());
    let of_pages = words.filter_map(|word| {
        let (node, _) = word.strip_prefix('N')?.split_once('=')?;
        line::node(node)
    });
    of_policy.chain(of_pages).collect()
}

/// The process that a file of numa_maps is of.
pub(crate) fn of_process(path: &str) -> Option<u32> {
    let id = path.strip_prefix("proc/")?.strip_suffix("/numa_maps")?;
    id.parse().ok()
}
