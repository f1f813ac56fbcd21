//! Any topology, however odd, renders without panic and without disturbing the terminal.

use model::{
    Cache, CacheKind, CacheWritePolicy, Core, CpuGovernor, CpuId, CpuSet, Device, DeviceKind,
    KernelSettings, MachineHugePages, MemoryRating, MemorySideCache, Node, NodeHugePages, NodeId,
    Topology,
};
use proptest::option;
use proptest::prelude::*;
use report::{Fields, TextOptions, topology_cpus_text, topology_svg, topology_text};

fn cpus() -> impl Strategy<Value = CpuSet> {
    let cpus = prop::collection::vec((0..3000_u32).prop_map(CpuId), 0..5);
    cpus.prop_map(|cpus| cpus.into_iter().collect())
}

fn node() -> impl Strategy<Value = Node> {
    let pool = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    let pools = prop::collection::vec(pool, 0..3);
    let memory = option::of(prop_oneof![Just(0), any::<u64>()]);
    (0..300_u32, cpus(), memory, pools).prop_map(|(id, cpus, memory_bytes, pools)| Node {
        id: NodeId(id),
        cpus,
        has_unknown_cpus: id % 7 == 0,
        memory_bytes,
        free_bytes: memory_bytes,
        huge_pages: pools
            .into_iter()
            .map(|(page_bytes, total, free)| NodeHugePages {
                page_bytes,
                total,
                free,
                surplus: free,
            })
            .collect(),
    })
}

fn core() -> impl Strategy<Value = Core> {
    let number = || option::of(any::<u32>());
    let node = option::of((0..300_u32).prop_map(NodeId));
    (cpus(), node, number(), number(), number()).prop_map(|(cpus, node, package, die, core)| Core {
        cpus,
        node,
        package,
        die,
        core,
    })
}

fn cache() -> impl Strategy<Value = Cache> {
    let kind = prop_oneof![Just(CacheKind::Data), Just(CacheKind::Unified)];
    let shared_by = option::of(prop::collection::vec(cpus(), 0..3));
    (any::<u32>(), kind, option::of(any::<u64>()), shared_by).prop_map(
        |(level, kind, size_bytes, shared_by)| Cache {
            level,
            kind,
            size_bytes,
            line_bytes: None,
            shared_by,
        },
    )
}

fn device() -> impl Strategy<Value = Device> {
    let node = option::of((0..300_u32).prop_map(NodeId));
    (any::<String>(), any::<String>(), node).prop_map(|(address, name, node)| Device {
        address,
        kind: DeviceKind::Gpu,
        names: vec![name],
        node,
    })
}

fn settings() -> impl Strategy<Value = KernelSettings> {
    (
        option::of(any::<u32>()),
        option::of(any::<String>()),
        cpus(),
    )
        .prop_map(|(number, name, cpus)| KernelSettings {
            numa_balancing: number,
            zone_reclaim_mode: number,
            transparent_huge_pages: name.clone(),
            numa_off: Some(true),
            numa_option: name.clone(),
            cpu_governors: name.map(|name| vec![CpuGovernor { name, cpus }]),
            ..KernelSettings::default()
        })
}

fn topology() -> impl Strategy<Value = Topology> {
    let distance = option::of(prop_oneof![8..40_u32, any::<u32>()]);
    let row = prop::collection::vec(distance, 0..7);
    let distances = option::of(prop::collection::vec(row, 0..7));
    (
        prop::collection::vec(node(), 0..7),
        distances,
        prop::collection::vec(core(), 0..5),
        prop::collection::vec(cache(), 0..3),
        prop::collection::vec(device(), 0..3),
        settings(),
        (
            cpus(),
            cpus(),
            option::of(any::<String>()),
            option::of(any::<u64>()),
        ),
    )
        .prop_map(
            |(nodes, distances, core_list, caches, devices, settings, others)| {
                let (cpus, offline_cpus, name, number) = others;
                Topology {
                    cpu_model: name.clone(),
                    hypervisor: name.clone(),
                    huge_pages: vec![MachineHugePages {
                        total: 1,
                        free: number,
                        ..Default::default()
                    }],
                    memory_ratings: vec![MemoryRating {
                        read_latency_ns: number,
                        ..Default::default()
                    }],
                    memory_side_caches: vec![MemorySideCache {
                        node: NodeId(0),
                        level: 1,
                        size_bytes: number,
                        line_bytes: None,
                        indexing: None,
                        write_policy: Some(CacheWritePolicy::Other),
                    }],
                    gaps: name.iter().cloned().collect(),
                    memory_bytes: number,
                    nodes,
                    distances,
                    core_list,
                    caches,
                    devices: Some(devices),
                    settings,
                    cpus,
                    offline_cpus,
                    ..Topology::default()
                }
            },
        )
}

proptest! {
    // A failure prints its input; there is no source file next to which it could be stored.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_topology_is_shown(topology in topology()) {
        let options = TextOptions::default();
        let texts = [
            topology_text(&topology, &options),
            topology_cpus_text(&topology, &options),
            topology_svg(&topology, None),
        ];
        for text in texts {
            let is_harmless = |char: char| char == '\n' || !char.is_control();
            prop_assert!(text.chars().all(is_harmless), "{text:?}");
        }
        serde_json::to_string(&topology.document()).unwrap();
    }
}
