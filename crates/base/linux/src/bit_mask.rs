//! Sets of ids as the kernel's bit masks of any length: arrays of `unsigned long` in system calls,
//! hexadecimal text in files.

use model::{ID_MAX, Id, IdSet};

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

/// The set of a mask in text, `00000000,000000ff`: groups of 32 bits separated by commas, the most
/// significant first (kernel, `lib/vsprintf.c`, `bitmap_string`). `None` for anything else, and for
/// bits beyond the largest id.
pub(crate) fn parse<T: Id>(text: &str) -> Option<IdSet<T>> {
    let mut ids = Vec::new();
    for (index, group) in text.trim().rsplit(',').enumerate() {
        if group.is_empty() || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let bits = u32::from_str_radix(group, 16).ok()?;
        for bit in (0..u32::BITS).filter(|bit| bits >> bit & 1 == 1) {
            let id = u32::try_from(index).ok()?.checked_mul(u32::BITS)?;
            let id = id.checked_add(bit).filter(|id| *id <= ID_MAX)?;
            ids.push(T::from_number(id));
        }
    }
    Some(ids.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use model::CpuSet;
    use proptest::prelude::*;

    use super::{from_set, parse, to_set};

    #[test]
    fn a_mask_in_text_has_its_least_bits_in_the_last_group() {
        let check = |text: &str, expected: Option<&str>| {
            let found = parse::<model::CpuId>(text).map(|set| set.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        };
        check("ff\n", Some("0-7"));
        check("00000000,00000000,0000ffff\n", Some("0-15"));
        check("3,80000001,00000000", Some("32,63-65"));
        check("0000,00000000,00000000", Some(""));
        check("0", Some(""));
        check("00000000000000ff", Some("0-7"));
        check(&format!("1{}", ",00000000".repeat(2047)), Some("65504"));
        check(&format!("1{}", ",00000000".repeat(2048)), None);
        check(&format!("0{}", ",00000000".repeat(9999)), Some(""));
        for garbage in [
            "",
            ",",
            "f,,f",
            "f,",
            "1ffffffff",
            "0x1",
            "+1",
            "-1",
            "f f",
            "0-3",
        ] {
            check(garbage, None);
        }
    }

    proptest! {

        #[test]
        fn what_the_kernel_prints_is_read(ids in prop::collection::btree_set(0..4096_u32, 0..50)) {
            let mut groups = vec![0_u32; 128];
            for id in &ids {
                groups[(id / 32) as usize] |= 1 << (id % 32);
            }
            let groups = groups.iter().rev().map(|bits| format!("{bits:08x}"));
            let groups: Vec<String> = groups.collect();
            let set: CpuSet = ids.into_iter().map(model::CpuId).collect();
            prop_assert_eq!(parse(&groups.join(",")), Some(set));
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[0-9a-g,]{0,40}|\\PC*", &|text| {
            let _ = parse::<model::CpuId>(text);
        });
    }

    #[test]
    fn a_set_survives_the_way_through_a_mask() {
        for text in ["", "0", "63-64", "0-3,1200,8191"] {
            let set: CpuSet = text.parse().expect("a list in kernel form");
            assert_eq!(to_set(&from_set(&set, 0)), set, "{text}");
        }
    }
}
