//! What the kernel says in /proc/PID/numa_maps: the policy of each mapping, and where its pages
//! lie.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// The expected content of one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// The policy, in the kernel's words.
    pub policy: String,
    /// The nodes with pages.
    pub nodes: Vec<u64>,
}

/// One line: its policy, the size of its pages, and how many lie on each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The policy, in the kernel's words.
    pub policy: String,
    /// Whether it belongs to an SGA: a System V segment, a file in /dev/shm, or a memfd that
    /// numalab has named.
    pub is_of_sga: bool,
    /// Size of its pages.
    pub page_bytes: u64,
    /// Number of pages on each node.
    pub pages: BTreeMap<u64, u64>,
}

impl Line {
    /// Returns the bytes of all its pages.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.values().sum::<u64>() * self.page_bytes
    }

    /// Returns the nodes that it has pages on.
    pub(super) fn nodes(&self) -> Vec<u64> {
        self.pages.keys().copied().collect()
    }

    /// Returns the policy and the nodes that it used. Interleaved pages that are fewer than the
    /// nodes, each on a different node, count as being on all.
    pub(super) fn found(&self, nodes: u64) -> Expected {
        let pages: u64 = self.pages.values().sum();
        let each_alone = pages < nodes && self.pages.values().all(|count| *count == 1);
        Expected {
            policy: self.policy.clone(),
            nodes: match each_alone && self.policy.starts_with("interleave:") {
                true => (0..nodes).collect(),
                false => self.nodes(),
            },
        }
    }
}

/// Reads a line:
///
/// ```text
/// 7f2c00000000 prefer:1 file=/SYSV00000000\040(deleted) huge N1=1 kernelpagesize_kB=2048
/// ```
fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace().skip(1);
    let policy = words.next()?.to_owned();
    let is_of_sga = ["/memfd:numalab-sga", "/SYSV", "/dev/shm/"]
        .iter()
        .any(|name| text.contains(&format!("file={name}")));
    let mut line = Line {
        policy,
        is_of_sga,
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

/// Returns the lines that have pages.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let lines = text.lines().filter_map(line);
    lines.filter(|line| !line.pages.is_empty()).collect()
}

/// Parses a list of ids in the kernel's format.
pub(super) fn ids(list: &str) -> Result<Vec<u64>> {
    let mut ids = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u64>().with_context(|| format!("ids {list:?}"));
        ids.extend(number(first)?..=number(last)?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::{ids, lines};

    #[test]
    fn lines_are_read() {
        let text = "7f2c00000000 prefer:1 file=/SYSV00000000\\040(deleted) huge dirty=1 N1=1 \
            kernelpagesize_kB=2048\n\
            7f2c10000000 bind:0 anon=3 dirty=3 active=0 N0=2 N3=1 kernelpagesize_kB=4\n\
            7f2c20000000 default file=/usr/lib/libc.so\n";
        let [segment, own] = &lines(text)[..] else {
            panic!("a line without pages is none");
        };
        assert!(segment.is_of_sga && !own.is_of_sga);
        assert_eq!((segment.bytes(), own.bytes()), (2 << 20, 3 << 12));
        assert_eq!((own.policy.as_str(), own.nodes()), ("bind:0", vec![0, 3]));
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(ids("0-2,7").unwrap(), [0, 1, 2, 7]);
        assert!(ids("").is_err());
    }
}
