//! An experiment file as tables of located keys, with errors that name file and line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Table, names_in};
use super::vocabulary::nearest;
use crate::Error;
use crate::error::{KeyError, quoted};

/// Maximum size of an experiment file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;

/// The file being read: its name and text, from which errors derive their location.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl<'t> Source<'t> {
    /// Parses the file into its top-level table.
    pub(crate) fn parse(self) -> Result<DeTable<'t>, Error> {
        if self.text.len() > FILE_BYTES_MAX {
            return Err(self.syntax(0, "the file is larger than 1 MiB"));
        }
        match DeTable::parse(self.text) {
            Ok(table) => Ok(table.into_inner()),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                Err(self.syntax(offset, error.message()))
            }
        }
    }

    fn syntax(self, offset: usize, message: &str) -> Error {
        let one_line: Vec<&str> = message.split_whitespace().collect();
        Error::Syntax {
            file: self.file.to_owned(),
            line: self.line(offset),
            message: one_line.join(" "),
        }
    }

    /// Returns the line, from 1, of a byte offset in the text.
    fn line(self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// One table of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'t> {
    source: Source<'t>,
    table: Table,
    /// Byte offset at which the table begins.
    start: usize,
    entries: Option<&'t DeTable<'t>>,
}

impl<'t> Section<'t> {
    /// Returns the top-level section and rejects unknown keys.
    pub(crate) fn top(source: Source<'t>, entries: &'t DeTable<'t>) -> Result<Self, Error> {
        let top = Section {
            source,
            table: Table::Top,
            start: 0,
            entries: Some(entries),
        };
        top.reject_unknown_keys()?;
        Ok(top)
    }

    /// Returns the subtable `key`; without entries if it is absent.
    pub(crate) fn section(&self, key: &'static str, table: Table) -> Result<Section<'t>, Error> {
        match self.get(key) {
            Some(field) => field.section(table),
            None => Ok(self.without_entries(table)),
        }
    }

    /// Returns a section without entries.
    pub(crate) fn without_entries(&self, table: Table) -> Section<'t> {
        Section {
            table,
            entries: None,
            ..*self
        }
    }

    /// Returns the field of a key, if present.
    pub(crate) fn get(&self, key: &'static str) -> Option<Field<'t>> {
        let value = self.entries?.get(key)?;
        Some(Field {
            section: *self,
            key,
            value,
        })
    }

    /// Returns the field of a required key.
    pub(crate) fn require(&self, key: &'static str, expected: &str) -> Result<Field<'t>, Error> {
        self.get(key)
            .ok_or_else(|| self.error(self.start, key, expected, "nothing".to_owned(), None))
    }

    /// Returns an error about a missing key of this table, or about the table as a whole.
    pub(crate) fn error(
        &self,
        offset: usize,
        key: &str,
        expected: &str,
        found: String,
        nearest: Option<String>,
    ) -> Error {
        Error::Key(Box::new(KeyError {
            file: self.source.file.to_owned(),
            line: self.source.line(offset),
            key: format!("`{key}` in {}", self.table.name()),
            expected: expected.to_owned(),
            found,
            nearest,
        }))
    }

    /// Returns the byte offset at which the table begins.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    fn reject_unknown_keys(&self) -> Result<(), Error> {
        let known = names_in(self.table);
        let entries = self.entries.iter().flat_map(|entries| entries.keys());
        let unknown = entries.filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(first) = unknown.min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        let name = first.get_ref().as_ref();
        Err(Error::Key(Box::new(KeyError {
            file: self.source.file.to_owned(),
            line: self.source.line(first.span().start),
            key: self.table.name().to_owned(),
            expected: format!("one of the keys {}", known.join(", ")),
            found: quoted(name),
            nearest: nearest(name, known).map(str::to_owned),
        })))
    }
}

/// One key of a table with its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'t> {
    section: Section<'t>,
    key: &'static str,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Field<'t> {
    /// Returns the value as a table.
    fn section(&self, table: Table) -> Result<Section<'t>, Error> {
        self.table_at(self.value, table)
    }

    /// Returns the value as an array of tables (`[[key]]`).
    pub(crate) fn sections(&self, table: Table) -> Result<Vec<Section<'t>>, Error> {
        let DeValue::Array(values) = self.value.get_ref() else {
            return Err(self.wrong("tables such as [[case]]"));
        };
        let values = values.iter();
        values.map(|value| self.table_at(value, table)).collect()
    }

    fn table_at(
        &self,
        value: &'t Spanned<DeValue<'t>>,
        table: Table,
    ) -> Result<Section<'t>, Error> {
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(self.wrong("a table"));
        };
        let section = Section {
            source: self.section.source,
            table,
            start: value.span().start,
            entries: Some(entries),
        };
        section.reject_unknown_keys()?;
        Ok(section)
    }

    /// Returns the value as text.
    pub(crate) fn text(&self, expected: &str) -> Result<&'t str, Error> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// Returns the value as a boolean.
    pub(crate) fn boolean(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(boolean) => Ok(*boolean),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Returns the value as a whole number, if it is one and fits in 32 bits.
    pub(crate) fn number(&self) -> Option<u32> {
        match self.value.get_ref() {
            DeValue::Integer(integer) => {
                u32::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => None,
        }
    }

    /// Returns the value as text parsed by `parse`.
    pub(crate) fn parsed<T>(
        &self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        nearest: impl FnOnce(&str) -> Option<String>,
    ) -> Result<T, Error> {
        let text = self.text(expected)?;
        parse(text).ok_or_else(|| self.wrong_but(expected, nearest(text)))
    }

    /// Returns the error for an unexpected value.
    pub(crate) fn wrong(&self, expected: &str) -> Error {
        self.wrong_but(expected, None)
    }

    /// Returns the same error with the most similar valid word.
    pub(crate) fn wrong_but(&self, expected: &str, nearest: Option<String>) -> Error {
        let offset = self.value.span().start;
        self.section.error(
            offset,
            self.key,
            expected,
            found(self.value.get_ref()),
            nearest,
        )
    }
}

/// Formats a value for a message.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(integer) => quoted(&integer.to_string()).replace('"', ""),
        DeValue::Float(float) => quoted(&float.to_string()).replace('"', ""),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
