//! `numalab inspect`: shows where the memory of a process or of a whole instance lies.

use std::fmt::Display;
use std::path::PathBuf;

use linux::{Root, proc_maps};
use model::exit::ExitCode;
use model::{Relations, Residency};
use postgresql::{Places, RelationsOrder};
use report::Fields;
use residency::instances::{
    InstanceError, Server, ServerTarget, Target, TargetError, server_process,
};
use residency::{self, InspectError, Options};

use crate::arguments::commands::InspectArguments;
use crate::arguments::values::SAMPLE_SEED;
use crate::arguments::values::target_of;
use crate::capture::MachineRoot;
use crate::databases::table::databases;
use crate::failure::Failure;
use crate::output;

/// Inspects the target and prints the result.
pub(crate) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let root = machine.root();
    let target = target_of(root, &arguments.target)?;
    let topology = topology::read(root)?;
    let options = Options {
        only_numa_maps: arguments.numa_maps,
        sample_seed: arguments.sample.then_some(SAMPLE_SEED),
        only_shared: arguments.only_shared,
        data_files: arguments.data_files,
        only_bytes: false,
    };
    let with_relations = arguments.relations.then(|| with_relations(&target));
    let with_relations = with_relations.transpose()?;
    let mut residency = residency::inspect(root, &target, &topology, &options)?;
    residency.findings = judgement::findings::of_inspect(&residency);
    if let Some(server) = with_relations {
        residency.relations = Some(relations(root, &server, arguments, &residency)?);
    }
    if arguments.json {
        return output::json_of(&residency.document(), root.is_live());
    }
    output::data(&report::residency_text(&residency, &output::text_options()))
}

/// A server whose relations numalab can find.
enum WithRelations<'a> {
    Postgres(&'a str),
    Other(&'a ServerTarget),
}

/// Returns the server of a target, for `--relations`.
fn with_relations(target: &Target) -> Result<WithRelations<'_>, Failure> {
    match target {
        Target::Postgres(data) => Ok(WithRelations::Postgres(data)),
        Target::Server(target) if target.server == Server::MariaDb => {
            Ok(WithRelations::Other(target))
        }
        other => Err(without_relations(other)),
    }
}

fn without_relations(target: impl Display) -> Failure {
    let message =
        format!("--relations: expected postgres:DATADIR or mysql:DATADIR, found {target}");
    Failure::new(ExitCode::Usage, message)
}

/// Returns which node holds which table and index.
fn relations(
    root: &Root,
    server: &WithRelations<'_>,
    arguments: &InspectArguments,
    residency: &Residency,
) -> Result<Relations, Failure> {
    let with_server_view = arguments.server_view;
    match server {
        WithRelations::Postgres(data) => {
            let order = RelationsOrder {
                data: PathBuf::from(data),
                role: arguments.pg_role.clone(),
                with_server_view,
            };
            Ok(postgresql::relations(root, &order, residency)?)
        }
        WithRelations::Other(target) => {
            let pid = server_process(root, target)?;
            let databases = databases(Places::default());
            let mut found = databases.iter();
            let found = found.find_map(|it| it.relations(target, pid, residency, with_server_view));
            let found = found.ok_or_else(|| without_relations(target))?;
            found.map_err(|error| match has_ended(root, pid) {
                true => ended(residency).into(),
                false => error.into(),
            })
        }
    }
}

/// Whether a process has ended or is ending: the kernel first takes its memory (kernel/exit.c,
/// `do_exit`).
fn has_ended(root: &Root, pid: u32) -> bool {
    match proc_maps::read(root, pid) {
        Ok(maps) => maps.list.is_empty(),
        Err(error) => error.is_gone(),
    }
}

fn ended(residency: &Residency) -> InspectError {
    InspectError::Ended {
        target: residency.target.clone(),
        processes: residency.processes.len(),
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        InstanceError::from(error).into()
    }
}

impl From<InstanceError> for Failure {
    fn from(error: InstanceError) -> Self {
        let (message, advice) = (error.to_string(), error.advice());
        let failure = match error {
            _ if error.is_permission() => Failure::new(ExitCode::NotPermitted, message),
            InstanceError::Read(error) => error.into(),
            InstanceError::Ended { .. } => Failure::new(ExitCode::WorkloadFailed, message),
            _ => Failure::new(ExitCode::Usage, message),
        };
        match advice {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        let message = error.to_string();
        match error {
            InspectError::Instance(error) => error.into(),
            InspectError::Read(error) => error.into(),
            InspectError::NotPermitted { .. } => Failure::new(ExitCode::NotPermitted, message)
                .advise(
                    "run it as the user of these processes, or as root; other users need \
                     CAP_SYS_PTRACE, and for exact figures CAP_SYS_ADMIN with CAP_DAC_READ_SEARCH \
                     (--cap-add for a container)",
                ),
            InspectError::Ended { .. } => Failure::new(ExitCode::WorkloadFailed, message),
            InspectError::Nothing { .. } => Failure::new(ExitCode::MachineCannot, message),
        }
    }
}
