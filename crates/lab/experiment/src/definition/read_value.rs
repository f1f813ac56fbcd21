//! Parses single values that several tables share: names, lines of text, quantities.

use super::file::{Field, Section};
use super::quantity::Quantity;
use crate::Error;

/// Maximum length of a name and of a line of text, in characters.
const NAME_CHARS_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 400;

/// The word that switches instance caging off.
pub(super) const OFF: &str = "off";

/// Parses a quantity; `None` when it is off.
pub(super) fn cpu_count(field: Field<'_>) -> Result<Option<Quantity>, Error> {
    if field.text("").is_ok_and(|text| text == OFF) {
        return Ok(None);
    }
    quantity(field).map(Some)
}

/// Parses a quantity: a whole number, or its name in quotes.
pub(super) fn quantity(field: Field<'_>) -> Result<Quantity, Error> {
    if let Some(quantity) = field.number().and_then(Quantity::of_number) {
        return Ok(quantity);
    }
    field.parsed(&Quantity::expected(), Quantity::parse, |text| {
        Quantity::nearest(text).map(str::to_owned)
    })
}

/// Parses a name. It is restricted because it becomes a directory, an argument, a column.
pub(super) fn name(section: Section<'_>) -> Result<String, Error> {
    let expected = format!("lower-case words with hyphens, at most {NAME_CHARS_MAX} characters");
    let field = section.require("name", &expected)?;
    field.parsed(
        &expected,
        |text| is_name(text).then(|| text.to_owned()),
        |_| None,
    )
}

fn is_name(text: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= NAME_CHARS_MAX
        && text.bytes().all(of_name)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
}

/// Parses a line of text. It is printed, so it must not contain terminal control characters.
pub(super) fn line(section: Section<'_>, key: &'static str) -> Result<String, Error> {
    let expected = format!("one line of at most {LINE_CHARS_MAX} characters");
    let is_line = |text: &str| {
        !text.trim().is_empty()
            && text.chars().count() <= LINE_CHARS_MAX
            && !text.chars().any(char::is_control)
    };
    let field = section.require(key, &expected)?;
    field.parsed(
        &expected,
        |text| is_line(text).then(|| text.to_owned()),
        |_| None,
    )
}
