//! The exceptions to the size rule, each with its current size. They are a ratchet: a size may only
//! shrink, and an exception goes once the size is within the limit.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::sizes::Excess;

/// The file with the exceptions.
pub(super) const FILE: &str = "xtask/tidy-allow.toml";

/// One exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    rule: String,
    file: PathBuf,
    item: Option<String>,
    size: usize,
}

/// Parses the exceptions in the file's text.
///
/// ```text
/// [[allow]]
/// rule = "function-size"
/// file = "crates/numa/src/topology.rs"
/// item = "read"
/// size = 82
/// ```
pub(super) fn parse(text: &str) -> Result<Vec<Allowed>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let Some(entries) = table.get("allow") else {
        return Ok(Vec::new());
    };
    let entries = entries
        .as_array()
        .ok_or("`allow` is not a list of tables")?;
    entries.iter().map(parse_entry).collect()
}

fn parse_entry(entry: &toml::Value) -> Result<Allowed, String> {
    let word = |key: &str| entry.get(key).and_then(toml::Value::as_str);
    let required = |key: &str| word(key).ok_or(format!("an entry has no text `{key}`"));
    let size = entry.get("size").and_then(toml::Value::as_integer);
    Ok(Allowed {
        rule: required("rule")?.to_string(),
        file: required("file")?.into(),
        item: word("item").map(str::to_string),
        size: size
            .and_then(|size| usize::try_from(size).ok())
            .ok_or("an entry has no number `size`")?,
    })
}

/// Returns what remains: excesses that are not allowed or grew, and exceptions that are too wide.
pub(super) fn check(allowed: &[Allowed], excesses: Vec<Excess>) -> Vec<Finding> {
    let matches = |allowed: &Allowed, excess: &Excess| {
        allowed.rule == excess.finding.rule
            && allowed.file == excess.finding.file
            && allowed.item == excess.item
    };
    let mut findings = Vec::new();
    for entry in allowed {
        let now = excesses
            .iter()
            .find(|excess| matches(entry, excess))
            .map(|excess| excess.size);
        let what = match &entry.item {
            Some(item) => format!("{} {item} of {}", entry.rule, entry.file.display()),
            None => format!("{} of {}", entry.rule, entry.file.display()),
        };
        let message = match now {
            None => format!("{what} is within its limit; remove the entry"),
            Some(size) if size < entry.size => format!("{what} shrank; lower the entry to {size}"),
            Some(_) => continue,
        };
        findings.push(Finding::new(Path::new(FILE), 1, "ratchet", message));
    }
    let is_covered = |excess: &Excess| {
        allowed
            .iter()
            .any(|entry| matches(entry, excess) && excess.size <= entry.size)
    };
    let remaining = excesses.into_iter().filter(|excess| !is_covered(excess));
    findings.extend(remaining.map(|excess| excess.finding));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(allowed_size: usize, size: Option<usize>) -> Vec<&'static str> {
        let text =
            format!("[[allow]]\nrule = \"file-size\"\nfile = \"a.rs\"\nsize = {allowed_size}\n");
        let finding = Finding::new(Path::new("a.rs"), 1, "file-size", "too large");
        let excess = size.map(|size| Excess {
            finding,
            item: None,
            size,
        });
        let found = check(&parse(&text).unwrap(), excess.into_iter().collect());
        found.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn sizes_may_only_shrink() {
        assert_eq!(findings(500, Some(500)), Vec::<&str>::new());
        assert_eq!(findings(500, Some(501)), ["file-size"]);
        assert_eq!(findings(500, Some(450)), ["ratchet"]);
        assert_eq!(findings(500, None), ["ratchet"]);
    }

    #[test]
    fn an_empty_file_allows_nothing() {
        assert_eq!(parse("# Nothing.\n"), Ok(Vec::new()));
        assert!(parse("[[allow]]\nrule = \"file-size\"\n").is_err());
    }
}
