//! What lstopo (hwloc) prints as text: the nodes, their memory and their CPUs, by indentation.

use std::collections::BTreeMap;

use model::{CpuId, CpuSet, NodeId};

use crate::error::Error;
use crate::line::node;
use crate::machine::Machine;

/// A tree that is being read. hwloc 1 has what belongs to a node below it; since hwloc 2 a node is
/// beside what is near it, below the object that both belong to.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The indentation of the machine.
    base: usize,
    /// Nodes whose CPUs may follow, with their indentation, the innermost last.
    open: Vec<(usize, NodeId)>,
    /// Whether CPUs are below their node; `None` until that shows.
    is_below: Option<bool>,
    /// The indentation of a cache of memory, if the line before is one: its nodes belong there.
    cache: Option<usize>,
    /// The memory of the nodes in kB, and their CPUs.
    pub nodes: BTreeMap<NodeId, (Option<u64>, CpuSet)>,
}

/// No machine has a CPU with a larger number (NR_CPUS of x86-64 is at most 8192).
const CPUS_MAX: u32 = 1 << 16;

impl Tree {
    /// A tree, if this line is the root of one.
    pub(crate) fn begins(line: &str, raw: &str) -> Option<Self> {
        let rest = line.strip_prefix("Machine ")?;
        let is_root = ["(", "L#", "P#"]
            .iter()
            .any(|start| rest.starts_with(start));
        is_root.then(|| Tree {
            base: indentation(raw),
            ..Tree::default()
        })
    }

    /// Reads a line; `false` if it is no part of the tree.
    pub(crate) fn takes(&mut self, line: &str, raw: &str) -> bool {
        let indent = indentation(raw);
        if line.is_empty() || indent <= self.base {
            return false;
        }
        let objects: Vec<&str> = line.split(" + ").collect();
        let is_of_memory = |it: &str| {
            ["NUMANode ", "MemCache ", "MemSideCache "]
                .iter()
                .any(|kind| it.starts_with(kind))
        };
        if let (None, Some((of_node, _)), false) =
            (self.is_below, self.open.last(), is_of_memory(objects[0]))
        {
            self.is_below = Some(indent > *of_node);
        }
        let is_below = self.is_below == Some(true);
        self.open.retain(|(of_node, _)| match is_below {
            true => *of_node < indent,
            false => *of_node <= indent,
        });
        let in_cache = self.cache.take();
        for object in &objects {
            if let Some(words) = object.strip_prefix("NUMANode ") {
                self.node(in_cache.unwrap_or(indent), words);
                if objects.len() > 1 {
                    self.is_below = Some(true);
                }
            } else if let Some(words) = object.strip_prefix("PU ") {
                self.cpu(words);
            } else if is_of_memory(object) {
                self.cache = Some(in_cache.unwrap_or(indent));
            }
        }
        true
    }

    /// Tells the machine; returns a remark if there is nothing to tell.
    ///
    /// # Errors
    /// When another text shows another machine.
    pub(crate) fn tell(&self, machine: &mut Machine, place: &str) -> Result<Option<String>, Error> {
        if self.nodes.values().all(|(_, cpus)| cpus.is_empty()) {
            return Ok(Some(format!(
                "lstopo at {place} shows no CPUs of nodes: it needs its indentation and the \
                 numbers of the kernel (P#)"
            )));
        }
        for (node, (kilobytes, cpus)) in &self.nodes {
            machine.node_cpus(*node, cpus.clone(), place)?;
            if let Some(kilobytes) = kilobytes {
                machine.node_meminfo(*node, "MemTotal", *kilobytes, true, place)?;
            }
        }
        Ok(None)
    }

    /// `L#0 (P#0 16GB)`, `P#0 (16GB)`.
    fn node(&mut self, indent: usize, words: &str) {
        let Some(id) = physical(words).and_then(|id| node(&id.to_string())) else {
            return;
        };
        let mut sizes = words.split([' ', '(', ')', '=']).filter_map(kilobytes);
        self.nodes.entry(id).or_default().0 = sizes.next_back();
        self.open.push((indent, id));
    }

    fn cpu(&mut self, words: &str) {
        let cpu = physical(words).filter(|id| *id < CPUS_MAX).map(CpuId);
        // Of nodes beside each other, the first one has the CPUs; the others are other memory.
        let owner = match self.is_below {
            Some(true) => self.open.last(),
            _ => {
                let innermost = self.open.last().map(|(indent, _)| *indent);
                let mut open = self.open.iter();
                open.find(|(indent, _)| Some(*indent) == innermost)
            }
        };
        if let (Some(cpu), Some((_, node))) = (cpu, owner) {
            let (_, cpus) = self.nodes.entry(*node).or_default();
            *cpus = cpus.iter().chain([cpu]).collect();
        }
    }
}

