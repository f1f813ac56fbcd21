//! Has the kernel move pages, and reports why each page that stayed did not move.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use linux::move_pages::{self, Moved};
use linux::{Root, SystemCallError, load_average};
use model::NodeId;

use super::chunk::Unit;

/// `EBUSY`: also stands for a page on which the kernel gave up silently (errno(3)).
const BUSY: i32 = 16;
/// `ENOENT`: the page is not in the process any more (move_pages(2)).
pub(super) const GONE: i32 = 2;
/// `ENOMEM`: the destination has no free page (move_pages(2)).
pub(super) const NO_ROOM: i32 = 12;
/// How often to try pages of which none moves.
const ATTEMPTS: u32 = 3;
/// The kernel is mostly done with a busy page after this.
const PAUSE: Duration = Duration::from_millis(5);
/// Threads at most. In a guest, two took less time than one, and four no less than two
/// (docs/move.md); sessions need the memory's bandwidth, too.
const THREADS_MAX: usize = 2;
/// A thread is started for this many units or more, so that it is worth its start.
const UNITS_OF_A_THREAD: usize = 512;

/// Nodes that have no room for pages of a size.
pub(super) type Full = BTreeSet<(NodeId, u64)>;

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
    /// Where none is sent again, for each attempt would push out what others have in memory.
    pub(super) full: Full,
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
        self.full.extend(other.full);
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
    let full = sent.full.clone();
    let move_share = |share: &[(Unit, NodeId)]| {
        let mut sent = Sent {
            full: full.clone(),
            ..Sent::default()
        };
        let outcome = send(pid, share, page_bytes, of_others, &mut sent);
        (sent, outcome)
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let mut shares = units.chunks(share);
        let first = shares.next();
        let others: Vec<_> = shares
            .map(|share| scope.spawn(|| move_share(share)))
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

/// Sends every unit to its node: one call for each node, and more for units that stayed. A node
/// that has no room left is no error: what does not fit stays. What was moved before an error is in
/// `sent`, too.
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
    let move_to = |addresses: &[u64], node| move_pages::move_to(pid, addresses, node, of_others);
    let nodes_of = |addresses: &[u64]| move_pages::nodes_of(pid, addresses);
    let calls = Calls {
        move_to: &move_to,
        nodes_of: &nodes_of,
    };
    send_by(&calls, units, page_bytes, sent)
}

/// Has pages moved to a node.
type MoveTo<'a> = dyn Fn(&[u64], NodeId) -> Result<Moved, SystemCallError> + 'a;
/// Tells the node of each page.
type NodesOf<'a> = dyn Fn(&[u64]) -> Result<Vec<Result<NodeId, i32>>, SystemCallError> + 'a;

/// What the kernel is asked about the pages of a process.
struct Calls<'a> {
    move_to: &'a MoveTo<'a>,
    nodes_of: &'a NodesOf<'a>,
}

