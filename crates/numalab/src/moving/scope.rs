//! Scopes: where systemd owns the cgroup tree, a command that needs its own cgroup is started again
//! in a scope.

use std::ffi::OsString;

use linux::Root;
use model::exit::ExitCode;

use crate::failure::Failure;

/// Where systemd owns the cgroup tree, makes the command `run` create its groups in a scope that
/// systemd delegates to it and removes when the command has ended. Does nothing elsewhere, or where
/// groups cannot be created.
pub(crate) fn own_groups_of_run(root: &Root, in_scope: bool) -> Result<(), Failure> {
    let belongs = placement::hierarchy::find(root).is_ok_and(|it| it.belongs_to_systemd(root));
    match (belongs, in_scope) {
        (false, _) => Ok(()),
        (true, false) => Err(become_one("run", &["--property=Delegate=yes".to_owned()])),
        (true, true) => Ok(placement::hierarchy::sit_down(root)?),
    }
}

/// The option that tells the restarted command that it is in its scope.
pub(crate) const IN_SCOPE: &str = "--in-scope";

/// Has systemd start this very command again in a scope, with the option `--in-scope`: systemd
/// itself must fill the cgroups that it owns. Returns only if that fails.
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
    failed(linux::process::exec(&words))
}
