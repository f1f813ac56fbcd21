//! Carries out a plan by batches: while the kernel moves one, the next one is read, journalled and
//! synced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use journal::{Change, Journal};
use linux::{Root, proc_stat};
use model::{BytesByNode, NodeId};

use super::batch::{BATCH_BYTES_MAX, BATCHES_PER_S, Batch, Preparer, STRETCHES_MAX, SendOutcome};
use super::chunk::Unit;
use super::chunk_log::ChunkLog;
use super::claims::Claims;
use super::error::MoveError;
use super::memory::{BYTES_FIRST, CHUNK_BYTES, Part, Source, Stretch, in_growing_pieces};
use super::plan::Plan;
use super::policy;
use super::read_error::ReadError;
use super::reader::Reader;
use super::sender::{self, Sent};
use super::sending::Sending;
use super::survey::extents;
use super::take_back::PagesMoved;

/// The longest time between two checks whether to stop.
const NAP: Duration = Duration::from_millis(50);
/// Memory that is journalled, synced and moved at once after pages that did not move; twice as much
/// after each time that every page moved, because a sync may take as long as moving as much.
const BATCH_BYTES: u64 = CHUNK_BYTES;

/// How to move.
pub struct Pace<'a> {
    /// At most this many bytes per second; `None`: no limit.
    pub bytes_per_s: Option<u64>,
    /// Whether pages that several processes have mapped may be moved (`CAP_SYS_NICE`).
    pub of_others: bool,
    /// Whether to stop now.
    pub stop: &'a dyn Fn() -> bool,
    /// Called before the first batch and after each with the bytes of the plan handled so far.
    pub watch: &'a mut dyn FnMut(u64),
}

/// The result of carrying out a plan.
#[derive(Debug, Default)]
pub struct Moved {
    /// Pages, bytes and refusals.
    pub sent: Sent,
    /// Duration in seconds.
    pub seconds: f64,
    /// Processes that ended in the meantime.
    pub ended: BTreeSet<u32>,
    /// Whether all processes of the target have ended.
    pub has_target_ended: bool,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
    /// Bytes by node afterwards of each part of the plan that was begun: what the kernel's status
    /// of each page says, and of pages that were not sent, where they were.
    pub by_status: Vec<BytesByNode>,
    /// Segments whose policy was set.
    pub policies_set: u32,
    /// The numbers of the changes in the journal.
    pub entries: Vec<u64>,
}

/// Carries out a plan that was made under the locks. What was moved stays in the journal, for
/// `numalab undo`.
///
/// # Errors
/// When the journal cannot be written or the kernel refuses altogether; as
/// [`MoveError::Unfinished`], if something may have been moved until then: that is in the journal.
pub fn carry_out(
    root: &Root,
    plan: &Plan,
    _locked: &Claims,
    names: (&str, &str),
    journal: &Journal,
    pace: &mut Pace<'_>,
) -> Result<Moved, MoveError> {
    let (target, to) = names;
    let entry = PagesMoved {
        target: target.to_owned(),
        to: to.to_owned(),
        pids: plan.pids.clone(),
    }
    .record(journal)?;
    let began = Instant::now();
    let mut mover = Mover {
        root,
        preparer: Preparer {
            reader: Reader::new(root),
            log: ChunkLog::create(journal, entry)?,
        },
        moved: Moved::default(),
        pace,
        pids: &plan.pids,
        began,
        bytes_seen: 0,
        batch_bytes: BYTES_FIRST,
        lost: BTreeMap::new(),
        sending: None,
        has_sent: false,
    };
    let outcome = mover.run(plan, journal);
    let (mut moved, has_sent) = (mover.moved, mover.has_sent);
    moved.seconds = began.elapsed().as_secs_f64();
    // A call that fails, or moves nothing that is counted, may have moved pages all the same.
    match has_sent {
        false => journal.mark_undone(entry)?,
        true => moved.entries.push(entry),
    }
    match outcome {
        Ok(()) => Ok(moved),
        Err(error) => Err(error.after(moved.entries)),
    }
}

struct Mover<'a, 'b> {
    root: &'a Root,
    preparer: Preparer<'a>,
    moved: Moved,
    pace: &'a mut Pace<'b>,
    pids: &'a [u32],
    began: Instant,
    bytes_seen: u64,
    batch_bytes: u64,
    /// Huge pages of the part that a process had no more when they were sent, with the node to
    /// which they were: when the kernel moves a page of a page table that processes share, all but
    /// one of them lose that table (mm/hugetlb.c, `huge_pmd_unshare`). That one still has them.
    lost: BTreeMap<u64, (Unit, NodeId)>,
    /// The thread that sends, once there is one.
    sending: Option<Sending>,
    /// Whether the kernel was asked to move anything.
    has_sent: bool,
}

