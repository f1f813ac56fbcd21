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

/// The variable with the shape of the guest in which tests run.
const GUEST: &str = "NUMALAB_GUEST";

/// Whether this is the guest of this shape; if not, reports that `test` runs there.
pub(crate) fn is_guest(test: &str, shape: &str) -> bool {
    let is_there = std::env::var_os(GUEST).is_some_and(|it| it == shape);
    if !is_there {
        let why = format!("it runs in a guest (cargo xtask test --only guest:{shape})");
        not_run(test, Need::Guest, &why);
    }
    is_there
}

/// Returns the shape of the guest in which tests run; outside of guests, reports that `test` is not
/// run.
pub(crate) fn guest_shape(test: &str) -> Option<String> {
    let shape = std::env::var(GUEST).ok();
    if shape.is_none() {
        let why = "it runs in guests (cargo xtask test --only guest)";
        not_run(test, Need::Guest, why);
    }
    shape
}

/// Whether this is a guest whose clocks count instructions.
pub(crate) fn is_counted() -> bool {
    std::env::var(GUEST).is_ok_and(|shape| shape.starts_with("counted-"))
}
