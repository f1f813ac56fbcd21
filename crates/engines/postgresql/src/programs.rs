//! Runs programs of PostgreSQL and others: as an unprivileged user, since PostgreSQL refuses to run
//! as root, in a clean environment.

use std::process::Command;

use observed::ServerUser;

use model::exit::ExitCode;
use server::Error;

/// Users to try, in this order.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// Returns the user to become; `None` if this process is not root and need not change.
pub(crate) fn server_user() -> Result<Option<ServerUser>, Error> {
    ServerUser::first_of(&NAMES).map_err(|_| {
        let message =
            "PostgreSQL does not run as root, and neither user postgres nor user nobody exists";
        Error::new(ExitCode::MachineCannot, message)
            .advise("make a user postgres, or run numalab as any other user")
    })
}

/// Removes the user's settings for other servers from a command's environment: PGPORT would set the
/// port of the server it starts (guc.c, `InitializeGUCOptionsFromEnvironment`).
pub(crate) fn without_settings_of_others(command: &mut Command) -> &mut Command {
    for name in ["PGDATA", "PGOPTIONS", "PGPORT", "PGHOST", "PG_COLOR"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C")
}