impl Mover<'_, '_> {
    fn run(&mut self, plan: &Plan, journal: &Journal) -> Result<(), MoveError> {
        for planned in &plan.parts {
            let part = &planned.part;
            self.moved.by_status.push(BytesByNode::new());
            // The policy goes first, so that pages allocated in the meantime are where they belong.
            // The extents then include what was allocated since the plan was made.
            let entry = policy::set(journal, part)?;
            self.moved.policies_set += u32::from(entry.is_some());
            self.moved.entries.extend(entry);
            let stretches = match &part.source {
                Source::Window(_, object) => extents(object, part.page_bytes)?,
                _ => part.stretches.clone(),
            };
            let stretches = in_growing_pieces(stretches, part.page_bytes, self.batch_bytes);
            let mut lost_before = usize::MAX;
            loop {
                let ended_before = self.moved.ended.len();
                self.all(part, &stretches)?;
                // Another process may have been asked before these pages were lost, or before the
                // process that showed them ended.
                let lost = self.still_lost(part).count();
                let is_worth_it = (1..lost_before).contains(&lost)
                    || self.moved.ended.len() > ended_before && part.is_huge_object();
                if !is_worth_it || self.is_over() {
                    break;
                }
                lost_before = lost;
            }
            self.conclude_part(part);
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the move should stop, as of the last look.
    fn is_over(&self) -> bool {
        self.moved.has_target_ended || self.moved.is_interrupted
    }

    /// Moves what stretches hold that the pass has not met, until that is done or the move should
    /// stop.
    fn all(&mut self, part: &Part, stretches: &[Stretch]) -> Result<(), MoveError> {
        let mut rest = stretches;
        let mut ready = self.next(part, &mut rest)?;
        while let Some(batch) = ready {
            // A segment that we have open outlives its processes, and is of no use then.
            self.moved.has_target_ended = self.has_target_ended();
            self.moved.is_interrupted = (self.pace.stop)();
            if self.is_over() {
                return Ok(());
            }
            if !self.has_sent {
                (self.pace.watch)(0);
            }
            let (outcome, next) = self.send_and_prepare(&batch, &mut rest);
            self.conclude(batch, outcome)?;
            self.wait();
            ready = next?;
        }
        Ok(())
    }

    /// Has a batch moved, and the next one prepared, at the same time where that makes it faster.
    fn send_and_prepare<'p>(
        &mut self,
        batch: &Batch<'p>,
        rest: &mut &'p [Stretch],
    ) -> (SendOutcome, Result<Option<Batch<'p>>, MoveError>) {
        let (part, to_send, of_others) = (batch.part, &batch.to_send, self.pace.of_others);
        self.has_sent |= to_send.bytes() > 0;
        let full = self.moved.sent.full.clone();
        let sending = match to_send.is_small_through_us() {
            true => None,
            false => self.sending.take().or_else(|| Sending::start().ok()),
        };
        let Some(sending) = sending else {
            return (to_send.send(1, of_others, &full), self.next(part, rest));
        };
        let job = (Arc::clone(to_send), self.threads(part), of_others, full);
        let (outcome, next, sending) = sending.beside(job, || self.next(part, rest));
        self.sending = Some(sending);
        (outcome, next)
    }

    /// Prepares the next batch of a process that has not ended.
    fn next<'p>(
        &mut self,
        part: &'p Part,
        rest: &mut &'p [Stretch],
    ) -> Result<Option<Batch<'p>>, MoveError> {
        while !rest.is_empty() {
            let (together, after) = batch(rest, part.page_bytes, self.batch_bytes());
            *rest = after;
            let pid = together[0].pid;
            if self.moved.ended.contains(&pid) {
                continue;
            }
            match self.preparer.prepare(part, together)? {
                Some(batch) if batch.is_empty() => self.moved.sent.calls += batch.calls,
                Some(batch) => return Ok(Some(batch)),
                None => self.ended(pid),
            }
        }
        Ok(None)
    }

    /// How much to move at once now.
    fn batch_bytes(&self) -> u64 {
        let of_rate = self.pace.bytes_per_s.map(|rate| rate / BATCHES_PER_S);
        self.batch_bytes.min(of_rate.unwrap_or(u64::MAX))
    }

    /// On how many threads to move now.
    fn threads(&self, part: &Part) -> usize {
        match self.pace.bytes_per_s {
            Some(_) => 1,
            None => sender::threads(self.root, part.page_bytes),
        }
    }

    /// Counts what became of a batch. Where a process through which an object was looked at has
    /// ended, or its pages may not be moved, the object is looked at in another way.
    fn conclude(&mut self, mut batch: Batch<'_>, outcome: SendOutcome) -> Result<(), MoveError> {
        let (mut sent, mut result) = outcome;
        while let Err((through, error)) = result {
            let pid = batch.pid();
            // None of the batch was counted.
            self.preparer.forget(batch.part, &batch.met);
            sent.gone.clear();
            self.moved.sent.add(std::mem::take(&mut sent));
            if through == pid && ReadError::from_call(&error) {
                self.ended(pid);
                return Ok(());
            } else if through == pid {
                return Err(error.into());
            }
            self.preparer.reader.close(through);
            let Some(again) = self.preparer.prepare(batch.part, batch.stretches)? else {
                self.ended(pid);
                return Ok(());
            };
            batch = again;
            let full = &self.moved.sent.full;
            (sent, result) = batch.to_send.send(1, self.pace.of_others, full);
        }
        self.preparer.met_again(&batch);
        self.batch_bytes = match sent.refused.is_empty() {
            true => (2 * self.batch_bytes).min(BATCH_BYTES_MAX),
            false => BATCH_BYTES,
        };
        for (node, bytes) in &batch.then {
            *self.by_status().entry(*node).or_default() += bytes;
        }
        self.bytes_seen += batch.to_send.bytes();
        self.settle(batch.part, &mut sent);
        let by_status = self.by_status();
        for ((from, to), bytes) in &sent.stayed {
            *by_status.entry(*to).or_default() -= bytes;
            *by_status.entry(*from).or_default() += bytes;
        }
        self.moved.sent.calls += batch.calls;
        self.moved.sent.add(sent);
        (self.pace.watch)(self.bytes_seen);
        Ok(())
    }

    /// What the statuses of the part say so far.
    fn by_status(&mut self) -> &mut BytesByNode {
        self.moved.by_status.last_mut().expect("its part has begun")
    }

    /// Does not count units that the process had no more: it has freed them since, or they were
    /// swapped out. Of an object of huge pages, another process may show them.
    fn settle(&mut self, part: &Part, sent: &mut Sent) {
        for (unit, to) in std::mem::take(&mut sent.gone) {
            let bytes = unit.pages * part.page_bytes;
            *self.by_status().entry(to).or_default() -= bytes;
            self.bytes_seen -= bytes;
            if let Source::HugeObject(id, _) = part.source {
                self.preparer.reader.huge_pages.forget(id, unit.page);
                self.lost.insert(unit.page, (unit, to));
            }
        }
    }

    /// The huge pages that a process lost and no other has shown since.
    fn still_lost(&self, part: &Part) -> impl Iterator<Item = &(Unit, NodeId)> {
        let (met, object) = (&self.preparer.reader.huge_pages, part.object());
        let is_met = move |page: u64| object.is_some_and(|id| met.has(id, page));
        self.lost
            .values()
            .filter(move |(unit, _)| !is_met(unit.page))
    }

    /// Counts those as pages that stayed.
    fn conclude_part(&mut self, part: &Part) {
        let lost: Vec<(Unit, NodeId)> = self.still_lost(part).copied().collect();
        self.lost.clear();
        for (unit, to) in lost {
            let sent = &mut self.moved.sent;
            sent.stay(&unit, to, sender::GONE, part.page_bytes);
            *self.by_status().entry(unit.node).or_default() += unit.pages * part.page_bytes;
        }
    }

    /// Notes that a process has ended: memory that went with it needs no move.
    fn ended(&mut self, pid: u32) {
        let is_ending = || proc_stat::read(self.root, pid).map_or(true, |it| it.is_ending);
        if pid != 0 && is_ending() {
            self.moved.ended.insert(pid);
        }
    }

    fn has_target_ended(&self) -> bool {
        !self.pids.iter().any(|pid| self.runs(*pid))
    }

    fn runs(&self, pid: u32) -> bool {
        proc_stat::read(self.root, pid).is_ok_and(|it| !it.has_ended)
    }

    /// Waits until the rate allows more, or the move should stop.
    fn wait(&self) {
        let Some(bytes_per_s) = self.pace.bytes_per_s else {
            return;
        };
        let due = Duration::from_secs_f64(self.bytes_seen as f64 / bytes_per_s.max(1) as f64);
        while let Some(left) = due.checked_sub(self.began.elapsed()) {
            if left.is_zero() || (self.pace.stop)() || self.has_target_ended() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }
}

