//! What is checked of every document before its fields are read: its length, its format, and that
//! what it names fits into memory. Documents come from others, and may be malformed on purpose.

use report::plain;
use serde_json::Value;

use super::error::Error;

/// The longest document that is read. A residency of 1,000 processes has about 1 MiB.
const BYTES_MAX: usize = 32 << 20;
/// Maximum number of ids in all lists such as `0-65535`: each takes 4 bytes in memory.
const IDS_MAX: u64 = 1 << 24;
/// The sum of all sizes: 64 PiB, above what processors can address (2^52 bytes), and below what
/// overflows when a share of it is computed in percent.
const SIZES_MAX: u64 = 1 << 56;
/// Characters of a foreign text that a message shows.
const SHOWN_MAX: usize = 120;

/// The start of a text, as it may be shown in a message.
pub(crate) fn shortened(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_MAX).collect();
    plain(&start)
}

/// Returns the format of a document; `formats` are those that have a page.
pub(crate) fn checked_format(text: &str, formats: &[&str]) -> Result<String, Error> {
    if text.len() > BYTES_MAX {
        return Err(Error::TooLong {
            bytes: text.len(),
            max: BYTES_MAX,
        });
    }
    let document: Value = serde_json::from_str(text).map_err(|cause| Error::Malformed {
        expected: "a JSON document of numalab".to_owned(),
        cause: shortened(&cause.to_string()),
    })?;
    let expected = || formats.join(", ");
    let format = document.get("format").and_then(Value::as_str);
    let format = format.ok_or_else(|| Error::Format {
        found: "missing".to_owned(),
        expected: expected(),
    })?;
    if !formats.contains(&format) {
        return Err(Error::Format {
            found: format!("{:?}", shortened(format)),
            expected: expected(),
        });
    }
    check_ids(&document)?;
    check_sizes(&document)?;
    Ok(format.to_owned())
}

fn check_ids(document: &Value) -> Result<(), Error> {
    let ids = ids_in(document);
    if ids <= IDS_MAX {
        return Ok(());
    }
    Err(Error::Figures {
        field: "lists of CPUs and nodes",
        expected: format!("at most {IDS_MAX} ids in all lists together"),
        found: ids.to_string(),
    })
}

fn ids_in(value: &Value) -> u64 {
    match value {
        Value::String(text) => ids_of_list(text),
        Value::Array(values) => sum(values.iter().map(ids_in)),
        Value::Object(fields) => sum(fields.values().map(ids_in)),
        _ => 0,
    }
}

/// The number of ids of a list in the kernel's form, at most; 0 for another text.
fn ids_of_list(text: &str) -> u64 {
    let is_list = |byte: u8| byte.is_ascii_digit() || b",-:/ ".contains(&byte);
    if !text.bytes().all(is_list) {
        return 0;
    }
    sum(text.split(',').map(|range| {
        let range = range.split(':').next().unwrap_or_default();
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
            (Ok(first), Ok(last)) => last.saturating_sub(first).saturating_add(1),
            _ => 0,
        }
    }))
}

fn check_sizes(document: &Value) -> Result<(), Error> {
    let sizes = sizes_in(document, false);
    if sizes <= SIZES_MAX {
        return Ok(());
    }
    Err(Error::Figures {
        field: "sizes",
        expected: format!("at most {SIZES_MAX} bytes in all fields together"),
        found: sizes.to_string(),
    })
}

/// The sum of all whole numbers in fields whose names speak of bytes.
fn sizes_in(value: &Value, is_size: bool) -> u64 {
    match value {
        Value::Number(number) if is_size => number.as_u64().unwrap_or(0),
        Value::Array(values) => sum(values.iter().map(|value| sizes_in(value, is_size))),
        Value::Object(fields) => sum(fields
            .iter()
            .map(|(name, value)| sizes_in(value, is_size || name.contains("bytes")))),
        _ => 0,
    }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// Reads the fields of a document.
pub(crate) fn fields<T: serde::de::DeserializeOwned>(text: &str, format: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|cause| Error::Malformed {
        expected: format!("a document {format}"),
        cause: shortened(&cause.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::{checked_format, ids_of_list};

    #[test]
    fn ids_are_counted_without_being_listed() {
        let check = |text: &str, expected| assert_eq!(ids_of_list(text), expected, "{text}");
        check("", 0);
        check("0-3,8", 5);
        check("0-4294967295", 1 << 32);
        check("9-2", 1);
        check("0-10:2/4", 11);
        check("node 0-3", 0);
        check("0-18446744073709551615,0-5", u64::MAX);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expected: &str| {
            let error = checked_format(text, &["a/1", "b/1"])
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "EOF while parsing a value at line 1 column 0");
        check("[1]", "format missing; pages exist for a/1, b/1");
        check(
            "{\"format\":\"c/2\"}",
            "format \"c/2\"; pages exist for a/1, b/1",
        );
        check(
            "{\"format\":\"a/1\",\"x\":\"0-99999999\"}",
            "lists of CPUs and nodes: 100000000",
        );
        let large = format!(
            "{{\"format\":\"a/1\",\"bytes_by_node\":{{\"0\":{}}}}}",
            u64::MAX
        );
        check(&large, "sizes: 18446744073709551615");
        check(&"[".repeat(100_000), "recursion limit exceeded");
    }
}
