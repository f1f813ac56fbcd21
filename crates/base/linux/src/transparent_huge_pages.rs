//! The size of transparent huge pages (kernel, `Documentation/admin-guide/mm/transhuge.rst`).
//! Whether they are enabled is a setting: see `kernel_settings`.

use crate::{Error, Root};

/// The size of a transparent huge page that one entry of the page middle directory maps: 2 MiB on
/// x86-64. `None` when the kernel has none.
///
/// # Errors
/// When the file is malformed.
pub fn page_bytes(root: &Root) -> Result<Option<u64>, Error> {
    let path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let Some(file) = root.read_optional(path)? else {
        return Ok(None);
    };
    let bytes: u64 = file.number()?;
    if !bytes.is_power_of_two() {
        return Err(file.malformed(1, "a power of two", file.word()));
    }
    Ok(Some(bytes))
}
