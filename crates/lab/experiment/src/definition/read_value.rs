//! Reads single values that more than one table has: names, lines for people, quantities.

use super::file::{Field, Section};
use super::quantity::Quantity;
use crate::Error;

/// The most characters of a name, and of a line for people.
const NAME_CHARS_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 400;

/// The word for no instance caging.
pub(super) const OFF: &str = "off";

/// A quantity, or none where it is off.
pub(super) fn cpu_count(field: Field<'_>) -> Result<Option<Quantity>, Error> {
    if field.text("").is_ok_and(|text| text == OFF) {
        return Ok(None);
    }
    quantity(field).map(Some)
}

/// A quantity: a whole number, or its name in quotes.
pub(super) fn quantity(field: Field<'_>) -> Result<Quantity, Error> {
    if let Some(quantity) = field.number().and_then(Quantity::of_number) {
        return Ok(quantity);
    }
    field.parsed(&Quantity::expected(), Quantity::parse, |text| {
        Quantity::nearest(text).map(str::to_owned)
    })
}

/// A name: it becomes a directory, an argument, a column.
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

/// A line for people: it is printed, so it must not steer a terminal.
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
