//! `/sys/devices/system/cpu/cpuN/cache/indexM`: the caches of one CPU (kernel,
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`).

use model::{ByteSize, CacheKind, CpuId, CpuSet};

use crate::sysfs_cpus::DIRECTORY;
use crate::{Error, Root, TextFile};

/// One cache, as one of the CPUs that use it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCache {
    /// `level`: 1 is nearest.
    pub level: u32,
    /// `type`.
    pub kind: CacheKind,
    /// `size`.
    pub size_bytes: Option<u64>,
    /// `coherency_line_size`.
    pub line_bytes: Option<u64>,
    /// `shared_cpu_list`.
    pub shared_by: Option<CpuSet>,
}

/// The caches of a CPU in the kernel's order; empty when the kernel does not know them.
///
/// # Errors
/// When a file is malformed, or an index has no level or no type.
pub fn read(root: &Root, cpu: CpuId) -> Result<Vec<CpuCache>, Error> {
    let directory = format!("{DIRECTORY}/cpu{cpu}/cache");
    let entries = root.entries(&directory)?.unwrap_or_default();
    let indices = entries.iter().filter(|entry| {
        entry
            .strip_prefix("index")
            .is_some_and(|index| index.parse::<u32>().is_ok())
    });
    indices
        .map(|index| read_index(root, &format!("{directory}/{index}")))
        .collect()
}

fn read_index(root: &Root, directory: &str) -> Result<CpuCache, Error> {
    let optional = |name: &str| root.read_optional(&format!("{directory}/{name}"));
    let size = optional("size")?;
    let line_size = optional("coherency_line_size")?;
    let shared_by = optional("shared_cpu_list")?;
    Ok(CpuCache {
        level: root.read(&format!("{directory}/level"))?.number()?,
        kind: parse_kind(&root.read(&format!("{directory}/type"))?)?,
        size_bytes: size.map(|file| parse_size(&file)).transpose()?,
        line_bytes: line_size.map(|file| file.number()).transpose()?,
        shared_by: shared_by.map(|file| file.id_list()).transpose()?,
    })
}

fn parse_kind(file: &TextFile) -> Result<CacheKind, Error> {
    match file.word() {
        "Data" => Ok(CacheKind::Data),
        "Instruction" => Ok(CacheKind::Instruction),
        "Unified" => Ok(CacheKind::Unified),
        other => Err(file.malformed(1, "Data, Instruction or Unified", other)),
    }
}

/// `24576K`.
fn parse_size(file: &TextFile) -> Result<u64, Error> {
    let size: Result<ByteSize, model::Error> = file.word().parse();
    size.map(|size| size.0)
        .map_err(|_| file.malformed(1, "a size such as 32K", file.word()))
}
