//! Has the kernel move pages, and reports why each page that stayed did not move.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use linux::{SystemCallError, move_pages};
use model::NodeId;

use super::reader::Unit;

/// `EBUSY`: also stands for a page on which the kernel gave up silently (errno(3)).
const BUSY: i32 = 16;
/// How often to try pages of which none moves.
const ATTEMPTS: u32 = 3;
/// The kernel is mostly done with a busy page after this.
const PAUSE: Duration = Duration::from_millis(5);

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
}

impl Sent {
    /// Bytes that stayed, whatever the reason.
    pub(super) fn refused_bytes(&self) -> u64 {
        self.refused.values().sum()
    }
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
            let is_over = attempts == ATTEMPTS;
            for (unit, number) in &left {
                if is_over {
                    *sent.refused.entry(*number).or_default() += unit.pages * page_bytes;
                }
            }
            pending = left.into_iter().map(|(unit, _)| unit).collect();
            if is_over || pending.is_empty() {
                break;
            }
            if attempts > 0 {
                std::thread::sleep(PAUSE);
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
