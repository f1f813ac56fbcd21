//! Plans a measuring kernel as a case: a pointer chase by one CPU, or a stream by several.

use model::{
    Allocation, CasePlan, CpuSet, MemoryLatency, NodeId, NodeSet, PageKind, Placement,
    StreamKernel, StreamThreadPlan, Work,
};

use super::cannot::Cannot;
use super::host::Host;
use super::own_memory::check_room;
use super::placement;
use crate::definition::{
    CacheSize, CaseDefinition, Engine, KernelChoice, MechanismChoice, MemoryChoice,
};
use crate::memory::{BandwidthChoice, MemoryPlaces, chase, place, stream_work};

/// Plans a measuring kernel on the CPUs of the case, with memory where own-allocation says; with
/// `os-default`, on the node of the CPU that measures.
pub(super) fn plan_kernel(
    kernel: KernelChoice,
    engine: Engine,
    case: &CaseDefinition,
    host: &Host,
) -> Result<CasePlan, Cannot> {
    check_keys(engine, case)?;
    let places = MemoryPlaces::of(host, None)?;
    let cpus = host.chosen_cpus(&case.cpus)?;
    let cpus = cpus.unwrap_or_else(|| host.cpus());
    let Some(first) = cpus.first() else {
        return Err(Cannot::machine(
            "no CPU may be used",
            "run it where CPUs are allowed",
        ));
    };
    let asked = placement::allocation(
        host.chosen_allocation(&case.own_allocation)?,
        &Placement::inherited(),
        host,
    )?;
    let (page_kind, page_bytes) = pages(case, host);
    let from = host.topology.node_of_cpu(first);
    let (placement, work, all_bytes) = match kernel {
        KernelChoice::PointerChase => {
            let node = one_node(&asked, from, &places)?;
            let bytes = bytes(case, places.working_set_bytes);
            let chase = MemoryLatency {
                home_cpu: places.home_cpu(node, first),
                page_kind: Some(page_kind),
                working_set_bytes: bytes,
                ..chase(&places, from.unwrap_or(node), node)
            };
            let placement = place(CpuSet::of(first), NodeSet::of(node));
            (placement, Work::MemoryLatency(chase), bytes)
        }
        KernelChoice::Stream(kernel) => {
            let threads = threads(&cpus, &asked, &places, host)?;
            let sharing = threads.len().min(places.cpus_per_cache).max(1) as u64;
            let bytes = bytes(case, places.working_set_bytes / sharing).max(STREAM_BYTES_MIN);
            let nodes = threads
                .iter()
                .filter_map(|thread| thread.allocation.nodes());
            let nodes = nodes.fold(NodeSet::new(), |all, nodes| all.union(&nodes));
            let choice = BandwidthChoice {
                kernel,
                simd: widest_instructions(kernel)?,
                is_whole: false,
            };
            let all = bytes.saturating_mul(threads.len() as u64);
            let places = MemoryPlaces {
                page_kind,
                ..places
            };
            let work = Work::Stream(stream_work(&places, &choice, threads, bytes));
            (place(cpus, nodes), work, all)
        }
    };
    let nodes = placement.memory_nodes.clone().unwrap_or_default();
    check_room(
        host,
        "the kernel's memory",
        all_bytes,
        page_bytes,
        Allocation::Interleave(nodes),
        None,
    )?;
    Ok(CasePlan {
        name: case.name.clone(),
        about: case.about.clone(),
        placement,
        work,
    })
}

fn pages(case: &CaseDefinition, host: &Host) -> (PageKind, u64) {
    let base_page_bytes = host.topology.base_page_bytes();
    let page_bytes = case.page_size.bytes(base_page_bytes);
    let kind = match page_bytes == base_page_bytes {
        true => PageKind::Small,
        false => PageKind::Huge,
    };
    (kind, page_bytes)
}

/// Minimum memory of a thread of a stream, in bytes.
const STREAM_BYTES_MIN: u64 = 1 << 20;

/// Refuses keys that mean nothing to a measuring kernel.
fn check_keys(engine: Engine, case: &CaseDefinition) -> Result<(), Cannot> {
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    if engine != Engine::Instance {
        return refuse("a server runs no measuring kernel", "leave engine out");
    }
    if case.cpu_quota.is_some() {
        return refuse("a measuring kernel has no CPU quota", "leave cpu-quota out");
    }
    if case.mechanism == MechanismChoice::Group {
        return refuse(
            "a measuring kernel is placed by affinity and memory policy",
            "leave mechanism out",
        );
    }
    if case.memory_nodes != MemoryChoice::Inherited {
        return refuse(
            "a measuring kernel takes its memory where own-allocation says",
            "set own-allocation in place of memory-nodes",
        );
    }
    Ok(())
}

fn bytes(case: &CaseDefinition, beyond_caches: u64) -> u64 {
    match case.own_memory {
        CacheSize::Bytes(bytes) => bytes,
        CacheSize::BeyondCaches => beyond_caches,
    }
}

