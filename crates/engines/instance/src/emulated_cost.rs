//! An emulated cost: a read of a block costs dependent work as a table says, by the node on which
//! the session runs and the node on which the pages of the block really are. A truth for tests of
//! placements by a real kernel; never a claim about hardware.
//!
//! The instance calibrates the work and keeps a map of the node of every page of blocks, which it
//! reads from the kernel, again when the kernel has moved pages. Sessions look up the map.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use linux::affinity::current_cpu;
use linux::clock::monotonic_ns;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};
use linux::{Root, move_pages, proc_vmstat};
use model::{CpuSet, EmulatedCost, NodeId};

use crate::Error;
use crate::instance::Instance;
use crate::layout::BLOCK_BYTES;
use crate::order::{CostOrder, CostRow};
use crate::sga::slice;
use crate::sga_layout::SgaLayout;

/// How often the instance looks whether the kernel has moved pages.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A page whose node is not known, or not in the table, costs nothing.
const UNKNOWN: u8 = u8::MAX;
/// Steps of one measurement of the calibration: some 100 µs.
const CALIBRATION_STEPS: u32 = 100_000;
/// Measurements; the shortest one was not interrupted.
const CALIBRATIONS: u32 = 50;

/// The pages of the blocks of an SGA, as this process has them mapped.
struct Pages {
    addresses: Vec<u64>,
    nodes: Vec<NodeId>,
}

/// Calibrates the work, maps the pages, and keeps the map until this process ends.
///
/// # Errors
/// When the map cannot be made, or the kernel does not say where pages are.
pub(crate) fn prepare(instance: &Instance<'_>, cost: &EmulatedCost) -> Result<CostOrder, Error> {
    let topology = topology::read(&instance.root).map_err(placement::Error::from)?;
    let page_bytes = instance.order.work.sga.page_bytes;
    let pages = Pages::of(instance, page_bytes, cost.nodes.clone());
    let count = pages.addresses.len();
    let bytes = count.next_multiple_of(linux::process::page_bytes() as usize);
    let memory = SharedMemory::create(ObjectKind::Memfd, bytes, linux::process::page_bytes())?;
    pages.look(view(&memory.map()?, count as u32))?;
    let ns_per_step = ns_per_step();
    let steps = |ns: &u32| (f64::from(*ns) / 2.0 / ns_per_step).round() as u32;
    let row = |(node, ns): (&NodeId, &Vec<u32>)| CostRow {
        cpus: topology
            .node(*node)
            .map_or_else(CpuSet::default, |node| node.cpus.clone()),
        steps: ns.iter().map(steps).collect(),
    };
    let order = CostOrder {
        map: memory.ticket().into(),
        pages: count as u32,
        page_bytes,
        rows: cost.nodes.iter().zip(&cost.ns).map(row).collect(),
    };
    let root = instance.root.clone();
    std::thread::spawn(move || keep(&root, &memory, &pages));
    Ok(order)
}

/// Looks again whenever the kernel has moved pages. What cannot be read is as it was.
fn keep(root: &Root, memory: &SharedMemory, pages: &Pages) {
    let Ok(mapping) = memory.map() else { return };
    let map = view(&mapping, pages.addresses.len() as u32);
    let migrated = || {
        proc_vmstat::read(root)
            .ok()
            .and_then(|it| it.pages_migrated)
    };
    let mut seen = migrated();
    loop {
        std::thread::sleep(LOOK_EVERY);
        // Read before the pages, so that a later move is seen the next time.
        let now = migrated();
        if now != seen && pages.look(map).is_ok() {
            seen = now;
        }
    }
}

impl Pages {
    fn of(instance: &Instance<'_>, page_bytes: u64, nodes: Vec<NodeId>) -> Self {
        let layout = &instance.sga.layout;
        let start = instance.mapping.address().addr() as u64;
        let first = layout.blocks_offset / page_bytes;
        let end = layout.bytes.div_ceil(page_bytes);
        Pages {
            addresses: (first..end).map(|page| start + page * page_bytes).collect(),
            nodes,
        }
    }

    /// Writes the node of each page into the map.
    fn look(&self, map: &[AtomicU8]) -> Result<(), Error> {
        let found = move_pages::nodes_of(0, &self.addresses)?;
        for (entry, found) in map.iter().zip(found) {
            // A page without a node is on its way.
            let Ok(node) = found else { continue };
            let number = self.nodes.iter().position(|it| *it == node);
            let number = number.and_then(|it| u8::try_from(it).ok());
            entry.store(number.unwrap_or(UNKNOWN), Ordering::Relaxed);
        }
        Ok(())
    }
}

fn view(mapping: &Mapping, pages: u32) -> &[AtomicU8] {
    assert!(mapping.len() >= pages as usize, "a byte for each page");
    // SAFETY: the mapping lives as long as the slice and has a byte for each page, which was just
    // checked. Any byte is a valid value, and any process may write at any time.
    unsafe { slice(mapping.address().cast_const(), pages) }
}

/// The time of a step on a CPU that does nothing else.
fn ns_per_step() -> f64 {
    let measure = |_| {
        let start_ns = monotonic_ns();
        // A state that is not known before, or an optimised program works once, outside the clock.
        black_box(work(black_box(1), CALIBRATION_STEPS));
        monotonic_ns() - start_ns
    };
    let shortest = (0..CALIBRATIONS).map(measure).min().unwrap_or(1);
    shortest.max(1) as f64 / f64::from(CALIBRATION_STEPS)
}

