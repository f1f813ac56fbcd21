//! Decides which blocks of windows count, from the CPU time that the hypervisor and other programs
//! took: without looking at rates, and for all cases of a block alike (docs/measurement.md).

use instance::Taken;
use stats::median;

/// A block may count as disturbed from this much CPU time taken per case, in seconds: of 100 ms, a
/// whole CPU for a third. The kernel's accounting cannot resolve less: it counts
/// in ticks of 10 ms for each CPU.
const TAKEN_S_MIN: f64 = 0.03;
/// It is disturbed if this also exceeds this multiple of the median block's, so that at least half
/// of the blocks always count.
const TIMES_THE_MIDDLE: f64 = 2.0;

/// What disturbed a block of windows.
pub(super) struct Block {
    /// What others took, by case.
    pub taken: Vec<Taken>,
    /// Whether its turns began before an instance had them.
    pub is_late: bool,
}

/// Returns whether each block counts. One that is late does not, unless all are: then that is the
/// machine's normal state.
pub(super) fn counted_blocks(blocks: &[Block]) -> Vec<bool> {
    let taken: Vec<Vec<Taken>> = blocks.iter().map(|block| block.taken.clone()).collect();
    let quiet = quiet_blocks(&taken);
    let both = quiet.iter().zip(blocks);
    let counted: Vec<bool> = both
        .map(|(quiet, block)| *quiet && !block.is_late)
        .collect();
    if counted.contains(&true) {
        return counted;
    }
    quiet
}

/// Returns whether each block is quiet.
pub(crate) fn quiet_blocks(blocks: &[Vec<Taken>]) -> Vec<bool> {
    let taken: Vec<f64> = blocks.iter().map(|block| taken_s(block)).collect();
    let middle = median(&taken).unwrap_or(0.0);
    let counts = |taken: &f64| *taken < TAKEN_S_MIN || *taken <= TIMES_THE_MIDDLE * middle;
    taken.iter().map(counts).collect()
}

/// Returns the CPU time that others took from a block, in seconds per case. Unknown times count
/// as 0.
fn taken_s(block: &[Taken]) -> f64 {
    let of_case = |taken: &Taken| taken.steal_s.unwrap_or(0.0) + taken.other_cpu_s.unwrap_or(0.0);
    block.iter().map(of_case).sum::<f64>() / block.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(taken: &[[f64; 2]], expected: &[bool]) {
        let of_case = |taken: &f64| Taken {
            steal_s: Some(*taken),
            other_cpu_s: None,
        };
        let blocks: Vec<Vec<Taken>> = taken
            .iter()
            .map(|block| block.iter().map(of_case).collect())
            .collect();
        assert_eq!(quiet_blocks(&blocks), expected, "{taken:?}");
    }

    #[test]
    fn a_late_block_counts_only_if_all_are_late() {
        let counted = |late: &[bool]| {
            let block = |is_late: &bool| Block {
                taken: vec![Taken::default(); 2],
                is_late: *is_late,
            };
            counted_blocks(&late.iter().map(block).collect::<Vec<Block>>())
        };
        assert_eq!(counted(&[false, true, false]), [true, false, true]);
        assert_eq!(counted(&[true, true]), [true, true]);
        assert!(counted(&[]).is_empty());
    }

    #[test]
    fn a_block_counts_or_not_for_all_of_its_cases() {
        check(&[], &[]);
        check(&[[0.0, 0.0], [0.0, 0.01]], &[true, true]);
        // One disturbed window is enough.
        check(&[[0.0, 0.0], [0.1, 0.0], [0.0, 0.01]], &[true, false, true]);
        // If all blocks are alike, that is the machine's normal state.
        check(&[[0.1, 0.1], [0.1, 0.1], [0.15, 0.1]], &[true, true, true]);
        check(
            &[[0.0, 0.0], [0.1, 0.1], [0.3, 0.3], [0.0, 0.0], [0.1, 0.2]],
            &[true, true, false, true, true],
        );
        check(&[[0.9, 0.9]], &[true]);
    }
}
