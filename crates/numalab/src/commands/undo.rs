//! `numalab undo`: takes back what the journal still holds.

use linux::Root;
use model::exit::ExitCode;
use numa::journal::{Change, Entry, Journal};

use crate::arguments::UndoArguments;
use crate::failure::Failure;
use crate::output;
use crate::state_folder::StateFolder;

/// Lists or takes back the changes in force.
pub fn run(arguments: &UndoArguments) -> Result<(), Failure> {
    let journal = StateFolder::from_environment()?.journal();
    if arguments.list {
        return list(&journal);
    }
    let root = Root::live();
    let mut text = String::new();
    let mut failures = Vec::new();
    let of_no_one_running = |entry: &Entry| {
        let wanted = arguments.entries.is_empty() || arguments.entries.contains(&entry.entry);
        wanted && !entry.maker.still_runs(&root)
    };
    for entry in journal
        .in_force()?
        .iter()
        .filter(|it| of_no_one_running(it))
    {
        if let Change::SchemaMade { server, schema } = &entry.change {
            // What the server refuses is said below, with the statement that does it by hand.
            match postgres::drop_schema(server, schema) {
                Ok(()) => {
                    journal.mark_undone(entry.entry)?;
                    text.push_str(&format!("undone: {}\n", entry.change));
                }
                Err(error) => failures.push(error.to_string()),
            }
        }
    }
    for undone in numa::undo(&journal, of_no_one_running, arguments.force)? {
        match undone.failure {
            None => text.push_str(&format!("undone: {}\n", undone.entry.change)),
            Some(error) => failures.push(error.to_string()),
        }
    }
    for entry in journal.in_force()? {
        if entry.maker.still_runs(&root) {
            let (change, pid) = (entry.change, entry.maker.pid);
            failures.push(format!(
                "{change} is in use by process {pid}, which still runs"
            ));
        }
    }
    if text.is_empty() && failures.is_empty() {
        text.push_str("nothing to undo\n");
    }
    output::data(&text)?;
    if failures.is_empty() {
        return Ok(());
    }
    let advice = "end what uses it, then `numalab undo` again; `numalab undo --force` takes back \
                  even what somebody else has changed since";
    Err(Failure::new(ExitCode::NotPermitted, failures.join("; ")).advise(advice))
}

fn list(journal: &Journal) -> Result<(), Failure> {
    let mut text = String::new();
    for entry in journal.in_force()? {
        let runs = if entry.maker.still_runs(&Root::live()) {
            "runs"
        } else {
            "is gone"
        };
        let (number, change, pid) = (entry.entry, &entry.change, entry.maker.pid);
        text.push_str(&format!(
            "{number}: {change}, by process {pid}, which {runs}\n"
        ));
    }
    if text.is_empty() {
        text.push_str("nothing is in force\n");
    }
    output::data(&text)
}