/// Steps that each wait for the previous one (Knuth, "The Art of Computer Programming", volume 2,
/// 3.3.4, line 26: a multiplier of a linear congruential generator).
#[inline(never)]
fn work(mut state: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005) | 1;
    }
    state
}

/// The cost of one session.
pub(crate) struct ReadCost<'m> {
    map: &'m [AtomicU8],
    page_bytes: u64,
    /// Bytes from the first page of the map to the first block.
    first_block: u64,
    rows: Vec<Vec<u32>>,
    /// The row of each CPU.
    row_of_cpu: Vec<Option<u8>>,
    row: Option<u8>,
    state: u64,
}

impl<'m> ReadCost<'m> {
    /// The cost that an order says, with its map.
    pub(crate) fn new(order: &CostOrder, map: &'m Mapping, layout: &SgaLayout) -> Self {
        let mut row_of_cpu = Vec::new();
        for (number, row) in (0..).zip(&order.rows) {
            for cpu in row.cpus.iter().map(|cpu| cpu.0 as usize) {
                row_of_cpu.resize(row_of_cpu.len().max(cpu + 1), None);
                row_of_cpu[cpu] = Some(number);
            }
        }
        ReadCost {
            map: view(map, order.pages),
            page_bytes: order.page_bytes,
            first_block: layout.blocks_offset % order.page_bytes,
            rows: order.rows.iter().map(|row| row.steps.clone()).collect(),
            row_of_cpu,
            row: None,
            state: 1,
        }
    }

    /// Looks on which node the session runs: before a statement.
    #[inline]
    pub(crate) fn look(&mut self) {
        let cpu = current_cpu().0 as usize;
        self.row = self.row_of_cpu.get(cpu).copied().flatten();
    }

    /// Does the work that a read of the block in a buffer costs.
    #[inline]
    pub(crate) fn charge(&mut self, buffer: u32) {
        let steps = self.steps(buffer);
        if steps > 0 {
            self.state = black_box(work(self.state, steps));
        }
    }

    /// The steps for a block: those of its first half and of its last.
    fn steps(&self, buffer: u32) -> u32 {
        let Some(row) = self.row.and_then(|row| self.rows.get(usize::from(row))) else {
            return 0;
        };
        let begin = self.first_block + u64::from(buffer) * BLOCK_BYTES;
        let half = |byte: u64| {
            let node = self.map[(byte / self.page_bytes) as usize].load(Ordering::Relaxed);
            row.get(usize::from(node)).copied().unwrap_or(0)
        };
        half(begin) + half(begin + BLOCK_BYTES - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sga_layout::{Content, SgaSize};

    fn layout() -> SgaLayout {
        SgaLayout::new(&SgaSize {
            sessions: 1,
            cache_bytes: 1 << 20,
            page_bytes: 4096,
            pools: 1,
            data_bytes: None,
            content: Content::Tables,
            updates: false,
        })
        .unwrap()
    }

    /// The crate is optimised in test builds: otherwise it does in any case.
    #[test]
    fn a_step_takes_time() {
        // A compiler may make one multiplication of several, but not of all.
        let found = ns_per_step();
        assert!(found >= 0.01, "{found} ns");
    }

    #[test]
    fn a_block_costs_what_the_table_says_of_the_nodes_of_its_halves() {
        let layout = layout();
        let memory = SharedMemory::create(
            ObjectKind::Memfd,
            linux::process::page_bytes() as usize,
            linux::process::page_bytes(),
        )
        .unwrap();
        let mapping = memory.map().unwrap();
        let row = |cpus: &str, steps: [u32; 2]| CostRow {
            cpus: cpus.parse().unwrap(),
            steps: steps.into(),
        };
        let order = CostOrder {
            map: memory.ticket().into(),
            pages: 200,
            page_bytes: 4096,
            rows: vec![row("0,2", [1, 10]), row("1", [100, 1000])],
        };
        let mut cost = ReadCost::new(&order, &mapping, &layout);
        let at = |page: usize, node: u8| cost.map[page].store(node, Ordering::Relaxed);
        let halves = (BLOCK_BYTES / 4096) as usize;
        for page in 0..200 {
            at(page, u8::from(page % halves > 0));
        }
        at(halves, UNKNOWN);
        at(2 * halves - 1, UNKNOWN);
        assert_eq!(cost.steps(0), 0, "nobody has looked where it runs");
        let mut check = |cpu: usize, buffer, steps| {
            cost.row = cost.row_of_cpu.get(cpu).copied().flatten();
            assert_eq!(cost.steps(buffer), steps, "{cpu} {buffer}");
        };
        check(0, 0, 11);
        check(2, 2, 11);
        check(1, 0, 1100);
        check(1, 1, 0);
        check(3, 0, 0);
        cost.look();
    }

    #[test]
    fn the_work_takes_as_long_as_it_was_calibrated() {
        let ns_per_step = ns_per_step();
        assert!(ns_per_step > 0.0);
        let steps = (1e6 / ns_per_step) as u32;
        let take = |_| {
            let start_ns = monotonic_ns();
            black_box(work(black_box(1), steps));
            monotonic_ns() - start_ns
        };
        // Others on this machine only make it longer.
        let shortest = (0..50).map(take).min().unwrap();
        assert!(
            shortest >= 500_000,
            "{shortest} ns, {ns_per_step} ns a step"
        );
    }
}
