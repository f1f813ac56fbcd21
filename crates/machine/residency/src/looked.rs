//! What a method found, without the processes that ended in the meantime: a figure that was cut
//! short does not count.

use linux::{Root, proc_stat};

use super::gaps::Gaps;
use super::processes::PerProcess;
use super::tally::Tally;
use crate::instances::Member;

/// What a method found.
pub(super) struct Looked {
    /// Objects.
    pub segments: Vec<Tally>,
    /// What was counted per process.
    pub counted: PerProcess,
}

impl Looked {
    /// Forgets the processes that no longer run, and the objects that no other process has.
    pub(super) fn forget_ended(&mut self, root: &Root, members: &mut Vec<Member>, gaps: &mut Gaps) {
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
            // A data file that was only looked up has no process that maps it.
            let was_mapped = !tally.pids.is_empty();
            tally.pids.retain(|pid| !ended.contains(pid));
            !was_mapped || !tally.pids.is_empty()
        });
    }
}
