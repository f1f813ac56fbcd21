//! Text that others chose, as cells of a screen: what cannot be seen is escaped, what is too wide
//! is cut. Columns of the terminal are counted, not characters.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Where a text stands in its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// At the left, as words do.
    Left,
    /// At the right, as numbers do.
    Right,
}

/// Returns the text with everything escaped that a terminal would obey or hide, cut to `columns`
/// with an ellipsis.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    // A flood is not escaped in full: no character that is kept is narrower than a quarter column.
    let bound = columns.saturating_mul(4).saturating_add(4);
    let mut shown = String::new();
    for (index, character) in text.chars().enumerate() {
        if index >= bound {
            shown.push('…');
            break;
        }
        match is_harmless(character) {
            true => shown.push(character),
            false => shown.extend(character.escape_unicode()),
        }
    }
    if shown.width() <= columns {
        return shown;
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in shown.chars() {
        let width = character.width().unwrap_or(0);
        if used + width + 1 > columns {
            break;
        }
        used += width;
        kept.push(character);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Returns the text in exactly `columns`.
pub(crate) fn cell(text: &str, columns: usize, side: Side) -> String {
    let text = cut(text, columns);
    let spaces = " ".repeat(columns.saturating_sub(text.width()));
    match side {
        Side::Left => text + &spaces,
        Side::Right => spaces + &text,
    }
}

/// Whether a terminal shows the character as itself: after a letter, `char::escape_debug` escapes
/// exactly what is not printable, and quotes and backslashes, which are.
fn is_harmless(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return true;
    }
    let after_a_letter = ['a', character];
    let word = after_a_letter.iter().collect::<String>();
    word.escape_debug().eq(after_a_letter)
}

/// Breaks a text into lines of at most `columns`, at spaces where there are some.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, columns.max(1));
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_become_visible() {
        assert_eq!(cut("\u{1b}[2Jx", 20), "\\u{1b}[2Jx");
        assert_eq!(cut("a\nb\u{202e}", 20), "a\\u{a}b\\u{202e}");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cell("字幕", 6, Side::Left), "字幕  ");
        assert_eq!(cell("字幕", 3, Side::Left), "字…");
        assert_eq!(cell("字幕", 2, Side::Right), " …");
        assert_eq!(cell("字幕", 0, Side::Left), "");
    }

    #[test]
    fn long_texts_are_broken_at_spaces() {
        assert_eq!(wrapped("node 0 is full", 7), ["node 0", "is full"]);
        assert_eq!(wrapped("abcdefgh", 4), ["abc…"]);
        assert_eq!(wrapped("", 4), Vec::<String>::new());
    }
}
