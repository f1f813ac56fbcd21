//! What this process itself uses: for exporters, which show it beside what they measure.

use crate::{Root, clock, proc_stat, process};

/// What this process has used since it started, and uses now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnUse {
    /// CPU time of all its threads, in seconds.
    pub cpu_s: f64,
    /// Its memory, in bytes; `None` if `/proc` does not show it.
    pub resident_bytes: Option<u64>,
    /// Its open descriptors; `None` if `/proc` does not show them.
    pub open_files: Option<usize>,
}

/// Looks at this process.
pub fn own_use() -> OwnUse {
    let root = Root::live();
    let stat = proc_stat::read(&root, std::process::id()).ok();
    let descriptors = root.entries("proc/self/fd").ok().flatten();
    OwnUse {
        cpu_s: clock::process_cpu_ns() as f64 * 1e-9,
        resident_bytes: stat.map(|it| it.resident_pages.saturating_mul(process::page_bytes())),
        // One of them reads the folder.
        open_files: descriptors.map(|it| it.len().saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::own_use;

    #[test]
    fn memory_and_files_of_this_process_are_counted() {
        const BYTES: usize = 64 << 20;
        let memory = vec![1_u8; BYTES];
        let files: Vec<_> = (0..200)
            .map(|_| std::fs::File::open("/dev/null").unwrap())
            .collect();
        let used = own_use();
        assert!(used.resident_bytes >= Some(BYTES as u64), "{used:?}");
        assert!(used.open_files >= Some(files.len()), "{used:?}");
        assert!(used.cpu_s > 0.0, "{used:?}");
        drop((memory, files));
    }
}
