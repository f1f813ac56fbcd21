//! A random part of the pages of a target.

/// Pages drawn at random, all over an object: the same for the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dose {
    /// How many of a million.
    pub parts_per_million: u32,
    /// Which ones.
    pub seed: u64,
}

impl Dose {
    /// Whether page `page` is drawn.
    pub(crate) fn has(&self, page: u64) -> bool {
        // SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
        // generators", OOPSLA): a mix of all bits, so that no regular layout hides from it.
        let mut word = self
            .seed
            .wrapping_add(page.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        // The upper half of the product: uniform from 0 to 999,999.
        ((u128::from(word) * 1_000_000) >> 64) < u128::from(self.parts_per_million)
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::Dose;
    use crate::Pattern;

    #[test]
    fn a_dose_is_its_share_of_any_regular_layout() {
        let dose = Dose {
            parts_per_million: 100_000,
            seed: 7,
        };
        for step in [1, 2, 3, 64, 512, 4096] {
            let drawn = (0..100_000).filter(|page| dose.has(page * step)).count();
            assert!((9_500..10_500).contains(&drawn), "{step}: {drawn}");
        }
        let other = Dose { seed: 8, ..dose };
        let both = (0..100_000).filter(|page| dose.has(*page) && other.has(*page));
        assert!((800..1_200).contains(&both.count()));
        let all = [0, 1_000_000].map(|parts_per_million| {
            let dose = Dose {
                parts_per_million,
                ..dose
            };
            (0..1000).filter(|page| dose.has(*page)).count()
        });
        assert_eq!(all, [0, 1000]);
    }

    #[test]
    fn what_is_not_drawn_stays_where_it_is() {
        let dose = Dose {
            parts_per_million: 500_000,
            seed: 1,
        };
        let pattern = Pattern::of_one(NodeId(1)).dosed(dose);
        assert!(pattern.is_dosed());
        assert_eq!(pattern.kinds(), 2);
        for page in 0..100 {
            let kind = pattern.kind_of(page);
            let expected = if dose.has(page) { 1 } else { 5 };
            assert_eq!(pattern.node_of_kind(kind, NodeId(5)), NodeId(expected));
        }
    }
}
