//! `numalab doctor`: diagnoses this machine, and the memory of a database on it; `--apply` does
//! what its plan says to do now.

use std::path::{Path, PathBuf};

use judgement::doctor::{DoctorInput, PostgresSettings};
use judgement::plan::{diagnose, diagnose_for, in_force, measure_rate};
use linux::Root;
use model::exit::ExitCode;
use model::{CpuSet, Diagnosis, Finding, Residency, Severity, Topology};
use pasted::Paste;
use placement::{TargetPlacement, thread_cpus};
use postgresql::Places;
use report::Fields;
use residency::instances::{self, ServerTarget, Target, server_process};
use residency::{self, Options};

use crate::arguments::doctor::{DoctorArguments, FailOn};
use crate::arguments::values::SAMPLE_SEED;
use crate::arguments::values::target_of;
use crate::capture::MachineRoot;
use crate::commands::doctor_keep::keep;
use crate::commands::relocate::{self, MoveArguments};
use crate::databases::table::databases;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::measuring::machine;
use crate::measuring::measured_memory::take_measured;
use crate::moving::plan_file;
use crate::output;
use crate::pasted::PastedMachine;

/// Prints the findings, and fails if one is at least as severe as `--fail-on`.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<(), Failure> {
    if arguments.store.store.is_some() && !arguments.keep {
        let message = "--store says where --keep stores the findings";
        return Err(Failure::new(ExitCode::Usage, message).advise("add --keep"));
    }
    let (input, mut diagnosis) = match &arguments.from[..] {
        [] => look(arguments)?,
        files => look_at_texts(files)?,
    };
    if let Some(cure) = &arguments.verify {
        let verified = in_force(&input, cure).map_err(|why| {
            let message = format!("{cure} cannot be verified: {why}");
            Failure::new(ExitCode::Usage, message)
        })?;
        diagnosis.in_force = Some(verified);
    }
    let threads = input.residency.as_ref().and_then(|it| it.threads.as_ref());
    if arguments.json {
        let target = arguments.target.as_deref();
        let answer = report::DoctorAnswer {
            target,
            diagnosis: &diagnosis,
            threads,
        };
        let is_of_here = arguments.root.is_none() && arguments.from.is_empty();
        output::json_of(&answer.document(), is_of_here)?;
    } else {
        let options = output::text_options();
        output::data(&report::doctor_text(
            &diagnosis,
            threads,
            arguments.full,
            &options,
        ))?;
    }
    if let Some(folder) = &arguments.emit {
        plan_file::emit(folder, &diagnosis)?;
    }
    if let (Some(asked), Some(target)) = (&arguments.apply, &arguments.target) {
        return apply(target, asked.as_ref(), &diagnosis);
    }
    if let Some(verified) = diagnosis.in_force.as_ref().filter(|it| !it.holds()) {
        let why = format!("{} is not in force", verified.cure);
        return Err(Failure::new(ExitCode::PlacementNotHonoured, why));
    }
    let limit = arguments.fail_on.map(FailOn::severity);
    let bad = diagnosis
        .findings
        .iter()
        .find(|finding| limit.is_some_and(|limit| finding.severity >= limit));
    match bad {
        None => Ok(()),
        Some(finding) => {
            let message = report::finding_line(finding);
            Err(Failure::new(ExitCode::ComparisonBelow, message))
        }
    }
}

/// Looks at this machine or a captured one, and diagnoses it.
fn look(arguments: &DoctorArguments) -> Result<(DoctorInput, Diagnosis), Failure> {
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let root = machine.root();
    let named = |text| target_of(root, text);
    let target = arguments.target.as_deref().map(named).transpose()?;
    let topology = match root.is_live() {
        true => machine::live_topology()?,
        false => topology::read(root)?,
    };
    let options = Options {
        data_files: arguments.data_files,
        ..Options::default()
    };
    let look = |target| residency::inspect(root, target, &topology, &options);
    let residency = target.as_ref().map(look).transpose()?;
    let mut input = DoctorInput::read(root, topology.clone(), residency)?;
    let instances = instances_of(root, &input);
    input.take_instances(root, instances);
    if arguments.root.is_none() {
        match &target {
            Some(Target::Postgres(data)) => input.postgres = postgres(data, arguments),
            Some(Target::Server(target)) => ask(target, root, &mut input),
            Some(_) => ask_the_server_among(root, arguments, &mut input),
            None => {}
        }
    }
    if root.is_live() {
        take_measured(&mut input);
    }
    measure_rate(root, &mut input);
    let asked = arguments.apply.as_ref().and_then(Option::as_ref);
    let diagnosis = diagnose_for(&input, asked);
    if arguments.keep {
        keep(arguments, root, &input, &diagnosis)?;
    }
    Ok((input, diagnosis))
}

