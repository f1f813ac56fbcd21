//! `numalab bind`: starts a program under a placement. numalab becomes the program unless it has
//! something to do after the start.

use judgement::BindInput;
use linux::sysfs_huge_pages::HugePagePool;
use linux::{Root, sysfs_huge_pages, sysfs_nodes};
use model::exit::ExitCode;
use model::{BindAsked, Finding, NodeHugePages, NodeId};
use placement::bind::{BindError, InForce, Machine, Order, Saved};
use placement::pool_reservations::{reserved, share};

use super::bind_scope::Scope;
use super::bind_watch::{self, Watch};
use super::started_program::{Follower, end_unstarted, json_has_a_file};
use crate::arguments::placement::BindArguments;
use crate::failure::Failure;
use crate::output;

/// Places, lints and starts the program.
pub(crate) fn run(arguments: &BindArguments) -> Result<(), Failure> {
    json_has_a_file(arguments.json, arguments.output.as_deref())?;
    let root = Root::live();
    let mut machine = Machine::read(&root)?;
    let before = Saved::now()?;
    let mut scope = Scope::find(&root, arguments)?;
    // Outside of the scope, whose limit it would be subject to.
    let follower = match arguments.verify || scope.is_temporary() {
        true => Some(Follower::prepare()?),
        false => None,
    };
    scope.enter(&root, arguments)?;
    let started = start(arguments, &root, &mut machine, &before, &scope, follower);
    // `start` returns only on failure.
    started.inspect_err(|_| {
        let _ = scope.end();
    })
}

fn start(
    arguments: &BindArguments,
    root: &Root,
    machine: &mut Machine,
    before: &Saved,
    scope: &Scope,
    follower: Option<Follower>,
) -> Result<(), Failure> {
    if let Some(group) = &scope.group {
        machine.cpus_allowed = group.cpus.clone();
        machine.nodes_allowed = group.memory_nodes.clone();
    }
    let order = Order::new(root, &arguments.request(), machine)?;
    let in_force = placement::bind::apply(root, &order)?;
    let lints = lint(arguments, root, machine, &order, &in_force)?;
    let Some(follower) = follower else {
        let error = linux::process::exec(&arguments.command);
        return Err(end_unstarted(&arguments.command, &error));
    };
    let group_nodes = scope.group.as_ref().map(|group| group.memory_nodes.clone());
    let group_cpus = scope.group.as_ref().map(|group| group.cpus.clone());
    let asked = BindAsked {
        cpus: order.cpus.clone().or(group_cpus),
        policy: order.policy.as_ref().and(in_force.policy.clone()),
        memory_nodes: order.memory_nodes().or(group_nodes),
        group: arguments.group.clone(),
        cpu_limit: arguments.cpu_limit,
    };
    let watch = Watch {
        arguments,
        machine,
        order,
        asked,
        in_force,
        lints,
        before,
        scope,
    };
    bind_watch::run(&watch, follower)
}

/// Warns of doubtful placements and returns the warnings for the report.
fn lint(
    arguments: &BindArguments,
    root: &Root,
    machine: &Machine,
    order: &Order,
    in_force: &InForce,
) -> Result<Vec<Finding>, Failure> {
    if arguments.no_lint {
        return Ok(Vec::new());
    }
    let is_asked = arguments.huge_bytes.is_some();
    let huge_pages = match order.memory_nodes() {
        _ if is_asked => huge_pages(root, machine)?,
        // Where none is free, each node has none.
        Some(_) if sysfs_huge_pages::any_free(root)? => huge_pages(root, machine)?,
        _ => Vec::new(),
    };
    let lints = judgement::findings::of_bind(&BindInput {
        machine,
        order,
        cpus: &in_force.cpus,
        huge_pages: &huge_pages,
        huge_bytes: arguments.huge_bytes.map(|bytes| bytes.0),
    });
    for lint in &lints {
        output::talk(&format!("numalab: {}", report::finding_line(lint)));
    }
    Ok(lints)
}

/// The pools of the nodes, whose free pages are those that are not reserved.
fn huge_pages(
    root: &Root,
    machine: &Machine,
) -> Result<Vec<(NodeId, Vec<NodeHugePages>)>, Failure> {
    let reserved = reserved(root)?;
    let machine_wide = sysfs_huge_pages::machine(root)?.unwrap_or_default();
    let available = |pool: &HugePagePool| {
        let free = pool.free?;
        let of_machine = machine_wide.iter();
        let mut of_machine = of_machine.filter(|it| it.page_bytes == pool.page_bytes);
        let all = of_machine.next().and_then(|it| it.free).unwrap_or(free);
        let reserved = reserved.get(&pool.page_bytes).copied().unwrap_or(0);
        Some(free - share(reserved, free, all))
    };
    let mut found = Vec::new();
    for node in machine.memory_nodes.iter() {
        let pools = sysfs_nodes::huge_pages(root, node)?.unwrap_or_default();
        let pools = pools.into_iter().filter_map(|pool| {
            Some(NodeHugePages {
                page_bytes: pool.page_bytes,
                total: pool.total?,
                free: available(&pool),
                surplus: pool.surplus,
            })
        });
        found.push((node, pools.collect()));
    }
    Ok(found)
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        let message = error.to_string();
        let failure = |code| Failure::new(code, message.clone());
        match error {
            BindError::Read(error) => error.into(),
            BindError::Choice { .. }
            | BindError::Device { .. }
            | BindError::NoCpus { .. }
            | BindError::NoMemory { .. }
            | BindError::SeveralPreferred { .. } => failure(ExitCode::Usage).advise(
                "`numalab topology` shows nodes and CPUs; docs/placing.md describes the \
                         lists",
            ),
            BindError::NodesForbidden { .. } | BindError::CpusForbidden { .. } => {
                failure(ExitCode::NotPermitted).advise(
                    "start it from a shell outside of this cgroup, or widen its cpuset \
                     (`numalab group set`)",
                )
            }
            BindError::Refused { .. } => failure(ExitCode::NotPermitted).advise(
                "in a container, use --cap-add SYS_NICE (Docker's seccomp filter then allows it), \
                 or place the container itself (--cpuset-cpus, --cpuset-mems)",
            ),
            BindError::Kernel { .. } | BindError::SystemCall(_) => failure(ExitCode::MachineCannot),
        }
    }
}
