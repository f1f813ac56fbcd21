//! Lists of hosts, as people write them: names with commas, ranges as in Slurm (`db[01-40]`), a
//! name a line with remarks.

use std::collections::BTreeSet;
use std::fmt;

/// The most hosts of a plan.
pub const HOSTS_MAX: usize = 20_000;
/// The longest name of a host (RFC 1123, 2.1).
const NAME_MAX: usize = 253;

/// Why a list is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostsError {
    /// It has no host.
    Empty,
    /// It has more than [`HOSTS_MAX`].
    TooMany,
    /// This is no name: letters, digits, hyphens and dots.
    Name(String),
    /// This range has no end, or ends before it begins.
    Range(String),
}

impl fmt::Display for HostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostsError::Empty => f.write_str("there is no host in it"),
            HostsError::TooMany => write!(f, "a plan has at most {HOSTS_MAX} hosts"),
            HostsError::Name(name) => write!(
                f,
                "{name:?} is no name of a host: letters, digits, hyphens and dots"
            ),
            HostsError::Range(text) => write!(f, "{text:?}: expected a range as in db[01-40,99]"),
        }
    }
}

impl std::error::Error for HostsError {}

/// Reads the hosts of a list, each once, in the order of the list.
///
/// # Errors
/// When there is none, when there are too many, or when one is no name.
pub fn host_list(text: &str) -> Result<Vec<String>, HostsError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    for word in lines.flat_map(words) {
        for name in expanded(&word)? {
            if !is_name(&name) {
                return Err(HostsError::Name(shortened(&name)));
            }
            if seen.insert(name.clone()) {
                found.push(name);
            }
            if found.len() > HOSTS_MAX {
                return Err(HostsError::TooMany);
            }
        }
    }
    match found.is_empty() {
        true => Err(HostsError::Empty),
        false => Ok(found),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Splits at commas and blanks outside of brackets.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_within = false;
    for letter in line.chars() {
        match letter {
            ',' | ' ' | '\t' | '\r' if !is_within => words.push(String::new()),
            _ => {
                is_within = letter == '[' || (is_within && letter != ']');
                words.last_mut().expect("it has one").push(letter);
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names of a word with at most one range.
fn expanded(word: &str) -> Result<Vec<String>, HostsError> {
    let Some((before, rest)) = word.split_once('[') else {
        return Ok(vec![word.to_owned()]);
    };
    let wrong = || HostsError::Range(shortened(word));
    let (ranges, after) = rest.split_once(']').ok_or_else(wrong)?;
    if after.contains(['[', ']']) {
        return Err(wrong());
    }
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return Err(wrong());
        }
        let (from, to): (u64, u64) = match (first.parse(), last.parse()) {
            (Ok(from), Ok(to)) if from <= to => (from, to),
            _ => return Err(wrong()),
        };
        if to - from >= HOSTS_MAX as u64 || names.len() > HOSTS_MAX {
            return Err(HostsError::TooMany);
        }
        // The zeros before the first are those of all.
        let width = first.len();
        names.extend((from..=to).map(|it| format!("{before}{it:0width$}{after}")));
    }
    Ok(names)
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_fit = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(is_fit)
    };
    name.len() <= NAME_MAX && !name.starts_with('-') && name.split('.').all(is_label)
}

/// The first part of a name.
pub(crate) fn first_label(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{HOSTS_MAX, HostsError, host_list, is_name};

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = host_list(text).map(|hosts| hosts.join(" "));
        assert_eq!(found.as_deref(), Ok(expected), "{text}");
    }

    #[test]
    fn lists_of_people_and_of_slurm_are_read() {
        check("db1,db2 db3\n# none\ndb1\ndb4 # new", "db1 db2 db3 db4");
        check("n[08-11,20]", "n08 n09 n10 n11 n20");
        check(
            "r1-n[1-2].example.org,x",
            "r1-n1.example.org r1-n2.example.org x",
        );
    }

    #[test]
    fn what_is_no_list_is_named() {
        assert_eq!(host_list(" # nobody\n"), Err(HostsError::Empty));
        let too_many = format!("n[0-{HOSTS_MAX}]");
        assert_eq!(host_list(&too_many), Err(HostsError::TooMany));
        for wrong in [
            "n[1-",
            "n[2-1]",
            "n[a-b]",
            "n[1-2][3-4]",
            "n[1-99999999999999999999]",
        ] {
            let found = host_list(wrong);
            assert!(
                matches!(found, Err(HostsError::Range(_))),
                "{wrong}: {found:?}"
            );
        }
        for wrong in ["$(reboot)", "a;b", "-x", "a..b", "ä"] {
            let found = host_list(wrong);
            assert!(
                matches!(found, Err(HostsError::Name(_))),
                "{wrong}: {found:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_a_name(text in "[a-z0-9,\\[\\]. #$;\n-]{0,60}") {
            if let Ok(hosts) = host_list(&text) {
                prop_assert!(hosts.iter().all(|host| is_name(host)));
            }
        }
    }
}
