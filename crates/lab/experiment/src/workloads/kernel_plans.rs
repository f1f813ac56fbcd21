//! Converts the plan of a case to the plan of a measuring kernel.

use kernels::{CellPlan, MemoryNodes, PageChoice, Simd, StreamThread, WarmUp};
use model::{
    Allocation, CpuId, MemoryLatency, NodeId, PageKind, Placement, StreamThreadPlan, StreamWork,
};

/// Why a measurement is impossible.
pub(crate) enum Wrong {
    /// No kernel can carry out the plan: a bug in the planner.
    Plan(String),
    /// The measuring kernel failed.
    Kernel(kernels::Error),
}

impl From<kernels::Error> for Wrong {
    fn from(error: kernels::Error) -> Self {
        Wrong::Kernel(error)
    }
}

pub(crate) fn cell_plan(
    placement: &Placement,
    work: &MemoryLatency,
    seed: u64,
) -> Result<CellPlan, Wrong> {
    let (cpu, node) = cpu_and_node(placement)?;
    Ok(CellPlan {
        cpu,
        nodes: MemoryNodes::Bind(node),
        home_cpu: work.home_cpu,
        awake_cpus: work.awake_cpus.as_ref().clone(),
        pages: pages(work.page_kind),
        working_set_bytes: bytes(work.working_set_bytes)?,
        by_tlb_groups: work.by_tlb_groups,
        warm_up: match work.first_visits {
            true => WarmUp::FirstVisits,
            false => WarmUp::Lap,
        },
        windows: work.windows,
        window_ns: work.window_ns,
        seed,
        stream: 0,
    })
}

/// Returns each pair of CPUs once: only half of a round trip can be measured, so both directions
/// have the same figure.
pub(crate) fn pairs(cpus: &[CpuId]) -> impl Iterator<Item = (CpuId, CpuId)> {
    let rest = |(index, from): (usize, &CpuId)| {
        let from = *from;
        cpus[index + 1..].iter().map(move |to| (from, *to))
    };
    cpus.iter().enumerate().flat_map(rest)
}

pub(crate) fn cpus_and_node(placement: &Placement) -> Result<(Vec<CpuId>, NodeId), Wrong> {
    let cpus = placement.cpus.iter().flat_map(|cpus| cpus.iter()).collect();
    let node = placement.memory_nodes.as_ref().filter(|it| it.len() == 1);
    let node = node.and_then(|nodes| nodes.first());
    node.map(|node| (cpus, node))
        .ok_or_else(|| Wrong::Plan("a kernel measures one memory node".to_owned()))
}

pub(crate) fn cpu_and_node(placement: &Placement) -> Result<(CpuId, NodeId), Wrong> {
    match cpus_and_node(placement)? {
        (cpus, node) if cpus.len() == 1 => Ok((cpus[0], node)),
        _ => Err(Wrong::Plan("one CPU measures".to_owned())),
    }
}

pub(crate) fn threads(plans: &[StreamThreadPlan]) -> Result<Vec<StreamThread>, Wrong> {
    let thread = |plan: &StreamThreadPlan| {
        let nodes = match &plan.allocation {
            Allocation::Bind(nodes) if nodes.len() == 1 => nodes.first().map(MemoryNodes::Bind),
            Allocation::Interleave(nodes) => Some(MemoryNodes::Interleave(nodes.clone())),
            _ => None,
        };
        let nodes = nodes.ok_or_else(|| {
            Wrong::Plan("memory of a thread lies on one node or is interleaved".to_owned())
        })?;
        Ok(StreamThread {
            cpu: plan.cpu,
            nodes,
        })
    };
    plans.iter().map(thread).collect()
}

pub(crate) fn simd(work: &StreamWork) -> Result<Simd, Wrong> {
    let named = Simd::available().into_iter();
    let mut named = named.filter(|simd| simd.name() == work.simd && simd.can_run(work.kernel));
    named.next().ok_or_else(|| {
        let (name, kernel) = (&work.simd, work.kernel.name());
        Wrong::Plan(format!(
            "this processor cannot run {kernel} with instructions {name:?}"
        ))
    })
}

pub(crate) fn pages(kind: Option<PageKind>) -> PageChoice {
    kind.map_or(PageChoice::Largest, PageChoice::Only)
}

pub(crate) fn bytes(bytes: u64) -> Result<usize, Wrong> {
    usize::try_from(bytes).map_err(|_| Wrong::Plan(format!("{bytes} bytes are no memory")))
}
