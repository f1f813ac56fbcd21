//! Decides which blocks of windows count, from the CPU time that the hypervisor and other programs
//! took: without looking at rates, and for all cases of a block alike (docs/measurement.md).

use instance::WindowReport;
use stats::median;

/// A block may count as disturbed from this much CPU time taken per window, in seconds: in a window
/// of 100 ms, a whole CPU for a third of it. The kernel's accounting cannot resolve less: it counts
/// in ticks of 10 ms for each CPU.
const TAKEN_S_MIN: f64 = 0.03;
/// It is disturbed if this also exceeds this multiple of the median block's, so that at least half
/// of the blocks always count.
const TIMES_THE_MIDDLE: f64 = 2.0;

/// Returns whether each block counts.
pub(crate) fn quiet_blocks(blocks: &[Vec<WindowReport>]) -> Vec<bool> {
    let taken: Vec<f64> = blocks.iter().map(|block| taken_s(block)).collect();
    let middle = median(&taken).unwrap_or(0.0);
    let counts = |taken: &f64| *taken < TAKEN_S_MIN || *taken <= TIMES_THE_MIDDLE * middle;
    taken.iter().map(counts).collect()
}

/// Returns the CPU time that others took from a block, in seconds per window. Unknown times count
/// as 0.
fn taken_s(block: &[WindowReport]) -> f64 {
    let of_window =
        |window: &WindowReport| window.steal_s.unwrap_or(0.0) + window.other_cpu_s.unwrap_or(0.0);
    block.iter().map(of_window).sum::<f64>() / block.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(taken: &[[f64; 2]], expected: &[bool]) {
        let window = |taken: &f64| WindowReport {
            work_per_s: 1.0,
            steal_s: Some(*taken),
            other_cpu_s: None,
        };
        let blocks: Vec<Vec<WindowReport>> = taken
            .iter()
            .map(|block| block.iter().map(window).collect())
            .collect();
        assert_eq!(quiet_blocks(&blocks), expected, "{taken:?}");
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

    #[test]
    fn rates_decide_nothing() {
        let window = |work_per_s, steal_s| WindowReport {
            work_per_s,
            steal_s: Some(steal_s),
            other_cpu_s: Some(0.0),
        };
        for rate in [0.0, 1.0, 1e9] {
            let blocks = vec![
                vec![window(rate, 0.0)],
                vec![window(5.0, 0.2)],
                vec![window(1.0, 0.0)],
            ];
            assert_eq!(quiet_blocks(&blocks), [true, false, true]);
        }
    }
}
