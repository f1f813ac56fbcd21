//! What a method found, without what it found of processes that ended meanwhile: a figure that was
//! cut short is none.

use linux::{Root, proc_stat};

use super::gaps::Gaps;
use super::processes::PerProcess;
use super::tally::Tally;
use crate::instances::Member;

/// What a method found.
pub(super) struct Looked {
    /// Objects.
    pub segments: Vec<Tally>,
    /// What was counted for single processes.
    pub counted: PerProcess,
}

impl Looked {
    /// Forgets the processes that do not run any more, and the objects that nobody else has.
    pub fn forget_ended(&mut self, root: &Root, members: &mut Vec<Member>, gaps: &mut Gaps) {
        for member in members.iter() {
            if !proc_stat::still_runs(root, &member.stat) {
                gaps.ended(member.stat.pid);
            }
        }
        let ended = gaps.noticed_ends();
        members.retain(|member| !ended.contains(&member.stat.pid));
        for pid in ended {
            self.counted.forget(*pid);
        }
        self.segments.retain_mut(|tally| {
            // Nobody has a data file mapped that was only looked up.
            let was_mapped = !tally.pids.is_empty();
            tally.pids.retain(|pid| !ended.contains(pid));
            !was_mapped || !tally.pids.is_empty()
        });
    }
}
