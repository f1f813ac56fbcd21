//! What a person at the terminal sees of runs: a screen of them, or all with `--full`.

use experiment::memory;
use model::Run;
use report::{Called, NotRun, Screen};

use crate::failure::Failure;
use crate::run_arguments::RunArguments;
use crate::{output, text_options};

/// The screen of `numalab run`; nothing is written to it where documents are asked for.
pub(crate) struct RunScreen {
    screen: Screen,
    is_shown: bool,
}

impl RunScreen {
    /// An empty one.
    pub(crate) fn new(arguments: &RunArguments) -> Self {
        RunScreen {
            screen: screen(arguments.full),
            is_shown: !arguments.json,
        }
    }

    /// The matrix of latencies that comes before all experiments.
    pub(crate) fn latency(&mut self, run: &Run) -> Result<(), Failure> {
        if !self.is_shown {
            return Ok(());
        }
        let result = memory::latency_result(std::slice::from_ref(run));
        output::data(&self.screen.latency(run, &result))
    }

    /// A run that has ended, and what would be typed to make it again.
    pub(crate) fn run(&mut self, run: &Run, called: &Called) -> Result<(), Failure> {
        match self.is_shown {
            true => output::data(&self.screen.run(run, called)),
            false => Ok(()),
        }
    }

    /// What is to be known of all of them, and what to do next.
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

/// An empty screen for stdout.
pub(crate) fn screen(full: bool) -> Screen {
    let options = text_options::for_stdout();
    match full {
        true => Screen::full(options),
        false => Screen::new(options),
    }
}
