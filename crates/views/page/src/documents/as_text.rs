//! The text of a command, as the terminal shows it.

use maud::{Markup, html};

/// Maximum number of characters of a text.
const TEXT_MAX: usize = 200_000;

/// Returns the same figures as the command prints them.
pub(crate) fn as_text(text: &str) -> Markup {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(TEXT_MAX).collect();
    html! {
        details {
            summary { "The same as text" }
            pre { (report::plain_lines(&start)) }
            @if characters.next().is_some() { p { "Left out: the rest of the text." } }
        }
    }
}
