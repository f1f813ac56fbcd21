//! `cargo xtask bench bandwidth`: `numalab bandwidth` with `likwid-bench`, `mbw` and `stress-ng
//! --stream`, all from Debian's packages: the same CPUs, the same number of bytes in all arrays
//! (`stress-ng` sizes its own), transparent huge pages, in alternating rounds. Bytes are those that
//! a program reads and writes, as STREAM counts them: write-allocate traffic is left out.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::claims::Claims;
use super::harness::{Harness, number};
use super::latency::HUGE_PAGES;
use super::turns::Median;
use crate::guest::packages;

/// Number of rounds.
const ROUNDS: usize = 11;
/// numalab is below a peer if it was slower in at least this many rounds (for two equals, in one of
/// 170 comparisons, by the binomial distribution) and the median ratio is below [`RATIO_MIN`].
const ROUNDS_BELOW: usize = 10;
/// The smallest median ratio that never counts as below.
const RATIO_MIN: f64 = 0.98;
/// numalab is also below a peer if the ratio was below [`RATIO_FAR`] in at least this many rounds:
/// medians of two equals scatter by a few per cent (docs/latency.md), but not three quarters of the
/// rounds by 5 %.
const ROUNDS_FAR_BELOW: usize = 8;
/// The ratio below which a round is far below.
const RATIO_FAR: f64 = 0.95;

/// The kernels of numalab, and the peers that do the same after it, by their tests: of
/// `likwid-bench`, of `mbw` (`-t`, one thread), of `stress-ng` (`--stream`: copy, scale, add and
/// triad in turn). `mbw` copies with `memcpy`, which bypasses the caches when it considers that
/// worthwhile, with a plain loop, and with `memcpy` block by block. The last copies the same block
/// of 256 KiB again and again (its loop advances only in the array that it writes), with `rep
/// movsb`, which does not read a line before writing it: in effect, it writes past the caches.
/// (With the tunable `glibc.cpu.x86_rep_movsb_threshold` above the block size, it loses a quarter
/// of its rate.)
const KERNELS: [(&str, &str); 6] = [
    ("read", "load_sse load_avx load_avx512"),
    ("nt-write", "-t2"),
    ("nt-copy", "copy_mem_sse copy_mem_avx copy_mem_avx512 -t0"),
    ("nt-triad", "stream_mem_avx stream_mem_avx512"),
    ("copy", "copy_sse copy_avx copy_avx512 -t1"),
    ("triad", "stream_avx stream_avx512 --stream"),
];
/// The programs, and their packages.
const PROGRAMS: [(&str, &str); 3] = [
    ("likwid-bench", "likwid"),
    ("mbw", "mbw"),
    ("stress-ng", "stress-ng"),
];

/// Returns the program of a test.
fn program(peer: &str) -> &'static str {
    let [likwid, mbw, stress] = PROGRAMS.map(|(program, _)| program);
    match peer {
        "--stream" => stress,
        "-t0" | "-t1" | "-t2" => mbw,
        _ => likwid,
    }
}

/// What numalab did, for a peer to do likewise.
struct Load {
    cpus: String,
    threads: usize,
    /// Of all arrays of all threads.
    bytes: u64,
    rate: f64,
}

/// Fails if numalab is below a peer; ends if a peer that this machine can run fails.
pub(super) fn run(harness: &mut Harness) -> Result<()> {
    for (program, package) in PROGRAMS {
        packages::require_program(program, package)?;
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").context("read /proc/cpuinfo")?;
    let flags = text.lines().find(|line| line.starts_with("flags"));
    let flags: Vec<&str> = flags.unwrap_or_default().split_whitespace().collect();
    let mut pairs: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut rates = BTreeMap::new();
        for (kernel, peers) in KERNELS {
            for load in loads(harness, kernel)? {
                let threads = load.threads;
                rates.insert((threads, kernel), load.rate);
                let peers = peers.split(' ').filter(|it| load.suits(it, &flags));
                let peers: Vec<&str> = peers.collect();
                ensure!(!peers.is_empty(), "{kernel}, {threads} threads: no peer");
                for peer in peers {
                    let ours = match peer {
                        "--stream" => mixed(rates[&(threads, "copy")], load.rate),
                        _ => load.rate,
                    };
                    let program = program(peer);
                    let name = format!("{kernel}, {threads} threads, against {program} {peer}");
                    let theirs = load.measure(harness, peer).with_context(|| name.clone())?;
                    pairs.entry(name).or_default().push([ours, theirs]);
                }
            }
        }
    }
    for (name, pairs) in &pairs {
        compare(name, pairs, &mut harness.claims)?;
    }
    Ok(())
}

