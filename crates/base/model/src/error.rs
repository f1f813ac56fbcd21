//! Errors of parsing the text forms of this crate's types.

/// Why a text could not be parsed.
///
/// The message is a fragment that fits after "cannot read FILE, line N:".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A list of ids in the kernel's list form is malformed or names ids beyond the limit.
    #[error("expected {expected}, found {found:?}")]
    IdList {
        /// What was expected at this place.
        expected: &'static str,
        /// The offending part of the text, shortened.
        found: String,
    },
    /// A size in bytes is malformed or does not fit.
    #[error("expected {expected}, found {found:?}")]
    ByteSize {
        /// What was expected.
        expected: &'static str,
        /// The offending text, shortened.
        found: String,
    },
}

/// The start of an untrusted text, short enough for one line of a message.
pub(crate) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
