//! The keys and values of the load: each session reads its own.

/// Bytes of a value. With the header and the end of its string (sdshdr16 in src/sds.h, and an
/// object's in src/object.c) it fills an allocation of 4,096 bytes.
pub(crate) const VALUE_BYTES: usize = 4080;
/// Digits of a row in its value.
const DIGITS: usize = 16;

/// The key of a row of a session.
pub(crate) fn key(session: u32, row: u64) -> String {
    format!("numalab:{session}:{row}")
}

/// Replaces the content of `value` by the value of a row.
pub(crate) fn write_value(session: u32, row: u64, value: &mut Vec<u8>) {
    use std::io::Write;
    value.clear();
    // Writing to a vector cannot fail.
    let _ = write!(value, "{row:0DIGITS$}");
    value.resize(VALUE_BYTES, b'a' + (session % 26) as u8);
}

/// Whether this is the value of a row, by its length, its row and both of its ends.
pub(crate) fn is_value(session: u32, row: u64, value: &[u8]) -> bool {
    let digits = value.get(..DIGITS).unwrap_or_default();
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    value.len() == VALUE_BYTES
        && digits.parse() == Ok(row)
        && value.last() == Some(&(b'a' + (session % 26) as u8))
}

/// Random numbers that a seed determines: splitmix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Those of a session.
    pub(crate) fn of(seed: u64, session: u32) -> Self {
        Random(seed ^ u64::from(session).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next one below `limit`, which is above 0. The bias is below 2^-32 for the row counts of
    /// a load.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(limit)) >> 64) as u64
    }

    /// Brings a list into a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            list.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_by_its_row_its_length_and_its_end() {
        let mut value = Vec::new();
        write_value(3, 4711, &mut value);
        assert_eq!(value.len(), VALUE_BYTES);
        assert!(is_value(3, 4711, &value));
        assert!(!is_value(3, 4712, &value) && !is_value(4, 4711, &value));
        value.pop();
        assert!(!is_value(3, 4711, &value) && !is_value(3, 0, b""));
    }

    #[test]
    fn every_row_is_drawn_and_a_seed_determines_which() {
        let draw = |seed| {
            let mut random = Random::of(seed, 1);
            (0..2000).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        let drawn = draw(7);
        assert_eq!(drawn, draw(7));
        assert_ne!(drawn, draw(8));
        for row in 0..10 {
            let count = drawn.iter().filter(|it| **it == row).count();
            assert!((120..280).contains(&count), "{row}: {count}");
        }
        let mut list: Vec<u32> = (0..100).collect();
        Random::of(1, 0).shuffle(&mut list);
        assert_ne!(list, (0..100).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..100).collect::<Vec<_>>());
    }
}
