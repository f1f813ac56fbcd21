//! Has the kernel move pages, and reports why each page that stayed did not move.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use linux::{Root, SystemCallError, load_average, move_pages};
use model::NodeId;

use super::chunk::Unit;

/// `EBUSY`: also stands for a page on which the kernel gave up silently (errno(3)).
const BUSY: i32 = 16;
/// `ENOENT`: the page is not in the process any more (move_pages(2)).
pub(super) const GONE: i32 = 2;
/// How often to try pages of which none moves.
const ATTEMPTS: u32 = 3;
/// The kernel is mostly done with a busy page after this.
const PAUSE: Duration = Duration::from_millis(5);
/// Threads at most. In a guest, two took less time than one, and four no less than two
/// (docs/move.md); sessions need the memory's bandwidth, too.
const THREADS_MAX: usize = 2;
/// A thread is started for this many units or more, so that it is worth its start.
const UNITS_OF_A_THREAD: usize = 512;

/// The result of sending pages.
#[derive(Debug, Default)]
pub struct Sent {
    /// Bytes that were moved.
    pub bytes: u64,
    /// Units that were moved: pages, or the larger pages that they make.
    pub units: u64,
    /// Bytes that stayed, by error number.
    pub refused: BTreeMap<i32, u64>,
    /// System calls made.
    pub calls: u64,
    /// Bytes that stayed, by the node on which they are and the node to which they were sent.
    pub(super) stayed: BTreeMap<(NodeId, NodeId), u64>,
    /// Units that the process has no more, with the node to which they were sent. No other field
    /// counts them.
    pub(super) gone: Vec<(Unit, NodeId)>,
}

impl Sent {
    /// Adds what was sent besides.
    pub(super) fn add(&mut self, other: Sent) {
        self.bytes += other.bytes;
        self.units += other.units;
        self.calls += other.calls;
        for (number, bytes) in other.refused {
            *self.refused.entry(number).or_default() += bytes;
        }
        for (way, bytes) in other.stayed {
            *self.stayed.entry(way).or_default() += bytes;
        }
        self.gone.extend(other.gone);
    }

    /// Counts a unit that stayed where it was.
    pub(super) fn stay(&mut self, unit: &Unit, to: NodeId, number: i32, page_bytes: u64) {
        let bytes = unit.pages * page_bytes;
        *self.refused.entry(number).or_default() += bytes;
        *self.stayed.entry((unit.node, to)).or_default() += bytes;
    }
}

/// How many threads may move pages of this size at once: as many as there are idle CPUs now. The
/// kernel moves a page of a huge-page pool only if it gets the lock of its object, alone and at
/// once (mm/hugetlb.c, `hugetlb_page_mapping_lock_write`): a second thread makes it give up.
pub(super) fn threads(root: &Root, page_bytes: u64) -> usize {
    if page_bytes > linux::process::page_bytes() {
        return 1;
    }
    let cpus = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    // Among them is this thread, which waits for the others or prepares what they move next.
    let runnable = load_average::runnable_tasks(root).ok().flatten();
    let runnable = runnable.map_or(cpus, |tasks| tasks as usize);
    (cpus + 1).saturating_sub(runnable).clamp(1, THREADS_MAX)
}

/// As [`send`], on so many threads.
///
/// # Errors
/// As [`send`]; what the other threads moved is in `sent`, too.
pub(super) fn send_together(
    threads: usize,
    pid: u32,
    units: &[(Unit, NodeId)],
    page_bytes: u64,
    of_others: bool,
    sent: &mut Sent,
) -> Result<(), SystemCallError> {
    let share = units.len().div_ceil(threads.max(1)).max(UNITS_OF_A_THREAD);
    let move_share = |share: &[(Unit, NodeId)]| {
        let mut sent = Sent::default();
        let outcome = send(pid, share, page_bytes, of_others, &mut sent);
        (sent, outcome)
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let mut shares = units.chunks(share);
        let first = shares.next();
        let others: Vec<_> = shares
            .map(|share| scope.spawn(move || move_share(share)))
            .collect();
        let first = first.map(move_share);
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        first.into_iter().chain(joined).collect()
    });
    let mut result = Ok(());
    for (of_thread, outcome) in outcomes {
        sent.add(of_thread);
        result = result.and(outcome);
    }
    result
}

