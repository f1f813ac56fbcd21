//! The size of a base page. No file of the kernel says it, so that of a captured machine is found
//! by an amount of memory that its kernel shows in bytes and in pages.

use crate::proc_meminfo::Meminfo;
use crate::{Error, Root};

/// The sizes that kernels of machines with nodes have (kernel, `arch/*/Kconfig`, `PAGE_SIZE_…`).
const SIZES: [u64; 4] = [4 << 10, 8 << 10, 16 << 10, 64 << 10];

/// Returns the size of a base page; `None` where the files of a captured machine do not tell.
///
/// # Errors
/// When a file is malformed.
pub fn bytes(root: &Root) -> Result<Option<u64>, Error> {
    if root.is_live() {
        return Ok(Some(crate::process::page_bytes()));
    }
    let meminfo = root.read_optional("proc/meminfo")?;
    let meminfo = meminfo.map(|file| Meminfo::parse(&file)).transpose()?;
    let meminfo = meminfo.unwrap_or_default();
    // MemTotal is what the kernel manages (mm/page_alloc.c, `totalram_pages`). Less exact is what
    // is free, since the two files were read one after the other.
    let managed = pages(root, "proc/zoneinfo", "managed")?;
    if let Some(all) = meminfo.total_bytes.zip(managed) {
        return Ok(size(all));
    }
    let free = pages(root, "proc/vmstat", "nr_free_pages")?;
    Ok(meminfo.free_bytes.zip(free).and_then(size))
}

/// Adds up the numbers after a word: `        managed  5427166`, `nr_free_pages 3497677`.
fn pages(root: &Root, path: &str, word: &str) -> Result<Option<u64>, Error> {
    let file = root.read_optional(path)?;
    let text = file.as_ref().map_or("", |file| file.text());
    let number = |line: &str| line.trim().strip_prefix(word)?.trim().parse::<u64>().ok();
    Ok(text.lines().filter_map(number).reduce(u64::saturating_add))
}

/// Returns the size of which so many pages are about so many bytes. Where neither is near, memory
/// came or went between the files, or a hypervisor has taken some back, which only one of them says
/// (seen with virtio_balloon).
fn size((bytes, pages): (u64, u64)) -> Option<u64> {
    let is_near = |size: &u64| (0.95..1.05).contains(&(bytes as f64 / pages as f64 / *size as f64));
    SIZES.into_iter().find(is_near)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join("proc").join(name), text).unwrap();
        }
        bytes(&Root::at(folder.path()).unwrap()).unwrap()
    }

    #[test]
    fn what_the_kernel_manages_or_has_free_tells_the_size() {
        // A guest of arm64 with pages of 16 KiB, and a machine of x86-64.
        let meminfo = |total, free| format!("MemTotal: {total} kB\nMemFree: {free} kB\n");
        let zones = |pages| {
            format!(
                "Node 0, zone DMA\n  pages free 7\n        managed  {pages}\nNode 1, zone DMA\n  \
                 pages free 7\n        managed  1\n"
            )
        };
        let (arm, x86) = (meminfo(1_953_152, 1), meminfo(24_731_708, 13_990_656));
        check(&arm, &zones(122_071), "", Some(16 << 10));
        check(&x86, &zones(6_182_926), "nr_free_pages 1\n", Some(4096));
        let vmstat = "nr_free_pages 3497677\nnr_free_pages_blocks 1255936\n";
        check(&x86, "", vmstat, Some(4096));
        check(&x86, "", "nr_free_pages 218604\n", Some(64 << 10));
        check(&x86, "", "nr_free_pages 1\n", None);
        // A hypervisor has taken memory back, of which only zoneinfo and vmstat know.
        let (less, free) = (meminfo(24_683_656, 19_947_356), "nr_free_pages 2279562\n");
        check(&less, &zones(3_463_623), free, None);
        check(&x86, "", "", None);
        check("MemTotal: 9 kB\n", "managed x\n", "nr_free_pages\n", None);
    }

    fn check(meminfo: &str, zoneinfo: &str, vmstat: &str, expected: Option<u64>) {
        let files = [
            ("meminfo", meminfo),
            ("zoneinfo", zoneinfo),
            ("vmstat", vmstat),
        ];
        assert_eq!(of(&files), expected, "{meminfo} {zoneinfo} {vmstat}");
    }

    #[test]
    fn this_machine_as_captured_has_the_pages_that_it_has() {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{name}")).unwrap();
        let [meminfo, zoneinfo, vmstat] = ["meminfo", "zoneinfo", "vmstat"].map(read);
        let expected = Some(crate::process::page_bytes());
        let files = [
            ("meminfo", &*meminfo),
            ("zoneinfo", &*zoneinfo),
            ("vmstat", &*vmstat),
        ];
        // None where a hypervisor has taken memory back; never another size.
        let found = of(&files);
        assert!(found.is_none() || found == expected, "{found:?}: {files:?}");
        assert_eq!(bytes(&Root::live()).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_pages_have_the_size_that_they_have(
            pages in 1_u64..1 << 45,
            at in 0..SIZES.len(),
            strange in any::<(u64, u64)>(),
        ) {
            prop_assert_eq!(size((pages * SIZES[at], pages)), Some(SIZES[at]));
            let _ = size(strange);
        }
    }
}
