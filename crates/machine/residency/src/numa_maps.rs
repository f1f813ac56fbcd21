//! One line of /proc/PID/numa_maps.
//!
//! A real line (one, folded): `7f13b8600000 weighted interleave:0-3 file=/SYSV00000000\040(deleted)
//! huge dirty=3 mapmax=2 N0=1 N3=2 kernelpagesize_kB=2048`. Two policy names contain a space, so
//! the line cannot be split into words (fs/proc/task_mmu.c, `show_numa_map`; mm/mempolicy.c,
//! `mpol_to_str`).

use std::collections::BTreeMap;

use model::NodeId;

/// A line of numa_maps is malformed, or missing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("numa_maps: expected {expected}, found {found:?}")]
pub struct NumaMapsError {
    /// What was expected.
    pub expected: &'static str,
    /// What was found.
    pub found: String,
}

/// One mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaMapsLine {
    /// First address.
    pub address: u64,
    /// Policy in the kernel's words: `bind:0-3`, `prefer (many):0`, …
    pub policy: String,
    /// Name of the object, with the kernel's escapes undone.
    pub file: Option<String>,
    /// Whether the mapping is of huge pages.
    pub huge: bool,
    /// Pages of [`NumaMapsLine::kernel_page_bytes`] by node.
    pub pages_by_node: BTreeMap<NodeId, u64>,
    /// Size of the pages counted; `None` when the process has none of them.
    pub kernel_page_bytes: Option<u64>,
    /// Pages of them that belong to the process and not to the object (`anon=`).
    pub anonymous_pages: u64,
    /// The most processes that map any one of the pages (`mapmax=`; 1 is not printed).
    pub mapped_by_most: u64,
}

impl NumaMapsLine {
    /// Pages on all nodes.
    pub fn pages(&self) -> u64 {
        self.pages_by_node
            .values()
            .fold(0, |sum, pages| sum.saturating_add(*pages))
    }
}

/// Fields without a value that can follow the policy.
const BARE_FIELDS: [&str; 3] = ["heap", "stack", "huge"];

/// Parses one line.
///
/// # Errors
/// When it is not what the kernel writes.
pub fn parse_line(line: &str) -> Result<NumaMapsLine, NumaMapsError> {
    let (address, policy, words) = start(line)?;
    let mut parsed = NumaMapsLine {
        address,
        policy,
        file: None,
        huge: false,
        pages_by_node: BTreeMap::new(),
        kernel_page_bytes: None,
        anonymous_pages: 0,
        mapped_by_most: 1,
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| wrong("a number of pages", word))
        };
        match key {
            "file" => parsed.file = Some(unescape(value)),
            "huge" => parsed.huge = true,
            "anon" => parsed.anonymous_pages = number()?,
            "mapmax" => parsed.mapped_by_most = number()?,
            "kernelpagesize_kB" => {
                let bytes = number()?.checked_mul(1024);
                parsed.kernel_page_bytes = Some(bytes.ok_or_else(|| wrong("a page size", word))?);
            }
            _ => {
                let node = key.strip_prefix('N').and_then(|digits| digits.parse().ok());
                if let Some(node) = node {
                    parsed.pages_by_node.insert(NodeId(node), number()?);
                }
            }
        }
    }
    Ok(parsed)
}

/// The policy in the first line of a numa_maps of which only the start was read; `None` if that may
/// be cut.
pub fn policy_of_start(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let (_, policy, mut words) = start(line).ok()?;
    // After the policy comes a field, none of which begins as the second word of a policy does.
    let next = words.next();
    let is_whole = text.contains('\n') || next.is_some_and(|word| !word.starts_with(['i', '(']));
    is_whole.then_some(policy)
}

/// The address and the policy of a line, and the words after them.
fn start(line: &str) -> Result<(u64, String, impl Iterator<Item = &str>), NumaMapsError> {
    let (address, rest) = line
        .split_once(' ')
        .ok_or_else(|| wrong("an address", line))?;
    let address = u64::from_str_radix(address, 16).map_err(|_| wrong("an address", address))?;
    let mut words = rest.split(' ').filter(|word| !word.is_empty()).peekable();
    let mut policy = Vec::new();
    while let Some(word) = words.next_if(|word| is_part_of_policy(word, policy.is_empty())) {
        policy.push(word);
    }
    if policy.is_empty() {
        return Err(wrong("a policy", rest));
    }
    Ok((address, policy.join(" "), words))
}

