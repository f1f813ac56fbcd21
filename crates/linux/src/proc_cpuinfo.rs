//! `/proc/cpuinfo` (`proc_cpuinfo(5)`): the name of the processor, nothing else. Everything else in
//! it is in /sys in a form that does not differ between architectures.

use crate::text_file::is_showable;
use crate::{Error, Root};

/// Enough for the first CPU: an entry has about 1.5 KiB.
const START_BYTES: u64 = 16 << 10;

/// `model name` of the first CPU that has one, without runs of spaces; `None` where the
/// architecture gives none.
///
/// # Errors
/// When the file is not text.
pub fn model_name(root: &Root) -> Result<Option<String>, Error> {
    let Some(file) = root.read_start("proc/cpuinfo", START_BYTES)? else {
        return Ok(None);
    };
    // model name	: Intel(R) Xeon(R) CPU E7- 4850  @ 2.00GHz
    let name = file.text().lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_end() == "model name").then_some(value)
    });
    let name = name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(name.filter(|name| is_showable(name)))
}
