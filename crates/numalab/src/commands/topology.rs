//! `numalab topology`: shows this machine, or a captured one.

use std::path::{Path, PathBuf};
use std::{fs, io};

use model::Topology;
use model::exit::ExitCode;
use report::{Fields, TextOptions};

use crate::arguments::commands::TopologyArguments;
use crate::capture::{MachineRoot, WHAT_ROOT_TAKES};
use crate::failure::Failure;
use crate::measuring::machine;
use crate::output;

/// Why the topology could not be shown.
#[derive(Debug)]
pub(crate) enum Error {
    /// The captured machine cannot be opened.
    Root(Failure),
    /// A file of the machine is missing or malformed.
    Read(linux::Error),
    /// The document could not be written.
    Document(Failure),
    /// The picture could not be written.
    Picture {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Root(failure) | Error::Document(failure) => failure,
            Error::Read(error) => {
                let message = format!("cannot read the topology: {error}");
                let failure = Failure::new(ExitCode::MachineCannot, message);
                match error {
                    linux::Error::NoCpu { .. } | linux::Error::NoMemory { .. } => {
                        failure.advise(WHAT_ROOT_TAKES)
                    }
                    _ => failure,
                }
            }
            Error::Picture { path, cause } => {
                let message = format!("cannot write {}: {cause}", path.display());
                let exit_code = match cause.kind() {
                    io::ErrorKind::PermissionDenied => ExitCode::NotPermitted,
                    _ => ExitCode::Usage,
                };
                Failure::new(exit_code, message)
            }
        }
    }
}

/// Writes the picture if requested, and returns the text or document for stdout.
pub(crate) fn run(arguments: &TopologyArguments, options: &TextOptions) -> Result<String, Error> {
    let topology = match &arguments.root {
        Some(directory) => captured(directory)?,
        None => machine::live_topology().map_err(Error::Read)?,
    };
    if let Some(path) = &arguments.svg {
        fs::write(path, report::topology_svg(&topology, None)).map_err(|cause| Error::Picture {
            path: path.clone(),
            cause,
        })?;
    }
    Ok(if arguments.json {
        let document = topology.document();
        output::json_text_of(&document, arguments.root.is_none()).map_err(Error::Document)?
    } else if arguments.cpus {
        report::topology_cpus_text(&topology, options)
    } else {
        report::topology_text(&topology, options)
    })
}

fn captured(directory: &Path) -> Result<Topology, Error> {
    let machine = MachineRoot::at(Some(directory)).map_err(Error::Root)?;
    topology::read(machine.root()).map_err(Error::Read)
}