/// Columns before the first letter: marks of a quoted mail are before every line.
fn indentation(raw: &str) -> usize {
    let is_letter = |it: char| it.is_ascii_alphanumeric();
    raw.chars().position(is_letter).unwrap_or(usize::MAX)
}

/// The number that the operating system has for an object: `P#0`.
fn physical(words: &str) -> Option<u32> {
    let (_, rest) = words.split_once("P#")?;
    let end = rest.find(|it: char| !it.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

/// `16GB`.
fn kilobytes(word: &str) -> Option<u64> {
    let (number, unit) = word.split_at_checked(word.len().checked_sub(2)?)?;
    let number: u64 = number.parse().ok()?;
    let shift = match unit {
        "KB" => 0,
        "MB" => 10,
        "GB" => 20,
        "TB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The nodes of a tree: their memory in MB and their CPUs.
    fn read(text: &str) -> Vec<(u32, u64, String)> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let clean = |raw: &str| raw.trim_start_matches(['>', ' ']).to_owned();
        let mut tree = Tree::begins(&clean(first), first).unwrap();
        let taken = lines.take_while(|raw| tree.takes(&clean(raw), raw));
        assert!(taken.count() > 0);
        let nodes = tree.nodes.iter();
        let node = |(node, (size, cpus)): (&NodeId, &(Option<u64>, CpuSet))| {
            (node.0, size.unwrap_or(0) >> 10, cpus.to_string())
        };
        nodes.map(node).collect()
    }

    fn check(text: &str, expected: &[(u32, u64, &str)]) {
        let found = read(text);
        let found: Vec<_> = found
            .iter()
            .map(|(id, mb, cpus)| (*id, *mb, &**cpus))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn nodes_beside_their_cpus_are_read() {
        let text = "\
Machine (31GB total)
  Package L#0
    NUMANode L#0 (P#0 16GB)
    L3 L#0 (20MB)
      L2 L#0 (256KB) + L1d L#0 (32KB) + L1i L#0 (32KB) + Core L#0
        PU L#0 (P#0)
        PU L#1 (P#2)
    HostBridge
      PCI 00:1f.2 (SATA)
        Block(Disk) \"sda\"
  Package L#1
    NUMANode L#1 (P#1 15GB)
    NUMANode L#2 (P#4 2048MB)
    L3 L#1 (20MB)
      L2 L#2 (256KB) + L1d L#2 (32KB) + L1i L#2 (32KB) + Core L#2 + PU L#3 (P#1)
";
        check(text, &[(0, 16384, "0,2"), (1, 15360, "1"), (4, 2048, "")]);
    }

    #[test]
    fn nodes_above_their_cpus_are_read() {
        let text = "\
Machine (64GB total)
  NUMANode L#0 (P#0 32GB) + Socket L#0 + L3 L#0 (20MB)
    L2 L#0 (256KB) + Core L#0
      PU L#0 (P#0)
  NUMANode L#1 (P#1 32GB)
    Socket L#1
      PU L#1 (P#1)
";
        check(text, &[(0, 32768, "0"), (1, 32768, "1")]);
        let physical = "\
Machine (64GB total)
  NUMANode P#3 (32GB)
    Socket P#0
      PU P#7
";
        check(physical, &[(3, 32768, "7")]);
    }

    #[test]
    fn nodes_behind_a_cache_of_memory_and_inside_others_are_read() {
        let text = "\
> Machine (64GB total)
>   Package L#0
>     NUMANode L#2 (P#2 8192MB)
>     Group0 L#0
>       MemCache L#0 (16GB)
>         NUMANode L#0 (P#0 local=96GB total=96GB)
>       L3 L#0 (20MB)
>         PU L#0 (P#0)
";
        check(text, &[(0, 98304, "0"), (2, 8192, "")]);
    }

    proptest! {
        #[test]
        fn no_tree_panics(lines in prop::collection::vec(
            "[ >]{0,9}(NUMANode|PU|MemCache|L3)( L#[0-9]| [(]?P#[0-9]{0,12}| [0-9]{0,21}[KG]B)*\
             \\PC{0,3}",
            0..9,
        )) {
            let mut tree = Tree::begins("Machine (1GB)", "Machine (1GB)").unwrap();
            for raw in lines {
                tree.takes(raw.trim_start_matches(['>', ' ']), &raw);
            }
        }
    }
}
