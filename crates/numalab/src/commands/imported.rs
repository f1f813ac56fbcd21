//! What every format of `numalab import` has in common.

use model::Run;
use model::exit::ExitCode;

use crate::failure::Failure;

/// Maximum size of a report; those of busy databases have a few megabytes.
pub(super) const FILE_BYTES_MAX: u64 = 32 << 20;

/// What a file was read into.
pub(super) struct Imported {
    /// Makes the run, of its id and the time.
    pub of: Box<dyn FnOnce(String, String) -> Run>,
    /// What a trial of it is called, and several.
    pub trials: (&'static str, &'static str),
    /// Whether to print JSON.
    pub json: bool,
}

/// Returns the case that others are compared with: the named one, or the first.
pub(super) fn baseline(named: Option<&str>, names: Vec<String>) -> Result<String, Failure> {
    match named {
        Some(name) if names.iter().any(|known| known == name) => Ok(name.to_owned()),
        Some(name) => {
            let known = names.join(", ");
            let message = format!("--baseline {name}: no such case; the files have {known}");
            Err(Failure::new(ExitCode::Usage, message))
        }
        None => names
            .into_iter()
            .next()
            .ok_or_else(|| Failure::new(ExitCode::Usage, "nothing to import: name a file")),
    }
}
