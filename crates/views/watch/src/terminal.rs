//! The terminal: taken for the view, and given back on every way out, also of a panic.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::input::{Input, Key};
use crate::view::View;

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Stdin or stdout is a file or a pipe.
    #[error("{stream} is not a terminal")]
    NotATerminal {
        /// Which of them.
        stream: &'static str,
    },
    /// The terminal cannot move its cursor.
    #[error("the terminal cannot move its cursor (TERM={term})")]
    Dumb {
        /// What the environment calls it.
        term: String,
    },
    /// It does not answer.
    #[error("the terminal fails: {0}")]
    Fails(#[from] io::Error),
}

/// The terminal while the view has it; dropping this gives it back.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal: raw mode and the second screen. `term` is the variable `TERM`.
    ///
    /// # Errors
    /// When stdin or stdout is not a terminal, or it cannot move its cursor.
    pub fn take(term: &str) -> Result<Self, Error> {
        if !io::stdin().is_terminal() {
            return Err(Error::NotATerminal { stream: "stdin" });
        }
        if !io::stdout().is_terminal() {
            return Err(Error::NotATerminal { stream: "stdout" });
        }
        if matches!(term, "" | "dumb") {
            let term = term.to_owned();
            return Err(Error::Dumb { term });
        }
        // It also makes a panic give the terminal back before it prints.
        match ratatui::try_init() {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                let _ = ratatui::try_restore();
                Err(error.into())
            }
        }
    }

    /// Draws the view.
    ///
    /// # Errors
    /// When the terminal does not take it, for example because it was closed.
    pub fn draw(&mut self, view: &View) -> Result<(), Error> {
        self.terminal.draw(|frame| view.draw(frame))?;
        Ok(())
    }

    /// Returns the size as an input, for a view that is new.
    ///
    /// # Errors
    /// When the terminal does not tell it.
    pub fn size(&self) -> Result<Input, Error> {
        let size = self.terminal.size()?;
        Ok(Input::Resize(size.width, size.height))
    }

    /// Waits at most `wait` for the user, and returns what came, if the view knows it.
    ///
    /// # Errors
    /// When the terminal cannot be read, for example because it was closed.
    pub fn input(&mut self, wait: Duration) -> Result<Option<Input>, Error> {
        match event::poll(wait) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            // A signal: the caller looks at its flag.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        Ok(match event::read()? {
            Event::Resize(width, height) => Some(Input::Resize(width, height)),
            Event::Key(event) if event.kind != KeyEventKind::Release => key(event).map(Input::Key),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to give back.
        let _ = ratatui::try_restore();
    }
}

/// Returns the key of an event, if the view knows it.
fn key(event: KeyEvent) -> Option<Key> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return (event.code == KeyCode::Char('c')).then_some(Key::Interrupt);
    }
    Some(match event.code {
        KeyCode::Char(character) => Key::Character(character),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
