//! `numalab group`: named processor groups.

use journal::Journal;
use linux::Root;
use model::exit::ExitCode;
use model::{GroupMember, GroupState, NodeSet, Topology, counted};
use placement::bind::{Machine, MemoryRequest, Order, Request};
use placement::groups::{self, Group, Set};
use report::Fields;
use residency::instances::{self, Target};
use residency::{self, Options};

use crate::arguments::placement::{
    GroupArguments, GroupCommand, GroupCreateArguments, GroupListArguments, GroupPlacement,
    GroupSetArguments,
};
use crate::arguments::values::target_of;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::output;

/// Executes the subcommand.
pub(crate) fn run(arguments: &GroupArguments) -> Result<(), Failure> {
    let (root, journal) = (Root::live(), StateFolder::from_environment()?.journal());
    match &arguments.command {
        GroupCommand::Create(arguments) => create(&root, &journal, arguments),
        GroupCommand::Set(arguments) => set(&root, &journal, arguments),
        GroupCommand::Add(arguments) => add(&root, &journal, &arguments.name, &arguments.processes),
        GroupCommand::List(arguments) => list(&root, &journal, arguments),
        GroupCommand::Delete(arguments) => {
            groups::delete(&root, &journal, &arguments.name, arguments.evict)?;
            output::data(&format!("deleted: {}\n", arguments.name))
        }
    }
}

fn create(root: &Root, journal: &Journal, arguments: &GroupCreateArguments) -> Result<(), Failure> {
    let machine = Machine::read(root)?;
    let (cpus, memory_nodes) = resolved(root, &machine, &arguments.placement)?;
    let order = groups::Order {
        name: arguments.name.clone(),
        cpus,
        memory_nodes,
        cpu_limit: arguments.placement.cpu_limit,
    };
    if let Some(configuration) = arguments.emit {
        let requested = requested(&order, &machine);
        let text = report::group_configuration(configuration.into(), &requested, &machine.cpus());
        return output::data(&text);
    }
    let made = groups::create(root, journal, &order)?;
    show(root, &[made], arguments.json)
}

/// Returns the group that an order would create, for a configuration.
fn requested(order: &groups::Order, machine: &Machine) -> GroupState {
    let nodes = || machine.memory_nodes.clone();
    GroupState {
        name: order.name.to_string(),
        cgroup_version: placement::hierarchy::find_controller(&Root::live(), "cpuset")
            .map_or(2, |hierarchy| hierarchy.version),
        cpus: order.cpus.clone().unwrap_or_else(|| machine.cpus()),
        memory_nodes: order.memory_nodes.clone().unwrap_or_else(nodes),
        cpu_limit: order.cpu_limit,
        ..GroupState::default()
    }
}

fn set(root: &Root, journal: &Journal, arguments: &GroupSetArguments) -> Result<(), Failure> {
    let machine = Machine::read(root)?;
    let (cpus, memory_nodes) = resolved(root, &machine, &arguments.placement)?;
    let wanted = Set {
        cpus,
        memory_nodes,
        cpu_limit: arguments.placement.cpu_limit,
        migrate: arguments.migrate,
    };
    if wanted == Set::default() {
        let message = "nothing to set: name CPUs, memory nodes or a limit";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let group = groups::set(root, journal, &arguments.name, &wanted)?;
    show(root, &[group], arguments.json)
}

fn add(root: &Root, journal: &Journal, name: &str, processes: &[String]) -> Result<(), Failure> {
    let mut members = Vec::new();
    for text in processes {
        let target = target_of(root, text)?;
        members.extend(instances::find(root, &target)?);
    }
    let count = groups::add(root, journal, name, &members)?;
    output::data(&format!("added to {name}: {}\n", counted(count, "process")))
}

/// Resolves the lists on the command line to CPUs and memory nodes.
fn resolved(
    root: &Root,
    machine: &Machine,
    placement: &GroupPlacement,
) -> Result<(Option<model::CpuSet>, Option<NodeSet>), Failure> {
    let bind = |nodes| MemoryRequest::Bind {
        nodes,
        balancing: false,
    };
    let request = Request {
        cpus: placement.cpus.request(),
        memory: placement.membind.clone().map(bind),
        whole_machine: placement.all,
    };
    let order = Order::new(root, &request, machine)?;
    Ok((order.cpus.clone(), order.memory_nodes()))
}

fn list(root: &Root, journal: &Journal, arguments: &GroupListArguments) -> Result<(), Failure> {
    let groups = match &arguments.name {
        Some(name) => vec![groups::find(root, journal, name)?],
        None => groups::list(root, journal)?,
    };
    let Some(configuration) = arguments.emit else {
        return show(root, &groups, arguments.json);
    };
    let machine_cpus = Machine::read(root)?.cpus();
    for group in groups {
        let state = state(root, None, group);
        let text = report::group_configuration(configuration.into(), &state, &machine_cpus);
        output::data(&text)?;
    }
    Ok(())
}

fn show(root: &Root, groups: &[Group], json: bool) -> Result<(), Failure> {
    let topology = match groups.iter().all(|group| group.members.is_empty()) {
        true => None,
        false => Some(topology::read(root)?),
    };
    let states: Vec<_> = groups
        .iter()
        .map(|group| state(root, topology.as_ref(), group.clone()))
        .collect();
    match json {
        true => output::json(&report::Groups { groups: &states }.document()),
        false => output::data(&report::groups_text(&states)),
    }
}

/// Returns the state of a group, and where its memory lies if a topology is given.
fn state(root: &Root, topology: Option<&Topology>, group: Group) -> GroupState {
    let member = |pid: &u32| GroupMember {
        pid: *pid,
        name: linux::proc_stat::read(root, *pid)
            .ok()
            .map(|stat| stat.name),
    };
    let directories = group.directories.iter();
    let mut state = GroupState {
        directories: directories.map(|it| it.display().to_string()).collect(),
        members: group.members.iter().map(member).collect(),
        unit: group.unit.clone(),
        cgroup_version: group.version,
        cpus: group.cpus.clone(),
        memory_nodes: group.memory_nodes.clone(),
        cpu_limit: group.cpu_limit,
        name: group.name.clone(),
        ..GroupState::default()
    };
    let path = placement::hierarchy::find_controller(root, "cpuset").ok();
    let path = path.map(|hierarchy| hierarchy.path(&group.directories[0]));
    let (Some(topology), Some(path), false) = (topology, path, group.members.is_empty()) else {
        return state;
    };
    let target = Target::ControlGroup(path);
    match residency::inspect(root, &target, topology, &Options::default()) {
        Ok(found) => {
            state.bytes_by_node = Some(residency::own_memory(&found));
            state.complete = found.complete;
            state.gaps = found.gaps;
        }
        Err(error) => state.gaps.push(error.to_string()),
    }
    state
}