fn wrong(expected: &'static str, found: &str) -> NumaMapsError {
    let found = found.chars().take(120).collect();
    NumaMapsError { expected, found }
}

/// Whether `word` still belongs to the policy: the first word, unless it is a field, and later
/// words if they continue one of the two-word names. Flags are written `bind=static:0`; kernels
/// before 3.x wrote `interleave=0-7`.
fn is_part_of_policy(word: &str, is_first: bool) -> bool {
    if is_first {
        return !word.starts_with("file=") && !BARE_FIELDS.contains(&word);
    }
    word == "interleave"
        || word.starts_with("interleave:")
        || word.starts_with("interleave=")
        || word.starts_with("(many)")
}

/// Undoes the kernel's octal escapes of newline, tab, equals sign and space. A backslash before
/// anything else is a backslash: the kernel does not escape it.
fn unescape(text: &str) -> String {
    const ESCAPES: [(&str, char); 4] = [
        ("\\012", '\n'),
        ("\\011", '\t'),
        ("\\075", '='),
        ("\\040", ' '),
    ];
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let escape = ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape));
        let (length, character) = escape.map_or((character.len_utf8(), character), |e| (4, e.1));
        plain.push(character);
        rest = &rest[length..];
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse_line;

    #[test]
    fn every_spelling_of_a_policy_is_kept_whole() {
        let policies = [
            "default",
            "local",
            "prefer:0",
            "bind:0-3,5",
            "interleave:0-31",
            "interleave=0-7",
            "prefer (many):0-1",
            "weighted interleave:0,2",
            "bind=static:0",
            "interleave=relative:0",
            "weighted interleave=static:0",
            "prefer (many)=relative:0",
            "bind=balancing:0",
            "bind=static|balancing:0",
        ];
        for policy in policies {
            for rest in [
                "",
                " huge",
                " heap anon=1 N0=1",
                " file=/a\\040b N0=1 N255=2",
            ] {
                let line = format!("7f13b8600000 {policy}{rest}");
                let parsed = parse_line(&line).unwrap();
                assert_eq!(parsed.policy, policy, "{line}");
                assert_eq!(parsed.address, 0x7f13_b860_0000);
                assert_eq!(parsed.huge, rest == " huge");
            }
        }
    }

    #[test]
    fn pages_sizes_and_names_are_read() {
        let line = "9c480000000 prefer:1 file=/SYSV85a066e4\\040(deleted) huge dirty=1 mapmax=904 \
                    N0=1 N12=7 kernelpagesize_kB=2048";
        let parsed = parse_line(line).unwrap();
        assert_eq!(parsed.file.as_deref(), Some("/SYSV85a066e4 (deleted)"));
        let pages: Vec<(u32, u64)> = parsed
            .pages_by_node
            .iter()
            .map(|(node, pages)| (node.0, *pages))
            .collect();
        assert_eq!(pages, [(0, 1), (12, 7)]);
        assert_eq!(parsed.kernel_page_bytes, Some(2 << 20));
    }

    #[test]
    fn malformed_lines_are_refused() {
        for line in [
            "",
            "zz default",
            "7f00 ",
            "7f00 default N0=x",
            "7f00 file=/x",
        ] {
            assert!(parse_line(line).is_err(), "{line:?}");
        }
    }

    proptest! {

        #[test]
        fn no_line_like_text_makes_it_panic(
            line in concat!(
                "[0-9a-f]{0,20}( (bind|default|N[0-9]{1,20}|file|huge|[\\\\a-z(=:]{0,5})",
                "(=[\\\\0-9]{0,25})?){0,6}"
            )
        ) {
            let _ = parse_line(&line);
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        testing::any_text(".{0,200}", &|line| {
            let _ = parse_line(line);
        });
    }
}
