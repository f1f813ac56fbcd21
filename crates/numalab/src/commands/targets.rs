//! `numalab targets`: the databases of this machine, in the form that every command takes.

use std::path::PathBuf;

use clap::Args;
use model::{counted, shell_word};
use residency::instances::{self, Member};
use serde::Serialize;

use crate::capture::MachineRoot;
use crate::failure::Failure;
use crate::output;

/// Options of `numalab targets`.
#[derive(Debug, Args)]
pub(crate) struct TargetsArguments {
    /// List those of a captured machine: a directory with a copy of its /sys and /proc, or an
    /// archive of `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Print JSON (numalab.targets/1).
    #[arg(long)]
    pub json: bool,
}

/// A database that runs.
#[derive(Debug, Serialize)]
struct Listed {
    target: String,
    database: Option<&'static str>,
    processes: Vec<u32>,
}

/// Lists the databases.
pub(crate) fn run(arguments: &TargetsArguments) -> Result<(), Failure> {
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let root = machine.root();
    let mut listed = Vec::new();
    for database in instances::databases_of_machine(root)? {
        // One that has ended since is no target.
        let Ok(members) = instances::find(root, &database.target) else {
            continue;
        };
        listed.push(Listed {
            target: database.target.to_string(),
            database: members.iter().find_map(word),
            processes: members.iter().map(|member| member.stat.pid).collect(),
        });
    }
    if arguments.json {
        let document = serde_json::json!({"format": "numalab.targets/1", "targets": listed});
        return output::json(&document);
    }
    output::data(&text(&listed))
}

fn word(member: &Member) -> Option<&'static str> {
    member.server.map(instances::Server::word)
}

fn text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "No database runs here, as far as names of processes show. Any process is a target \
                by its PID, its name, cgroup:/PATH or unit:NAME.\n"
            .to_owned();
    }
    let words: Vec<String> = listed
        .iter()
        .map(|it| shell_word(&it.target).into_owned())
        .collect();
    let width = words.iter().map(|word| word.chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |(word, listed): (&String, &Listed)| {
        let database = listed.database.unwrap_or("database");
        let processes = match &listed.processes[..] {
            [only] => format!("process {only}"),
            [first, ..] => {
                let count = counted(listed.processes.len(), "process");
                format!("{count}, the first {first}")
            }
            [] => String::new(),
        };
        format!("{word:width$}  {database}, {processes}\n")
    };
    words.iter().zip(listed).map(line).collect()
}
