//! Screens for terminals that show characters of ASCII only.

use ratatui::buffer::Buffer;

/// Blocks and lines of ours, and what stands for each.
const TABLE: [(&str, &str); 15] = [
    ("▁", "_"),
    ("▂", "."),
    ("▃", ":"),
    ("▄", "-"),
    ("▅", "="),
    ("▆", "+"),
    ("▇", "*"),
    ("█", "#"),
    ("├", "|"),
    ("└", "`"),
    ("─", "-"),
    ("│", "|"),
    ("×", "x"),
    ("…", "~"),
    ("·", "."),
];
/// What stands for any other character, such as those of names.
const OTHER: &str = "_";

/// Returns what stands for a text of one cell; `None` if that is ASCII.
fn ascii(symbol: &str) -> Option<&'static str> {
    let found = || TABLE.iter().find(|(unicode, _)| *unicode == symbol);
    (!symbol.is_ascii()).then(|| found().map_or(OTHER, |(_, ascii)| ascii))
}

/// Replaces each cell that is not ASCII.
pub(crate) fn convert(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if let Some(ascii) = ascii(cell.symbol()) {
            cell.set_symbol(ascii);
        }
    }
}

/// Returns the same of a text.
pub(crate) fn converted(text: &str) -> String {
    let mut converted = String::with_capacity(text.len());
    let mut encoded = [0; 4];
    for character in text.chars() {
        let symbol = character.encode_utf8(&mut encoded);
        converted.push_str(ascii(symbol).unwrap_or(symbol));
    }
    converted
}
