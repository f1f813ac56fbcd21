//! Licence options: terms, and the number of cores to license.

use clap::Args;
use model::exit::ExitCode;
use model::{Better, Run, Trial};
use report::LicenceTerms;

use crate::failure::Failure;

/// Default licences per core: Oracle's factor for most x86 processors.
const CORE_FACTOR: f64 = 0.5;

/// Options that say what a licence costs.
#[derive(Debug, Args)]
pub(crate) struct LicenceArguments {
    /// Show throughput per licence for this many licensed cores: one number, or one each for the
    /// first and the second run [default: the cores of the machine].
    #[arg(long, value_name = "N[,N]", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub licence_cores: Vec<u32>,
    /// Show throughput per licence with this many licences per core [default: 0.5].
    #[arg(long, value_name = "F", value_parser = crate::files::licences::positive)]
    #[arg(allow_negative_numbers = true)]
    pub core_factor: Option<f64>,
    /// Show throughput per licence with this many cores per licence.
    #[arg(long, value_name = "N", value_parser = crate::files::licences::positive)]
    #[arg(allow_negative_numbers = true, conflicts_with = "core_factor")]
    pub cores_per_licence: Option<f64>,
    /// Show the price per unit of throughput, at this price per licence.
    #[arg(long, value_name = "P", value_parser = crate::files::licences::positive)]
    #[arg(allow_negative_numbers = true)]
    pub price: Option<f64>,
}

/// Parses a number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e12 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// Returns the terms if a licence option was given.
pub(crate) fn terms(arguments: &LicenceArguments) -> Option<LicenceTerms> {
    let asked = !arguments.licence_cores.is_empty()
        || arguments.core_factor.is_some()
        || arguments.cores_per_licence.is_some()
        || arguments.price.is_some();
    let by_licence = arguments.cores_per_licence.map(|cores| 1.0 / cores);
    asked.then(|| LicenceTerms {
        core_factor: arguments.core_factor.or(by_licence).unwrap_or(CORE_FACTOR),
        price: arguments.price,
    })
}

/// Returns the number of cores to license for the run at position `which` of the command line: the
/// given number, or all cores of its machine.
pub(crate) fn cores(arguments: &LicenceArguments, run: &Run, which: usize) -> Result<u32, Failure> {
    if run.metric.better() == Better::Less {
        let metric = run.metric.name();
        let message = format!(
            "run {} measures {metric}, which has no throughput per licence",
            run.id
        );
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let named = &arguments.licence_cores;
    if named.len() > 2 {
        let message = "--licence-cores: expected one number, or two";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let of_machine = || match &run.machine {
        Some(machine) => machine.topology.cores,
        None => cores_of_reports(run),
    };
    let cores = named.get(which).or(named.first()).copied();
    cores
        .or_else(of_machine)
        .filter(|cores| *cores > 0)
        .ok_or_else(|| {
            let message = format!(
                "the number of cores of the machine of run {} is unknown",
                run.id
            );
            Failure::new(ExitCode::Usage, message).advise("name them: --licence-cores N")
        })
}

/// Returns the number of cores if all reports state the same.
fn cores_of_reports(run: &Run) -> Option<u32> {
    let trials = run.cases.iter().flat_map(|case| &case.trials);
    let mut cores = trials.map(|trial: &Trial| trial.report.as_ref()?.host.cores);
    let first = cores.next()??;
    cores.all(|other| other == Some(first)).then_some(first)
}
