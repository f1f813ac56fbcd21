//! `cargo xtask bench latency`: the local latency of `numalab latency` with a plain chase in C, and
//! its depth curve with lmbench's `lat_mem_rd`, on the same CPU and all in transparent huge pages;
//! and the time that a curve takes. If the last-level cache is so large that the time runs out, it
//! says what it left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::harness::{Harness, number};
use super::turns::Median;
use crate::guest::packages;
use crate::{guard, program, repository};

const PLAIN_CHASE: &str = concat!(include_str!("chase.h"), include_str!("plain_chase.c"));

const NUMALAB: &str = "numalab";
const PLAIN: &str = "plain chase";
const LAT_MEM_RD: &str = "lat_mem_rd";

/// Turns of local memory.
const TURNS: usize = 11;
/// Curves of numalab, each followed by one of `lat_mem_rd`, which takes over a minute.
const CURVES: u32 = 2;
/// Maximum deviation from 1 of the median ratio of all working sets, and of the ratio of local
/// memory; and of the working sets of one level, which are few.
const TOLERANCE: f64 = 0.02;
const LEVEL_TOLERANCE: f64 = 0.1;
/// Minimum number of levels, caches or memory, that must be judged.
const LEVELS_MIN: usize = 2;
/// How long a curve to 1 GiB may take, in seconds.
const CURVE_S_MAX: f64 = 5.0;
/// Makes malloc ask for transparent huge pages (glibc 2.35 and later), as numalab does.
pub(super) const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");

/// Working sets in bytes, and ns per load.
type Curve = Vec<(u64, f64)>;
/// The level of a working set, and the ratio of numalab's latency to that of `lat_mem_rd`.
type Ratio = (Option<String>, f64);

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    let (cpu, bytes) = local_memory(harness)?;
    let lat_mem_rd = lat_mem_rd();
    let caches = caches()?;
    let (mut seconds, mut found) = (Vec::new(), Vec::new());
    for turn in 0..CURVES {
        let document = harness.json(&["latency", "--curve", "--anyway", "--rounds", "1"])?;
        let run = harness.json(&["show", "last"])?;
        seconds.push(number(&run, "/cases/0/trials/0/window_s")?);
        let points = document["curves"][0]["points"].as_array();
        let point = |point: &Value| Some((point["bytes"].as_u64()?, point["ns"].as_f64()?));
        let points = points.context("a curve has points")?.iter();
        let ours: Curve = points.filter_map(point).collect();
        if let Ok(peer) = &lat_mem_rd {
            let limit = harness.supervisor.time_left() / (CURVES - turn) / 10 * 9;
            let theirs = peer_curve(harness, peer, (cpu, bytes), limit)?;
            found.extend(ratios(&ours, &theirs, &caches));
        }
    }
    let what = "curve of 1 KiB to 1 GiB";
    let seconds = Median::of(&seconds)?;
    harness.claims.at_most(what, seconds, CURVE_S_MAX, "s");
    match lat_mem_rd {
        Ok(_) => judge(harness, &found),
        Err(error) => {
            let why = format!("{error:#}");
            harness.claims.not_compared(LAT_MEM_RD, &why);
            Ok(())
        }
    }
}

/// Measures local memory in turns; returns the CPU and the working set.
fn local_memory(harness: &mut Harness) -> Result<(u64, u64)> {
    let plain = harness.c_program("plain_chase", PLAIN_CHASE)?;
    let words = ["latency", "--anyway", "--rounds", "1"];
    let mut run = harness.stored(&words)?;
    let (cpu, trial) = (cpu_of(&run)?, "/cases/0/trials/0");
    let bytes = number(&run, &format!("{trial}/kernel/working_set_bytes"))? as u64;
    let working_set = bytes.to_string();
    let mut seed = 0;
    let turns = harness.turns(TURNS, &[NUMALAB, PLAIN], |subject| {
        if subject == NUMALAB {
            run = harness.stored(&[&words[..], &["--working-set", &working_set]].concat())?;
            return number(&run, &format!("{trial}/value"));
        }
        seed += 1;
        let words = [cpu, bytes, seed].map(|word| word.to_string());
        let text = harness.text(Command::new(&plain).args(words))?;
        let mut words = text.split(' ');
        let found = words.next().zip(words.next());
        let (ns, in_huge) = found.with_context(|| format!("it said {text:?}"))?;
        let memory = &run["cases"][0]["trials"][0]["evidence"]["measurements"][0]["memory_after"];
        let kind = &memory["page_kind"];
        ensure!(
            (kind == "small") != (in_huge.parse::<u64>()? >= bytes),
            "not alike: numalab measured in {kind} pages, the plain chase had {in_huge} of {bytes} \
             bytes in huge ones"
        );
        Ok(ns.parse()?)
    })?;
    let heading = format!("{} MiB of local memory", bytes >> 20);
    turns.print(&heading, 1.0, "ns")?;
    let ratio = turns.ratio(NUMALAB, PLAIN)?;
    harness.claims.near_one(&heading, ratio, TOLERANCE);
    Ok((cpu, bytes))
}

