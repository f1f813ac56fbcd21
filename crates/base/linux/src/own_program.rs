//! Processes of numalab's own: this very program, even if its file has been replaced or removed,
//! with the arguments of a hidden command.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// How a process of numalab's own is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProgram {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments. Each hidden command reads its order on standard input.
    pub arguments: Vec<String>,
}

impl OwnProgram {
    /// This very program, as the hidden command `argument` (`/proc/self/exe`, proc_pid_exe(5)).
    pub fn hidden_command(argument: &str) -> Self {
        OwnProgram {
            program: "/proc/self/exe".into(),
            arguments: vec![argument.to_owned()],
        }
    }

    /// The command that starts it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// Becomes another program (execve(2)); returns only on failure, with the reason.
pub fn become_program<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[S]) -> io::Error {
    Command::new(program).args(arguments).exec()
}
