//! What the kernel says in numa_maps of the parts of an SGA.

use std::collections::BTreeMap;

/// What one line of numa_maps must say.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// In the kernel's words.
    pub policy: String,
    /// Where pages lie.
    pub nodes: Vec<u64>,
}

/// One line of numa_maps: its policy, the size of its pages, and how many lie on each node.
#[derive(Debug)]
pub struct Line {
    policy: String,
    /// Size of its pages.
    pub page_bytes: u64,
    /// How many lie on each node.
    pub pages: BTreeMap<u64, u64>,
}

impl Line {
    /// The policy and the nodes that it used. Interleaved pages that are fewer than the nodes, each
    /// on a node of its own, count as being on all.
    pub fn found(&self, nodes: u64) -> Expected {
        let pages: u64 = self.pages.values().sum();
        let each_alone = pages < nodes && self.pages.values().all(|count| *count == 1);
        Expected {
            policy: self.policy.clone(),
            nodes: match each_alone && self.policy.starts_with("interleave:") {
                true => (0..nodes).collect(),
                false => self.pages.keys().copied().collect(),
            },
        }
    }
}

/// Reads a line of numa_maps, such as
/// `7f2c00000000 prefer:1 file=/SYSV00000000\040(deleted) huge N1=1 kernelpagesize_kB=2048`.
fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace().skip(1);
    let policy = words.next()?.to_owned();
    let mut line = Line {
        policy,
        page_bytes: 4096,
        pages: BTreeMap::new(),
    };
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        if key == "kernelpagesize_kB" {
            line.page_bytes = value.parse::<u64>().ok()? * 1024;
        } else if let Some(node) = key.strip_prefix('N') {
            line.pages.insert(node.parse().ok()?, value.parse().ok()?);
        }
    }
    Some(line)
}

/// The lines of the SGA that have pages.
pub fn lines(text: &str) -> Vec<Line> {
    let lines = text.lines().filter_map(line);
    lines.filter(|line| !line.pages.is_empty()).collect()
}