/// The memory of each server of the target, or of the machine where there is no target, if there
/// are several, and several nodes. Where each belongs depends on all of them: without one, none.
fn instances_of(root: &Root, input: &DoctorInput) -> Vec<Residency> {
    let topology = &input.topology;
    if topology.cpu_nodes().len() < 2 {
        return Vec::new();
    }
    let pids = input.residency.iter().flat_map(|it| &it.processes);
    let pids: Vec<u32> = pids.map(|process| process.pid).collect();
    let is_of_target = |it: &instances::Database| {
        input.residency.is_none() || it.roots.iter().any(|pid| pids.contains(pid))
    };
    let found = instances::databases_of_machine(root).unwrap_or_default();
    let found: Vec<_> = found.into_iter().filter(is_of_target).collect();
    if found.len() < 2 {
        return Vec::new();
    }
    let options = Options {
        sample_seed: Some(SAMPLE_SEED),
        ..Options::default()
    };
    let mut seen = Vec::new();
    for database in found {
        match residency::inspect(root, &database.target, topology, &options) {
            Ok(residency) => seen.push(residency),
            Err(error) => {
                let database = database.target;
                output::talk(&format!(
                    "cannot look at {database}, so which node each server should have is not \
                     judged: {error}"
                ));
                return Vec::new();
            }
        }
    }
    seen
}

/// Looks at what texts say of a machine and of processes on it.
fn look_at_texts(files: &[PathBuf]) -> Result<(DoctorInput, Diagnosis), Failure> {
    let machine = PastedMachine::of(files)?;
    let (root, paste) = (machine.root(), &machine.paste);
    let topology = match paste.has_cpus {
        true => topology::read(root)?,
        // Without CPUs it is no machine that anything could be said of, but moments.
        false => Topology::default(),
    };
    let residency = inspect_pasted(root, paste, &topology)?;
    let mut input = DoctorInput::read(root, topology, residency)?;
    // What numactl prints has no file cache: how much room there is, is not known then.
    input.room.retain(|node, _| paste.has_file_cache(*node));
    input.moments.clone_from(&paste.moments);
    input.pool_moments.clone_from(&paste.pools);
    input.given_cpus.clone_from(&paste.given_cpus);
    input.latencies = paste.latency_matrix();
    input.latencies_by = "what the text shows".to_owned();
    let mut diagnosis = diagnose(&input);
    let mut reading = paste.reading();
    // What a text lacks is no fault of the machine.
    let (gaps, findings) = diagnosis
        .findings
        .into_iter()
        .partition(|it: &Finding| it.id == "incomplete-data");
    diagnosis.findings = findings;
    reading
        .remarks
        .extend(gaps.into_iter().map(|it: Finding| it.message));
    let layout = input.residency.as_ref().and_then(report::layout_sentence);
    reading.remarks.extend(layout);
    diagnosis.read_from = Some(reading);
    Ok((input, diagnosis))
}

/// Looks at the memory of all processes that texts show, as one target.
fn inspect_pasted(
    root: &Root,
    paste: &Paste,
    topology: &Topology,
) -> Result<Option<Residency>, Failure> {
    let mut members = Vec::new();
    for pid in &paste.processes {
        members.extend(instances::find(root, &Target::Process(*pid))?);
    }
    members.sort_by_key(|it| it.stat.pid);
    members.dedup_by_key(|it| it.stat.pid);
    let Some(name) = paste.target() else {
        return Ok(None);
    };
    let target: Target = name.parse()?;
    let options = Options::default();
    let residency = residency::inspect_members(root, &target, members, topology, &options)?;
    Ok(Some(residency))
}

