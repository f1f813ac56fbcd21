//! `/sys/devices/system/cpu/cpuN/cache/indexM`: the caches of one CPU (kernel,
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`). The kernel of sparc64 has files of its
//! own instead, `/sys/devices/system/cpu/cpuN/l1_dcache_size` and so on, in bytes, and says of no
//! cache who shares it (arch/sparc/kernel/sysfs.c).

use model::{ByteSize, CacheKind, CpuId, CpuSet};

use crate::directory::Directory;
use crate::sysfs_ids::numbers_of;
use crate::{Error, TextFile, sysfs_ids};

/// One cache, as one of the CPUs that use it sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuCache {
    /// `level`: 1 is nearest.
    pub level: Option<u32>,
    /// `type`.
    pub kind: Option<CacheKind>,
    /// `id`: distinguishes caches of one level and type. Read only where `shared_by` is unknown.
    pub id: Option<u32>,
    /// `size`.
    pub size_bytes: Option<u64>,
    /// `coherency_line_size`.
    pub line_bytes: Option<u64>,
    /// The CPUs that use it, this one included (`shared_cpu_list`, `shared_cpu_map`).
    pub shared_by: Option<CpuSet>,
    /// Whether `shared_cpu_list` lacks this CPU, so that it is wrong.
    pub list_is_wrong: bool,
}

/// The caches of sparc64: level, kind, and the files of size and line length.
const OF_SPARC: [(u32, CacheKind, &str, &str); 3] = [
    (1, CacheKind::Data, "l1_dcache_size", "l1_dcache_line_size"),
    (
        1,
        CacheKind::Instruction,
        "l1_icache_size",
        "l1_icache_line_size",
    ),
    (2, CacheKind::Unified, "l2_cache_size", "l2_cache_line_size"),
];

/// The caches of a CPU of [`directories`](crate::sysfs_cpus::directories), in the kernel's order;
/// empty when the kernel does not list them.
///
/// # Errors
/// When a file is malformed.
pub fn read(cpus: &Directory<'_>, cpu: CpuId) -> Result<Vec<CpuCache>, Error> {
    let directory = format!("cpu{cpu}/cache");
    let entries = cpus.entries(&directory)?;
    let indices = numbers_of(entries, &cpus.path(&directory), "index")?;
    if indices.is_empty() {
        return of_sparc(cpus, cpu);
    }
    let read = |index| read_index(cpu, cpus, &format!("{directory}/index{index}"));
    indices.into_iter().map(read).collect()
}

fn of_sparc(cpus: &Directory<'_>, cpu: CpuId) -> Result<Vec<CpuCache>, Error> {
    let number = |name: &str| {
        let file = cpus.read_optional(&format!("cpu{cpu}/{name}"))?;
        let number: Option<u64> = file.map(|file| file.number()).transpose()?;
        // What the kernel does not know is 0.
        Ok(number.filter(|number| *number > 0))
    };
    let mut caches = Vec::new();
    for (level, kind, size, line) in OF_SPARC {
        let size_bytes = number(size)?;
        if size_bytes.is_none() {
            // A machine without the first has none of these files.
            break;
        }
        caches.push(CpuCache {
            level: Some(level),
            kind: Some(kind),
            id: None,
            size_bytes,
            line_bytes: number(line)?,
            shared_by: None,
            list_is_wrong: false,
        });
    }
    Ok(caches)
}

fn read_index(cpu: CpuId, cpus: &Directory<'_>, directory: &str) -> Result<CpuCache, Error> {
    let optional = |name: &str| cpus.read_optional(&[directory, "/", name].concat());
    let level = optional("level")?;
    let kind = optional("type")?;
    let size = optional("size")?;
    let line_size = optional("coherency_line_size")?;
    // A set without the CPU itself is not usable.
    let has_it = |cpus: &CpuSet| cpus.contains(cpu);
    let list: Option<CpuSet> = sysfs_ids::id_set(optional, &["shared_cpu_list"], &[])?;
    let list_is_wrong = list.as_ref().is_some_and(|cpus| !has_it(cpus));
    let shared_by = match list.filter(has_it) {
        Some(list) => Some(list),
        None => sysfs_ids::id_set(optional, &[], &["shared_cpu_map"])?.filter(has_it),
    };
    let id = match shared_by {
        Some(_) => None,
        None => optional("id")?,
    };
    Ok(CpuCache {
        level: level.map(|file| file.number()).transpose()?,
        kind: kind.map(|file| parse_kind(&file)).transpose()?,
        id: id
            .map(|file| file.number_or_unknown())
            .transpose()?
            .flatten(),
        size_bytes: size.map(|file| parse_size(&file)).transpose()?,
        line_bytes: line_size.map(|file| file.number()).transpose()?,
        shared_by,
        list_is_wrong,
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
