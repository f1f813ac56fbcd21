//! Plans work in the sessions' own memory, and checks that the memory is available.

use model::{
    Allocation, Backing, ByteSize, LoadPlan, LogicalReads, NodeSet, OwnMemory, OwnMemoryWork,
    Placement, SessionLoad, SessionMemory, SgaPlan, counted,
};

use super::cannot::Cannot;
use super::host::Host;
use super::{memory, placement};
use crate::definition::{AllocationChoice, CacheSize, CaseDefinition};

/// Minimum own memory that `beyond-caches` gives a session, in bytes.
const SHARE_BYTES_MIN: u64 = 32 << 20;
/// Minimum buffer cache of an instance whose sessions do not read from it, in bytes.
const CACHE_BYTES_MIN: u64 = 1 << 20;
/// Bytes of that cache for each session.
const CACHE_BYTES_OF_SESSION: u64 = 64 << 10;

/// Returns the buffer cache of a load: as requested if the load reads from it, otherwise the
/// minimum.
pub(crate) fn sga(
    load: SessionLoad,
    case: &CaseDefinition,
    asked: SgaPlan,
    sessions: u32,
    host: &Host,
) -> Result<SgaPlan, Cannot> {
    if load.facts().reads_rows {
        return Ok(asked);
    }
    if case.allocation != AllocationChoice::OsDefault {
        return Err(Cannot::usage(
            "the sessions do not read from the SGA, so its allocation has no effect",
            "set own-allocation in place of allocation",
        ));
    }
    let has_small_pages = asked.page_bytes == host.topology.base_page_bytes();
    if load.facts().memory == SessionMemory::File && !has_small_pages {
        return Err(Cannot::usage(
            "files in /dev/shm have small pages",
            "leave page-size out",
        ));
    }
    let of_sessions = u64::from(sessions) * CACHE_BYTES_OF_SESSION;
    Ok(SgaPlan {
        cache_bytes: CACHE_BYTES_MIN.max(of_sessions),
        ..asked
    })
}

/// Plans the work of the sessions in their own memory.
pub(crate) fn work(
    load: SessionLoad,
    case: &CaseDefinition,
    host: &Host,
    instance: LogicalReads,
    placement: &Placement,
) -> Result<OwnMemoryWork, Cannot> {
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    if instance.load.cpu_count.is_some() {
        return refuse(
            "instance caging applies only to sessions that read rows",
            "leave cpu-count out; cpu-quota limits any work",
        );
    }
    if instance.load.data_bytes.is_some() {
        return refuse(
            "more data than the cache holds applies only to sessions that read rows",
            "leave data out",
        );
    }
    let own = OwnMemory {
        load,
        bytes: bytes(load, case.own_memory, host, instance.load.sessions),
        allocation: placement::allocation(
            host.chosen_allocation(&case.own_allocation)?,
            placement,
            host,
        )?,
    };
    if matches!(
        own.allocation,
        Allocation::PerNode(_) | Allocation::WeightedInterleave(_)
    ) {
        return refuse(
            "a session's own memory supports neither pools nor weights",
            "set own-allocation to os-default, interleave:, bind: or prefer:",
        );
    }
    check(&own, host, &instance, placement.memory_nodes.as_ref())?;
    Ok(OwnMemoryWork { instance, own })
}

fn bytes(load: SessionLoad, asked: CacheSize, host: &Host, sessions: u32) -> u64 {
    match asked {
        _ if !load.has_memory() => 0,
        CacheSize::Bytes(bytes) => bytes,
        CacheSize::BeyondCaches => {
            let nodes = host.memory_nodes().len().max(1) as u64;
            let all = host.bytes_beyond_caches().saturating_mul(nodes);
            (all / u64::from(sessions.max(1))).max(SHARE_BYTES_MIN)
        }
    }
}

/// Checks that the own memory of all sessions fits on its nodes.
fn check(
    own: &OwnMemory,
    host: &Host,
    instance: &LogicalReads,
    memory_nodes: Option<&NodeSet>,
) -> Result<(), Cannot> {
    let all = own.bytes.saturating_mul(u64::from(instance.load.sessions));
    if let (SessionMemory::File, Some(free)) = (own.load.facts().memory, host.shm_free_bytes)
        && free < all
    {
        return Err(Cannot::machine(
            format!(
                "the files of {} need {} in /dev/shm ({} free)",
                counted(instance.load.sessions, "session"),
                ByteSize(all),
                ByteSize(free)
            ),
            "as root: mount -o remount,size=… /dev/shm; or set a smaller `own-memory`",
        ));
    }
    if all == 0 {
        return Ok(());
    }
    check_room(
        host,
        "the sessions' own memory",
        all,
        instance.sga.page_bytes,
        own.allocation.clone(),
        memory_nodes,
    )
}

/// Checks that memory other than an SGA fits on its nodes, like a buffer cache of that size.
pub(super) fn check_room(
    host: &Host,
    what: &str,
    bytes: u64,
    page_bytes: u64,
    allocation: Allocation,
    memory_nodes: Option<&NodeSet>,
) -> Result<(), Cannot> {
    let like_a_cache = SgaPlan {
        cache_bytes: bytes,
        backing: Backing::Memfd,
        page_bytes,
        allocation,
    };
    let load = LoadPlan {
        sessions: 1,
        ..LoadPlan::default()
    };
    let fits = memory::check(host, &like_a_cache, &load, memory_nodes);
    fits.map_err(|cannot| Cannot {
        reason: cannot.reason.replace("the SGA", what),
        advice: cannot.advice.replace("`cache`", "`own-memory`"),
        ..cannot
    })
}