/// Returns the CPU on which the first case of a run is measured.
pub(super) fn cpu_of(run: &Value) -> Result<u64> {
    let cpus = run["cases"][0]["placement"]["cpus"].as_str();
    let cpu = cpus.and_then(|cpus| cpus.parse().ok());
    cpu.with_context(|| format!("one CPU measures, and it is {cpus:?}"))
}

/// Fetches lmbench's program, which article 002 used: Debian's package (section non-free, because
/// its licence binds those who publish results of changed versions) is unpacked and not installed.
fn lat_mem_rd() -> Result<PathBuf> {
    let folder = repository::target().join("bench/lmbench");
    let part = packages::Part {
        suite: packages::Suite::Running(""),
        section: "non-free",
    };
    packages::unpack_from(part, &["lmbench"], &["*/lat_mem_rd"], &folder)?;
    let machines = std::fs::read_dir(folder.join("usr/lib/lmbench/bin"))?.flatten();
    let mut programs = machines.map(|machine| machine.path().join("lat_mem_rd"));
    let found = programs.find(|program| program.is_file());
    found.context("lmbench has no lat_mem_rd")
}

/// Runs it up to this working set, or as far as the time allows: lines of 64 bytes in random order
/// (`-t`), timed once (`-N 1`).
fn peer_curve(
    harness: &Harness,
    peer: &Path,
    (cpu, bytes): (u64, u64),
    limit: Duration,
) -> Result<Curve> {
    let mut command = Command::new("taskset");
    let mib = (bytes >> 20).to_string();
    command.args(["-c", &cpu.to_string()]).arg(peer);
    command.args(["-N", "1", "-t", &mib, "64"]);
    command.env(HUGE_PAGES.0, HUGE_PAGES.1);
    let output = harness.supervisor.output_within(&command, limit)?;
    let text = String::from_utf8_lossy(&output.stderr);
    let points = parsed(&text);
    let reached = points.last().map_or(0, |(bytes, _)| bytes >> 10);
    let is_past_limit = output.status.code() == Some(guard::PAST_LIMIT.into());
    if is_past_limit {
        println!("LEFT OUT: {LAT_MEM_RD} above {reached} KiB");
    }
    let is_done = is_past_limit || output.status.success();
    ensure!(
        is_done && reached > 0,
        "it ended with {}: {text}",
        output.status
    );
    Ok(points)
}

/// Parses MiB and ns; the working sets are whole multiples of 512 bytes.
///
/// ```text
/// "stride=64
/// 0.00049 1.069
/// 0.00293 1.069
/// ```
fn parsed(text: &str) -> Curve {
    let point = |line: &str| {
        let (mib, ns) = line.split_once(' ')?;
        let mib: f64 = mib.parse().ok()?;
        Some(((mib * 2048.0).round() as u64 * 512, ns.trim().parse().ok()?))
    };
    text.lines().filter_map(point).collect()
}

/// Prints the working sets that both have, and returns their ratios.
fn ratios(ours: &Curve, theirs: &Curve, caches: &[(String, u64)]) -> Vec<Ratio> {
    let both = ours.iter().filter_map(|(bytes, ns)| {
        let (_, other) = theirs.iter().find(|(size, _)| size == bytes)?;
        let (level, ratio) = (level(caches, *bytes), ns / other);
        let name = level.as_deref().unwrap_or("end of a cache");
        let kib = bytes >> 10;
        println!("{kib:>8} KiB, {name}: numalab {ns:.2} ns, {other:.2} ns, ratio {ratio:.3}");
        Some((level, ratio))
    });
    both.collect()
}