/// Divides stretches into the first ones of one process, of at most so many bytes and
/// [`STRETCHES_MAX`], and the others.
fn batch(stretches: &[Stretch], page_bytes: u64, bytes_max: u64) -> (&[Stretch], &[Stretch]) {
    let mut bytes = 0;
    let fits = |stretch: &&Stretch| {
        bytes += stretch.pages * page_bytes;
        stretch.pid == stretches[0].pid && bytes <= bytes_max
    };
    // A stretch, and even a page, may be larger than that.
    let fitting = stretches.iter().take_while(fits).take(STRETCHES_MAX);
    stretches.split_at(fitting.count().max(1).min(stretches.len()))
}

#[cfg(test)]
mod tests {
    use linux::anonymous_memory::{AnonymousMemory, Pages};
    use placement::Pattern;

    use super::*;
    use crate::memory::PartKind;
    use crate::plan::PlannedPart;

    /// A call that fails may have moved pages: here, none, since there is no such node.
    #[test]
    fn a_move_whose_call_failed_stays_in_the_journal() {
        let (root, pid) = (Root::live(), std::process::id());
        let page_bytes = linux::process::page_bytes();
        let mut memory = AnonymousMemory::map(page_bytes as usize, Pages::small()).unwrap();
        memory.words_mut()[0] = 1;
        let address = memory.address() as u64;
        let part = Part {
            name: "this process".to_owned(),
            kind: PartKind::Private {
                pid,
                start_ticks: proc_stat::read(&root, pid).unwrap().start_ticks,
            },
            page_bytes,
            pattern: Pattern::of_one(NodeId(1000)),
            source: Source::Process,
            views: Vec::new(),
            stretches: vec![Stretch {
                pid,
                first: address / page_bytes,
                pages: 1,
                address,
            }],
        };
        let plan = Plan {
            pids: vec![pid],
            parts: vec![PlannedPart {
                part,
                now: BytesByNode::new(),
                then: BytesByNode::new(),
                bytes_to_move: page_bytes,
            }],
            notes: Vec::new(),
        };
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::in_directory(folder.path());
        let mut pace = Pace {
            bytes_per_s: None,
            of_others: false,
            stop: &|| false,
            watch: &mut |_| {},
        };
        let names = ("this process", "1000");
        let claims = Claims::of_nothing();
        let error = carry_out(&root, &plan, &claims, names, &journal, &mut pace).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("to node 1000"), "{said}");
        assert!(said.ends_with("is in the journal, as change 1"), "{said}");
        assert_eq!(journal.in_force().unwrap().len(), 1);
        assert!(journal.list(1).unwrap().unwrap().contains("1000"));
    }

    #[test]
    fn small_stretches_of_one_process_go_together() {
        let stretch = |pid, pages| Stretch {
            pid,
            first: 0,
            pages,
            address: 0,
        };
        let all = [(1, 4000), (1, 96), (1, 1), (2, 5), (2, 4096), (2, 4096)];
        let all: Vec<Stretch> = all.map(|(pid, pages)| stretch(pid, pages)).into();
        let counts = |page_bytes, bytes_max| {
            let (mut rest, mut counts) = (&all[..], Vec::new());
            while !rest.is_empty() {
                let (together, after) = batch(rest, page_bytes, bytes_max);
                counts.push(together.len());
                rest = after;
            }
            counts
        };
        assert_eq!(counts(4096, 16 << 20), [2, 1, 1, 1, 1]);
        assert_eq!(counts(4096, 32 << 20), [3, 2, 1]);
        assert_eq!(counts(1 << 30, 16 << 20), [1; 6]);
        assert_eq!(counts(4096, 0), [1; 6]);
        assert_eq!(batch(&[], 4096, 1).0.len(), 0);
        let single = vec![stretch(0, 1); STRETCHES_MAX + 1];
        assert_eq!(batch(&single, 4096, 1 << 30).0.len(), STRETCHES_MAX);
    }
}
