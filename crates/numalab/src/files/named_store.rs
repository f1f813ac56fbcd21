//! The store that a user names: a file, or a database of a PostgreSQL server.

use std::path::{Path, PathBuf};

use clap::Args;
use store::Place;

use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::output;

/// The option of every command that reads or stores runs.
#[derive(Default, Args)]
pub(crate) struct StoreArguments {
    /// Store of runs: a file, or postgresql://ROLE@HOST/DATABASE; what the URL lacks comes from
    /// where psql takes it [default: the file of this user].
    #[arg(long, value_name = "FILE|URL")]
    pub store: Option<PathBuf>,
}

/// The URL may have a password.
impl std::fmt::Debug for StoreArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreArguments")
    }
}

impl StoreArguments {
    /// Returns where runs are.
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        match &self.store {
            Some(named) => place(named, "--store"),
            None => Ok(Place::File(StateFolder::from_environment()?.store())),
        }
    }
}

/// Reads the store that an option names.
pub(crate) fn place(named: &Path, option: &str) -> Result<Place, Failure> {
    let place = Place::named(named).map_err(store::Error::from)?;
    if place.has_password() {
        output::talk(&format!(
            "every user of this machine can read the password in {option}, as long as numalab \
             runs (ps): use PGPASSWORD, or ~/.pgpass"
        ));
    }
    Ok(place)
}