fn send_by(
    calls: &Calls<'_>,
    units: &[(Unit, NodeId)],
    page_bytes: u64,
    sent: &mut Sent,
) -> Result<(), SystemCallError> {
    let destinations: BTreeSet<NodeId> = units.iter().map(|(_, node)| *node).collect();
    for node in destinations {
        let of_node = units.iter().filter(|(_, to)| *to == node);
        let mut pending: Vec<Unit> = of_node.map(|(unit, _)| *unit).collect();
        if sent.full.contains(&(node, page_bytes)) {
            for unit in &pending {
                sent.stay(unit, node, NO_ROOM, page_bytes);
            }
            continue;
        }
        let mut attempts = 0;
        loop {
            let left = send_once(calls, &pending, node, page_bytes, sent)?;
            attempts = if left.len() < pending.len() {
                0
            } else {
                attempts + 1
            };
            let are_all_gone = left.iter().all(|(_, number)| *number == GONE);
            let is_over = attempts == ATTEMPTS || are_all_gone;
            for (unit, number) in &left {
                if is_over && *number == NO_ROOM {
                    sent.full.insert((node, page_bytes));
                }
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
    calls: &Calls<'_>,
    pending: &[Unit],
    node: NodeId,
    page_bytes: u64,
    sent: &mut Sent,
) -> Result<Vec<(Unit, i32)>, SystemCallError> {
    let addresses: Vec<u64> = pending.iter().map(|unit| unit.address).collect();
    sent.calls += 1;
    let (moved, unsaid) = match (calls.move_to)(&addresses, node) {
        Ok(moved) => (moved, BUSY),
        // The kernel gives up at the first page for which the node has no room, and keeps what it
        // has moved until then (mm/migrate.c, `migrate_pages`).
        Err(error) if error.errno() == Some(NO_ROOM) => {
            let nothing_said = Moved {
                left: addresses.len() as u64,
                statuses: vec![None; addresses.len()],
            };
            (nothing_said, NO_ROOM)
        }
        Err(error) => return Err(error),
    };
    let now = match moved.left {
        0 => moved.statuses.clone(),
        _ => {
            sent.calls += 1;
            let nodes = (calls.nodes_of)(&addresses)?;
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
            _ => left.push((*unit, unsaid)),
        }
    }
    Ok(left)
}

/// What an error number of a page means (move_pages(2)).
pub fn reason(number: i32) -> String {
    let word = match number {
        2 => "not in memory any more (ENOENT)",
        5 => "could not be written back (EIO)",
        12 => "found no room on the destination (ENOMEM)",
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
    use std::cell::{Cell, RefCell};

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

    /// A kernel whose node 1 has room for four pages: as the real one, it fails as a whole when a
    /// page finds none, and keeps what it has moved until then.
    #[test]
    fn a_node_that_fills_up_keeps_what_it_got_and_the_rest_stays() {
        let (there, calls_made) = (RefCell::new(BTreeSet::new()), Cell::new(0));
        let move_to = |addresses: &[u64], node: NodeId| {
            calls_made.set(calls_made.get() + 1);
            for address in addresses {
                if there.borrow().len() == 4 && !there.borrow().contains(address) {
                    let cause = std::io::Error::from_raw_os_error(NO_ROOM);
                    return Err(SystemCallError::with("move_pages", "to node 1", cause));
                }
                there.borrow_mut().insert(*address);
            }
            let statuses = vec![Some(Ok(node)); addresses.len()];
            Ok(Moved { left: 0, statuses })
        };
        let nodes_of = |addresses: &[u64]| {
            let there = there.borrow();
            let node = |address| Ok(NodeId(u32::from(there.contains(address))));
            Ok(addresses.iter().map(node).collect())
        };
        let calls = Calls {
            move_to: &move_to,
            nodes_of: &nodes_of,
        };
        let unit = |page| Unit {
            page,
            pages: 1,
            turn: page,
            address: 4096 * page,
            node: NodeId(0),
        };
        let units: Vec<(Unit, NodeId)> = (0..10).map(|page| (unit(page), NodeId(1))).collect();
        let mut sent = Sent::default();
        send_by(&calls, &units, 4096, &mut sent).unwrap();
        assert_eq!((sent.units, sent.bytes), (4, 4 * 4096));
        assert_eq!(sent.refused, BTreeMap::from([(NO_ROOM, 6 * 4096)]));
        assert_eq!(sent.stayed[&(NodeId(0), NodeId(1))], 6 * 4096);
        // Nothing more is sent to a full node.
        let before = calls_made.get();
        let mut next = Sent {
            full: sent.full,
            ..Sent::default()
        };
        send_by(&calls, &units[4..], 4096, &mut next).unwrap();
        assert_eq!(calls_made.get(), before);
        assert_eq!(next.refused, BTreeMap::from([(NO_ROOM, 6 * 4096)]));
        // Pages of another size may find room.
        let mut next = Sent {
            full: next.full,
            ..Sent::default()
        };
        send_by(&calls, &units[..4], 2 << 20, &mut next).unwrap();
        assert_eq!((calls_made.get(), next.units), (before + 1, 4));
    }

    #[test]
    fn one_thread_moves_huge_pages_and_few_move_small_ones() {
        let root = Root::live();
        assert_eq!(threads(&root, 2 << 20), 1);
        let small = threads(&root, linux::process::page_bytes());
        assert!((1..=THREADS_MAX).contains(&small), "{small}");
    }
}
