//! The sessions of the PostgreSQL that is open on the screen, as the server tells them.

use std::path::Path;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use model::{OpenedSubject, ServerSession};
use residency::instances::Target;

/// A login and a query take the server some milliseconds.
const EVERY: Duration = Duration::from_secs(5);

type Said = Result<Vec<ServerSession>, String>;

/// Asks for sessions, on a thread of its own: a server may take its time.
#[derive(Default)]
pub(crate) struct Sessions {
    /// The question that is being asked.
    running: Option<(String, JoinHandle<Said>)>,
    /// Who was asked last, and when.
    asked: Option<(String, Instant)>,
}

impl Sessions {
    /// What the server says whose name it is, if it has answered. It is asked again and again
    /// while it is open.
    pub(crate) fn of(&mut self, opened: Option<&OpenedSubject>) -> Option<(String, Said)> {
        let said = self.running.take_if(|(_, asking)| asking.is_finished());
        if let Some(OpenedSubject::Instance(name)) = opened {
            self.ask(name);
        }
        let (name, asking) = said?;
        let panicked = |_| Err("numalab failed to ask".to_owned());
        Some((name, asking.join().unwrap_or_else(panicked)))
    }

    fn ask(&mut self, name: &str) {
        let is_due = match &self.asked {
            Some((asked, at)) => asked != name || at.elapsed() >= EVERY,
            None => true,
        };
        let Ok(Target::Postgres(data)) = name.parse() else {
            return;
        };
        if self.running.is_some() || !is_due {
            return;
        }
        let thread = Builder::new().name("sessions".to_owned());
        let ask = move || {
            let said = postgresql::sessions(Path::new(&data));
            said.map_err(|error| error.to_string())
        };
        // Without a thread, nobody is asked; the next time there may be one.
        let started = thread.spawn(ask).ok();
        self.running = started.map(|asking| (name.to_owned(), asking));
        self.asked = Some((name.to_owned(), Instant::now()));
    }
}
