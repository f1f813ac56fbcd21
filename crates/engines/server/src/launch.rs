//! Starts a server under a placement: a process of numalab's is placed, gives up root, requests a
//! signal for the end of its parent, and executes the server.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use linux::mempolicy::{self, Policy};
use linux::own_program::{OwnProgram, become_program};
use model::{Allocation, Placement, ServerKind, node_words};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The server and its arguments, and how it is told to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCommand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The signal on which it ends.
    pub stop: StopSignal,
}

/// The signal on which a server ends with all its processes. It gets it at the end of a trial, and
/// from the kernel when numalab ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopSignal {
    /// `SIGQUIT`.
    Quit,
    /// `SIGTERM`.
    Terminate,
}

impl StopSignal {
    /// Its name among the words of [`execute_server`].
    fn word(self) -> &'static str {
        match self {
            StopSignal::Quit => "quit",
            StopSignal::Terminate => "terminate",
        }
    }

    fn find(word: &OsStr) -> Option<Self> {
        let all = [StopSignal::Quit, StopSignal::Terminate];
        all.into_iter().find(|signal| word == signal.word())
    }

    /// Requests this signal for the end of the parent.
    fn request(self, parent_pid: u32) -> std::io::Result<()> {
        match self {
            StopSignal::Quit => linux::process::quit_with_parent(parent_pid),
            StopSignal::Terminate => linux::process::terminate_with_parent(parent_pid),
        }
    }
}

/// What the launched process is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// The database.
    pub kind: ServerKind,
    /// Process id of the coordinator.
    pub parent_pid: u32,
    /// CPUs and memory nodes.
    pub placement: Placement,
    /// The cgroups to join; a processor group comes first.
    pub groups: Vec<PathBuf>,
    /// The memory policy.
    pub allocation: Allocation,
    /// User and group id to become; `None` if this process is not root.
    pub user: Option<(u32, u32)>,
    /// The server.
    pub command: ServerCommand,
}

/// Places this process and becomes the server; returns only on failure. `launcher` with the words
/// of [`execute_server`] added runs that.
pub fn place_and_execute(order: &LaunchOrder, launcher: &OwnProgram) -> Error {
    if let Err(error) = place(order) {
        return error;
    }
    let ServerCommand { words, stop } = &order.command;
    let first = [stop.word().into(), order.parent_pid.to_string().into()];
    let words = [&first[..], words].concat();
    let Some((uid, gid)) = order.user else {
        return execute_server(&words);
    };
    // A change of user cancels the request for a signal at the parent's end (prctl(2)), so another
    // execution of this program makes it afterwards.
    let mut command = launcher.command();
    // This also drops the supplementary groups of root (std, `CommandExt::uid`).
    let cause = command.args(&words).uid(uid).gid(gid).exec();
    Error::io(format!(
        "executing {} as user {uid}",
        launcher.program.display()
    ))(cause)
}

/// Becomes the server. `words` are its signal, the parent's PID, the program and its arguments.
/// Returns only on failure.
pub fn execute_server(words: &[OsString]) -> Error {
    let wrong = || {
        Error::answer(
            "the launch of a server",
            "a signal, a process id, a program and its arguments",
            format!("{words:?}"),
        )
    };
    let [stop, parent, program, arguments @ ..] = words else {
        return wrong();
    };
    let Some(stop) = StopSignal::find(stop) else {
        return wrong();
    };
    let parent_pid = parent
        .to_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    if let Err(cause) = stop.request(parent_pid) {
        return Error::io("prctl(PR_SET_PDEATHSIG)")(cause);
    }
    let cause = become_program(program, arguments);
    Error::io(format!("executing {}", OsStr::display(program)))(cause)
}

fn place(order: &LaunchOrder) -> Result<(), Error> {
    let first = order.groups.first().map(PathBuf::as_path);
    placement::apply_to_this_process(&order.placement, first)?;
    for group in &order.groups {
        placement::hierarchy::join(group)?;
    }
    let policy = match &order.allocation {
        Allocation::OsDefault => return Ok(()),
        Allocation::Interleave(nodes) => Policy::Interleave(nodes.clone()),
        Allocation::Bind(nodes) => Policy::Bind(nodes.clone()),
        Allocation::WeightedInterleave(nodes) => Policy::WeightedInterleave(nodes.clone()),
        Allocation::Prefer(node) => Policy::Preferred(*node),
        Allocation::PerNode(nodes) => {
            return Err(Error::answer(
                "the allocation",
                "a memory policy of the server's processes",
                format!(
                    "a pool for each of {}, which {} has not",
                    node_words(nodes),
                    order.kind.name()
                ),
            ));
        }
    };
    Ok(mempolicy::set_task_policy(&policy)?)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{StopSignal, execute_server};

    #[test]
    fn a_signal_is_found_by_its_word() {
        for signal in [StopSignal::Quit, StopSignal::Terminate] {
            assert_eq!(StopSignal::find(signal.word().as_ref()), Some(signal));
        }
        assert_eq!(StopSignal::find("kill".as_ref()), None);
    }

    #[test]
    fn words_of_another_form_start_nothing() {
        for words in [&["17", "/bin/true"][..], &["17", "17", "/bin/true"], &[]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let error = execute_server(&words).to_string();
            assert!(error.contains("expected a signal"), "{error}");
        }
    }
}
