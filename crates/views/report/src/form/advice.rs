//! What to do about something that was seen: a sentence, and a command that can be pasted.

use model::ShellLine;

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// In words; ends with a colon before a command.
    pub sentence: String,
    /// The command. It stands on a line of its own that is never broken: what follows a line end
    /// would be a command by itself, and others choose the names in it.
    pub command: Option<ShellLine>,
}

impl Advice {
    /// Advice without a command.
    pub(crate) fn words(sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Advice {
            sentence,
            command: None,
        }
    }

    /// Advice with a command.
    pub(crate) fn paste(sentence: impl Into<String>, command: ShellLine) -> Self {
        Advice {
            command: Some(command),
            ..Self::words(sentence)
        }
    }

    /// Formats it as a paragraph, and a line for the command.
    pub(crate) fn text(&self, start: &str, style: Style, options: &TextOptions) -> String {
        let mut text = options.paragraph(start, &self.sentence, style);
        if let Some(command) = &self.command {
            text.push_str(&format!("  {}\n", plain(command)));
        }
        text
    }
}
