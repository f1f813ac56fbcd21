//! Files of the kernel with settings, which a test changes until it ends.

use std::fs;
use std::time::Duration;

use crate::patience::until_within;

/// Settings that differ until this is dropped.
#[must_use]
pub(super) struct Settings(Vec<(String, String)>);

impl Settings {
    /// The kernel makes no large pages of small ones in the background.
    pub(super) fn no_transparent_huge_pages() -> Self {
        let file = "/sys/kernel/mm/transparent_hugepage/enabled";
        Settings(vec![changed(file.to_owned(), "never")])
    }

    /// Each of four nodes has this many huge pages of 2 MiB.
    pub(super) fn huge_pages(count: u32) -> Self {
        let file = |node| {
            let node = format!("/sys/devices/system/node/node{node}");
            format!("{node}/hugepages/hugepages-2048kB/nr_hugepages")
        };
        let set = |node| changed(file(node), &count.to_string());
        Settings((0..4).map(set).collect())
    }
}

/// Changes a setting; returns its file and what it was.
fn changed(file: String, value: &str) -> (String, String) {
    let before = current(&file);
    fs::write(&file, value).unwrap();
    (file, before)
}

/// Returns a setting: in brackets where the file lists choices, as in `always [madvise] never`.
fn current(file: &str) -> String {
    let text = fs::read_to_string(file).unwrap();
    let chosen = text.split(['[', ']']).nth(1);
    chosen.unwrap_or(&text).trim().to_owned()
}

impl Drop for Settings {
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
