//! The token of `numalab serve`: from a private file or from the environment, never from the
//! command line, which other users see.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::exit::ExitCode;
use serve::{TOKEN_MIN, Token};

use crate::failure::Failure;

/// The variable with the token.
pub(crate) const VARIABLE: &str = "NUMALAB_TOKEN";

/// How to make a file with a token.
pub(crate) const MAKE_ONE: &str = "make a token: (umask 077; head -c 24 /dev/urandom | \
                                   base64 > token); then: numalab serve --token-file token";

/// A longer file is no token.
const FILE_BYTES_MAX: u64 = 4096;
/// Bits of a mode: what the group and others may do.
const OTHERS: u32 = 0o077;
/// The group may read.
const GROUP_READS: u32 = 0o040;

/// Reads the token from the file, else from the environment; `None` if neither is given.
pub(crate) fn read(file: Option<&Path>) -> Result<Option<Token>, Failure> {
    let (text, from) = match (file, std::env::var_os(VARIABLE)) {
        (Some(path), _) => (of_file(path)?, path.display().to_string()),
        (None, Some(value)) => {
            let text = value.into_string().unwrap_or_default();
            (text, VARIABLE.to_owned())
        }
        (None, None) => return Ok(None),
    };
    let random = random().map_err(|cause| {
        let message = format!("cannot read /dev/urandom: {cause}");
        Failure::new(ExitCode::MachineCannot, message)
    })?;
    let token = Token::new(text.trim_end_matches(['\n', '\r']), random);
    let unfit = || {
        let message = format!(
            "the token in {from} is not usable: expected at least {TOKEN_MIN} visible ASCII \
             characters on one line"
        );
        Failure::new(ExitCode::Usage, message).advise(MAKE_ONE)
    };
    token.ok_or_else(unfit).map(Some)
}

fn of_file(path: &Path) -> Result<String, Failure> {
    let refused = |cause: io::Error| {
        let exit_code = match cause.kind() {
            io::ErrorKind::PermissionDenied => ExitCode::NotPermitted,
            _ => ExitCode::Usage,
        };
        let message = format!("cannot read the token in {}: {cause}", path.display());
        Failure::new(exit_code, message).advise(MAKE_ONE)
    };
    let file = observed::open_named(path).map_err(refused)?;
    let status = file.metadata().map_err(refused)?;
    let (owner, mode, user) = (status.uid(), status.mode() & 0o7777, linux::process::user());
    if !is_private(owner, mode, user) {
        let message = format!(
            "others can read or change the token in {} (owner {owner}, mode {mode:04o})",
            path.display()
        );
        let advice = format!("make another token for its owner alone; {MAKE_ONE}");
        return Err(Failure::new(ExitCode::NotPermitted, message).advise(advice));
    }
    let mut text = String::new();
    let mut start = file.take(FILE_BYTES_MAX);
    start.read_to_string(&mut text).map_err(refused)?;
    Ok(text)
}

/// Whether nobody but the user, the owner and root can read or change a file that the user has
/// opened. A file of root's that another user can read was given to a group of that user, or by an
/// access control list, whose mask is in the place of the group's bits: so systemd gives
/// credentials to the user of a unit (systemd.exec(5), `LoadCredential=`).
fn is_private(owner: u32, mode: u32, user: u32) -> bool {
    let others = match owner == 0 && user != 0 {
        true => OTHERS & !GROUP_READS,
        false => OTHERS,
    };
    [0, user].contains(&owner) && mode & others == 0
}

/// Returns random bytes for the cookies of browsers.
fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    observed::open_named(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn a_token_is_for_its_owner_or_from_root_to_a_group_of_the_user() {
        let check = |owner, mode, user, expected| {
            assert_eq!(
                is_private(owner, mode, user),
                expected,
                "{owner} {mode:o} {user}"
            );
        };
        check(0, 0o600, 0, true);
        check(0, 0o640, 0, false);
        check(990, 0o600, 990, true);
        check(990, 0o440, 990, false);
        check(991, 0o400, 990, false);
        check(991, 0o400, 0, false);
        check(0, 0o440, 990, true);
        check(0, 0o640, 990, true);
        check(0, 0o660, 990, false);
        check(0, 0o444, 990, false);
    }
}
