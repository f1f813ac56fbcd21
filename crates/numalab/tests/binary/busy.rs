//! A machine that is busy with something else.

use std::process::{Child, Command, Stdio};

/// Processes that keep every CPU busy until dropped.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// Starts twice as many as there are CPUs.
    pub(crate) fn everywhere() -> Self {
        let cpus = std::thread::available_parallelism().unwrap().get();
        let spin = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]);
            shell.stdin(Stdio::null()).spawn().unwrap()
        };
        Busy((0..2 * cpus).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
