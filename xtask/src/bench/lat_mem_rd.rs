//! `lat_mem_rd` of lmbench, which article 002 used: Debian's package (section non-free, because its
//! licence binds those who publish results of changed versions) is unpacked and not installed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::supervisor::Supervisor;
use crate::guest::packages;
use crate::repository;

/// Makes malloc ask for transparent huge pages (glibc 2.35 and later), as numalab and the plain
/// chase do.
const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// The program.
pub(super) struct LatMemRd(PathBuf);

/// A curve that it measured.
pub(super) struct PeerCurve {
    /// Working sets in bytes, and ns per load.
    pub points: Vec<(u64, f64)>,
    /// Whether it finished within its time limit.
    pub is_whole: bool,
}

impl LatMemRd {
    /// Fetches the program, once.
    pub(super) fn fetch() -> Result<Self> {
        let folder = repository::target().join("bench/lmbench");
        let part = packages::Part {
            suite: packages::Suite::Running(""),
            section: "non-free",
        };
        packages::unpack_from(part, "lmbench", &["*/lat_mem_rd"], &folder)?;
        let programs = folder.join("usr/lib/lmbench/bin");
        let machines = std::fs::read_dir(&programs)
            .with_context(|| format!("cannot list {}", programs.display()))?;
        let found = machines
            .flatten()
            .map(|machine| machine.path().join("lat_mem_rd"))
            .find(|program| program.is_file());
        Ok(LatMemRd(found.context("lmbench has no lat_mem_rd")?))
    }

    /// Measures working sets up to this many MiB, or as far as the time allows: lines of 64 bytes
    /// in random order (`-t`), timed once (`-N 1`).
    pub(super) fn curve(
        &self,
        supervisor: &Supervisor,
        cpu: u64,
        mib: u64,
        limit: Duration,
    ) -> Result<PeerCurve> {
        let mut command = Command::new("taskset");
        command
            .args(["-c", &cpu.to_string()])
            .arg(&self.0)
            .args(["-N", "1", "-t", &mib.to_string(), "64"])
            .env(HUGE_PAGES.0, HUGE_PAGES.1);
        let finished = supervisor.output_within(&command, limit)?;
        let output = finished.output;
        let text = String::from_utf8_lossy(&output.stderr);
        let points = parse(&text);
        ensure!(
            (finished.is_past_limit || output.status.success()) && !points.is_empty(),
            "lat_mem_rd ended with {}: {text}",
            output.status
        );
        Ok(PeerCurve {
            points,
            is_whole: !finished.is_past_limit,
        })
    }
}

/// Parses MiB and ns; the working sets are whole multiples of 512 bytes.
///
/// ```text
/// "stride=64
/// 0.00049 1.069
/// 0.00293 1.069
/// ```
fn parse(text: &str) -> Vec<(u64, f64)> {
    let point = |line: &str| {
        let (mib, ns) = line.split_once(' ')?;
        let mib: f64 = mib.parse().ok()?;
        Some(((mib * 2048.0).round() as u64 * 512, ns.trim().parse().ok()?))
    };
    text.lines().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn working_sets_are_whole_again() {
        let text = "\"stride=64\n0.00049 1.069\n0.00293 1.070\n128.00000 162.640\n\n";
        let expected = [(512, 1.069), (3072, 1.07), (128 << 20, 162.64)];
        assert_eq!(parse(text), expected);
        assert_eq!(parse("usage: lat_mem_rd"), []);
    }
}