/// Moves memory, or binds threads, as the plan says. Whether memory still fits is checked again by
/// the move itself.
fn apply(
    target: &str,
    asked: Option<&TargetPlacement>,
    diagnosis: &Diagnosis,
) -> Result<(), Failure> {
    let Some(plan) = &diagnosis.plan else {
        let Some(cure) = asked else {
            output::talk("there is no plan: nothing is moved");
            return Ok(());
        };
        let message = format!("{cure} is no cure of {target} now: nothing is changed");
        return Err(Failure::new(ExitCode::Usage, message).advise(format!(
            "`numalab doctor {target}` shows its plan, `numalab predict {target} --to {cure}` what \
             this would give"
        )));
    };
    if let Some(cure) = &plan.cpus {
        return bind(target, &cure.cpus);
    }
    let to = plan.cure.parse();
    let to = to.map_err(|why: String| Failure::new(ExitCode::Bug, why))?;
    let is_shared_only = !plan.moves_private_memory;
    relocate::run(&MoveArguments::of_plan(target, to, is_shared_only))
}

/// Binds every thread of the target, through the journal.
fn bind(target: &str, cpus: &CpuSet) -> Result<(), Failure> {
    let root = Root::live();
    let named = target_of(&root, target)?;
    let members = instances::find(&root, &named)?;
    let processes: Vec<_> = members.into_iter().map(|it| it.stat).collect();
    let journal = StateFolder::from_environment()?.journal();
    let bound = thread_cpus::bind(&root, &journal, target, &processes, cpus);
    bound.map_err(|error| match error.is_permission() {
        true => Failure::from(error)
            .advise("CAP_SYS_NICE is needed to set the CPUs of other users' threads"),
        false => error.into(),
    })?;
    output::talk(&format!(
        "all threads of {target} are bound to CPUs {cpus}; `numalab undo` takes it back"
    ));
    Ok(())
}

/// Asks the server of a target that was named by its process, name, unit or group, if it has one: a
/// server is the same whatever names it.
fn ask_the_server_among(root: &Root, arguments: &DoctorArguments, input: &mut DoctorInput) {
    let processes = input.residency.iter().flat_map(|it| &it.processes);
    let servers = processes.filter_map(|process| {
        // Servers work in their data directory.
        let directory = linux::process::working_directory(process.pid).ok()?;
        let directory = directory.to_string_lossy().into_owned();
        let server = match process.class == "postmaster" {
            true => Target::Postgres(directory),
            false => Target::Server(ServerTarget::of_program(&process.name, directory)?),
        };
        Some((process.pid, server))
    });
    let mut servers: Vec<(u32, Target)> = servers.collect();
    // A child that saves has the name and the directory of its server, and a higher id.
    servers.dedup_by(|later, first| later.1 == first.1);
    match &servers[..] {
        [] => {}
        [(pid, Target::Postgres(data))] => match linux::process::works_in(*pid, data.as_ref()) {
            Some(true) => input.postgres = postgres(data, arguments),
            // In a container, the name means another directory.
            _ => unsaid(&format!("{data} of process {pid} has another name here")),
        },
        [(_, Target::Server(target))] => ask(target, root, input),
        [..] => unsaid("the target has several servers: name one by its port or directory"),
    }
}

/// Returns the settings of a PostgreSQL server, if it answers.
fn postgres(data: &str, arguments: &DoctorArguments) -> Option<PostgresSettings> {
    let said = postgresql::server_settings(Path::new(data), arguments.pg_role.as_deref());
    said.inspect_err(|error| unsaid(&error.to_string())).ok()
}

/// Asks a server of another kind for its settings, if it answers.
fn ask(target: &ServerTarget, root: &Root, input: &mut DoctorInput) {
    let pid = match server_process(root, target) {
        Ok(pid) => pid,
        Err(error) => return unsaid(&error.to_string()),
    };
    let databases = databases(Places::default());
    match databases.iter().find_map(|it| it.settings(target, pid)) {
        Some(Ok(settings)) => input.take_settings(root, settings),
        Some(Err(error)) => {
            let advice = error.advice();
            let advice = advice.map_or(String::new(), |advice| format!("; {advice}"));
            unsaid(&format!("{error}{advice}"));
        }
        None => {}
    }
}

fn unsaid(error: &str) {
    output::talk(&format!(
        "cannot read the server's settings, so checks that need them are skipped: {error}"
    ));
}

impl FailOn {
    fn severity(self) -> Severity {
        match self {
            FailOn::Info => Severity::Info,
            FailOn::Warning => Severity::Warning,
            FailOn::Error => Severity::Error,
        }
    }
}
