//! The instance process: creates the SGA under its placement, runs sessions, reads evidence back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use linux::Root;
use linux::data_file::DataFile;
use linux::own_program::OwnProgram;
use model::{Allocation, CpuSet, Evidence, HugePoolEvidence, NodeId};
use placement::evidence::{huge_pools, residency};

use crate::instance::Instance;
use crate::layout::SessionState;
use crate::order::{
    Commands, InstanceOrder, InstanceReport, PhaseWord, Report, Role, SessionOrder, Task,
    TicketWord,
};
use crate::process_name::ProcessName;
use crate::sessions::Sessions;
use crate::sga::Sga;
use crate::sga_layout::{Content, SgaLayout, SgaSize};
use crate::storage::Storage;
use crate::{
    Error, calibration, emulated_cost, hold, loader, own_memory, scan, sga_memory, trial, windows,
};

/// Timeout for sessions to attach; generous, since emulated machines are slow.
const ATTACH_WITHIN: Duration = Duration::from_secs(120);

/// Executes an order from placement to evidence.
///
/// # Errors
/// When the trial cannot run; a trial that contradicts its placement is not an error.
pub fn run(
    order: &InstanceOrder,
    program: &OwnProgram,
    commands: &mut Commands<'_>,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    linux::process::die_with_parent(order.parent_pid).map_err(|cause| Error::Io {
        what: "prctl(PR_SET_PDEATHSIG)",
        cause,
    })?;
    placement::apply_to_this_process(&order.placement, order.groups.first().map(|it| &**it))?;
    for group in &order.groups {
        placement::hierarchy::join(group)?;
    }
    let root = Root::live();
    report(InstanceReport::Progress {
        phase: PhaseWord::Loading,
        value: None,
    })?;
    let huge_pages_before = pools_if_huge(&root, order)?;
    let layout = SgaLayout::new(&SgaSize {
        content: match order.task {
            Task::Scan { .. } => Content::Column,
            _ => Content::Tables,
        },
        ..SgaSize::of(&order.work.sga, &order.work.load)
    })?;
    match order.shared {
        None => {
            let (memory, mapping) = sga_memory::make(&order.work.sga, &layout, order.segment_key)?;
            let sga = Sga::create(&mapping, layout);
            let storage = data_file(order, &layout)?.map(|file| Storage::new(&mapping, file));
            let total = loader::load(&sga, storage.as_ref(), order.seed)?;
            if matches!(order.task, Task::Windows { .. }) {
                let ticket = memory.ticket().of_this_process().into();
                report(InstanceReport::Loaded(ticket))?;
            }
            let tickets = (memory.ticket().into(), None);
            let instance = Instance {
                order,
                root,
                sga,
                mapping: &mapping,
                storage,
            };
            let start = Start {
                program,
                tickets,
                huge_pages_before,
                total,
            };
            carry_out(&instance, start, commands, report)
        }
        Some(ticket) => {
            let attached = sga_memory::attach(&order.work.sga, &layout, ticket.into())?;
            let sga = Sga::attach(&attached.mapping, layout)?;
            let instance = Instance {
                order,
                root,
                sga: sga.with_own_part(&attached.own_mapping),
                mapping: &attached.mapping,
                storage: None,
            };
            let start = Start {
                program,
                tickets: (ticket, Some(attached.own_part.ticket().into())),
                huge_pages_before,
                total: 0,
            };
            carry_out(&instance, start, commands, report)
        }
    }
}

/// What an instance with a loaded SGA starts with.
struct Start<'p> {
    program: &'p OwnProgram,
    /// How sessions find the SGA, and their part of it.
    tickets: (TicketWord, Option<TicketWord>),
    huge_pages_before: Vec<HugePoolEvidence>,
    /// The sum of the column that was loaded.
    total: u64,
}

/// Starts the sessions, and does what the order asks for.
fn carry_out(
    instance: &Instance<'_>,
    start: Start<'_>,
    commands: &mut Commands<'_>,
    report: &mut Report<'_>,
) -> Result<(), Error> {
    let order = instance.order;
    prepare_control(&instance.sga, order);
    let evidence = Evidence {
        huge_pages_before: start.huge_pages_before,
        huge_pages_during: pools_if_huge(&instance.root, order)?,
        ..Evidence::default()
    };
    let before = residency(instance.mapping, order.work.sga.page_bytes)?;
    let mut sessions = start_sessions(instance, start.tickets, start.program)?;
    let own_before = own_memory::found(instance, &sessions.pids())?;
    if !matches!(order.task, Task::Hold { idle: true, .. }) {
        instance.open_barrier();
    }
    match order.task {
        Task::Scan { .. } => {
            let total = start.total;
            scan::run(instance, &mut sessions, evidence, &before, total, report)
        }
        Task::Hold { .. } => hold::run(instance, &mut sessions, report),
        Task::Trial { .. } | Task::Windows { .. } => {
            let before = trial::Before {
                sga: before,
                own_memory: own_before,
            };
            match order.task {
                Task::Windows { .. } => {
                    let up = windows::Up::new(instance, &mut sessions, evidence, &before);
                    windows::run(up, commands, report)
                }
                _ => trial::run(instance, &mut sessions, evidence, &before, report),
            }
        }
        Task::Calibration { .. } => calibration::run(instance, &mut sessions, report),
    }
}

