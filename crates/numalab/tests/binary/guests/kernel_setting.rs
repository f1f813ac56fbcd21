//! A setting of the kernel that a test changes, and which is as before after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::patience::until_within;

/// Files of the kernel, and what they said before; that is written again when this is dropped.
#[must_use]
pub(super) struct KernelSettings(Vec<(PathBuf, String)>);

impl KernelSettings {
    /// Writes `value` to each of these files.
    pub(super) fn set(files: impl IntoIterator<Item = impl Into<PathBuf>>, value: &str) -> Self {
        let set = |file: PathBuf| {
            let before = current(&file);
            fs::write(&file, value).unwrap();
            (file, before)
        };
        Self(files.into_iter().map(|file| set(file.into())).collect())
    }

    /// Otherwise the kernel makes larger pages of small ones behind everybody's back.
    pub(super) fn no_transparent_huge_pages() -> Self {
        Self::set(["/sys/kernel/mm/transparent_hugepage/enabled"], "never")
    }

    /// Sets the pool of 2 MiB pages of every node.
    pub(super) fn huge_pages(pages: u64) -> Self {
        Self::set(
            nodes("hugepages/hugepages-2048kB/nr_hugepages"),
            &pages.to_string(),
        )
    }
}

impl Drop for KernelSettings {
    fn drop(&mut self) {
        for (file, before) in self.0.iter().rev() {
            // Huge pages that a process which has ended still frees stay in their pool.
            until_within(Duration::from_secs(60), || {
                let _ = fs::write(file, before);
                (current(file) == *before).then_some(())
            });
        }
    }
}

/// Returns a setting: of a choice, the kernel shows all there are, `always [madvise] never`.
fn current(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let chosen = text.split(['[', ']']).nth(1);
    chosen.unwrap_or(&text).trim().to_owned()
}

/// Returns the path of a file of each node, by its id.
pub(super) fn nodes(file: &str) -> Vec<PathBuf> {
    let node = |id: usize| PathBuf::from(format!("/sys/devices/system/node/node{id}"));
    let nodes = (0..).map(node).take_while(|node| node.is_dir());
    nodes.map(|node| node.join(file)).collect()
}

/// Returns the number in such a file of each node.
pub(super) fn numbers(file: &str) -> Vec<u64> {
    let read = |path| fs::read_to_string(path).unwrap().trim().parse().unwrap();
    nodes(file).into_iter().map(read).collect()
}

/// A transparent huge page would be where the first of its frames was filled; the kernel's
/// balancing would move the pool, which is private memory.
pub(super) fn pages_stay_where_they_are() -> [KernelSettings; 2] {
    let balancing = KernelSettings::set(["/proc/sys/kernel/numa_balancing"], "0");
    [KernelSettings::no_transparent_huge_pages(), balancing]
}
