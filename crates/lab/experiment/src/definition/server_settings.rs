//! Settings of a server in an experiment file: `io-threads=2 server_cpulist={first-node}`.

use std::collections::BTreeMap;

use super::place::CpuChoice;

/// Most settings of a case, and most characters of one.
const SETTINGS_MAX: usize = 64;
const CHARS_MAX: usize = 200;
/// The word for no settings.
const NONE: &str = "none";

/// What the key accepts, for messages.
pub(super) const SETTINGS_EXPECTED: &str = "NAME=VALUE with spaces between them, such as \
    \"io-threads=2\", or none; {first-node} in a value is the list of its CPUs, as is any place \
    that \"cpus\" takes";

/// A part of the value of a setting.
pub(crate) enum ValuePart<'v> {
    /// As it is.
    Text(&'v str),
    /// The list of these CPUs.
    Cpus(CpuChoice),
}

/// Returns the parts of a value; `None` if braces are no place.
pub(crate) fn value_parts(value: &str) -> Option<Vec<ValuePart<'_>>> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some((text, behind)) = rest.split_once('{') {
        let (place, behind) = behind.split_once('}')?;
        let choice = CpuChoice::parse(place).filter(|choice| *choice != CpuChoice::Inherited)?;
        parts.extend([ValuePart::Text(text), ValuePart::Cpus(choice)]);
        rest = behind;
    }
    parts.push(ValuePart::Text(rest));
    Some(parts)
}

/// Parses settings. They become arguments of a program, so a name begins with a letter.
pub(super) fn parse_settings(text: &str) -> Option<BTreeMap<String, String>> {
    if text == NONE {
        return Some(BTreeMap::new());
    }
    let mut settings = BTreeMap::new();
    for word in text.split_ascii_whitespace() {
        let (name, value) = word.split_once('=')?;
        let is_new = settings.insert(name.to_owned(), value.to_owned()).is_none();
        if !is_new || !is_setting(name, value) || settings.len() > SETTINGS_MAX {
            return None;
        }
    }
    (!settings.is_empty()).then_some(settings)
}

fn is_setting(name: &str, value: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic());
    is_name
        && name.bytes().all(of_name)
        && !value.is_empty()
        && !value.chars().any(char::is_control)
        && value_parts(value).is_some()
        && name.len() + value.len() <= CHARS_MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn settings_are_names_and_values() {
        let check = |text: &str, expected: Option<&[(&str, &str)]>| {
            let found = parse_settings(text);
            let found = found.as_ref().map(|found| {
                let pairs = found.iter();
                pairs
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        };
        check("none", Some(&[]));
        check("io-threads=2", Some(&[("io-threads", "2")]));
        check("a={first-node:2}", Some(&[("a", "{first-node:2}")]));
        check("b=1,2  a.c_d=x=y", Some(&[("a.c_d", "x=y"), ("b", "1,2")]));
        for wrong in [
            "a={nowhere}",
            "a={first-node",
            "a={inherited}",
            "",
            " ",
            "a",
            "a=",
            "-a=1",
            "a=1 a=2",
            "a b=1",
            "a=\u{1b}",
            "=1",
        ] {
            check(wrong, None);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = parse_settings(&text);
        }
    }
}