fn prepare_control(sga: &Sga<'_>, order: &InstanceOrder) {
    let window = &sga.control.window.0;
    window.start_ns.store(u64::MAX, Ordering::Relaxed);
    window.end_ns.store(u64::MAX, Ordering::Relaxed);
    let parks = matches!(order.task, Task::Windows { .. });
    window.parks.store(u32::from(parks), Ordering::Relaxed);
    sga.control.series.0.windows.store(1, Ordering::Relaxed);
    let work_unit = match order.task {
        Task::Trial { work_unit, .. }
        | Task::Windows { work_unit, .. }
        | Task::Hold { work_unit, .. } => work_unit,
        Task::Calibration { .. } | Task::Scan { .. } => 1,
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

/// Starts the sessions and database writers and waits until all of them are at the barrier.
fn start_sessions(
    instance: &Instance<'_>,
    (ticket, own_part): (TicketWord, Option<TicketWord>),
    program: &OwnProgram,
) -> Result<Sessions, Error> {
    let cpus_of_pools = cpus_of_pools(&instance.root, &instance.order.work.sga.allocation)?;
    let layout = instance.sga.layout;
    let cost = instance.order.work.load.emulated_cost.as_ref();
    let cost = cost
        .map(|cost| emulated_cost::prepare(instance, cost))
        .transpose()?;
    let orders: Vec<SessionOrder> = (0..layout.processes())
        .map(|session| SessionOrder {
            parent_pid: std::process::id(),
            session,
            cpus: cpus_of_pools
                .get(pool_of_process(&layout, session) as usize)
                .cloned()
                .flatten(),
            role: role_of(instance.order, &layout, session),
            own: instance.order.own.clone(),
            page_bytes: instance.order.work.sga.page_bytes,
            seed: instance.order.seed.wrapping_add(1 + u64::from(session)),
            layout,
            ticket,
            own_part,
            cost: cost.clone(),
            data: instance
                .storage
                .as_ref()
                .map(|storage| storage.file().ticket().into()),
        })
        .collect();
    let mut sessions = Sessions::start(program, layout, &orders)?;
    let sga = &instance.sga;
    sessions.wait_for(sga, sga.slots, SessionState::Ready, ATTACH_WITHIN)?;
    Ok(sessions)
}

/// Returns the pool on whose node a process runs.
fn pool_of_process(layout: &SgaLayout, process: u32) -> u32 {
    match layout.name_of(process) {
        ProcessName::Session(session) => layout.home_pool(session),
        ProcessName::Writer(pool) => pool,
    }
}

fn role_of(order: &InstanceOrder, layout: &SgaLayout, process: u32) -> Role {
    match (layout.name_of(process), &order.task) {
        (ProcessName::Writer(pool), _) => Role::Writer { pool },
        (ProcessName::Session(_), &Task::Scan { stealing, .. }) => Role::Scan { stealing },
        (ProcessName::Session(_), _) => Role::Statements {
            update_pct: order.work.load.update_pct,
            handicap_pct: order.work.load.handicap_pct,
        },
    }
}

/// Returns, for each pool, the CPUs of its node that this process may use; `None` if there are
/// none. Empty if one pool serves all nodes.
fn cpus_of_pools(root: &Root, allocation: &Allocation) -> Result<Vec<Option<CpuSet>>, Error> {
    let nodes = allocation.pool_nodes();
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    let topology = topology::read(root).map_err(placement::Error::from)?;
    let allowed = linux::affinity::of_this_thread()?;
    let cpus_of = |node: NodeId| {
        let cpus = topology.node(node)?.cpus.intersection(&allowed);
        (!cpus.is_empty()).then_some(cpus)
    };
    Ok(nodes.into_iter().map(cpus_of).collect())
}

/// Creates the data file if the layout has one.
fn data_file(order: &InstanceOrder, layout: &SgaLayout) -> Result<Option<DataFile>, Error> {
    if !layout.has_data_file() {
        return Ok(None);
    }
    std::fs::create_dir_all(&order.data_directory).map_err(|cause| Error::Io {
        what: "making the folder of the data file",
        cause,
    })?;
    let file = DataFile::create(&order.data_directory, layout.data_file_bytes())?;
    Ok(Some(file))
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
