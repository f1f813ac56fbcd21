//! Sets of ids as the kernel's bit masks of `unsigned long`, of any length.

use model::{Id, IdSet};

const BITS: usize = u64::BITS as usize;

/// The mask of `set` with at least `words_min` words.
pub(crate) fn from_set<T: Id>(set: &IdSet<T>, words_min: usize) -> Vec<u64> {
    let words = set
        .iter()
        .map(|id| id.number() as usize / BITS + 1)
        .max()
        .unwrap_or(0);
    let mut mask = vec![0u64; words.max(words_min)];
    for id in set.iter() {
        mask[id.number() as usize / BITS] |= 1 << (id.number() as usize % BITS);
    }
    mask
}

/// The set of the bits of `mask`.
pub(crate) fn to_set<T: Id>(mask: &[u64]) -> IdSet<T> {
    let bit_is_set =
        |number: &u32| mask[*number as usize / BITS] >> (*number as usize % BITS) & 1 == 1;
    (0..(mask.len() * BITS) as u32)
        .filter(bit_is_set)
        .map(T::from_number)
        .collect()
}

#[cfg(test)]
mod tests {
    use model::CpuSet;

    use super::{from_set, to_set};

    #[test]
    fn a_set_survives_the_way_through_a_mask() {
        for text in ["", "0", "63-64", "0-3,1200,8191"] {
            let set: CpuSet = text.parse().expect("a list in kernel form");
            assert_eq!(to_set(&from_set(&set, 0)), set, "{text}");
        }
    }
}
