//! What many tests need and this machine may lack.

use linux::Root;
use testing::{Need, not_run};

/// Whether processor groups can be created here; if not, reports that `test` is not run.
pub(crate) fn has_groups(test: &str) -> bool {
    match placement::hierarchy::find(&Root::live()) {
        Ok(_) => true,
        Err(error) => {
            let need = match error.is_permission() {
                true => refused_need(),
                false => Need::Kernel,
            };
            not_run(test, need, &error.to_string());
            false
        }
    }
}

/// Whether this process may become other users; if not, reports that `test` is not run.
pub(crate) fn is_root(test: &str) -> bool {
    let root = linux::process::is_root();
    if !root {
        not_run(test, Need::Root, "it needs root, to become another user");
    }
    root
}

/// Returns what is missing if something that needs root was refused.
pub(crate) fn refused_need() -> Need {
    Need::root_or_kernel(linux::process::is_root())
}
