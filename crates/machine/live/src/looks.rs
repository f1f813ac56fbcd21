//! Looks at the memory of one process: /proc/PID/numa_maps, which makes the kernel walk all its
//! pages. An account of CPU time bounds how often: it earns a share of a core and pays what each
//! look cost, so that looks cost that share however large the processes are.

use std::collections::BTreeMap;

use linux::{Root, clock};
use model::BytesByNode;
use residency::numa_maps;

/// The share of a core that looks may cost.
const SHARE_OF_CORE: f64 = 0.003;

/// The account never holds more: after an idle hour there is no burst.
const SECONDS_MAX: f64 = 0.2;

/// What it holds at first: looks at what is on the screen, so that a reader need not wait.
const SAVED_AT_START_S: f64 = 0.02;

/// A process of the machine that would cost more is not looked at; one of the target is, when the
/// account has it.
const LOOK_SECONDS_MAX: f64 = 0.05;
const TARGET_LOOK_SECONDS_MAX: f64 = 2.0;

/// Before the first look: a page of 4 KiB takes the kernel about 20 ns.
const SECONDS_PER_BYTE: f64 = 20e-9 / 4096.0;

/// A look costs this at least: opening the file and reading an empty process.
const SECONDS_MIN: f64 = 100e-6;

/// Shared objects of one process that are told apart; the others count as one.
const OBJECTS_MAX: usize = 256;

/// How much more urgent the memory of a database, or of what a reader sees, is than that of other
/// processes.
const DATABASE_URGENCY: f64 = 10.0;
const VISIBLE_URGENCY: f64 = 100.0;

/// Seconds after which a look does not become more urgent: that of a process that was never looked
/// at.
const URGENT_AFTER_S: f64 = 600.0;

/// A process that may be looked at.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Its id.
    pub pid: u32,
    /// Its resident memory.
    pub resident: u64,
    /// Whether a reader sees it.
    pub is_visible: bool,
    /// How urgent it is; the largest comes first.
    pub urgency: f64,
}

/// How urgent it is to look at a process, given the age of the last look.
pub(crate) fn urgency(age_s: Option<f64>, is_visible: bool, is_of_database: bool) -> f64 {
    let age_s = age_s.map_or(URGENT_AFTER_S, |age_s| age_s.min(URGENT_AFTER_S));
    let times = match (is_visible, is_of_database) {
        (true, _) => VISIBLE_URGENCY,
        (false, true) => DATABASE_URGENCY,
        (false, false) => 1.0,
    };
    age_s * times
}

/// What one look found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Looked {
    /// Memory without a name.
    pub private: BytesByNode,
    /// Memory of each file or segment, as far as the process has mapped it.
    pub shared: BTreeMap<String, BytesByNode>,
}

impl Looked {
    /// All that the process has mapped.
    pub(crate) fn all(&self) -> BytesByNode {
        let mut all = self.private.clone();
        self.shared.values().for_each(|bytes| add(&mut all, bytes));
        all
    }
}

pub(crate) fn add(sum: &mut BytesByNode, bytes: &BytesByNode) {
    for (node, bytes) in bytes {
        let sum = sum.entry(*node).or_default();
        *sum = sum.saturating_add(*bytes);
    }
}

/// The account.
#[derive(Debug)]
pub(crate) struct Looks {
    saved_s: f64,
    seconds_per_byte: f64,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            saved_s: SAVED_AT_START_S,
            seconds_per_byte: SECONDS_PER_BYTE,
        }
    }
}

impl Looks {
    /// Earns for the time that has passed.
    pub(crate) fn earn(&mut self, seconds: f64, most_s: f64) {
        let most = SECONDS_MAX.max(most_s);
        self.saved_s = (self.saved_s + seconds.max(0.0) * SHARE_OF_CORE).min(most);
    }

    /// What a look at so much resident memory will cost, by the looks so far.
    pub(crate) fn cost_s(&self, resident_bytes: u64) -> f64 {
        SECONDS_MIN + resident_bytes as f64 * self.seconds_per_byte
    }

    /// Whether a process of this size is ever looked at.
    pub(crate) fn is_small_enough(&self, resident_bytes: u64, is_target: bool) -> bool {
        let most = if is_target {
            TARGET_LOOK_SECONDS_MAX
        } else {
            LOOK_SECONDS_MAX
        };
        self.cost_s(resident_bytes) <= most
    }

    pub(crate) fn can_pay(&self, resident_bytes: u64) -> bool {
        self.cost_s(resident_bytes) <= self.saved_s
    }

