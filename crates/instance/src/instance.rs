//! The instance process: makes the SGA under its placement, runs sessions, reads evidence back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::Root;
use linux::shared_memory::{Mapping, ObjectKind, SharedMemory};
use model::{Backing, Evidence, HugePoolEvidence, SgaEvidence};
use numa::evidence::{Residency, huge_pools, numa_maps_line, residency};

use crate::layout::{SessionState, SgaLayout};
use crate::order::{InstanceOrder, InstanceReport, PhaseWord, SessionOrder, Task};
use crate::sessions::{SessionProgram, Sessions};
use crate::sga::Sga;
use crate::{Error, calibration, loader, trial};

/// How long sessions may take to attach: generous, since emulated machines are slow.
const ATTACH_WITHIN: Duration = Duration::from_secs(120);

/// Told what the instance is doing.
pub type Report<'a> = dyn FnMut(InstanceReport) -> Result<(), Error> + 'a;

/// Carries out an order from placement to evidence.
///
/// # Errors
/// Whatever keeps the trial from being made; a trial that contradicts its placement is no error.
pub fn run(
    order: &InstanceOrder,
    program: &SessionProgram,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    linux::process::die_with_parent(order.parent_pid).map_err(|cause| Error::Io {
        what: "prctl(PR_SET_PDEATHSIG)",
        cause,
    })?;
    numa::placement::apply_to_this_process(&order.placement, order.group.as_deref())?;
    let root = Root::live();
    report(InstanceReport::Progress {
        phase: PhaseWord::Loading,
        logical_reads_per_s: None,
    })?;
    let huge_pages_before = pools_if_huge(&root, order)?;
    let layout = SgaLayout::new(
        order.work.load.sessions,
        order.work.sga.cache_bytes,
        order.work.sga.page_bytes,
    )?;
    let (memory, mapping) = make_sga(order, &layout)?;
    let sga = Sga::create(&mapping, layout);
    loader::load(&sga, order.seed);
    prepare_control(&sga, order);
    let instance = Instance {
        order,
        root,
        sga,
        mapping: &mapping,
    };
    let mut evidence = Evidence {
        huge_pages_before,
        ..Evidence::default()
    };
    evidence.huge_pages_during = pools_if_huge(&instance.root, order)?;
    let before = residency(&mapping, order.work.sga.page_bytes)?;
    let mut sessions = start_sessions(&instance, &memory, program)?;
    match order.task {
        Task::Trial { .. } => trial::run(&instance, &mut sessions, evidence, &before, report),
        Task::Calibration { .. } => calibration::run(&instance, &mut sessions, report),
    }
}

/// An instance that is up.
pub(crate) struct Instance<'m> {
    pub order: &'m InstanceOrder,
    pub root: Root,
    pub sga: Sga<'m>,
    pub mapping: &'m Mapping,
}

impl Instance<'_> {
    /// What the kernel says of the SGA, given where its pages were before.
    pub fn sga_evidence(&self, before: &Residency) -> Result<SgaEvidence, Error> {
        let after = residency(self.mapping, self.order.work.sga.page_bytes)?;
        let line = numa_maps_line(&self.root, self.mapping)?;
        Ok(SgaEvidence {
            name: line.file.unwrap_or_default(),
            page_bytes: line.kernel_page_bytes.unwrap_or(0),
            policy: line.policy,
            bytes_by_node_before: before.bytes_by_node.clone(),
            bytes_by_node_after: after.bytes_by_node,
            bytes_without_node: before.bytes_without_node + after.bytes_without_node,
        })
    }

    /// Tells every session to end at its next statement.
    pub fn stop(&self) {
        let stop = &self.sga.control.gate.0.stop;
        stop.store(1, Ordering::Release);
        linux::futex::wake(stop, u32::MAX >> 1);
    }
}

fn make_sga(order: &InstanceOrder, layout: &SgaLayout) -> Result<(SharedMemory, Mapping), Error> {
    let plan = &order.work.sga;
    let kind = match plan.backing {
        Backing::Sysv => ObjectKind::Sysv,
        Backing::Memfd => ObjectKind::Memfd,
    };
    let memory = SharedMemory::create(kind, layout.bytes as usize, plan.page_bytes)?;
    let mapping = memory.map()?;
    numa::placement::allocate_mapping(&mapping, &plan.allocation)?;
    mapping.populate_for_writing()?;
    Ok((memory, mapping))
}

fn prepare_control(sga: &Sga<'_>, order: &InstanceOrder) {
    let window = &sga.control.window.0;
    window.start_ns.store(u64::MAX, Ordering::Relaxed);
    window.end_ns.store(u64::MAX, Ordering::Relaxed);
    let work_unit = match order.task {
        Task::Trial { work_unit, .. } => work_unit,
        Task::Calibration { .. } => 1,
    };
    sga.control
        .gate
        .0
        .work_unit
        .store(work_unit, Ordering::Relaxed);
    let cpu_count = order.work.load.cpu_count.unwrap_or(0);
    sga.control
        .cage
        .0
        .cpu_count
        .store(cpu_count, Ordering::Relaxed);
}

fn start_sessions(
    instance: &Instance<'_>,
    memory: &SharedMemory,
    program: &SessionProgram,
) -> Result<Sessions, Error> {
    let orders: Vec<SessionOrder> = (0..instance.sga.layout.sessions)
        .map(|session| SessionOrder {
            parent_pid: std::process::id(),
            session,
            seed: instance.order.seed.wrapping_add(1 + u64::from(session)),
            layout: instance.sga.layout,
            ticket: memory.ticket().into(),
        })
        .collect();
    let mut sessions = Sessions::start(program, &orders)?;
    sessions.wait_for(&instance.sga, SessionState::Ready, ATTACH_WITHIN)?;
    let start = &instance.sga.control.gate.0.start;
    start.store(1, Ordering::Release);
    linux::futex::wake(start, u32::MAX >> 1);
    Ok(sessions)
}

fn pools_if_huge(root: &Root, order: &InstanceOrder) -> Result<Vec<HugePoolEvidence>, Error> {
    let page_bytes = order.work.sga.page_bytes;
    if page_bytes == linux::process::page_bytes() {
        return Ok(Vec::new());
    }
    let mut pools = huge_pools(root)?;
    pools.retain(|pool| pool.page_bytes == page_bytes);
    Ok(pools)
}
