//! Lets the kernel at the segments of a plan, watches, and stops it again. Places and policies are
//! in the journal before.

use std::time::{Duration, Instant};

use journal::{Change, Journal, TakeBack};
use linux::map_files::MappedObject;
use linux::object_policy::RawPolicy;
use linux::proc_vmstat::{self, Vmstat};
use linux::{Root, SystemCallError, proc_stat, process};
use model::{BalanceEnd, BalanceSample, BytesByNode};

use super::budget::Budget;
use super::end;
use super::places::{self, MARKS_LAST, MemoryBalanced};
use super::plan::{BalancePlan, BalanceSegment};
use super::watched::Watched;
use crate::chunk_log::ChunkLog;
use crate::claims::Claims;
use crate::error::{MoveError, NoBalancing};
use crate::memory::{Part, Source, Stretch};
use crate::policy::{self, SegmentPolicySet};
use crate::reader::Reader;
use crate::survey::extents;

/// Between two looks at what the kernel has moved: what it moves too much in a second is what it
/// moves in this time.
const NAP: Duration = Duration::from_millis(20);
/// Between two samples, in seconds.
const SAMPLE_S: f64 = 1.0;

/// How far the kernel may go.
#[derive(Debug, Clone, Copy)]
pub struct BalanceLimits {
    /// The longest that it may take, in seconds.
    pub seconds: f64,
    /// The most bytes that it may move in a second.
    pub bytes_per_s: u64,
    /// Whether to leave the policy, so that the kernel goes on.
    pub keep: bool,
}

/// How to watch and to stop.
pub struct Course<'a> {
    /// Whether to stop now.
    pub stop: &'a dyn Fn() -> bool,
    /// Called with each sample.
    pub watch: &'a mut dyn FnMut(&BalanceSample),
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Balanced {
    /// How it ended.
    pub end: BalanceEnd,
    /// How long the kernel was let, in seconds.
    pub seconds: f64,
    /// The samples, oldest first.
    pub samples: Vec<BalanceSample>,
    /// Where the memory of each segment of the plan is now, and its policy; empty if the target has
    /// ended.
    pub segments: Vec<Placed>,
}

/// A segment afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// Bytes by node, of the pages that there were before.
    pub after: BytesByNode,
    /// Bytes that lie on another node than before.
    pub bytes_elsewhere: u64,
    /// Its policy, in the notation of numa_maps.
    pub policy: String,
}

/// Carries out a plan that was made under the locks. Where the pages were stays in the journal, for
/// `numalab undo`, and so does the policy if it is kept.
///
/// # Errors
/// When the journal cannot be written or the kernel refuses. What was changed until then is in the
/// journal.
pub fn balance(
    root: &Root,
    plan: &BalancePlan,
    _locked: &Claims,
    target: &str,
    journal: &Journal,
    limits: BalanceLimits,
    course: &mut Course<'_>,
) -> Result<Balanced, MoveError> {
    let policies = policies(root, plan, journal)?;
    let entry = match let_at(plan, target, journal) {
        Ok(entry) => entry,
        Err(error) => {
            take_back(root, journal, &policies)?;
            return Err(error);
        }
    };
    let mut balancer = Balancer {
        root,
        plan,
        limits,
        reader: Reader::new(root),
        began: Instant::now(),
        is_stopped: false,
        result: Balanced::default(),
    };
    let outcome = balancer.run(course);
    // A policy that another process has set since the last look is not overwritten, either.
    let outcome = balancer.policies_are_ours().and(outcome);
    let mut result = balancer.result;
    if let Err(error @ MoveError::PolicySetByAnother { .. }) = outcome {
        // The policies that are still ours are taken back; undo names the other.
        let _ = take_back(root, journal, &policies);
        return Err(error);
    }
    if !limits.keep || outcome.is_err() {
        switch(plan, &plan.raw_policy().without_balancing())?;
        std::thread::sleep(MARKS_LAST);
        take_back(root, journal, &policies)?;
    }
    outcome?;
    if result.end != BalanceEnd::TargetEnded {
        let mut reader = Reader::new(root);
        for segment in &plan.segments {
            let compared = places::compare(&mut reader, &segment.part, &segment.places)?;
            result.segments.push(Placed {
                after: compared.now,
                bytes_elsewhere: compared.bytes_elsewhere,
                policy: policy::of_object(object(segment))?,
            });
        }
    }
    // With the policy kept, the kernel may still move what stayed so far. Some memory outlives its
    // processes, and was not looked at then.
    let has_moved = result.segments.iter().any(|it| it.bytes_elsewhere > 0);
    let is_known = result.end != BalanceEnd::TargetEnded;
    if is_known && !has_moved && !limits.keep {
        journal.mark_undone(entry)?;
    }
    Ok(result)
}

