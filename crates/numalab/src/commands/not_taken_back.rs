//! The failure of a session of which something is still in force.

use model::exit::ExitCode;
use switchback::Halt;

use crate::failure::Failure;

/// What could not be taken back, or kept, at the end.
pub(crate) fn not_taken_back(halt: Halt) -> Failure {
    let failure = match halt {
        Halt::Failed(error) => error.into(),
        Halt::End(_, because) => Failure::new(ExitCode::PlacementNotHonoured, because),
    };
    failure.advise(
        "`numalab undo --list` shows what is still in force, `numalab undo` takes it back, with \
         --force also what another process has changed since",
    )
}

/// What failed first, and what of it could not be taken back.
pub(crate) fn with_what_is_left(failure: Failure, ended: Result<(), Failure>) -> Failure {
    match ended {
        Ok(()) => failure,
        Err(left) => Failure {
            message: format!("{}; then: {}", failure.message, left.message),
            ..left
        },
    }
}