fn compare(name: &str, pairs: &[[f64; 2]], claims: &mut Claims) -> Result<()> {
    let median = |of: fn(&[f64; 2]) -> f64| Median::of(&pairs.iter().map(of).collect::<Vec<_>>());
    let (ours, theirs) = (median(|it| it[0] / 1e9)?, median(|it| it[1] / 1e9)?);
    let ratio = median(|it| it[0] / it[1])?;
    let rounds_below = |limit: f64| pairs.iter().filter(|it| it[0] / it[1] < limit).count();
    let (below, far) = (rounds_below(1.0), rounds_below(RATIO_FAR));
    let found = format!(
        "{name}: {ours} GB/s, {theirs} GB/s, ratio {ratio}, below in {below} rounds, by 5 % {far}"
    );
    let is_below = ratio.median < RATIO_MIN && below >= ROUNDS_BELOW;
    claims.add(&found, "not below", !is_below && far < ROUNDS_FAR_BELOW);
    Ok(())
}

/// Measures a kernel with all threads of the first node and with one.
fn loads(harness: &Harness, kernel: &str) -> Result<Vec<Load>> {
    let run = harness.stored(&["bandwidth", "--kernel", kernel, "--anyway", "--rounds", "1"])?;
    let cases = run["cases"].as_array().context("a run has cases")?;
    let one = cases.iter().find(|case| {
        let name = case["name"].as_str().unwrap_or_default();
        name.starts_with("threads-1-on-")
    });
    let cases = [cases.first(), one].into_iter().flatten();
    cases.map(Load::of).collect()
}

impl Load {
    fn of(case: &Value) -> Result<Self> {
        let cpus = case["placement"]["cpus"].as_str().context("CPUs")?;
        // In the kernel's format, such as `0-3,8`.
        let count = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some(last - first + 1)
        };
        let threads: Option<usize> = cpus.split(',').map(count).sum();
        Ok(Load {
            cpus: cpus.to_owned(),
            threads: threads.with_context(|| format!("CPUs {cpus}"))?,
            bytes: number(case, "/trials/0/kernel/working_set_bytes")? as u64,
            rate: number(case, "/trials/0/value")?,
        })
    }

    /// Whether a peer can run with these threads on a processor with these flags.
    fn suits(&self, peer: &str, flags: &[&str]) -> bool {
        let needs = [("avx512", "avx512f"), ("avx", "avx"), ("sse", "sse2")];
        let flag = needs.iter().find(|(part, _)| peer.contains(part));
        let is_able = flag.is_none_or(|(_, flag)| flags.contains(flag));
        is_able && (!peer.starts_with("-t") || self.threads == 1)
    }

    /// Has a peer do the same; returns its bytes per second.
    fn measure(&self, harness: &Harness, peer: &str) -> Result<f64> {
        let Load { threads, bytes, .. } = self;
        let (words, rates) = match peer {
            // It sizes its own arrays, each four times the last-level cache: it reads what it has
            // just written, so part of smaller arrays would come from the cache.
            "--stream" => {
                let words = format!("--stream-madvise hugepage --timeout 6 {peer} {threads}");
                (words, *threads)
            }
            "-t0" | "-t1" | "-t2" => (format!("-q -n 10 {peer} {}", (bytes >> 20) / 2), 1),
            _ => {
                let words = format!("-t {peer} -w N:{}kB:{threads} -i 20", bytes / 1000);
                (words, 1)
            }
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &self.cpus, program(peer)]);
        command.args(words.split(' '));
        let output = harness
            .supervisor
            .output(command.env(HUGE_PAGES.0, HUGE_PAGES.1))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let found: Vec<f64> = text.lines().filter_map(rate).collect();
        let is_whole = output.status.success() && found.len() >= rates;
        ensure!(is_whole, "it ended with {}: {text}", output.status);
        Ok(match peer {
            "-t2" => Median::of(&found)?.median,
            // It counts one of the arrays.
            "-t0" | "-t1" => 2.0 * Median::of(&found)?.median,
            _ => found.iter().sum(),
        })
    }
}

