//! Scopes: where systemd owns the tree of cgroups, a command that needs one of its own is started
//! again in it.

use std::ffi::OsString;

use linux::Root;
use model::exit::ExitCode;

use crate::failure::Failure;

/// Where systemd owns the tree, has the command `run` make its groups in a scope that systemd
/// delegates to it, and forgets when the command has ended. Elsewhere, and where no groups can be
/// made, does nothing.
pub(crate) fn own_groups_of_run(root: &Root, in_scope: bool) -> Result<(), Failure> {
    let belongs = numa::hierarchy::find(root).is_ok_and(|it| it.belongs_to_systemd(root));
    match (belongs, in_scope) {
        (false, _) => Ok(()),
        (true, false) => Err(become_one("run", &["--property=Delegate=yes".to_owned()])),
        (true, true) => Ok(numa::hierarchy::sit_down(root)?),
    }
}

/// The word with which numalab says so to itself.
pub(crate) const IN_SCOPE: &str = "--in-scope";

/// Has systemd run this very command again in a scope of its own, with the word `--in-scope`: what
/// it owns is filled by it. Returns only when that fails.
pub(crate) fn become_one(command: &str, options: &[String]) -> Failure {
    let failed = |error: std::io::Error| {
        let message = format!("cannot start a scope with systemd-run: {error}");
        Failure::new(ExitCode::MachineCannot, message)
    };
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => return failed(error),
    };
    let fixed = ["systemd-run", "--scope", "--quiet", "--collect"];
    let mut words: Vec<OsString> = fixed.map(OsString::from).to_vec();
    words.extend(options.iter().map(OsString::from));
    words.extend(["--".into(), own.into(), command.into(), IN_SCOPE.into()]);
    // The first two words were numalab and the command.
    words.extend(std::env::args_os().skip(2));
    failed(linux::exec::exec(&words))
}
