//! Everything that can be wrong with a definition, or with naming one.

use std::fmt;

/// Why an experiment cannot be read. The message fits after "cannot read the experiment:".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not TOML, or is no file for people at all.
    #[error("{file}, line {line}: {message}")]
    Syntax {
        /// The file, as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A key is missing, unknown, or holds what it must not.
    #[error("{0}")]
    Key(Box<KeyError>),
    /// No experiment has this name.
    #[error("no experiment is named {name:?}; there are {known}{}", hint(nearest))]
    UnknownExperiment {
        /// The name that was asked for.
        name: String,
        /// The names there are.
        known: String,
        /// The name that is most like it.
        nearest: Option<String>,
    },
}

/// What is wrong with a key of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The key and its table, as in `cache in [sga]`.
    pub key: String,
    /// What would have been right.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// The right word that is most like it.
    pub nearest: Option<String>,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyError {
            file,
            line,
            key,
            expected,
            found,
            nearest,
        } = self;
        let hint = hint(nearest);
        write!(
            f,
            "{file}, line {line}, {key}: expected {expected}, found {found}{hint}"
        )
    }
}

fn hint(nearest: &Option<String>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => String::new(),
    }
}

/// A text of unknown origin, in quotes, escaped and short enough for one line of a message.
pub(crate) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
