//! The stored JSON documents: an envelope with name and version of the document around its content.
//!
//! Documents and the schema have separate versions: each can change without the other.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::damaged as damage;
use crate::place::Place;

/// One kind of document.
pub(crate) struct Document {
    /// Its name in error messages.
    what: &'static str,
    /// Its name in `format`, the part before the slash.
    name: &'static str,
    /// The version written.
    version: u32,
}

/// A machine, in `runs.machine`.
pub(crate) const MACHINE: Document = Document::new("the machine", "numalab.stored-machine");
/// A calibration, in `runs.calibration`.
pub(crate) const CALIBRATION: Document =
    Document::new("the calibration", "numalab.stored-calibration");
/// The plan of a case, in `cases.plan`.
pub(crate) const CASE: Document = Document::new("a case", "numalab.stored-case");
/// A trial, in `trials.trial`.
pub(crate) const TRIAL: Document = Document::new("a trial", "numalab.stored-trial");
/// What live windows measured, in `live_runs.measured`.
pub(crate) const LIVE: Document = Document::new("live windows", "numalab.stored-live");
/// The same with what the doctor found, which numalab 0.1 does not know. Reads version 1, too.
pub(crate) const LIVE_2: Document = Document { version: 2, ..LIVE };
/// The columns of `runs` themselves, which has its own column `format`.
pub(crate) const RUN: Document = Document::new("a run", "numalab.stored-run");

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    format: String,
    content: T,
}

/// The envelope without its content.
#[derive(Deserialize)]
struct Label {
    format: String,
}

impl Document {
    const fn new(what: &'static str, name: &'static str) -> Self {
        let version = 1;
        Document {
            what,
            name,
            version,
        }
    }

    /// The format written: name, slash, version.
    pub(crate) fn format(&self) -> String {
        format!("{}/{}", self.name, self.version)
    }

    /// Serialises a document, after verifying that reading it back yields the same content.
    pub(crate) fn write<T>(&self, content: &T) -> Result<String, Error>
    where
        T: Serialize + DeserializeOwned + PartialEq,
    {
        let format = self.format();
        let not_storable = |cause: serde_json::Error| Error::NotStorable {
            what: self.what,
            cause: cause.to_string(),
        };
        let text = serde_json::to_string(&Envelope { format, content }).map_err(not_storable)?;
        let read: Envelope<T> = serde_json::from_str(&text).map_err(not_storable)?;
        if read.content != *content {
            return Err(Error::NotStorable {
                what: self.what,
                cause: "its stored form would be read as something else".to_string(),
            });
        }
        Ok(text)
    }

    /// Reads the content of a document of the store at `place`.
    pub(crate) fn read<T: DeserializeOwned>(&self, place: &Place, text: &str) -> Result<T, Error> {
        let damaged = |cause: serde_json::Error| damage(place, format!("{}: {cause}", self.what));
        let label: Label = serde_json::from_str(text).map_err(damaged)?;
        self.check_format(place, &label.format)?;
        let envelope: Envelope<T> = serde_json::from_str(text).map_err(damaged)?;
        Ok(envelope.content)
    }

    /// Checks that a document of this format can be read.
    pub(crate) fn check_format(&self, place: &Place, format: &str) -> Result<(), Error> {
        let version = format
            .strip_prefix(self.name)
            .and_then(|rest| rest.strip_prefix('/'))
            .and_then(|version| version.parse::<u32>().ok());
        match version {
            Some(version) if (1..=self.version).contains(&version) => Ok(()),
            Some(version) if version > self.version => Err(Error::Newer {
                place: place.clone(),
                what: self.what,
                found: version.into(),
                known: self.version.into(),
            }),
            _ => Err(damage(
                place,
                format!("expected format {:?}, found {format:?}", self.format()),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<f64, Error> {
        TRIAL.read(&Place::File("f".into()), text)
    }

    fn check_error(text: &str, expected: &str) {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let text = TRIAL.write(&0.1f64).unwrap();
        assert_eq!(text, r#"{"format":"numalab.stored-trial/1","content":0.1}"#);
        assert_eq!(read(&text).unwrap(), 0.1);
    }

    #[test]
    fn a_number_that_json_has_not_is_not_stored() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = TRIAL.write(&number).unwrap_err();
            assert!(matches!(error, Error::NotStorable { .. }), "{error}");
        }
    }

    #[test]
    fn a_newer_document_is_not_called_damaged() {
        let error = read(r#"{"format":"numalab.stored-trial/2","content":{}}"#).unwrap_err();
        assert!(matches!(
            error,
            Error::Newer {
                found: 2,
                known: 1,
                ..
            }
        ));
    }

    #[test]
    fn anything_else_is_damage_that_is_named() {
        check_error("", "the store \"f\" is damaged: a trial: ");
        check_error("{}", "missing field `format`");
        check_error(
            r#"{"format":"numalab.stored-case/1"}"#,
            "expected format \"numalab.stored-trial/1\", found \"numalab.stored-case/1\"",
        );
        check_error(r#"{"format":"numalab.stored-trial/-1"}"#, "expected format");
        check_error(r#"{"format":"numalab.stored-trial/1"}"#, "missing field");
    }
}
