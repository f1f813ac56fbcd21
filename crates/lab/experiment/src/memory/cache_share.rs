//! Measures how much of a last-level cache the sessions of an experiment can use, before the
//! experiment is planned.

use kernels::{CacheSharePlan, MemoryNodes, Timer};
use linux::Root;
use model::{Cache, CpuId};

use super::places::without_reserve;
use crate::plan::Host;

/// Seed of the access orders: the measurement is the same for all runs.
const SEED: u64 = 1;

/// Returns the bytes of its last-level cache that a CPU of first-node can use; `None` where no
/// cache is reported or the share cannot be determined.
///
/// # Errors
/// When memory cannot be allocated, the CPU cannot be used, or evidence cannot be read.
pub fn cache_share(root: &Root, host: &Host) -> Result<Option<u64>, kernels::Error> {
    let Some(plan) = plan(host) else {
        return Ok(None);
    };
    let share = kernels::measure_cache_share(&plan, &Timer::new(root)?, root)?;
    Ok(share.bytes)
}

fn plan(host: &Host) -> Option<CacheSharePlan> {
    let node = host.first_node().ok()?;
    let allowed = host.cpus_to_choose_from();
    let cpu = kernels::measuring_cpu(&host.topology, node.id, &allowed)?;
    let (last_cache_bytes, inner_cache_bytes) = last_two(&host.topology.caches, cpu)?;
    Some(CacheSharePlan {
        cpu,
        nodes: MemoryNodes::Bind(node.id),
        last_cache_bytes,
        inner_cache_bytes,
        bytes_max: without_reserve(host.obtainable_bytes(node.id)?),
        seed: SEED,
    })
}

/// Returns the sizes of the last cache that a CPU is known to use and of the one before it (0 where
/// there is none).
fn last_two(caches: &[Cache], cpu: CpuId) -> Option<(u64, u64)> {
    let of_cpu = caches.iter().filter(|it| it.holds_data() && it.is_of(cpu));
    let sizes = of_cpu.filter_map(|cache| Some((cache.level, cache.size_bytes?)));
    let mut sizes: Vec<(u32, u64)> = sizes.collect();
    sizes.sort_unstable();
    let (_, last) = sizes.pop()?;
    Some((last, sizes.pop().map_or(0, |(_, inner)| inner)))
}

#[cfg(test)]
mod tests {
    use model::{CacheKind, NodeId};

    use super::*;
    use crate::plan::test_hosts::{article_000, one_node};

    const MIB: u64 = 1 << 20;

    fn cache(level: u32, kind: CacheKind, mib: u64, cpus: &str) -> Cache {
        Cache {
            level,
            kind,
            size_bytes: Some(mib * MIB),
            line_bytes: None,
            shared_by: Some(vec![cpus.parse().unwrap()]),
        }
    }

    #[test]
    fn the_last_cache_of_a_cpu_of_the_first_node_is_measured() {
        let mut machine = article_000();
        machine.caches = vec![
            cache(3, CacheKind::Unified, 300, "1-5"),
            cache(2, CacheKind::Unified, 2, "1"),
            cache(2, CacheKind::Instruction, 9, "1"),
            cache(4, CacheKind::Unified, 900, "11-20"),
        ];
        let plan = plan(&Host::new(&machine)).unwrap();
        assert_eq!(
            (plan.cpu, &plan.nodes),
            (CpuId(1), &MemoryNodes::Bind(NodeId(0)))
        );
        assert_eq!(plan.last_cache_bytes, 300 * MIB);
        assert_eq!(plan.inner_cache_bytes, 2 * MIB);
        assert!((100_000 * MIB..132_864 * MIB).contains(&plan.bytes_max));
    }

    #[test]
    fn nothing_is_measured_where_no_cache_or_no_free_memory_is_known() {
        let mut machine = one_node(2);
        assert_eq!(plan(&Host::new(&machine)), None);
        machine.caches = vec![cache(3, CacheKind::Unified, 32, "0-1")];
        let both = plan(&Host::new(&machine)).map(|plan| plan.inner_cache_bytes);
        assert_eq!(both, Some(0));
        machine.nodes[0].free_bytes = None;
        assert_eq!(plan(&Host::new(&machine)), None);
    }
}
