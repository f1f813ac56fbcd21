//! Where the buffer pool of a server lies: one mapping of its own memory.

use linux::Root;
use linux::proc_maps::{self, Mapping};
use server::{CacheMemory, CacheRange, Error};

/// Finds the pool in the memory of server `pid`.
///
/// # Errors
/// When its maps cannot be read or have no such mapping.
pub(crate) fn find(root: &Root, pid: u32, pool_bytes: u64) -> Result<CacheMemory, Error> {
    let mapping = smallest(proc_maps::read(root, pid)?.list, pool_bytes);
    let mapping = mapping.ok_or_else(|| {
        Error::answer(
            format!("the maps of server {pid}"),
            format!("memory of its own of {pool_bytes} bytes or more"),
            "none",
        )
    })?;
    Ok(CacheMemory {
        owner: pid,
        toucher: pid,
        processes: vec![pid],
        ranges: vec![CacheRange {
            offset: mapping.offset,
            bytes: mapping.bytes(),
            mapping,
        }],
    })
}

/// Returns the smallest mapping that can hold the pool. A throw-away server has no other memory as
/// large: its other caches, stacks and the heaps of its threads are all smaller than the smallest
/// pool.
fn smallest(mappings: Vec<Mapping>, pool_bytes: u64) -> Option<Mapping> {
    let can_hold = |mapping: &Mapping| {
        let is_file = mapping.name.starts_with('/') && !mapping.name.starts_with("/anon_hugepage");
        !mapping.is_shared && !mapping.is_executable && !is_file && mapping.bytes() >= pool_bytes
    };
    let found = mappings.into_iter().filter(can_hold);
    found.min_by_key(Mapping::bytes)
}

#[cfg(test)]
mod tests {
    use linux::TextFile;
    use linux::proc_maps;

    use super::smallest;

    #[test]
    fn the_pool_is_the_smallest_that_can_hold_it() {
        let text = "\
55a51a7de000-55a51b10f000 r-xp 00682000 fe:00 10707037                   /usr/sbin/mariadbd
7f5f50000000-7f5f54000000 ---p 00000000 00:00 0 
7f5f5f000000-7f5f70000000 rw-p 00000000 00:00 0 
7f6000000000-7f6100000000 rw-p 00000000 00:00 0 
7f7000000000-7f7011000000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
";
        let pool = |text: &str, bytes: u64| {
            let file = TextFile::new("maps", text);
            smallest(proc_maps::parse(&file).list, bytes).map(|it| it.start)
        };
        assert_eq!(pool(text, 272 << 20), Some(0x7f5f_5f00_0000));
        assert_eq!(pool(text, 1 << 40), None);
        let huge = "7f5f5f000000-7f5f70000000 rw-p 00000000 00:0f 9    /anon_hugepage (deleted)\n";
        assert_eq!(pool(huge, 272 << 20), Some(0x7f5f_5f00_0000));
    }
}
