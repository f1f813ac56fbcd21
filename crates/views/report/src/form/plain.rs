//! Sanitizes untrusted text for a terminal: no invisible characters, no cursor movement, no flood.

use unicode_width::UnicodeWidthStr;

/// Escapes control characters, line ends, direction marks and unassigned characters.
pub fn plain(text: &str) -> String {
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

/// Escapes multi-line text for a terminal like [`plain`], except line ends, tabs and the colours of
/// numalab's own texts.
pub fn plain_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Nearly all of a text is this: it is copied as a whole.
        let is_usual = |it: char| matches!(it, ' '..='~' | '\n' | '\t');
        let usual = rest.find(|it| !is_usual(it)).unwrap_or(rest.len());
        shown.push_str(&rest[..usual]);
        rest = &rest[usual..];
        let Some(character) = rest.chars().next() else {
            return shown;
        };
        let colour = colour_bytes(rest);
        if colour > 0 || is_harmless(character) {
            let kept = colour.max(character.len_utf8());
            shown.push_str(&rest[..kept]);
            rest = &rest[kept..];
        } else {
            shown.extend(character.escape_unicode());
            rest = &rest[character.len_utf8()..];
        }
    }
}

/// Escapes a JSON document for a terminal. Such characters occur only in its strings, which may
/// escape any character (RFC 8259, section 7), so its meaning does not change.
pub fn plain_json(document: &str) -> String {
    let mut shown = String::with_capacity(document.len());
    for character in document.chars() {
        if is_harmless(character) || character == '\n' {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    shown
}

/// Characters that mean something in Markdown or HTML.
const SPECIAL: &str = "\\`*_{}[]<>#|~&";

/// Returns a text on one line that means nothing but itself in Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let mut escaped = String::new();
    for character in plain(text).chars() {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the bytes of the colour sequence, such as `\e[33m`, at the start of a text, or 0.
fn colour_bytes(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else {
        return 0;
    };
    let is_parameter = |character: char| character.is_ascii_digit() || character == ';';
    match parameters
        .trim_start_matches(is_parameter)
        .strip_prefix('m')
    {
        Some(rest) => text.len() - rest.len(),
        None => 0,
    }
}

/// Returns the plain text, truncated to `columns` with an ellipsis.
pub(crate) fn plain_within(text: &str, columns: usize) -> String {
    // Bound the input before escaping it, so that a flood is not escaped in full; combining marks
    // have no width, but count here.
    let start: String = text.chars().take(4 * columns).collect();
    let is_cut = start.len() < text.len();
    cut(&plain(&start), columns, is_cut)
}

/// Truncates the text to `columns`, with an ellipsis if it is cut here or was `cut_before`.
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

/// Returns whether a terminal shows a character without any other effect.
///
/// `char::escape_debug` knows which characters are printable, but also escapes quotes, and a
/// combining mark at the start of a text.
fn is_harmless(character: char) -> bool {
    if matches!(character, ' '..='~') {
        return true;
    }
    let after_a_letter = ['a', character];
    let word = after_a_letter.iter().collect::<String>();
    word.escape_debug().eq(after_a_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn names_cannot_make_markup_or_columns() {
        assert_eq!(markdown("a|b <b>*c*\n"), "a\\|b \\<b\\>\\*c\\*\\\\u\\{a\\}");
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
    fn lines_and_colours_of_our_own_stay() {
        let check = |text: &str, expected: &str| assert_eq!(plain_lines(text), expected);
        let own = "\u{1b}[1;33mcare\u{1b}[0m\n\tµ │ 字\n";
        check(own, own);
        check("\u{1b}[2J\u{1b}]0;x\u{7}", "\\u{1b}[2J\\u{1b}]0;x\\u{7}");
        check("\u{9b}2J\r\u{202e}", "\\u{9b}2J\\u{d}\\u{202e}");
        check("\u{1b}[1;3", "\\u{1b}[1;3");
    }

    #[test]
    fn a_document_says_the_same_and_disturbs_no_terminal() {
        let text = "a\u{9b}2J\u{7f}\u{202e}\u{e0001} \"字\" \u{1b}[31m";
        let document = serde_json::to_string_pretty(&serde_json::json!({ "name": text })).unwrap();
        let shown = plain_json(&document);
        assert_eq!(plain_lines(&shown), shown);
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read["name"], text);
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