/// Claims concern the median of all ratios and that of each level, because few of the working sets
/// are in memory.
fn judge(harness: &mut Harness, ratios: &[Ratio]) -> Result<()> {
    let mut by_level: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (level, ratio) in ratios {
        if let Some(level) = level {
            by_level.entry(level).or_default().push(*ratio);
        }
    }
    let all: Vec<f64> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let (what, claims) = (format!("curve against {LAT_MEM_RD}"), &mut harness.claims);
    claims.near_one(&what, Median::of(&all).context("curve")?, TOLERANCE);
    let found = format!("{what}: {} levels", by_level.len());
    claims.add(&found, "two at least", by_level.len() >= LEVELS_MIN);
    for (level, ratios) in by_level {
        let what = format!("{level}, {} working sets", ratios.len());
        claims.near_one(&what, Median::of(&ratios)?, LEVEL_TOLERANCE);
    }
    Ok(())
}

/// Returns name and bytes of each data cache, from lscpu(1).
fn caches() -> Result<Vec<(String, u64)>> {
    let words = ["--bytes", "--caches=NAME,TYPE,ONE-SIZE"];
    let text = program::output("lscpu", &words, Path::new("/"))?;
    let lines = text.lines().skip(1).map(str::split_whitespace);
    let cache = |mut words: std::str::SplitWhitespace<'_>| {
        let (name, kind, bytes) = (words.next()?, words.next()?, words.next()?);
        let is_data = kind != "Instruction";
        Some((name.to_owned(), bytes.parse().ok()?)).filter(|_| is_data)
    };
    let mut caches: Vec<(String, u64)> = lines.filter_map(cache).collect();
    ensure!(!caches.is_empty(), "lscpu knows no cache: {text}");
    caches.sort_by_key(|(_, bytes)| *bytes);
    Ok(caches)
}

/// Returns the level that holds a working set. `None` near the end of a cache, from half to twice
/// its size: results there depend on which pages the kernel allocated and, in the last-level cache,
/// on neighbours.
fn level(caches: &[(String, u64)], bytes: u64) -> Option<String> {
    let is_near = |end: u64| bytes >= end / 2 && bytes <= end * 2;
    if caches.iter().any(|(_, end)| is_near(*end)) {
        return None;
    }
    let level = caches.iter().find(|(_, end)| bytes < *end);
    Some(level.map_or("memory", |(name, _)| name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{level, parsed, ratios};

    fn caches() -> Vec<(String, u64)> {
        [("L1d", 32 << 10), ("L2", 1 << 20), ("L3", 32 << 20)]
            .map(|(name, bytes)| (name.to_owned(), bytes))
            .into()
    }

    #[test]
    fn a_working_set_belongs_to_the_cache_that_holds_twice_of_it() {
        let check = |kib: u64, expected: Option<&str>| {
            assert_eq!(
                level(&caches(), kib << 10).as_deref(),
                expected,
                "{kib} KiB"
            );
        };
        check(8, Some("L1d"));
        check(16, None);
        check(64, None);
        check(128, Some("L2"));
        check(4 << 10, Some("L3"));
        check(32 << 10, None);
        check(128 << 10, Some("memory"));
    }

    #[test]
    fn working_sets_that_both_have_are_compared() {
        let text = "\"stride=64\n0.00049 1.069\n0.00293 2.0\n128.00000 100.0\n\n";
        let theirs = parsed(text);
        let expected = [(512, 1.069), (3072, 2.0), (128 << 20, 100.0)];
        assert_eq!(theirs, expected);
        let ours = vec![(1024, 1.0), (3072, 1.0), (128 << 20, 110.0)];
        let l1 = (Some("L1d".to_owned()), 0.5);
        let memory = (Some("memory".to_owned()), 1.1);
        assert_eq!(ratios(&ours, &theirs, &caches()), [l1, memory]);
    }
}