/// The policies that were set, with their numbers in the journal.
type Policies = Vec<(u64, SegmentPolicySet)>;

/// Gives every segment the policy of the plan without its flag, so that the kernel moves nothing
/// yet.
fn policies(root: &Root, plan: &BalancePlan, journal: &Journal) -> Result<Policies, MoveError> {
    let stopped = plan.raw_policy().without_balancing();
    let mut policies = Policies::new();
    for segment in &plan.segments {
        let Source::Window(id, object) = &segment.part.source else {
            continue;
        };
        match policy::write(journal, *id, object, &segment.part.name, &stopped) {
            Ok(set) => policies.push(set),
            Err(error) => {
                take_back(root, journal, &policies)?;
                return Err(error.into());
            }
        }
    }
    Ok(policies)
}

/// Journals where the pages are and lets the kernel at them; returns the number in the journal.
/// `numalab undo` undoes this before the policies: while they keep the kernel from moving pages, no
/// page that it has marked can leave again.
fn let_at(plan: &BalancePlan, target: &str, journal: &Journal) -> Result<u64, MoveError> {
    let entry = MemoryBalanced {
        target: target.to_owned(),
        pids: plan.pids.clone(),
    }
    .record(journal)?;
    let mut log = ChunkLog::create(journal, entry)?;
    for segment in &plan.segments {
        log.add(&segment.places)?;
    }
    let wanted = plan.raw_policy();
    let begin = || -> Result<(), MoveError> {
        switch(plan, &wanted).map_err(|error| refusal(error, target))?;
        for segment in &plan.segments {
            if policy::of_object(object(segment))? != wanted.to_string() {
                return Err(old_kernel(target));
            }
        }
        Ok(())
    };
    if let Err(error) = begin() {
        // The kernel was at the segments that have the policy, and may have moved some of them.
        let has_it = |segment| {
            let now = policy::of_object(object(segment));
            now.is_ok_and(|now| now == wanted.to_string())
        };
        let may_have_moved = plan.segments.iter().any(has_it);
        let stopped = switch(plan, &wanted.without_balancing());
        if may_have_moved || stopped.is_err() {
            return Err(error.after(vec![entry]));
        }
        journal.mark_undone(entry)?;
        return Err(error);
    }
    Ok(entry)
}

/// Sets the policy of every segment to one that the journal knows.
fn switch(plan: &BalancePlan, policy: &RawPolicy) -> Result<(), SystemCallError> {
    plan.segments
        .iter()
        .try_for_each(|segment| policy::switch(object(segment), policy))
}

/// `EINVAL` (errno(3)).
const INVALID: i32 = 22;

fn refusal(error: SystemCallError, target: &str) -> MoveError {
    match error.errno() {
        Some(INVALID) => old_kernel(target),
        _ => error.into(),
    }
}

fn old_kernel(target: &str) -> MoveError {
    MoveError::NoBalancing {
        target: target.to_owned(),
        reason: NoBalancing::OldKernel,
    }
}

/// Gives the segments the policies that they had.
fn take_back(root: &Root, journal: &Journal, policies: &Policies) -> Result<(), MoveError> {
    let mut outcome = Ok(());
    for (entry, change) in policies.iter().rev() {
        let how = TakeBack {
            root,
            journal,
            entry: *entry,
            force: false,
            bytes_per_s: None,
        };
        let taken = change.take_back(&how);
        // One that cannot be taken back keeps no other.
        outcome = outcome.and(taken.and_then(|_| journal.mark_undone(*entry)));
    }
    Ok(outcome?)
}

fn object(segment: &BalanceSegment) -> &MappedObject {
    match &segment.part.source {
        Source::Window(_, object) => object,
        _ => unreachable!("a plan has segments of small pages only"),
    }
}

struct Balancer<'a> {
    root: &'a Root,
    plan: &'a BalancePlan,
    limits: BalanceLimits,
    reader: Reader<'a>,
    began: Instant,
    is_stopped: bool,
    result: Balanced,
}

