//! The frame of every page, and escaping.

use super::amounts::UNKNOWN;

/// Escapes text for HTML and for the values of its attributes. Control characters and direction
/// marks, which could disguise what follows, become U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => shown += "&amp;",
            '<' => shown += "&lt;",
            '>' => shown += "&gt;",
            '"' => shown += "&quot;",
            '\'' => shown += "&#39;",
            '\n' | '\t' => shown.push(character),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
            _ if character.is_control() => shown.push(char::REPLACEMENT_CHARACTER),
            _ => shown.push(character),
        }
    }
    shown
}

/// Returns a page: `head` goes into the head, `main` into the body, both as HTML.
pub(super) fn page(title: &str, head: &str, main: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – numalab</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n{head}</head>\n<body>\n\
         <header><b>numalab</b><nav><a href=\"/\">Now</a> <a href=\"/runs\">Runs</a> \
         <a href=\"/metrics\">Metrics</a></nav></header>\n<main>\n{main}</main>\n</body>\n\
         </html>\n"
    )
}

/// Returns a document that is a page of its own with a link to the runs above it.
pub(crate) fn with_way_back(document: &str) -> String {
    let body = "<body>";
    let with_link = format!("{body}<nav><a href=\"/runs\">Runs</a></nav>");
    document.replacen(body, &with_link, 1)
}

/// Returns a table that scrolls in its own box on a narrow screen; heads and cells are HTML. A
/// column of figures is aligned at its right.
pub(super) fn table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let is_number = |column: usize| {
        let mut cells = rows.iter().filter_map(|cells| cells.get(column));
        cells.all(|cell| cell == UNKNOWN || cell.starts_with(|it: char| it.is_ascii_digit()))
    };
    let class = |column: usize| {
        if is_number(column) {
            " class=\"number\""
        } else {
            ""
        }
    };
    let classes: Vec<&str> = (0..heads.len()).map(class).collect();
    let with_class = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&classes);
        let cells = cells.map(|(cell, class)| format!("<{tag}{class}>{cell}</{tag}>"));
        cells.collect::<String>()
    };
    let head = with_class("th", &mut heads.iter().copied());
    let row = |cells: &Vec<String>| {
        let cells = with_class("td", &mut cells.iter().map(String::as_str));
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// The style of the pages.
pub(crate) const STYLE: &str = include_str!("../assets/style.css");
/// The script of the live page.
pub(crate) const SCRIPT: &str = include_str!("../assets/live.js");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_figures_are_aligned_at_their_right() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["1", "12 GiB", "a"]), row(["2", UNKNOWN, "1"])];
        let table = table(&["node", "free", "name"], &rows);
        assert_eq!(table.matches("<th class=\"number\">").count(), 2, "{table}");
        assert_eq!(table.matches("<td class=\"number\">").count(), 4, "{table}");
        assert!(table.contains("<th>name</th>"), "{table}");
    }

    #[test]
    fn no_text_becomes_markup() {
        let check = |text: &str, expected: &str| assert_eq!(escaped(text), expected);
        check("<script>", "&lt;script&gt;");
        check("\"' &amp;", "&quot;&#39; &amp;amp;");
        check("a\u{1b}\u{202e}b\0", "a\u{fffd}\u{fffd}b\u{fffd}");
    }
}
