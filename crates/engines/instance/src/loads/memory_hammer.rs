//! Stores to random words of private memory; no store waits for a value.
//!
//! Article 004's memhammer did the same: 156 ns per store with 8 processes on interleaved memory,
//! 97 ns on local memory.
//!
//! One piece: 65,536 stores, each of a value derived from its place. Verified: every word is
//! untouched or correct, and the stores of the last piece are present.

use linux::anonymous_memory::AnonymousMemory;

use super::load::mix;
use super::{Ingredients, Load};
use crate::Error;
use crate::buffer_cache::Reader;

/// Stores per piece.
const STORES: u64 = 1 << 16;

/// The load.
pub(super) struct MemoryHammer {
    memory: AnonymousMemory,
    seed: u64,
    random: fastrand::Rng,
    /// The generator's state before the last piece.
    before: fastrand::Rng,
}

impl MemoryHammer {
    pub(super) fn new(of: &Ingredients<'_>) -> Result<Self, Error> {
        let random = fastrand::Rng::with_seed(of.seed);
        Ok(MemoryHammer {
            memory: of.own_memory()?,
            seed: of.seed,
            before: random.clone(),
            random,
        })
    }
}

/// Draws a place below `count` (Lemire, "Fast Random Integer Generation in an Interval", 2019).
#[inline]
fn place(random: &mut fastrand::Rng, count: usize) -> usize {
    ((u128::from(random.u64(..)) * count as u128) >> 64) as usize
}

/// Returns the value that belongs in a place; never 0, which is the content of a fresh page.
#[inline]
fn content(seed: u64, place: usize) -> u64 {
    (place as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(seed)
        | 1
}

impl Load for MemoryHammer {
    fn piece(&mut self, _: &mut Reader<'_>) -> Result<u64, Error> {
        self.before = self.random.clone();
        let (random, seed) = (&mut self.random, self.seed);
        let words = self.memory.words_mut();
        for _ in 0..STORES {
            let place = place(random, words.len());
            words[place] = content(seed, place);
        }
        Ok(STORES)
    }

    fn memory(&self) -> Option<(usize, usize)> {
        Some((self.memory.address(), self.memory.len()))
    }

    /// Verifies that every word is untouched or correct, and that the stores of the last piece are
    /// present.
    fn verify(&mut self) -> Result<(), Error> {
        let seed = self.seed;
        let words = self.memory.words_mut();
        let wrong = |place: usize, word: u64| Error::WrongResult {
            what: "a store",
            found: format!("{word:#x} in word {place}"),
            expected: format!("{:#x}", content(seed, place)),
        };
        for (place, word) in words.iter().enumerate() {
            if *word != 0 && *word != content(seed, place) {
                return Err(wrong(place, *word));
            }
        }
        let mut again = self.before.clone();
        for _ in 0..STORES {
            let place = place(&mut again, words.len());
            if words[place] != content(seed, place) {
                return Err(wrong(place, words[place]));
            }
        }
        // Using a word keeps the compiler from dropping stores that nothing else reads.
        std::hint::black_box(mix(words[0]));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::SessionLoad;

    use super::super::load::tests::with_load;
    use super::{Ingredients, Load, MemoryHammer, STORES};
    use crate::statement::Table;

    #[test]
    fn stores_are_counted_and_found_again() {
        with_load(SessionLoad::MemoryHammer, 1 << 20, |load, reader| {
            assert_eq!(load.piece(reader).unwrap(), STORES);
            assert_eq!(load.piece(reader).unwrap(), STORES);
            load.verify().unwrap();
            assert_eq!(load.memory().unwrap().1, 1 << 20);
        });
    }

    #[test]
    fn a_word_that_nobody_stored_is_found() {
        let own = model::OwnMemory {
            load: SessionLoad::MemoryHammer,
            bytes: 1 << 16,
            allocation: model::Allocation::OsDefault,
        };
        let mut hammer = MemoryHammer::new(&Ingredients {
            own: &own,
            page_bytes: 4096,
            table: Table::default(),
            seed: 1,
        })
        .unwrap();
        hammer.memory.words_mut()[7] = 12;
        let error = hammer.verify().unwrap_err().to_string();
        assert!(error.contains("a store: found 0xc in word 7"), "{error}");
    }
}