impl Balancer<'_> {
    fn run(&mut self, course: &mut Course<'_>) -> Result<(), MoveError> {
        let parts: Vec<&Part> = self.plan.segments.iter().map(|it| &it.part).collect();
        let mut watched = Watched::of(&self.stretches()?);
        watched.look(&mut self.reader, &parts)?;
        self.began = Instant::now();
        let mut counters = proc_vmstat::read(self.root)?;
        let mut budget = Budget::new(self.limits.bytes_per_s, migrated(&counters));
        let (mut next_s, mut stopped_s) = (SAMPLE_S, 0.0);
        loop {
            std::thread::sleep(NAP);
            let now_s = self.began.elapsed().as_secs_f64();
            self.result.seconds = now_s;
            let now = proc_vmstat::read(self.root)?;
            self.stop_if(budget.is_spent(now_s, migrated(&now)))?;
            stopped_s += if self.is_stopped {
                NAP.as_secs_f64()
            } else {
                0.0
            };
            if let Some(end) = self.outer_end(now_s, course) {
                self.result.end = end;
                return Ok(());
            }
            if now_s < next_s {
                continue;
            }
            self.policies_are_ours()?;
            let look = watched.look(&mut self.reader, &parts)?;
            let sample = BalanceSample {
                at_s: now_s,
                pages_watched: look.watched,
                pages_changed: look.changed,
                pages_returned: look.returned,
                stopped_s,
                ..between(&counters, &now)
            };
            (course.watch)(&sample);
            self.result.samples.push(sample);
            if let Some(end) = end::of(&self.result.samples, self.plan.settled_after_s) {
                self.result.end = end;
                return Ok(());
            }
            (counters, stopped_s) = (now, 0.0);
            next_s = now_s + SAMPLE_S;
        }
    }

    /// The pages of all segments, with the number of their segment.
    fn stretches(&self) -> Result<Vec<(usize, Stretch)>, MoveError> {
        let mut all = Vec::new();
        for (number, segment) in self.plan.segments.iter().enumerate() {
            let stretches = extents(object(segment), segment.part.page_bytes)?;
            all.extend(stretches.into_iter().map(|it| (number, it)));
        }
        Ok(all)
    }

    /// Stops the kernel or lets it at the segments again. Stopped, it moves nothing more: the
    /// policy then has the same nodes without the flag (mm/mempolicy.c, `mpol_misplaced`).
    fn stop_if(&mut self, is_spent: bool) -> Result<(), MoveError> {
        if is_spent == self.is_stopped {
            return Ok(());
        }
        self.policies_are_ours()?;
        let balancing = self.plan.raw_policy();
        let wanted = match is_spent {
            true => balancing.without_balancing(),
            false => balancing,
        };
        switch(self.plan, &wanted)?;
        self.is_stopped = is_spent;
        Ok(())
    }

    /// Refuses to go on where another process has set a policy: it is not overwritten.
    fn policies_are_ours(&self) -> Result<(), MoveError> {
        let stopped = self.plan.raw_policy().without_balancing();
        for segment in &self.plan.segments {
            let ends = policy::ends(object(segment))?;
            let of_others = ends
                .iter()
                .find(|policy| policy.without_balancing() != stopped);
            if let Some(policy) = of_others {
                return Err(MoveError::PolicySetByAnother {
                    name: segment.part.name.clone(),
                    policy: policy.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Ends that have nothing to do with what is seen.
    fn outer_end(&self, now_s: f64, course: &Course<'_>) -> Option<BalanceEnd> {
        let runs = |pid: &u32| proc_stat::read(self.root, *pid).is_ok_and(|it| !it.has_ended);
        if (course.stop)() {
            return Some(BalanceEnd::Interrupted);
        }
        if !self.plan.pids.iter().any(runs) {
            return Some(BalanceEnd::TargetEnded);
        }
        (now_s >= self.limits.seconds).then_some(BalanceEnd::TimeOver)
    }
}

/// Bytes that NUMA balancing has moved since boot.
fn migrated(counters: &Vmstat) -> u64 {
    let pages = counters.numa_pages_migrated.unwrap_or(0);
    pages.saturating_mul(process::page_bytes())
}

fn between(then: &Vmstat, now: &Vmstat) -> BalanceSample {
    let since = |of: fn(&Vmstat) -> Option<u64>| {
        let (then, now) = (of(then).unwrap_or(0), of(now).unwrap_or(0));
        now.saturating_sub(then)
    };
    BalanceSample {
        hint_faults: since(|it| it.numa_hint_faults),
        hint_faults_local: since(|it| it.numa_hint_faults_local),
        bytes_migrated: migrated(now).saturating_sub(migrated(then)),
        ..BalanceSample::default()
    }
}
