//! An experiment file as tables of located keys, with errors that name the place.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Table, names_in};
use super::vocabulary::nearest;
use crate::Error;
use crate::error::{KeyError, quoted};

/// The most bytes an experiment file may have.
pub(crate) const FILE_BYTES_MAX: usize = 1 << 20;

/// The file being read: its name and text, to say where something is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl<'t> Source<'t> {
    /// The file's top table.
    pub(crate) fn parse(self) -> Result<DeTable<'t>, Error> {
        if self.text.len() > FILE_BYTES_MAX {
            return Err(self.syntax(0, "the file has more than 1 MiB"));
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

    /// The line, from 1, of a byte of the text.
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
    /// Where the table begins, in bytes.
    start: usize,
    entries: Option<&'t DeTable<'t>>,
}

impl<'t> Section<'t> {
    /// The top of the file.
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

    /// The table `key` below this one; one without entries if it is not there.
    pub(crate) fn section(&self, key: &'static str, table: Table) -> Result<Section<'t>, Error> {
        match self.get(key) {
            Some(field) => field.section(table),
            None => Ok(self.without_entries(table)),
        }
    }

    /// A table of which nothing is there.
    pub(crate) fn without_entries(&self, table: Table) -> Section<'t> {
        Section {
            table,
            entries: None,
            ..*self
        }
    }

    /// The field of a key, if it is there.
    pub(crate) fn get(&self, key: &'static str) -> Option<Field<'t>> {
        let value = self.entries?.get(key)?;
        Some(Field {
            section: *self,
            key,
            value,
        })
    }

    /// The field of a key that must be there.
    pub(crate) fn require(&self, key: &'static str, expected: &str) -> Result<Field<'t>, Error> {
        self.get(key)
            .ok_or_else(|| self.error(self.start, key, expected, "nothing".to_owned(), None))
    }

    /// An error about a key of this table that is not there, or about the table as a whole.
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

    /// Where the table begins, in bytes.
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
            expected: format!("only the keys {}", known.join(", ")),
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
    /// The value as a table of its own.
    fn section(&self, table: Table) -> Result<Section<'t>, Error> {
        self.table_at(self.value, table)
    }

    /// The value as tables of their own (`[[key]]`).
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

    /// The value as text.
    pub(crate) fn text(&self, expected: &str) -> Result<&'t str, Error> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The value as true or false.
    pub(crate) fn boolean(&self) -> Result<bool, Error> {
        match self.value.get_ref() {
            DeValue::Boolean(boolean) => Ok(*boolean),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// The value as a whole number, if it is one that fits.
    pub(crate) fn number(&self) -> Option<u32> {
        match self.value.get_ref() {
            DeValue::Integer(integer) => {
                u32::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => None,
        }
    }

    /// The value as text that `parse` understands.
    pub(crate) fn parsed<T>(
        &self,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        nearest: impl FnOnce(&str) -> Option<String>,
    ) -> Result<T, Error> {
        let text = self.text(expected)?;
        parse(text).ok_or_else(|| self.wrong_but(expected, nearest(text)))
    }

    /// The error that something else was expected here.
    pub(crate) fn wrong(&self, expected: &str) -> Error {
        self.wrong_but(expected, None)
    }

    /// The same, with the right word that is most like what was found.
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

/// A value as a message shows it.
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
