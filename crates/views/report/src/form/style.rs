//! Text layout: width, colours, paragraphs, and paragraphs with a maximum number of lines.

use model::ShellLine;
use unicode_width::UnicodeWidthStr;
use verdict::Verdict;

use crate::form::plain::plain;

/// Minimum width, in columns; narrower tables are unreadable.
const WIDTH_MIN: usize = 40;

/// Options for text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to use escape sequences for colours.
    pub color: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            width: 80,
            color: false,
        }
    }
}

/// The role of a piece of text, which determines its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Normal text.
    Usual,
    /// A heading, the verdict.
    Strong,
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// A caution.
    Care,
}

impl Style {
    /// Returns the style of a verdict's word.
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Style::Good,
            Verdict::Slower => Style::Bad,
            Verdict::Tie | Verdict::Undecided | Verdict::Emulated => Style::Care,
        }
    }

    /// Returns the SGR parameter (ECMA-48, 8.3.117).
    fn sgr(self) -> Option<&'static str> {
        match self {
            Style::Usual => None,
            Style::Strong => Some("1"),
            Style::Bad => Some("31"),
            Style::Good => Some("32"),
            Style::Care => Some("33"),
        }
    }
}

impl TextOptions {
    /// Returns the usable columns.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(WIDTH_MIN)
    }

    /// Returns the text in its style.
    pub(crate) fn paint(&self, text: &str, style: Style) -> String {
        match style.sgr() {
            Some(sgr) if self.color && !text.is_empty() => format!("\u{1b}[{sgr}m{text}\u{1b}[0m"),
            _ => text.to_string(),
        }
    }

    /// Returns a heading with its line end.
    pub(crate) fn heading(&self, text: &str) -> String {
        format!("{}\n", self.paint(text, Style::Strong))
    }

    /// Wraps a text, the first line after `start`, the others indented below it.
    pub fn wrapped(&self, start: &str, text: &str) -> String {
        self.paragraph(start, text, Style::Usual)
    }

    /// Escapes and wraps a text, the first line after `start`, the others indented below it.
    pub(crate) fn paragraph(&self, start: &str, text: &str, style: Style) -> String {
        let indent = start.width();
        let room = self.columns().saturating_sub(indent).max(WIDTH_MIN / 2);
        let mut shown = String::new();
        for (index, line) in broken(&plain(text), room).iter().enumerate() {
            let before = if index == 0 { start } else { "" };
            shown.push_str(&format!("{before:indent$}"));
            shown.push_str(&self.paint(line, style));
            shown.push('\n');
        }
        shown
    }

    /// A line to type after `start`, in one piece so that it can be copied; a remark, which begins
    /// with `#`, is wrapped into several.
    pub(crate) fn typed(&self, start: &str, line: &ShellLine) -> String {
        let indent = start.width();
        let line = line.as_str();
        let lines = match line.strip_prefix("# ") {
            None => vec![plain(line)],
            Some(remark) => {
                let room = self.columns().saturating_sub(indent + "# ".len());
                let broken = broken(&plain(remark), room.max(WIDTH_MIN / 2)).into_iter();
                broken.map(|line| format!("# {line}")).collect()
            }
        };
        let mut shown = String::new();
        for (index, line) in lines.iter().enumerate() {
            let before = if index == 0 { start } else { "" };
            shown.push_str(&format!("{before:indent$}{line}\n"));
        }
        shown
    }

    /// Formats rows of names and values under a heading.
    pub(crate) fn facts(&self, heading: &str, facts: &[(&str, String, Style)]) -> String {
        let width = facts.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        let mut text = self.heading(heading);
        for (name, value, style) in facts {
            text.push_str(&self.paragraph(&format!("{name:width$}  "), value, *style));
        }
        text
    }
}

/// Breaks a text between words, and breaks a word that is wider than a line.
fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(String::new());
        } else if !line.is_empty() {
            line.push(' ');
        }
        push_word(&mut lines, word, room);
    }
    lines
}

fn push_word(lines: &mut Vec<String>, word: &str, room: usize) {
    let mut width = lines.last().map_or(0, |line| line.width());
    for character in word.chars() {
        let columns = character.encode_utf8(&mut [0; 4]).width();
        if width + columns > room {
            lines.push(String::new());
            width = 0;
        }
        width += columns;
        lines
            .last_mut()
            .expect("there is always a line")
            .push(character);
    }
}

/// Wraps a paragraph into at most `most` lines; an ellipsis ends a truncated one.
pub(crate) fn lines(
    options: &TextOptions,
    start: &str,
    text: &str,
    style: Style,
    most: usize,
) -> Vec<String> {
    let uncoloured = TextOptions {
        color: false,
        ..*options
    };
    let whole = uncoloured.paragraph(start, text, Style::Usual);
    let whole: Vec<&str> = whole.lines().collect();
    let mut shown: Vec<String> = whole.iter().take(most).map(|it| (*it).to_owned()).collect();
    if let Some(last) = shown.last_mut().filter(|_| whole.len() > most) {
        // The ellipsis takes a column, and so does the space before it.
        *last = cut(&format!("{last} …"), options.columns());
    }
    shown
        .iter()
        .map(|line| options.paint(line, style))
        .collect()
}

/// Truncates a one-line text to `columns` with an ellipsis.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    for character in text.chars() {
        let columns_of_it = character.encode_utf8(&mut [0; 4]).width();
        if shown.width() + columns_of_it + 1 > columns {
            break;
        }
        shown.push(character);
    }
    shown.truncate(shown.trim_end().len());
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_and_indented() {
        let options = TextOptions {
            width: 40,
            color: false,
        };
        let text = "the interval of the ratio includes 1, so no winner";
        assert_eq!(
            options.paragraph("- ", text, Style::Usual),
            "- the interval of the ratio includes 1,\n  so no winner\n"
        );
        let long = "x".repeat(50);
        let expected = format!("{}\n{}\n", "x".repeat(40), "x".repeat(10));
        assert_eq!(options.paragraph("", &long, Style::Usual), expected);
        assert_eq!(options.paragraph("", "", Style::Usual), "\n");
    }

    #[test]
    fn a_remark_is_wrapped_into_remarks_and_a_command_stays_whole() {
        let options = TextOptions {
            width: 40,
            color: false,
        };
        let command = "numalab move postgres:/var/lib/postgresql --to near-cpus";
        assert_eq!(
            options.typed("  now  ", &ShellLine::of(command)),
            format!("  now  {command}\n")
        );
        let remark = "# restart the server with that, and look again";
        let expected = "  now  # restart the server with that,\n       # and look again\n";
        assert_eq!(options.typed("  now  ", &ShellLine::of(remark)), expected);
    }

    #[test]
    fn colours_come_only_when_asked() {
        let mut options = TextOptions::default();
        assert_eq!(options.paint("tie", Style::Care), "tie");
        options.color = true;
        assert_eq!(options.paint("tie", Style::Care), "\u{1b}[33mtie\u{1b}[0m");
        assert_eq!(options.paint("tie", Style::Usual), "tie");
    }

    #[test]
    fn a_paragraph_ends_after_so_many_lines() {
        let options = TextOptions {
            width: 40,
            color: false,
        };
        let text = "one two three four five six seven eight nine ten eleven twelve thirteen";
        let shown = |most| lines(&options, "- ", text, Style::Usual, most);
        assert_eq!(shown(9).len(), 2);
        assert_eq!(shown(1), ["- one two three four five six seven …"]);
        assert!(shown(0).is_empty());
    }
}
