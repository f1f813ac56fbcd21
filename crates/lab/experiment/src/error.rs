//! Errors in a definition, or in the name of one.

use std::fmt;

/// Why an experiment cannot be read. The message fits after "cannot read the experiment:".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not TOML, or is too large for an experiment file.
    #[error("{file}, line {line}: {message}")]
    Syntax {
        /// The file, as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A key is missing or unknown, or its value is not allowed.
    #[error("{0}")]
    Key(Box<KeyError>),
    /// No experiment has this name.
    #[error(
        "no experiment named {name:?}; known experiments: {known}{}",
        hint(nearest)
    )]
    UnknownExperiment {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
        /// The most similar name.
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
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The most similar valid word.
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

/// Quotes, escapes and truncates untrusted text so that it fits on one line of a message.
pub(crate) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
