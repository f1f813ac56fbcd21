//! Answers of scripts that print several things: sections that begin with a line `== NAME`.

use anyhow::{Context, Result};

/// Returns the text between a line `== NAME` and the next such line.
pub(super) fn section<'a>(text: &'a str, name: &str) -> Result<&'a str> {
    let begin = format!("== {name}\n");
    let (_, rest) = text
        .split_once(&begin)
        .with_context(|| format!("there is no section {name:?}: {text}"))?;
    Ok(rest.split_once("== ").map_or(rest, |(section, _)| section))
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn sections_are_told_apart() {
        let text = "== a\none\n== log\n== end\nx\n";
        assert_eq!(section(text, "a").unwrap(), "one\n");
        assert_eq!(section(text, "log").unwrap(), "");
        assert_eq!(section(text, "end").unwrap(), "x\n");
        assert!(section(text, "b").is_err());
    }
}
