//! Makes hostile text fit for a terminal: nothing invisible, no cursor moved, no flood.

use unicode_width::UnicodeWidthStr;

/// The text with control characters, line ends, direction marks and the unassigned escaped.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmless(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
    }
    shown
}

/// The plain text, cut to so many columns with an ellipsis.
pub(crate) fn plain_within(text: &str, columns: usize) -> String {
    // A character is at least a byte, so that a flood is not escaped before it is cut; combining
    // marks have no width and are part of the flood.
    let start: String = text.chars().take(4 * columns).collect();
    let is_cut = start.len() < text.len();
    cut(&plain(&start), columns, is_cut)
}

/// The text cut to so many columns; with an ellipsis if it is cut here or was `cut_before`.
fn cut(text: &str, columns: usize, cut_before: bool) -> String {
    if !cut_before && text.width() <= columns {
        return text.to_string();
    }
    let room = columns.saturating_sub(1);
    let mut shown = String::new();
    for character in text.chars() {
        let mut buffer = [0; 4];
        if (shown.width() + character.encode_utf8(&mut buffer).width()) > room {
            break;
        }
        shown.push(character);
    }
    shown.push('…');
    shown
}

/// Whether a terminal shows a character and nothing else.
///
/// `char::escape_debug` knows what is printable, but also escapes quotes, and a combining mark
/// unless it follows something.
fn is_harmless(character: char) -> bool {
    let after_a_letter = ['a', character];
    matches!(character, '\\' | '\'' | '"')
        || (after_a_letter.iter().collect::<String>())
            .escape_debug()
            .eq(after_a_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn what_people_read_stays() {
        check(
            "binding \"1\" \\ 'x' – 10 µs",
            "binding \"1\" \\ 'x' – 10 µs",
        );
        check("字幕 né Ångström हिन्दी", "字幕 né Ångström हिन्दी");
    }

    #[test]
    fn what_disturbs_a_terminal_is_escaped() {
        check("\u{1b}[2J", "\\u{1b}[2J");
        check("a\r\nb\tc\0", "a\\u{d}\\u{a}b\\u{9}c\\u{0}");
        check("\u{202e}abc", "\\u{202e}abc");
        check("\u{9b}1m\u{200b}", "\\u{9b}1m\\u{200b}");
    }

    #[test]
    fn long_texts_are_cut_by_columns() {
        assert_eq!(plain_within("binding", 7), "binding");
        assert_eq!(plain_within("binding", 6), "bindi…");
        assert_eq!(plain_within("字幕字幕", 6), "字幕…");
        assert_eq!(plain_within(&"x".repeat(1 << 20), 4), "xxx…");
        assert_eq!(
            plain_within(&"\u{301}".repeat(100), 4).chars().last(),
            Some('…')
        );
        assert_eq!(plain_within("ab", 0), "…");
    }
}
