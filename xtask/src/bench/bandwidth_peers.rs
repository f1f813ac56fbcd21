//! Other programs that measure bandwidth, all from Debian's packages: `likwid-bench`, `mbw`,
//! `stress-ng --stream`. Their results are converted to the bytes that the program reads and
//! writes, as numalab and STREAM count them: write-allocate traffic is left out.

use std::process::Command;

use anyhow::{Result, ensure};

use super::supervisor::Supervisor;
use crate::guest::packages;

/// Makes malloc ask for transparent huge pages (glibc 2.35 and later), as numalab does.
const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// What a peer does, in numalab's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Does {
    /// One of numalab's kernels.
    Kernel(&'static str),
    /// Copy, scale, add and triad in turn, with ordinary stores: six arrays read, four written.
    StreamMix,
}

impl Does {
    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Does::Kernel(kernel) => kernel,
            Does::StreamMix => "copy and triad",
        }
    }

    /// Whether it consists of this kernel, or includes it.
    pub(super) fn is_of(self, kernel: &str) -> bool {
        match self {
            Does::Kernel(own) => own == kernel,
            Does::StreamMix => ["copy", "triad"].contains(&kernel),
        }
    }

    /// Whether this kernel is the last one that it runs.
    pub(super) fn ends_with(self, kernel: &str) -> bool {
        match self {
            Does::Kernel(own) => own == kernel,
            Does::StreamMix => kernel == "triad",
        }
    }
}

/// One test of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Peer {
    /// The program.
    pub program: &'static str,
    /// Its test.
    pub test: &'static str,
    pub does: Does,
}

/// The CPUs and the amount of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Load {
    /// CPUs, one for each thread.
    pub cpus: Vec<u64>,
    /// Total bytes of all arrays of all threads.
    pub bytes: u64,
}

const fn likwid(test: &'static str, kernel: &'static str) -> Peer {
    Peer {
        program: "likwid-bench",
        test,
        does: Does::Kernel(kernel),
    }
}

const fn mbw(test: &'static str, kernel: &'static str) -> Peer {
    Peer {
        program: "mbw",
        test,
        does: Does::Kernel(kernel),
    }
}

/// Every peer. `mbw` copies with `memcpy`, which bypasses the caches when it considers that
/// worthwhile, with a plain loop, and with `memcpy` block by block. The last copies the same block
/// of 256 KiB again and again (its loop advances only in the array that it writes), with `rep
/// movsb`, which does not read a line before writing it: in effect, it writes past the caches.
/// (With the tunable `glibc.cpu.x86_rep_movsb_threshold` above the block size, it loses a quarter
/// of its rate.)
pub(super) const PEERS: &[Peer] = &[
    likwid("load_sse", "read"),
    likwid("load_avx", "read"),
    likwid("load_avx512", "read"),
    likwid("copy_sse", "copy"),
    likwid("copy_avx", "copy"),
    likwid("copy_avx512", "copy"),
    likwid("copy_mem_sse", "nt-copy"),
    likwid("copy_mem_avx", "nt-copy"),
    likwid("copy_mem_avx512", "nt-copy"),
    likwid("stream_avx", "triad"),
    likwid("stream_avx512", "triad"),
    likwid("stream_mem_avx", "nt-triad"),
    likwid("stream_mem_avx512", "nt-triad"),
    mbw("-t0", "nt-copy"),
    mbw("-t1", "copy"),
    mbw("-t2", "nt-write"),
    Peer {
        program: "stress-ng",
        test: "--stream",
        does: Does::StreamMix,
    },
];

/// Makes sure that the programs are installed; as root, installs them.
pub(super) fn require() -> Result<()> {
    for (program, package) in [
        ("likwid-bench", "likwid"),
        ("mbw", "mbw"),
        ("stress-ng", "stress-ng"),
        ("taskset", "util-linux"),
    ] {
        packages::require_program(program, package)?;
    }
    Ok(())
}

impl Peer {
    /// Whether it can run with this many threads; `mbw` has only one.
    pub(super) fn runs_with(&self, threads: usize) -> bool {
        self.program != "mbw" || threads == 1
    }

