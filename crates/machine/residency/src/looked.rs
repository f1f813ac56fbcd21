//! What a method found, without the processes that ended in the meantime: a figure that was cut
//! short does not count.

use super::gaps::Gaps;
use super::processes::PerProcess;
use super::tally::Tally;
use super::threads::ProcessThreads;
use crate::instances::Member;

/// What a method found.
pub(super) struct Looked {
    /// Objects.
    pub segments: Vec<Tally>,
    /// What was counted per process.
    pub counted: PerProcess,
}

impl Looked {
    /// Forgets the processes that no longer run, as `threads` shows them now, and the objects that
    /// no other process has.
    pub(super) fn forget_ended(
        &mut self,
        members: &mut Vec<Member>,
        threads: &mut Vec<ProcessThreads>,
        gaps: &mut Gaps,
    ) {
        for (member, now) in members.iter().zip(threads.iter()) {
            let runs_on = |now| member.stat.runs_on(now);
            if !now.stat.as_ref().is_some_and(runs_on) {
                gaps.ended(member.stat.pid);
            }
        }
        let ended = gaps.noticed_ends();
        members.retain(|member| !ended.contains(&member.stat.pid));
        threads.retain(|of_process| !ended.contains(&of_process.pid));
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
