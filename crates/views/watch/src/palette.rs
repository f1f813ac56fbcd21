//! The styles of the screen. Nothing is told by colour alone: without it, words and marks stay.

use ratatui::style::{Color, Modifier, Style};

/// The styles, with colours or without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(crate) has_colours: bool,
}

impl Palette {
    fn coloured(self, color: Color, modifier: Modifier) -> Style {
        let style = Style::new().add_modifier(modifier);
        match self.has_colours {
            true => style.fg(color),
            false => style,
        }
    }

    /// Headings of tables.
    pub(crate) fn heading(self) -> Style {
        self.coloured(Color::Cyan, Modifier::BOLD)
    }

    /// What needs attention.
    pub(crate) fn warning(self) -> Style {
        self.coloured(Color::Yellow, Modifier::BOLD)
    }

    /// What is wrong.
    pub(crate) fn error(self) -> Style {
        self.coloured(Color::Red, Modifier::BOLD)
    }

    /// The first and the last line.
    pub(crate) fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
