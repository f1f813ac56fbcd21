//! The text of a capture. Pure.

use anyhow::{Result, bail};

use super::entry::{Content, Entry};

const EXPLANATION: &str = "\
# A capture of what a kernel says about its machine, written by `cargo xtask capture-tree`.
# Lines that begin with # describe the capture; they stand only before the first file.
# ==> PATH <==            a file: its content follows, up to the next such line
# ==> PATH -> TARGET <==  a symbolic link, without content
# A file whose line is followed directly by the next such line is empty.
# Each content ends with a newline, which the original may lack.
";

/// The entries as one text.
pub fn render(title: &str, entries: &[Entry]) -> Result<String> {
    let mut text = format!("# {title}\n{EXPLANATION}");
    for entry in entries {
        if let Content::Unreadable(reason) = &entry.content {
            text.push_str(&format!(
                "# not readable: {}: {reason}\n",
                entry.path.display()
            ));
        }
    }
    for entry in entries {
        let path = entry.path.display();
        match &entry.content {
            Content::Unreadable(_) => {}
            Content::Link(target) => {
                text.push_str(&format!("==> {path} -> {} <==\n", target.display()));
            }
            Content::Text(content) => {
                if content.lines().any(is_header) {
                    bail!("cannot write {path}: one of its lines looks like `==> PATH <==`");
                }
                text.push_str(&format!("==> {path} <==\n{content}"));
                if !content.is_empty() && !content.ends_with('\n') {
                    text.push('\n');
                }
            }
        }
    }
    Ok(text)
}

fn is_header(line: &str) -> bool {
    line.starts_with("==> ") && line.ends_with(" <==")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, content: Content) -> Entry {
        Entry {
            path: path.into(),
            content,
        }
    }

    fn body(entries: &[Entry]) -> String {
        let text = render("test", entries).unwrap();
        text.strip_prefix("# test\n")
            .unwrap()
            .strip_prefix(EXPLANATION)
            .unwrap()
            .to_string()
    }

    #[test]
    fn each_kind_has_its_spelling() {
        let text = body(&[
            entry("a/file", Content::Text("0-3\n".into())),
            entry("a/no-newline", Content::Text("x".into())),
            entry("a/blank-line", Content::Text("\n".into())),
            entry("a/empty", Content::Text(String::new())),
            entry("a/link", Content::Link("../b".into())),
        ]);
        let expected = "==> a/file <==\n0-3\n==> a/no-newline <==\nx\n==> a/blank-line <==\n\n\
            ==> a/empty <==\n==> a/link -> ../b <==\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_cannot_be_read_is_named_at_the_top() {
        let text = body(&[entry("a", Content::Unreadable("denied".into()))]);
        assert_eq!(text, "# not readable: a: denied\n");
    }

    #[test]
    fn a_content_that_looks_like_a_header_is_refused() {
        let content = Content::Text("==> x <==\n".into());
        assert!(render("test", &[entry("a", content)]).is_err());
    }
}
