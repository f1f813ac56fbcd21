//! `numalab inspect`: shows where the memory of a process or of a whole instance lies.

use std::path::PathBuf;

use model::exit::ExitCode;
use postgresql::RelationsOrder;
use residency::instances::{InstanceError, Target, TargetError};
use residency::{self, InspectError, Options};

use crate::arguments::InspectArguments;
use crate::capture::MachineRoot;
use crate::failure::Failure;
use crate::output;

/// Fixed, so that two inspections of a segment sample the same pages: a difference between them
/// means that pages have moved.
const SAMPLE_SEED: u64 = 1;

/// Inspects the target and prints the result.
pub(crate) fn run(arguments: &InspectArguments) -> Result<(), Failure> {
    let target: Target = arguments.target.parse()?;
    let machine = MachineRoot::at(arguments.root.as_deref())?;
    let root = machine.root();
    let topology = topology::read(root)?;
    let options = Options {
        only_numa_maps: arguments.numa_maps,
        sample_seed: arguments.sample.then_some(SAMPLE_SEED),
        only_shared: arguments.only_shared,
        data_files: arguments.data_files,
    };
    let data = arguments.relations.then(|| data_directory(&target));
    let data = data.transpose()?;
    let mut residency = residency::inspect(root, &target, &topology, &options)?;
    residency.findings = judgement::findings::of_inspect(&residency);
    if let Some(data) = data {
        let order = RelationsOrder {
            data,
            role: arguments.pg_role.clone(),
            with_server_view: arguments.server_view,
        };
        residency.relations = Some(postgresql::relations(root, &order, &residency)?);
    }
    if arguments.json {
        return output::json(&report::residency_document(&residency));
    }
    output::data(&report::residency_text(&residency, &output::text_options()))
}

/// Returns the data directory of the target, for `--relations`.
fn data_directory(target: &Target) -> Result<PathBuf, Failure> {
    match target {
        Target::Postgres(data) => Ok(PathBuf::from(data)),
        other => {
            let message = format!("--relations: expected postgres:DATADIR, found {other}");
            Err(Failure::new(ExitCode::Usage, message))
        }
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
