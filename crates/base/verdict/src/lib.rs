//! What the trials of runs decide: cases, intervals, ranks, comparisons, and why cases differ. Pure
//! numbers and enums; crate `report` has the words.
#![forbid(unsafe_code)]

mod cases;
mod comparison;
mod confidence;
mod control;
mod cost;
mod explanation;
mod judgement;
mod leading;
mod memory_share;
mod ratio;
mod standing;
mod totals;
mod verdict;

pub use cases::{CaseJudgement, Comparison, TRIALS_ENOUGH, cost};
pub use comparison::{
    Caveat, ComparedCase, ComparedPair, NotComparable, RunComparison, Selection, compare_runs,
};
pub use confidence::{CONFIDENCE, common, common_of_cells};
pub use control::Control;
pub use cost::{CERTAIN, CaseCost};
pub use explanation::{Difference, Explanation, Factor, NotExplained, explain};
pub use judgement::{Judgement, judge, order};
pub use leading::leading;
pub use memory_share::MemoryShare;
pub use ratio::{Ratio, baseline_index, has_emulated_cost, is_emulated, is_load_sweep, merit};
pub use standing::Standing;
pub use totals::CaseTotals;
pub use verdict::Verdict;