/// Returns the bytes per second in a line of `likwid-bench`, of a run of `mbw`, or of an instance
/// of `stress-ng`, whose megabytes are 2^20 bytes.
///
/// ```text
/// MByte/s:  53728.89
/// 0 Method: DUMB Elapsed: 0.00090 MiB: 16.00000 Copy: 17857.143 MiB/s
/// AVG Method: DUMB Elapsed: 0.00295 MiB: 16.00000 Copy: 5424.648 MiB/s
/// stress-ng: info:  [31] stream: memory rate: 12345.67 MB read/sec, 8230.45 MB write/sec, …
/// ```
fn rate(line: &str) -> Option<f64> {
    let mib = f64::from(1 << 20);
    if let Some(rate) = line.strip_prefix("MByte/s:") {
        return Some(rate.trim().parse::<f64>().ok()? * 1e6);
    }
    if let Some((_, rates)) = line.split_once("memory rate: ") {
        let (read, rest) = rates.split_once(" MB read/sec, ")?;
        let (write, _) = rest.split_once(" MB write/sec")?;
        return Some((read.parse::<f64>().ok()? + write.parse::<f64>().ok()?) * mib);
    }
    let (run, rate) = line.split_once("Copy: ")?;
    let rate: f64 = rate.strip_suffix(" MiB/s")?.parse().ok()?;
    (!run.starts_with("AVG")).then_some(rate * mib)
}

/// Returns the rate of copy, scale, add and triad in turn: two kernels that move 16 bytes per
/// element, and two that move 24.
fn mixed(copy: f64, triad: f64) -> f64 {
    (32.0 + 48.0) / (32.0 / copy + 48.0 / triad)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Claims, Load, ROUNDS, compare, mixed, rate};

    #[test]
    fn bytes_are_those_that_a_program_reads_and_writes() {
        let check = |text: &str, expected: &[f64]| {
            assert_eq!(text.lines().filter_map(rate).collect::<Vec<_>>(), expected);
        };
        check(
            "Time:\t\t\t1.4e-03 sec\nMByte/s:\t\t53728.00\n",
            &[53_728e6],
        );
        let gib = f64::from(1u32 << 30);
        let mbw = "0\tMethod: DUMB\tElapsed: 0.1\tMiB: 16.00000\tCopy: 1024.000 MiB/s\n\
            AVG\tMethod: DUMB\tElapsed: 0.1\tMiB: 16.00000\tCopy: 900.000 MiB/s\n";
        check(mbw, &[gib]);
        let stress = "stress-ng: info:  [31] stream: memory rate: 600.00 MB read/sec, 424.00 MB \
            write/sec, 1028.81 double precision Mflop/sec (instance 0)";
        check(stress, &[gib]);
        check("stream: run duration too short", &[]);
        assert!((mixed(10.0, 20.0) - 80.0 / 5.6).abs() < 1e-12);
    }

    #[test]
    fn a_peer_runs_as_numalab_did_or_is_left_out() {
        let trial = json!({ "value": 2.5, "kernel": { "working_set_bytes": 4096 } });
        let load = |cpus: &str| {
            Load::of(&json!({ "placement": { "cpus": cpus }, "trials": [trial] })).unwrap()
        };
        assert_eq!(load("0-2,8").threads, 4);
        assert!(!load("0-1").suits("-t0", &[]) && load("1").suits("-t0", &[]));
        let avx = ["sse2", "avx"];
        assert!(load("0").suits("load_avx", &avx));
        assert!(!load("0").suits("load_avx512", &avx));
    }

    #[test]
    fn a_peer_that_moves_more_is_told() {
        // This many rounds at a ratio, the others above 1.
        let check = |count: usize, ratio: f64, is_met: bool| {
            let mut pairs = [[1.1, 1.0]; ROUNDS];
            pairs[..count].fill([ratio, 1.0]);
            let mut claims = Claims::default();
            compare("it", &pairs, &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{count} {ratio}");
        };
        check(11, 1.0, true);
        check(11, 0.99, true);
        check(10, 0.97, false);
        check(9, 0.97, true);
        check(8, 0.9, false);
        check(7, 0.9, true);
    }
}
