//! The load of a case, as asked for: how much data there is.

use model::ByteSize;

use super::sga::{CACHE_BYTES_MAX, CACHE_BYTES_MIN};

/// The word for data that the buffer cache holds whole.
pub const CACHED: &str = "cached";

/// How much data there is, indexes included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSize {
    /// As much as the buffer cache holds.
    Cached,
    /// So many bytes; what the cache does not hold is read from a data file.
    Bytes(u64),
}

impl DataSize {
    /// Reads a size or [`CACHED`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == CACHED {
            return Some(DataSize::Cached);
        }
        let ByteSize(bytes) = text.parse().ok()?;
        let can_be = CACHE_BYTES_MIN..=CACHE_BYTES_MAX;
        can_be.contains(&bytes).then_some(DataSize::Bytes(bytes))
    }

    /// What [`Self::parse`] accepts.
    pub(crate) fn expected() -> String {
        let (min, max) = (ByteSize(CACHE_BYTES_MIN), ByteSize(CACHE_BYTES_MAX));
        format!("a size from {min} to {max} such as 1GiB, or {CACHED}")
    }

    /// The bytes asked for; `None` for as much as is cached.
    pub(crate) fn bytes(self) -> Option<u64> {
        match self {
            DataSize::Cached => None,
            DataSize::Bytes(bytes) => Some(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::DataSize;

    #[test]
    fn data_is_cached_or_has_a_size() {
        let check = |text, expected| assert_eq!(DataSize::parse(text), expected, "{text}");
        check("cached", Some(DataSize::Cached));
        check("1GiB", Some(DataSize::Bytes(1 << 30)));
        check("1KiB", None);
        check("all", None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = DataSize::parse(&text);
        }
    }
}
