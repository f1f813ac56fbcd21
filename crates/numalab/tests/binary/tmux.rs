//! A terminal that a person could sit at: tmux shows what is on it, and types.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::patience::until;

/// A program that redraws its window takes less time, unless it is stopped.
const REDRAWN_WITHIN: Duration = Duration::from_millis(200);

static STARTED: AtomicU32 = AtomicU32::new(0);

/// tmux with one window; ends when dropped.
pub(crate) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts numalab in a window of this size, by way of a shell that says how it ended; `None` if
    /// there is no tmux.
    pub(crate) fn start(
        laboratory: &Laboratory,
        test: &str,
        (columns, lines): (u16, u16),
        arguments: &[&str],
    ) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            not_run(test, Need::Package, "it needs tmux");
            return None;
        }
        let configuration =
            laboratory.file("tmux.conf", "set -g status off\nset -g set-clipboard on\n");
        // A server that was told to end may still be there.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let socket = laboratory.state().with_file_name(format!("tmux-{number}"));
        let tmux = Tmux { socket };
        let command = laboratory.command(arguments);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let script = r#""$@"; echo "ended with $?"; sleep 600"#;
        let mut started = tmux.command(&["-f", &configuration, "new-session", "-d"]);
        started.args(["-x", &columns.to_string(), "-y", &lines.to_string()]);
        started.args(["--", "sh", "-c", script, "sh"]).args(words);
        for (name, value) in command.get_envs() {
            started.env(name, value.unwrap_or_default());
        }
        assert!(started.status().unwrap().success());
        Some(tmux)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(words);
        // A test may itself run in a tmux, whose terminal is another one.
        command.env_remove("TMUX").env("TERM", "xterm-256color");
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys, as tmux names them.
    #[track_caller]
    pub(crate) fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "--"], keys].concat());
    }

    /// Presses and releases the first button of a mouse, at this column and line from 0 (xterm,
    /// "SGR (1006)").
    #[track_caller]
    pub(crate) fn click(&self, x: u16, y: u16) {
        let (x, y) = (x + 1, y + 1);
        let sequences = format!("\u{1b}[<0;{x};{y}M\u{1b}[<0;{x};{y}m");
        self.run(&["send-keys", "-l", "--", &sequences]);
    }

    /// Returns what a program has asked the terminal to copy.
    pub(crate) fn copied(&self) -> String {
        self.run(&["show-buffer"])
    }

    /// Changes the size of the window.
    pub(crate) fn resize(&self, (columns, lines): (u16, u16)) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Returns what the window shows.
    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// The same with its colours.
    pub(crate) fn screen_with_colours(&self) -> String {
        self.run(&["capture-pane", "-p", "-e"])
    }

    /// Whether a program has taken the whole window and the mouse, and hidden the cursor.
    pub(crate) fn is_taken(&self) -> bool {
        let flags = "#{alternate_on}#{mouse_any_flag}#{cursor_flag}";
        let flags = self.run(&["display", "-p", flags]);
        let is_taken = flags.trim() == "110";
        assert!(is_taken || flags.trim() == "001", "{flags}");
        is_taken
    }

    /// Waits until the window shows a text; returns what it shows then.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        until(text, || Some(self.screen()).filter(|it| it.contains(text)))
    }
}

impl Tmux {
    /// Waits until the window shows a text and is not being redrawn; returns what it shows then.
    #[track_caller]
    pub(crate) fn shows_at_rest(&self, text: &str) -> String {
        until(text, || {
            let screen = self.shows(text);
            sleep(REDRAWN_WITHIN);
            (self.screen() == screen).then_some(screen)
        })
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}