/// Returns the node of a pointer chase: the requested one, or that of the CPU.
fn one_node(
    asked: &Allocation,
    own: Option<NodeId>,
    places: &MemoryPlaces,
) -> Result<NodeId, Cannot> {
    let node = match asked {
        Allocation::OsDefault => own.and_then(|own| places.own_memory(own)),
        Allocation::Bind(nodes) if nodes.len() == 1 => nodes.first(),
        _ => None,
    };
    node.ok_or_else(|| {
        Cannot::usage(
            "a pointer chase reads the memory of one node",
            "set own-allocation = \"bind:NODE\"",
        )
    })
}

/// Returns a thread for each CPU.
fn threads(
    cpus: &CpuSet,
    asked: &Allocation,
    places: &MemoryPlaces,
    host: &Host,
) -> Result<Vec<StreamThreadPlan>, Cannot> {
    let local = |cpu| {
        let node = host.topology.node_of_cpu(cpu)?;
        places.own_memory(node).map(NodeSet::of)
    };
    let thread = |cpu| {
        let allocation = match asked {
            Allocation::OsDefault => local(cpu).map(Allocation::Bind),
            Allocation::Bind(nodes) if nodes.len() == 1 => Some(asked.clone()),
            Allocation::Interleave(_) => Some(asked.clone()),
            _ => None,
        };
        Some(StreamThreadPlan {
            cpu,
            allocation: allocation?,
        })
    };
    let threads: Option<Vec<_>> = cpus.iter().map(thread).collect();
    threads.ok_or_else(|| {
        Cannot::usage(
            "the threads of a stream have memory of one node, or interleaved",
            "set own-allocation to bind:NODE, interleave:NODES or os-default",
        )
    })
}

/// Returns the widest instructions that this processor has for a kernel.
fn widest_instructions(kernel: StreamKernel) -> Result<String, Cannot> {
    let widest = kernels::Simd::available().into_iter().rev();
    let mut widest = widest.filter(|simd| simd.can_run(kernel));
    let found = widest.next().map(|simd| simd.name().to_owned());
    found.ok_or_else(|| {
        let reason = format!("this processor has no instructions for {}", kernel.name());
        Cannot::machine(reason, "set another kernel")
    })
}

#[cfg(test)]
mod tests {
    use super::super::planner::plan;
    use super::super::test_hosts::article_000;
    use super::*;
    use crate::definition::Definition;

    /// Returns a definition of two cases that measure node 0, and node 4 from node 0.
    fn definition(load: &str, second: &str) -> Definition {
        let text = format!(
            "format = \"numalab.experiment/1\"\nname = \"near-far\"\nquestion = \"?\"\n\
             baseline = \"near\"\nasks-about-memory = true\n[placement]\n\
             cpus = \"first-node\"\n[load]\n{load}\n\
             [[case]]\nname = \"near\"\nabout = \"a\"\nown-allocation = \"bind:0\"\n\
             [[case]]\nname = \"far\"\nabout = \"b\"\n{second}\n"
        );
        Definition::parse("near-far", &text).unwrap()
    }

    #[test]
    fn a_chase_and_a_stream_can_be_named_in_a_definition() {
        let machine = article_000();
        let far = "own-allocation = \"bind:4\"";
        let chase = plan(
            &definition("work = \"pointer-chase\"", far),
            &Host::new(&machine),
        );
        let chase = chase.unwrap();
        assert_eq!(chase.metric, model::Metric::NsPerAccess);
        let case = &chase.cases[1];
        assert_eq!(case.placement.memory_nodes, "4".parse().ok());
        assert!(matches!(&case.work, Work::MemoryLatency(work)
            if work.page_kind == Some(PageKind::Small)));
        let load = "work = \"stream\"\nkernel = \"triad\"\nown-memory = \"64MiB\"";
        let stream = plan(&definition(load, far), &Host::new(&machine)).unwrap();
        assert_eq!(stream.metric, model::Metric::BytesPerSecond);
        let Work::Stream(work) = &stream.cases[1].work else {
            panic!("{:?}", stream.cases[1].work);
        };
        let cpus: CpuSet = work.threads.iter().map(|thread| thread.cpu).collect();
        assert_eq!(stream.cases[1].placement.cpus, Some(cpus));
        assert_eq!(
            (work.kernel, work.bytes_per_thread),
            (StreamKernel::Triad, 64 << 20)
        );
    }

    #[test]
    fn keys_that_mean_nothing_to_a_kernel_are_refused() {
        let machine = article_000();
        let check = |second: &str, expected: &str| {
            let definition = definition("work = \"pointer-chase\"", second);
            let cannot = plan(&definition, &Host::new(&machine)).unwrap_err();
            assert!(cannot.reason.contains(expected), "{cannot}");
        };
        check(
            "own-allocation = \"interleave:all\"",
            "reads the memory of one node",
        );
        check("cpu-quota = 1", "has no CPU quota");
        check("memory-nodes = \"1\"", "where own-allocation says");
        check("mechanism = \"group\"", "placed by affinity");
    }
}
