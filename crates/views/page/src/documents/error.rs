//! Why a document has no page.

/// Why a document has no page.
///
/// The message is a fragment that fits after "cannot show FILE:".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is longer than any document of numalab.
    #[error("{bytes} bytes; a document has at most {max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest that is read.
        max: usize,
    },
    /// It is not JSON, or not that of its format.
    #[error("{cause}; expected {expected}")]
    Malformed {
        /// What was expected.
        expected: String,
        /// What the parser says, with line and column.
        cause: String,
    },
    /// It has no format, or one without a page.
    #[error("format {found}; pages exist for {expected}")]
    Format {
        /// The format, or that there is none.
        found: String,
        /// The formats that have a page.
        expected: String,
    },
    /// Its figures cannot be those of a machine.
    #[error("{field}: {found}; expected {expected}")]
    Figures {
        /// The field.
        field: &'static str,
        /// What was expected there.
        expected: String,
        /// What was found.
        found: String,
    },
}
