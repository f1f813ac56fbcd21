//! Which working sets belong to which cache of a processor, as the kernel describes its caches.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// The data caches of a CPU: the name and the size in bytes of each level, first level first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Levels(Vec<(String, u64)>);

impl Levels {
    /// Reads the caches of a CPU of this machine.
    pub(super) fn of_cpu(cpu: u64) -> Result<Self> {
        let caches = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
        let mut levels = Vec::new();
        for index in 0.. {
            let folder = Path::new(&caches).join(format!("index{index}"));
            if !folder.is_dir() {
                break;
            }
            let read = |name: &str| {
                let file = folder.join(name);
                let text = std::fs::read_to_string(&file);
                let text = text.with_context(|| format!("read {}", file.display()))?;
                Ok::<_, anyhow::Error>(text.trim().to_owned())
            };
            if read("type")? != "Instruction" {
                let size = read("size")?;
                let bytes = bytes_of(&size).with_context(|| format!("{caches}: size {size:?}"))?;
                levels.push((format!("L{}", read("level")?), bytes));
            }
        }
        ensure!(!levels.is_empty(), "{caches} describes no cache");
        levels.sort_by_key(|(_, bytes)| *bytes);
        Ok(Levels(levels))
    }

    /// Returns the level that holds a working set. `None` near the end of a cache, from half to
    /// twice its size: results there depend on which pages the kernel allocated and, in the
    /// last-level cache, on neighbours.
    pub(super) fn of(&self, bytes: u64) -> Option<&str> {
        let is_near = |end: u64| bytes >= end / 2 && bytes <= end * 2;
        if self.0.iter().any(|(_, end)| is_near(*end)) {
            return None;
        }
        let level = self.0.iter().find(|(_, end)| bytes < *end);
        Some(level.map_or("memory", |(name, _)| name))
    }
}

/// Parses `32K`, `1024K`, `300M`.
fn bytes_of(size: &str) -> Option<u64> {
    let (number, shift) = match size.strip_suffix('K') {
        Some(number) => (number, 10),
        None => (size.strip_suffix('M')?, 20),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
impl Levels {
    /// Returns caches of 32 KiB, 1 MiB and 32 MiB.
    pub(super) fn for_tests() -> Self {
        let level = |name: &str, bytes| (name.to_owned(), bytes);
        Levels(vec![
            level("L1", 32 << 10),
            level("L2", 1 << 20),
            level("L3", 32 << 20),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::{Levels, bytes_of};

    #[test]
    fn a_working_set_belongs_to_the_cache_that_holds_twice_of_it() {
        let levels = Levels::for_tests();
        let check = |kib: u64, expected: Option<&str>| {
            assert_eq!(levels.of(kib << 10), expected, "{kib} KiB");
        };
        check(8, Some("L1"));
        check(16, None);
        check(64, None);
        check(128, Some("L2"));
        check(1 << 10, None);
        check(4 << 10, Some("L3"));
        check(32 << 10, None);
        check(128 << 10, Some("memory"));
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes_of("32K"), Some(32 << 10));
        assert_eq!(bytes_of("300M"), Some(300 << 20));
        assert_eq!(bytes_of("32"), None);
        assert_eq!(bytes_of("xK"), None);
    }
}
