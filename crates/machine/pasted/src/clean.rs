//! A line as it stood on the terminal: without what mails, pages and word processors put around it.

/// Tags that stand around or inside copied text. Others are left: `<not available>` is what
/// numactl prints.
const TAGS: [&str; 16] = [
    "a", "b", "br", "code", "div", "em", "h3", "i", "li", "p", "pre", "span", "strong", "td", "tr",
    "ul",
];

/// Entities and what they stand for.
const ENTITIES: [(&str, &str); 6] = [
    ("&gt;", ">"),
    ("&lt;", "<"),
    ("&nbsp;", " "),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&amp;", "&"),
];

/// Maximum length of a tag in characters, with its attributes.
const TAG_CHARS_MAX: usize = 200;

/// Maximum length of a line in bytes; what is longer is no output of a tool. A CPU list of 4,096
/// CPUs has 20 KB, a table of PDF text with 256 nodes in one line 300 KB.
const LINE_BYTES_MAX: usize = 512 << 10;

/// Returns the line without marks of HTML and quoting, with plain dashes, quotes and spaces.
pub(crate) fn clean(line: &str) -> String {
    if line.len() > LINE_BYTES_MAX {
        return String::new();
    }
    let plain: String = without_tags(line).chars().filter_map(plain).collect();
    let plain = ENTITIES
        .iter()
        .fold(plain, |text, (entity, meant)| match text.contains(entity) {
            true => text.replace(entity, meant),
            false => text,
        });
    // Marks of mails, of diffs and of shells that trace.
    let unquoted = plain.trim().trim_start_matches(['>', '|', '\\', '+', ' ']);
    unquoted.trim().to_owned()
}

/// The plain form of a character; `None` for those that show nothing.
fn plain(it: char) -> Option<char> {
    match it {
        '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '\t' => Some(' '),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{2018}' | '\u{2019}' => Some('\''),
        '\u{201c}' | '\u{201d}' => Some('"'),
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}' => None,
        it if it.is_control() => None,
        it => Some(it),
    }
}

fn without_tags(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        kept.push_str(before);
        let end = tag.char_indices().nth(TAG_CHARS_MAX);
        let near = &tag[..end.map_or(tag.len(), |it| it.0)];
        rest = match near.find('>') {
            Some(end) if is_tag(&tag[1..end]) => &tag[end + 1..],
            _ => {
                kept.push('<');
                &tag[1..]
            }
        };
    }
    kept.push_str(rest);
    kept
}

fn is_tag(inside: &str) -> bool {
    let name = inside.trim_start_matches('/');
    let name = name.split([' ', '/']).next().unwrap_or_default();
    TAGS.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_it_stood_on_the_terminal() {
        let cases = [
            (
                "<strong>node 0 cpus: 1 2</strong> 10",
                "node 0 cpus: 1 2 10",
            ),
            ("&gt; numactl --hardware", "numactl --hardware"),
            ("> > node 0 size: 5 MB\r", "node 0 size: 5 MB"),
            ("+node 0 size: 5 MB", "node 0 size: 5 MB"),
            (
                "<li><em>cpuset.cpus</em>=\u{201c}1\u{2013}9\u{201d}</li>",
                "cpuset.cpus=\"1-9\"",
            ),
            (
                "node 1 size: <not available>",
                "node 1 size: <not available>",
            ),
            ("node\u{a0}0\u{200b} free:  3 MB", "node 0 free:  3 MB"),
            ("a < b > c", "a < b > c"),
            ("\u{1b}[1mnode 0\u{1b}[0m", "[1mnode 0[0m"),
        ];
        for (line, expected) in cases {
            assert_eq!(clean(line), expected);
        }
    }
}
