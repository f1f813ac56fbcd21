//! What the kernel says in /proc/PID/numa_maps: the policy of each mapping, and where its pages
//! lie.
//!
//! Tests of linux.

use std::collections::BTreeMap;
use std::fs;

/// One mapping that has pages.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The policy, in the kernel's words.
    pub policy: String,
    /// Whether it belongs to an SGA: a System V segment, a file in /dev/shm, or a memfd that
    /// numalab has named.
    pub is_of_sga: bool,
    /// Whether it has private pages.
    pub is_private: bool,
    /// Size of its pages.
    pub page_bytes: u64,
    /// Number of pages on each node.
    pub pages: BTreeMap<u64, u64>,
}

impl Mapping {
    /// Returns the bytes of all its pages.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.values().sum::<u64>() * self.page_bytes
    }

    /// Returns by how many pages the fullest node exceeds the emptiest.
    pub(super) fn spread(&self) -> u64 {
        let counts = || self.pages.values();
        counts().max().unwrap() - counts().min().unwrap()
    }

    /// Returns the policy and the nodes that it used. Interleaved pages that are fewer than the
    /// nodes, each on a different node, count as being on all.
    pub(super) fn found(&self, nodes: u64) -> (String, Vec<u64>) {
        let count: u64 = self.pages.values().sum();
        let each_alone = count < nodes && self.pages.values().all(|count| *count == 1);
        let on = match each_alone && self.policy.starts_with("interleave:") {
            true => (0..nodes).collect(),
            false => self.pages.keys().copied().collect(),
        };
        (self.policy.clone(), on)
    }

    /// Reads a line; `None` without pages:
    ///
    /// ```text
    /// 7f2c00000000 prefer:1 file=/SYSV00000000\040(deleted) huge N1=1 kernelpagesize_kB=2048
    /// ```
    fn parse(line: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        let policy = line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}"));
        let names = ["/memfd:numalab-sga", "/SYSV", "/dev/shm/"];
        let mut mapping = Mapping {
            policy: policy.to_owned(),
            is_of_sga: names.iter().any(|it| line.contains(&format!("file={it}"))),
            is_private: line.contains(" anon="),
            page_bytes: 4096,
            pages: BTreeMap::new(),
        };
        for (key, value) in line.split(' ').filter_map(|word| word.split_once('=')) {
            if key == "kernelpagesize_kB" {
                mapping.page_bytes = number(value) << 10;
            } else if let Some(Ok(node)) = key.strip_prefix('N').map(str::parse) {
                mapping.pages.insert(node, number(value));
            }
        }
        (!mapping.pages.is_empty()).then_some(mapping)
    }
}

/// Reads the mappings in a text of numa_maps.
pub(super) fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(Mapping::parse).collect()
}

/// Returns the mappings of a process.
#[track_caller]
pub(super) fn of(pid: u64) -> Vec<Mapping> {
    parse(&fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap())
}

/// Returns the number of pages of several mappings on each node.
pub(super) fn pages<'m>(mappings: impl Iterator<Item = &'m Mapping>) -> BTreeMap<u64, u64> {
    let mut sum = BTreeMap::new();
    for (node, count) in mappings.flat_map(|it| &it.pages) {
        *sum.entry(*node).or_default() += count;
    }
    sum
}

#[test]
fn lines_are_read() {
    let text = "7f2c00000000 prefer:1 file=/SYSV00000000\\040(deleted) huge dirty=1 N1=1 \
        kernelpagesize_kB=2048\n\
        7f2c10000000 bind:0 anon=3 dirty=3 active=0 N0=2 N3=1 kernelpagesize_kB=4\n\
        7f2c20000000 default file=/usr/lib/libc.so\n";
    let [segment, own] = &parse(text)[..] else {
        panic!("a line without pages is none");
    };
    assert!(segment.is_of_sga && !own.is_of_sga && own.is_private && !segment.is_private);
    assert_eq!((segment.bytes(), own.bytes()), (2 << 20, 3 << 12));
    assert_eq!(own.found(4), ("bind:0".to_owned(), vec![0, 3]));
}
