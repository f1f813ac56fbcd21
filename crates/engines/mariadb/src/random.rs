//! The numbers that sessions draw.

/// SplitMix64 (Steele, Lea, Flood 2014): good enough to draw keys, and one word of state.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Starts a sequence.
    pub(crate) fn of(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number below `bound`; 0 if that is 0. The error of the multiplication is below
    /// `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns the numbers below `count` in random order.
    pub(crate) fn order(&mut self, count: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (0..count).collect();
        for place in (1..numbers.len()).rev() {
            let other = self.below(place as u64 + 1) as usize;
            numbers.swap(place, other);
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn an_order_has_every_number_once_and_depends_on_the_seed() {
        let order = |seed| Random::of(seed).order(1000);
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        assert!(order(7) != sorted && Random::of(1).order(0).is_empty());
    }

    #[test]
    fn draws_are_below_their_bound() {
        let mut random = Random::of(3);
        let drawn: Vec<u64> = (0..100).map(|_| random.below(4)).collect();
        assert!((0..4).all(|number| drawn.contains(&number)));
        assert!(drawn.iter().all(|number| *number < 4));
        assert_eq!(random.below(0), 0);
    }
}
