//! Lines of a screen: paragraphs with a maximum number of lines.

use unicode_width::UnicodeWidthStr;

use crate::run_style::{Style, TextOptions};

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
