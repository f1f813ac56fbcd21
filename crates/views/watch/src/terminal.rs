//! The terminal: taken for the view, and given back on every way out, also of a panic.

use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEvent, KeyEventKind,
    KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::disable_raw_mode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::input::{Input, Key, Mouse};
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
    /// It was closed, or the connection to it is lost.
    #[error("the terminal is gone")]
    Gone,
}

/// The terminal while the view has it; dropping this gives it back.
#[derive(Debug)]
pub struct Screen {
    /// Its own `drop` shows the cursor again and panics where neither the screen nor stderr takes
    /// anything, as when the terminal is gone.
    terminal: ManuallyDrop<DefaultTerminal>,
    events: Receiver<io::Result<Event>>,
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
        let terminal = ratatui::try_init().inspect_err(|_| {
            let _ = ratatui::try_restore();
        })?;
        give_mouse_back_in_a_panic();
        execute!(io::stdout(), EnableMouseCapture).inspect_err(|_| {
            let _ = ratatui::try_restore();
        })?;
        let (sender, events) = channel();
        let screen = Screen {
            terminal: ManuallyDrop::new(terminal),
            events,
        };
        let thread = Builder::new().name("keys".to_owned());
        thread.spawn(move || read_events(&sender))?;
        Ok(screen)
    }

    /// Draws the view.
    ///
    /// # Errors
    /// When the terminal does not take it, for example because it was closed.
    pub fn draw(&mut self, view: &View) -> Result<(), Error> {
        self.terminal.draw(|frame| view.draw(frame))?;
        Ok(())
    }

    /// Asks the terminal to copy a text (OSC 52); whether it does, it does not tell.
    ///
    /// # Errors
    /// As [`Screen::draw`].
    pub fn copy(&mut self, text: &str) -> Result<(), Error> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))?;
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
        let event = match self.events.recv_timeout(wait) {
            Ok(event) => event?,
            Err(RecvTimeoutError::Timeout) if is_gone()? => return Err(Error::Gone),
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(Error::Gone),
        };
        Ok(match event {
            Event::Resize(width, height) => Some(Input::Resize(width, height)),
            Event::Key(event) if event.kind != KeyEventKind::Release => key(event).map(Input::Key),
            Event::Mouse(event) => mouse(event).map(Input::Mouse),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to give back.
        let _ = execute!(io::stdout(), DisableMouseCapture);
        let _ = self.terminal.show_cursor();
        let _ = ratatui::try_restore();
    }
}

/// Makes a panic give the mouse back before all else.
fn give_mouse_back_in_a_panic() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let _ = execute!(io::stdout(), DisableMouseCapture);
        hook(info);
    }));
}

/// Makes the terminal's keys work as before, and writes nothing: for a way out while a terminal
/// that takes no output, as after Ctrl-S, holds up whoever draws.
pub fn give_keys_back() {
    let _ = disable_raw_mode();
}

/// Passes on what the library reads, until nobody wants it. On a thread of its own: the library
/// waits for the rest of a key whatever its timeout, and reads for ever from a terminal that is
/// gone (crossterm 0.29, `event/source/unix/mio.rs`: 0 bytes are no end). The end of the process
/// ends it.
fn read_events(events: &Sender<io::Result<Event>>) {
    loop {
        let event = event::read();
        let is_last = event.is_err();
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Whether the other end of the terminal is closed, which a signal tells only to the processes of
/// its session that do not ignore it (tty_ioctl(4), "hangup").
fn is_gone() -> io::Result<bool> {
    let stdin = io::stdin();
    // What is asked for is none of these, which poll(2) reports all the same.
    let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ok(polled[0].revents().intersects(gone))
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
        KeyCode::Left => Key::Left,
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

/// Returns what the mouse did, if the view knows it.
fn mouse(event: MouseEvent) -> Option<Mouse> {
    Some(match event.kind {
        MouseEventKind::Down(MouseButton::Left) => Mouse::Click(event.column, event.row),
        MouseEventKind::ScrollUp => Mouse::WheelUp,
        MouseEventKind::ScrollDown => Mouse::WheelDown,
        _ => return None,
    })
}
