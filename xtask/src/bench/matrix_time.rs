//! `cargo xtask bench matrix-time`: how long `numalab latency` and `numalab bandwidth` take where
//! the last-level cache has 300 MiB (as an option, on any machine), whether the plan of the first
//! says so, and whether the working set that it finds is large enough: in the same memory, its
//! latency is that of four times the cache.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::claims::Claims;
use super::own_binary::{OwnBinary, cpu_of};
use super::part_chase::{PartChase, PartOf};
use super::spread::{Median, Spread};

/// The last-level cache.
const CACHE: &str = "300MiB";
/// Four times the cache, in bytes.
const FOUR_CACHES: u64 = 1200 << 20;
/// How long a matrix of one node may take, in seconds.
const ONE_NODE_S_MAX: f64 = 60.0;
/// Turns of a plan and its matrix.
const TURNS: usize = 9;
/// Rounds of each turn.
const ROUNDS: &str = "5";
/// Memories in which the working set found is compared with four times the cache.
const MEMORIES: u64 = 7;
/// Turns in each of them.
const TURNS_OF_MEMORY: u64 = 21;
/// Maximum deviation from 1 of the median ratio of both.
const TOLERANCE: f64 = 0.02;
/// A working set of which caches hold much, in bytes. The comparison has to show that.
const TOO_SMALL: u64 = 16 << 20;
/// Maximum median ratio of it to four times the cache.
const TOO_SMALL_MAX: f64 = 1.0 - 2.0 * TOLERANCE;
/// How far the time that a matrix took may be from its estimate, as a factor either way.
const ESTIMATE_FACTOR: f64 = 1.5;

/// Builds, measures, and judges.
pub(super) fn run(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let mut claims = Claims::default();
    for name in ["latency", "bandwidth"] {
        whole(&numalab, name, &mut claims)?;
    }
    let found = in_turns(&numalab, &mut claims)?;
    compared(&numalab, found, &mut claims)?;
    claims.conclude()
}

/// Runs a matrix as a user does, with the usual interval.
fn whole(numalab: &OwnBinary, name: &str, claims: &mut Claims) -> Result<()> {
    let words = [name, "--anyway", "--last-level-cache", CACHE, "--json"];
    let begun = Instant::now();
    let document = numalab.json(&words)?;
    let took_s = begun.elapsed().as_secs_f64();
    let cells = document["cpu_nodes"].as_array().map_or(0, Vec::len);
    let method = &document["method"];
    let bytes = ["working_set_bytes", "bytes_per_thread"].map(|field| method[field].as_u64());
    let bytes = bytes.into_iter().flatten().next();
    let found = format!(
        "{name}: {cells} nodes, last-level cache {CACHE}: {took_s:.1} s, {} rounds of {} MiB",
        method["rounds"],
        bytes.with_context(|| format!("{name} has a working set"))? >> 20,
    );
    match cells {
        1 => claims.add(&found, "at most 60 s", took_s <= ONE_NODE_S_MAX),
        _ => println!("{found}; the claim is of one node"),
    }
    Ok(())
}

/// Runs the matrix and compares its time with a plan made just before; returns the median of the
/// working sets found.
fn in_turns(numalab: &OwnBinary, claims: &mut Claims) -> Result<PartOf> {
    let usual = [
        "latency",
        "--last-level-cache",
        CACHE,
        "--rounds",
        ROUNDS,
        "--json",
    ];
    let with = |more: &str| numalab.json(&[&usual[..], &[more]].concat());
    let (mut times, mut sizes, mut group) = (Vec::new(), Vec::new(), 0);
    for turn in 0..TURNS {
        let planned_s = with("--dry-run")?["seconds_max"].as_f64();
        let begun = Instant::now();
        let ours = with("--anyway")?;
        let took_s = begun.elapsed().as_secs_f64();
        let method = |field: &str| {
            let number = ours["method"][field].as_u64();
            number.with_context(|| format!("the method of a matrix has {field}"))
        };
        let bytes = method("working_set_bytes")?;
        group = method("tlb_group_pages")? * method("page_bytes")?;
        let planned_s = planned_s.context("a plan has a time")?;
        println!(
            "turn {turn}: {} MiB, {took_s:.1} s, planned {planned_s:.1} s",
            bytes >> 20
        );
        times.push(took_s / planned_s);
        sizes.push(bytes);
    }
    let time = Spread::of(&times).context("there are turns")?;
    let found = format!("time against plan: {time}");
    let is_met = time.median <= ESTIMATE_FACTOR && time.median >= 1.0 / ESTIMATE_FACTOR;
    claims.add(&found, "median within a factor of 1.5", is_met);
    sizes.sort_unstable();
    Ok(PartOf {
        cpu: cpu_of(&numalab.last_run()?["cases"][0])?,
        part: sizes[sizes.len() / 2],
        whole: FOUR_CACHES,
        group,
    })
}

/// Compares the working set found, and one that is too small, with four times the cache, by a
/// program that shares no code with numalab.
fn compared(numalab: &OwnBinary, found: PartOf, claims: &mut Claims) -> Result<()> {
    let chase = PartChase::build(&numalab.folder)?;
    let compare = |asked: &PartOf| {
        let mut ratios = Vec::new();
        for memory in 0..MEMORIES {
            ratios.extend(chase.ratios(&numalab.supervisor, asked, TURNS_OF_MEMORY, memory)?);
        }
        let ratio = Median::of(&ratios).context("there are turns")?;
        let [part, whole] = [asked.part, asked.whole].map(|bytes| bytes >> 20);
        Ok::<_, anyhow::Error>((
            ratio.median,
            format!("{part} MiB against {whole} MiB: {ratio}"),
        ))
    };
    let (median, said) = compare(&found)?;
    let is_met = (median - 1.0).abs() <= TOLERANCE;
    claims.add(&said, "working set found, median within 2 %", is_met);
    let (median, said) = compare(&PartOf {
        part: TOO_SMALL,
        ..found
    })?;
    let is_met = median <= TOO_SMALL_MAX;
    claims.add(&said, "too small, median seen to be 4 % lower", is_met);
    Ok(())
}