    /// What looks may cost while something is saved for: half of what these seconds earned.
    pub(crate) fn spare_s(&self, seconds: f64) -> f64 {
        seconds.max(0.0) * SHARE_OF_CORE / 2.0
    }

    /// Looks at a process and pays; `None` when it may not be seen, has ended, or its file is
    /// malformed or too large.
    pub(crate) fn look(&mut self, root: &Root, pid: u32, resident_bytes: u64) -> Option<Looked> {
        let before = clock::process_cpu_ns();
        let looked = read(root, pid);
        let cost_s = clock::process_cpu_ns().saturating_sub(before) as f64 * 1e-9;
        self.saved_s -= cost_s;
        if resident_bytes > 1 << 20 {
            // The newest look counts for a quarter: costs differ by huge pages and by load.
            let per_byte = cost_s / resident_bytes as f64;
            self.seconds_per_byte = 0.75 * self.seconds_per_byte + 0.25 * per_byte;
        }
        looked
    }
}

fn read(root: &Root, pid: u32) -> Option<Looked> {
    let file = root.read_lossy(&format!("proc/{pid}/numa_maps")).ok()?;
    let mut looked = Looked::default();
    for line in file.text().lines() {
        let line = numa_maps::parse_line(line).ok()?;
        let page_bytes = line
            .kernel_page_bytes
            .unwrap_or_else(linux::process::page_bytes);
        let pages = line.pages_by_node.iter();
        let bytes = pages.map(|(node, pages)| (*node, pages.saturating_mul(page_bytes)));
        let bytes: BytesByNode = bytes.collect();
        match line.file {
            None => add(&mut looked.private, &bytes),
            Some(file) => {
                let has_room = looked.shared.len() < OBJECTS_MAX;
                let is_known = has_room || looked.shared.contains_key(&file);
                let name = if is_known { file } else { String::new() };
                add(looked.shared.entry(name).or_default(), &bytes);
            }
        }
    }
    Some(looked)
}

/// The memory of several processes: private memory added up; of each shared object, per node, what
/// the process with the most of it has mapped. A lower bound that counts no page twice.
pub(crate) fn together<'l>(looked: impl Iterator<Item = &'l Looked>) -> BytesByNode {
    let (mut all, shared) = by_name(looked);
    shared.values().for_each(|bytes| add(&mut all, bytes));
    all
}

/// The same, private memory and each shared object apart.
pub(crate) fn by_name<'l>(
    looked: impl Iterator<Item = &'l Looked>,
) -> (BytesByNode, BTreeMap<&'l str, BytesByNode>) {
    let mut private = BytesByNode::new();
    let mut shared: BTreeMap<&str, BytesByNode> = BTreeMap::new();
    for looked in looked {
        add(&mut private, &looked.private);
        for (name, bytes) in &looked.shared {
            let most = shared.entry(name).or_default();
            for (node, bytes) in bytes {
                let most = most.entry(*node).or_default();
                *most = (*most).max(*bytes);
            }
        }
    }
    (private, shared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NodeId;

    #[test]
    fn a_shared_page_counts_once() {
        let of = |private: u64, shared: u64| Looked {
            private: [(NodeId(0), private)].into(),
            shared: [("/SYSV1".to_owned(), [(NodeId(1), shared)].into())].into(),
        };
        let processes = [of(1, 10), of(2, 30)];
        let expected = BytesByNode::from([(NodeId(0), 3), (NodeId(1), 30)]);
        assert_eq!(together(processes.iter()), expected);
        assert_eq!(processes[0].all()[&NodeId(1)], 10);
    }

    #[test]
    fn looks_cost_no_more_than_was_earned() {
        let mut looks = Looks::default();
        let large = 8 << 30;
        assert!(!looks.can_pay(large) && looks.is_small_enough(large, false));
        looks.earn(30.0, 0.0);
        assert!(looks.can_pay(large));
        looks.earn(1e9, 0.0);
        assert!(looks.saved_s <= SECONDS_MAX);
        assert!(!looks.is_small_enough(1 << 40, true));
    }

    #[test]
    fn databases_are_more_urgent_but_nobody_waits_forever() {
        let of = |age_s, is_of_database| urgency(age_s, false, is_of_database);
        assert!(of(None, true) > of(None, false));
        assert!(of(Some(30.0), true) < of(None, false));
        assert!(of(Some(90.0), true) > of(None, false));
        assert!(urgency(None, true, false) > of(None, true));
        assert!(urgency(Some(5.0), true, true) < of(None, false));
    }
}