/// Sends every unit to its node: one call for each node, and more for units that stayed. What was
/// moved before an error is in `sent`, too.
///
/// # Errors
/// When the call as a whole is refused: the process has ended, a permission is missing.
pub(super) fn send(
    pid: u32,
    units: &[(Unit, NodeId)],
    page_bytes: u64,
    of_others: bool,
    sent: &mut Sent,
) -> Result<(), SystemCallError> {
    let destinations: BTreeSet<NodeId> = units.iter().map(|(_, node)| *node).collect();
    for node in destinations {
        let of_node = units.iter().filter(|(_, to)| *to == node);
        let mut pending: Vec<Unit> = of_node.map(|(unit, _)| *unit).collect();
        let mut attempts = 0;
        loop {
            let left = send_once(pid, &pending, node, page_bytes, of_others, sent)?;
            attempts = if left.len() < pending.len() {
                0
            } else {
                attempts + 1
            };
            let are_all_gone = left.iter().all(|(_, number)| *number == GONE);
            let is_over = attempts == ATTEMPTS || are_all_gone;
            for (unit, number) in &left {
                match *number {
                    _ if !is_over => {}
                    GONE => sent.gone.push((*unit, node)),
                    number => sent.stay(unit, node, number, page_bytes),
                }
            }
            pending = left.into_iter().map(|(unit, _)| unit).collect();
            if is_over || pending.is_empty() {
                break;
            }
            if attempts > 0 {
                thread::sleep(PAUSE);
            }
        }
    }
    Ok(())
}

/// Makes one call; returns the units that stayed, and why.
fn send_once(
    pid: u32,
    pending: &[Unit],
    node: NodeId,
    page_bytes: u64,
    of_others: bool,
    sent: &mut Sent,
) -> Result<Vec<(Unit, i32)>, SystemCallError> {
    let addresses: Vec<u64> = pending.iter().map(|unit| unit.address).collect();
    let moved = move_pages::move_to(pid, &addresses, node, of_others)?;
    sent.calls += 1;
    let now = match moved.left {
        0 => moved.statuses.clone(),
        _ => {
            sent.calls += 1;
            let nodes = move_pages::nodes_of(pid, &addresses)?;
            nodes.into_iter().map(Some).collect()
        }
    };
    let mut left = Vec::new();
    for ((unit, now), status) in pending.iter().zip(now).zip(moved.statuses) {
        match (now, status) {
            (Some(Ok(there)), _) if there == node => {
                sent.bytes += unit.pages * page_bytes;
                sent.units += 1;
            }
            (_, Some(Err(number))) | (Some(Err(number)), _) => left.push((*unit, number)),
            _ => left.push((*unit, BUSY)),
        }
    }
    Ok(left)
}

/// What an error number of a page means (move_pages(2)).
pub fn reason(number: i32) -> String {
    let word = match number {
        2 => "not in memory any more (ENOENT)",
        5 => "could not be written back (EIO)",
        12 => "no free page on the destination (ENOMEM)",
        13 => "mapped by several processes, which needs CAP_SYS_NICE (EACCES)",
        14 => "not to be moved: a zero page, or a mapping that is gone (EFAULT)",
        16 => "in use by the kernel or pinned (EBUSY)",
        22 => "not to be moved: in a mapping of a device (EINVAL)",
        number => return format!("error {number}"),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use linux::anonymous_memory::{AnonymousMemory, Pages};

    use super::*;

    #[test]
    fn threads_send_every_page_once_and_tell_which_stayed() {
        let page_bytes = linux::process::page_bytes();
        let pages = 3 * UNITS_OF_A_THREAD + 1;
        let bytes = pages * page_bytes as usize;
        let mut memory = AnonymousMemory::map(bytes, Pages::small()).unwrap();
        let first = memory.address() as u64;
        // The last page is not there.
        let words_of_page = page_bytes as usize / size_of::<u64>();
        for page in memory.words_mut().chunks_mut(words_of_page).take(pages - 1) {
            page[0] = 1;
        }
        let address = |page: u64| first + page * page_bytes;
        let addresses: Vec<u64> = (0..pages as u64).map(address).collect();
        let nodes = move_pages::nodes_of(0, &addresses).unwrap();
        let units: Vec<(Unit, NodeId)> = (0..)
            .zip(nodes.iter().zip(addresses))
            .map(|(page, (node, address))| {
                let node = node.or(nodes[0]).unwrap();
                let unit = Unit {
                    page,
                    pages: 1,
                    turn: page,
                    address,
                    node,
                };
                (unit, node)
            })
            .collect();
        for threads in [1, 2, 5] {
            let mut sent = Sent::default();
            send_together(threads, 0, &units, page_bytes, false, &mut sent).unwrap();
            assert_eq!(sent.units, pages as u64 - 1, "{threads}");
            assert_eq!(sent.bytes, sent.units * page_bytes);
            let gone: Vec<u64> = sent.gone.iter().map(|(unit, _)| unit.page).collect();
            assert_eq!(gone, [pages as u64 - 1]);
            assert_eq!((sent.refused, sent.stayed), Default::default());
        }
    }

    #[test]
    fn one_thread_moves_huge_pages_and_few_move_small_ones() {
        let root = Root::live();
        assert_eq!(threads(&root, 2 << 20), 1);
        let small = threads(&root, linux::process::page_bytes());
        assert!((1..=THREADS_MAX).contains(&small), "{small}");
    }
}
