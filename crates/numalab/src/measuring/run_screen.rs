//! What the user sees of runs: one screen, or everything with `--full`.

use experiment::memory;
use model::Run;
use report::{Called, NotRun, Screen};

use crate::arguments::run::RunArguments;
use crate::failure::Failure;
use crate::output;

/// The screen of `numalab run`; nothing is written to it if JSON is requested.
pub(crate) struct RunScreen {
    screen: Screen,
    is_shown: bool,
}

impl RunScreen {
    /// Creates an empty screen.
    pub(crate) fn new(arguments: &RunArguments) -> Self {
        RunScreen {
            screen: screen(arguments.full),
            is_shown: !arguments.json,
        }
    }

    /// Shows the latency matrix, which precedes all experiments.
    pub(crate) fn latency(&mut self, run: &Run) -> Result<(), Failure> {
        if !self.is_shown {
            return Ok(());
        }
        let result = memory::latency_result(std::slice::from_ref(run));
        output::data(&self.screen.latency(run, &result))
    }

    /// Shows a finished run, and the command that repeats it.
    pub(crate) fn run(&mut self, run: &Run, called: &Called) -> Result<(), Failure> {
        match self.is_shown {
            true => output::data(&self.screen.run(run, called)),
            false => Ok(()),
        }
    }

    /// Shows the notes on all runs, what was not run, and what to do next.
    pub(crate) fn end(&mut self, notes: &[String], not_run: &[NotRun]) -> Result<(), Failure> {
        match self.is_shown {
            true => output::data(&self.screen.end(notes, not_run)),
            false => {
                notes.iter().for_each(|note| output::talk(note));
                Ok(())
            }
        }
    }
}

/// Creates an empty screen for stdout.
pub(crate) fn screen(full: bool) -> Screen {
    let options = output::text_options();
    match full {
        true => Screen::full(options),
        false => Screen::new(options),
    }
}
