//! The plain chase: a C program that shares no code with the kernels (`plain_chase.c`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::c_program;
use super::supervisor::Supervisor;

const PROGRAM: &str = concat!(include_str!("chase.h"), include_str!("plain_chase.c"));

/// The built program.
pub(super) struct PlainChase(PathBuf);

impl PlainChase {
    /// Builds it with the C compiler of this machine.
    pub(super) fn build(folder: &Path) -> Result<Self> {
        c_program::build(folder, "plain_chase", PROGRAM, "-O2").map(PlainChase)
    }

    /// Measures nanoseconds per load, and the bytes in transparent huge pages. Memory is where the
    /// kernel puts it, or on a node (by numactl).
    pub(super) fn measure(
        &self,
        supervisor: &Supervisor,
        (cpu, node): (u64, Option<u64>),
        bytes: u64,
        seed: usize,
    ) -> Result<(f64, u64)> {
        let words = [cpu, bytes, seed as u64].map(|word| word.to_string());
        let mut command = match node {
            None => Command::new(&self.0),
            Some(node) => {
                let mut numactl = Command::new("numactl");
                numactl.arg(format!("--membind={node}")).arg(&self.0);
                numactl
            }
        };
        let output = supervisor.output(command.args(&words))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "the plain chase ended with {}",
            output.status
        );
        parse(&text).with_context(|| format!("the plain chase said {text:?}"))
    }
}

/// ```text
/// 168.751 134217728 0x7f0c4de00440
/// ```
fn parse(text: &str) -> Option<(f64, u64)> {
    let mut words = text.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn its_line_is_read() {
        assert_eq!(
            parse("168.751 134217728 0x7f0c4de00440\n"),
            Some((168.751, 134_217_728))
        );
        assert_eq!(parse(""), None);
        assert_eq!(parse("x 1"), None);
    }
}
