//! Commands of numalab that the user asks for on the screen: they run beside it, and say what they
//! found.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use observed::Program;

/// An inspection of a database of terabytes takes as long.
const ENDS_WITHIN: Duration = Duration::from_secs(300);

/// Commands that run, and what they said.
pub(crate) struct Questions {
    sender: Sender<String>,
    answers: Receiver<String>,
}

impl Questions {
    /// No command yet.
    pub(crate) fn new() -> Self {
        let (sender, answers) = channel();
        Self { sender, answers }
    }

    /// Runs this very program with these arguments.
    pub(crate) fn ask(&self, arguments: Vec<String>) {
        let sender = self.sender.clone();
        let thread = Builder::new().name("question".to_owned());
        // Who asked has gone: nobody wants the answer.
        let started = thread.spawn(move || drop(sender.send(answer(&arguments))));
        if let Err(cause) = started {
            let _ = self.sender.send(format!("cannot start a thread: {cause}"));
        }
    }

    /// What a command has said that has ended.
    pub(crate) fn answer(&self) -> Option<String> {
        self.answers.try_recv().ok()
    }
}

/// Returns what a command says, on stdout before stderr.
fn answer(arguments: &[String]) -> String {
    let program = Program::installed("/proc/self/exe", None).args(arguments);
    match program.within(ENDS_WITHIN).answer() {
        Ok(answer) => {
            let said = [answer.stdout, answer.stderr];
            said.map(|it| String::from_utf8_lossy(&it).into_owned())
                .concat()
        }
        Err(error) => error.to_string(),
    }
}
