//! Expected failures: what went wrong, a hint, and the exit code.

use linux::private_folder::PrivateFolderError;
use model::exit::ExitCode;
use model::shell_word;

/// The hint for a journal with a line that numalab did not write.
pub(crate) const NOT_OURS: &str = "check journal.jsonl in the state directory: another program \
                                   has written to it; `numalab undo --list` shows the number of \
                                   the entry, `numalab undo --force NUMBER` drops it";

/// An expected failure of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What went wrong: names the thing, the value and the cause.
    pub message: String,
    /// A hint, if there is one.
    pub advice: Option<String>,
    /// The exit status for the shell.
    pub exit_code: ExitCode,
}

impl Failure {
    /// Creates a failure without a hint.
    pub(crate) fn new(exit_code: ExitCode, message: impl Into<String>) -> Self {
        Failure {
            message: message.into(),
            advice: None,
            exit_code,
        }
    }

    /// Adds a hint.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl From<linux::Error> for Failure {
    fn from(error: linux::Error) -> Self {
        Failure::new(
            ExitCode::MachineCannot,
            format!("cannot read this machine: {error}"),
        )
    }
}

impl From<placement::Error> for Failure {
    fn from(error: placement::Error) -> Self {
        let exit_code = match error {
            placement::Error::Change(error) => return error.into(),
            _ if error.is_permission() => ExitCode::NotPermitted,
            placement::Error::Group { .. } | placement::Error::Impossible { .. } => ExitCode::Usage,
            placement::Error::GroupNotHonoured { .. }
            | placement::Error::CpusNotHonoured { .. } => ExitCode::PlacementNotHonoured,
            _ => ExitCode::MachineCannot,
        };
        let failure = Failure::new(exit_code, error.to_string());
        match error {
            placement::Error::Impossible { .. } => {
                failure.advise("`numalab topology` shows the nodes and CPUs")
            }
            placement::Error::GroupsNotPermitted { .. } => failure.advise(
                "run it as root on the host; place a container from outside (--cpuset-cpus, \
                 --cpuset-mems); `numalab bind` needs no group",
            ),
            _ => failure,
        }
    }
}

impl From<journal::Error> for Failure {
    fn from(error: journal::Error) -> Self {
        let exit_code = match &error {
            _ if error.is_permission() => ExitCode::NotPermitted,
            journal::Error::AtWork { .. } => ExitCode::NotPermitted,
            journal::Error::Journal { .. }
            | journal::Error::StateFolder(_)
            | journal::Error::Unknown { .. }
            | journal::Error::NotOurs { .. } => ExitCode::Store,
            _ => ExitCode::MachineCannot,
        };
        let failure = Failure::new(exit_code, error.to_string());
        match error {
            journal::Error::AtWork { .. } => failure.advise("wait for it, or end it"),
            journal::Error::NotOurs { .. } => failure.advise(NOT_OURS),
            journal::Error::Unfinished { entry, .. } => {
                failure.advise(format!("`numalab undo {entry}` takes it back"))
            }
            journal::Error::StateFolder(error) => failure.advise(advice_on_state_folder(&error)),
            _ => failure,
        }
    }
}

/// Returns the hint for a state folder, or a file in it, that is refused.
fn advice_on_state_folder(error: &PrivateFolderError) -> String {
    match error {
        PrivateFolderError::OfAnother { user: 0, owner, .. } => format!(
            "as root, use root's own: `sudo -H numalab …` or XDG_STATE_HOME=/root/.local/state; \
             changes made by user {owner} must be undone by user {owner} with `numalab undo`"
        ),
        PrivateFolderError::OfAnother { .. } => {
            "use a directory that you own: XDG_STATE_HOME=DIRECTORY".to_owned()
        }
        PrivateFolderError::Writable { path, .. } => format!(
            "check its contents, then run: chmod go-w {}; or use another directory: \
             XDG_STATE_HOME=DIRECTORY",
            shell_word(&path.display().to_string())
        ),
        PrivateFolderError::AnotherKind { path, .. } => format!(
            "check what it is and move it away: {}; or use another directory: \
             XDG_STATE_HOME=DIRECTORY",
            shell_word(&path.display().to_string())
        ),
        PrivateFolderError::Refused { .. } => {
            "use a writable directory: XDG_STATE_HOME=DIRECTORY".to_owned()
        }
    }
}

impl From<instance::Error> for Failure {
    fn from(error: instance::Error) -> Self {
        Failure::new(ExitCode::WorkloadFailed, error.to_string())
    }
}

impl From<server::Error> for Failure {
    fn from(error: server::Error) -> Self {
        let failure = Failure::new(error.exit_code(), error.to_string());
        match error.advice() {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

impl From<experiment::Error> for Failure {
    fn from(error: experiment::Error) -> Self {
        let message = format!("cannot read the experiment: {error}");
        Failure::new(ExitCode::Usage, message).advise("list the experiments: numalab list")
    }
}

impl From<experiment::Cannot> for Failure {
    fn from(cannot: experiment::Cannot) -> Self {
        let failure = Failure::new(cannot.exit_code, cannot.reason);
        if cannot.advice.is_empty() {
            failure
        } else {
            failure.advise(cannot.advice)
        }
    }
}

impl From<experiment::RunError> for Failure {
    fn from(error: experiment::RunError) -> Self {
        let exit_code = match &error {
            experiment::RunError::Request(_) => ExitCode::Usage,
            experiment::RunError::Observer { .. } => ExitCode::Store,
            experiment::RunError::Workload { exit_code, .. } => *exit_code,
        };
        Failure::new(exit_code, error.to_string())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        let advice = error.advice();
        let exit_code = error.exit_code();
        Failure::new(exit_code, error.to_string()).advise(advice)
    }
}
