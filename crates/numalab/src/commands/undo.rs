//! `numalab undo`: undoes the changes in the journal that are still in force.

use clap::Args;
use journal::{Entry, Journal, Origin};
use linux::Root;
use model::exit::ExitCode;

use crate::changes::KINDS;
use crate::failure::{Failure, NOT_OURS};
use crate::files::state_folder::StateFolder;
use crate::output;

/// Options of `numalab undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// Numbers of the changes to undo, as shown by --list [default: all].
    #[arg(value_name = "CHANGE", conflicts_with = "list")]
    pub entries: Vec<u64>,
    /// List the changes in force, and undo nothing.
    #[arg(long)]
    pub list: bool,
    /// Also undo what another process has changed since. Give up the changes that are given by
    /// number and cannot be undone, or were made on another machine: the journal forgets them.
    #[arg(long, conflicts_with = "list")]
    pub force: bool,
}

/// Lists or undoes the changes in force.
pub(crate) fn run(arguments: &UndoArguments) -> Result<(), Failure> {
    let journal = StateFolder::from_environment()?.journal();
    if arguments.list {
        return list(&journal);
    }
    let root = Root::live();
    let mut said = Said::default();
    strike_off(&root, &journal, arguments, &mut said)?;
    let of_no_one_running =
        |entry: &Entry| is_wanted(arguments, entry) && !entry.made_by.still_runs(&root);
    for undone in journal::undo(&journal, KINDS, of_no_one_running, arguments.force)? {
        match undone.failure {
            None => {
                let change = KINDS.describe(&undone.entry);
                let remains = undone.remains.map_or(String::new(), |it| format!("; {it}"));
                said.done(format!("undone: {change}{remains}"));
            }
            Some(error) if is_given_up(arguments, &undone.entry, &error) => {
                journal.mark_undone(undone.entry.entry)?;
                said.done(format!("gave up, and may have left it in place: {error}"));
            }
            Some(error) => {
                said.has_foreign |= matches!(error, journal::Error::NotOurs { .. });
                said.failures.push(error.to_string());
            }
        }
    }
    for entry in journal.in_force()? {
        said.left(&root, arguments, &entry);
    }
    said.conclude()
}

/// The hint for a change made on another machine.
const ELSEWHERE: &str = "run `numalab undo` on that machine; if it is gone, or was this one, drop \
                         the change from the journal with `numalab undo --force NUMBER`";

/// Whether the user selected this change: it is named, or none is.
fn is_wanted(arguments: &UndoArguments, entry: &Entry) -> bool {
    arguments.entries.is_empty() || arguments.entries.contains(&entry.entry)
}

/// Whether a change that could not be undone leaves the journal: it is named with `--force`. What
/// another process is changing now can be undone later.
fn is_given_up(arguments: &UndoArguments, entry: &Entry, error: &journal::Error) -> bool {
    let is_named = arguments.force && arguments.entries.contains(&entry.entry);
    is_named && !matches!(error, journal::Error::AtWork { .. })
}

/// Strikes off changes that were made on another machine, or in a container that cannot be seen
/// from here, and are named with `--force`: there is nothing to undo here, and the maker may be
/// gone.
fn strike_off(
    root: &Root,
    journal: &Journal,
    arguments: &UndoArguments,
    said: &mut Said,
) -> Result<(), Failure> {
    for entry in journal.in_force()? {
        let is_named = arguments.force && arguments.entries.contains(&entry.entry);
        let made = match entry.made_by.origin(root) {
            _ if !is_named => continue,
            Origin::Elsewhere(made) => made,
            _ if entry.made_by.is_out_of_sight(root) => {
                "in another container, and may still be there".to_owned()
            }
            _ => continue,
        };
        journal.mark_undone(entry.entry)?;
        let change = KINDS.describe(&entry);
        said.done(format!("dropped from the journal: {change}, made {made}"));
    }
    Ok(())
}

/// What to print at the end.
#[derive(Default)]
struct Said {
    text: String,
    failures: Vec<String>,
    /// Whether a named change was made on another machine.
    is_elsewhere: bool,
    /// Whether a change that was not named was made on another machine.
    is_left: bool,
    /// Whether the journal has a line that numalab did not write.
    has_foreign: bool,
}

impl Said {
    fn done(&mut self, line: String) {
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// Reports why a change in force was left alone. A change made on another machine is a failure
    /// only if it was named.
    fn left(&mut self, root: &Root, arguments: &UndoArguments, entry: &Entry) {
        let (number, pid) = (entry.entry, entry.made_by.pid);
        let change = KINDS.describe(entry);
        match entry.made_by.origin(root) {
            Origin::Elsewhere(made) if arguments.entries.contains(&number) => {
                self.is_elsewhere = true;
                self.failures
                    .push(format!("{number}: {change} was made {made}"));
            }
            Origin::Elsewhere(made) => {
                self.is_left = true;
                self.done(format!("left in place: {number}: {change}, made {made}"));
            }
            _ if entry.made_by.still_runs(root) => self.failures.push(format!(
                "{change} is in use by process {pid}, which is still running"
            )),
            _ => {}
        }
    }

    fn conclude(self) -> Result<(), Failure> {
        match self.text.is_empty() && self.failures.is_empty() {
            true => output::data("nothing to undo\n")?,
            false => output::data(&self.text)?,
        }
        if self.failures.is_empty() {
            if self.is_left {
                output::talk(&format!("  hint: {ELSEWHERE}"));
            }
            return Ok(());
        }
        let advice = match self.is_elsewhere {
            _ if self.has_foreign => NOT_OURS,
            true => ELSEWHERE,
            false => {
                "remove the cause, then run `numalab undo` again; `--force` also undoes what \
                 another process has changed since, `--force NUMBER` gives up a change that \
                 cannot be undone"
            }
        };
        Err(Failure::new(ExitCode::NotPermitted, self.failures.join("; ")).advise(advice))
    }
}

fn list(journal: &Journal) -> Result<(), Failure> {
    let (root, mut text) = (Root::live(), String::new());
    for entry in journal.in_force()? {
        let (number, pid) = (entry.entry, entry.made_by.pid);
        let change = KINDS.describe(&entry);
        let made_by = match entry.made_by.origin(&root) {
            Origin::Elsewhere(made) => format!("made {made} by process {pid}"),
            _ if entry.made_by.still_runs(&root) => format!("by process {pid}, still running"),
            _ => format!("by process {pid}, which has ended"),
        };
        text.push_str(&format!("{number}: {change}, {made_by}\n"));
    }
    if text.is_empty() {
        text.push_str("no changes in force\n");
    }
    output::data(&text)
}
