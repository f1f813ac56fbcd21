//! A setting of the kernel that a test changes, and which is as before after it.

use std::fs;
use std::path::PathBuf;

/// Files of the kernel, and what they said before; that is written again when this is dropped.
pub(super) struct KernelSettings(Vec<(PathBuf, String)>);

impl KernelSettings {
    /// Writes `value` to each of these files.
    pub(super) fn set(files: impl IntoIterator<Item = impl Into<PathBuf>>, value: &str) -> Self {
        let set = |file: PathBuf| {
            let before = fs::read_to_string(&file).unwrap();
            fs::write(&file, value).unwrap();
            // Of a choice, the kernel shows all there are: `always [madvise] never`.
            let chosen = before
                .split_once('[')
                .and_then(|(_, it)| it.split_once(']'));
            let before = chosen.map_or(before.as_str(), |(chosen, _)| chosen);
            (file, before.trim().to_owned())
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
        for (file, before) in &self.0 {
            let _ = fs::write(file, before);
        }
    }
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