    /// Returns the processor flag that it needs, as in /proc/cpuinfo.
    pub(super) fn needs(&self) -> Option<&'static str> {
        let instructions = [("avx512", "avx512f"), ("avx", "avx"), ("sse", "sse2")];
        let found = instructions
            .iter()
            .find(|(part, _)| self.test.contains(part));
        found.map(|(_, flag)| *flag)
    }

    /// Returns the names of program and test.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.program, self.test)
    }

    /// Measures bytes per second.
    pub(super) fn measure(&self, supervisor: &Supervisor, load: &Load) -> Result<f64> {
        let cpus: Vec<String> = load.cpus.iter().map(u64::to_string).collect();
        let mut command = Command::new("taskset");
        command.args(["-c", &cpus.join(","), self.program]);
        let threads = load.cpus.len();
        match self.program {
            "likwid-bench" => {
                let kilobytes = load.bytes / 1000;
                let workgroup = format!("N:{kilobytes}kB:{threads}");
                command.args(["-t", self.test, "-w", &workgroup, "-i", "20"]);
            }
            "mbw" => {
                let mib = (load.bytes >> 20) / 2;
                command.args(["-q", "-n", "10", self.test, &mib.to_string()]);
            }
            _ => {
                // It sizes its own arrays, each four times the last-level cache: it reads what it
                // has just written, so part of smaller arrays would come from the cache.
                command.args(["--stream-madvise", "hugepage", "--timeout", "6"]);
                command.args([self.test, &threads.to_string()]);
            }
        }
        let output = supervisor.output(command.env(HUGE_PAGES.0, HUGE_PAGES.1))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let rates = match self.program {
            "likwid-bench" => likwid_rates(&text),
            "mbw" => mbw_rates(&text),
            _ => stress_rates(&text),
        };
        let wanted = if self.program == "stress-ng" {
            threads
        } else {
            1
        };
        ensure!(
            output.status.success() && rates.len() >= wanted,
            "{} {} ended with {}: {text}",
            self.program,
            self.test,
            output.status
        );
        Ok(match self.program {
            "mbw" => {
                let arrays = if self.does == Does::Kernel("nt-write") {
                    1.0
                } else {
                    2.0
                };
                super::spread::Spread::of(&rates).map_or(0.0, |it| it.median * arrays)
            }
            _ => rates.iter().sum(),
        })
    }
}

/// ```text
/// MByte/s:  53728.89
/// ```
fn likwid_rates(text: &str) -> Vec<f64> {
    let rates = text.lines().filter_map(|line| {
        let rate: f64 = line.strip_prefix("MByte/s:")?.trim().parse().ok()?;
        Some(rate * 1e6)
    });
    rates.collect()
}

/// Returns the bytes per second of one array in each run.
///
/// ```text
/// 0 Method: DUMB Elapsed: 0.00090 MiB: 16.00000 Copy: 17857.143 MiB/s
/// AVG Method: DUMB Elapsed: 0.00295 MiB: 16.00000 Copy: 5424.648 MiB/s
/// ```
fn mbw_rates(text: &str) -> Vec<f64> {
    let runs = text
        .lines()
        .filter(|line| line.starts_with(|it: char| it.is_ascii_digit()));
    let rates = runs.filter_map(|line| {
        let (_, rate) = line.split_once("Copy: ")?;
        let rate: f64 = rate.strip_suffix(" MiB/s")?.parse().ok()?;
        Some(rate * f64::from(1 << 20))
    });
    rates.collect()
}

/// Returns what each instance read and wrote per second; its megabytes are 2^20 bytes.
///
/// ```text
/// stress-ng: info:  [31] stream: memory rate: 12345.67 MB read/sec, 8230.45 MB write/sec, …
/// ```
fn stress_rates(text: &str) -> Vec<f64> {
    let rates = text.lines().filter_map(|line| {
        let (_, rates) = line.split_once("memory rate: ")?;
        let (read, rest) = rates.split_once(" MB read/sec, ")?;
        let (write, _) = rest.split_once(" MB write/sec")?;
        let (read, write): (f64, f64) = (read.parse().ok()?, write.parse().ok()?);
        Some((read + write) * f64::from(1 << 20))
    });
    rates.collect()
}

#[cfg(test)]
mod tests {
    use super::{PEERS, likwid_rates, mbw_rates, stress_rates};

    #[test]
    fn bytes_are_those_that_the_program_reads_and_writes() {
        let likwid = "Time:\t\t\t1.4e-03 sec\nMByte/s:\t\t53728.00\nCycles per update:\t0.38\n";
        assert_eq!(likwid_rates(likwid), [53_728e6]);
        let mbw = "0\tMethod: DUMB\tElapsed: 0.1\tMiB: 16.00000\tCopy: 1024.000 MiB/s\n\
            AVG\tMethod: DUMB\tElapsed: 0.1\tMiB: 16.00000\tCopy: 900.000 MiB/s\n";
        assert_eq!(mbw_rates(mbw), [f64::from(1u32 << 30)]);
        let stress = "stress-ng: info:  [31] stream: memory rate: 600.00 MB read/sec, 424.00 MB \
            write/sec, 1028.81 double precision Mflop/sec (instance 0)\n";
        assert_eq!(stress_rates(stress), [f64::from(1 << 30)]);
        assert!(stress_rates("stream: run duration too short").is_empty());
    }

    #[test]
    fn what_a_processor_must_have_is_in_the_name_of_the_test() {
        let needs = |name: &str| PEERS.iter().find(|it| it.name() == name).unwrap().needs();
        assert_eq!(needs("likwid-bench copy_mem_avx512"), Some("avx512f"));
        assert_eq!(needs("likwid-bench load_avx"), Some("avx"));
        assert_eq!(needs("likwid-bench load_sse"), Some("sse2"));
        assert_eq!(needs("mbw -t0"), None);
    }
}
