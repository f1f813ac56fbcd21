//! `cargo xtask bench matrix-time`: how long `numalab latency` and `numalab bandwidth` take where
//! the last-level cache has 300 MiB (as an option, on any machine), whether the plan of the first
//! says so, and whether the working set that it finds gives the figure of one of four times the
//! cache.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::claims::Claims;
use super::own_binary::OwnBinary;
use super::spread::Spread;

/// The last-level cache.
const CACHE: &str = "300MiB";
/// Four times the cache.
const FOUR_CACHES: &str = "1200MiB";
/// How long a matrix of one node may take, in seconds.
const ONE_NODE_S_MAX: f64 = 60.0;
/// Turns of both working sets.
const TURNS: usize = 9;
/// Rounds of each turn.
const ROUNDS: &str = "5";
/// Maximum deviation from 1 of the median ratio of both.
const TOLERANCE: f64 = 0.02;
/// How far the time that a matrix took may be from its estimate, as a factor either way.
const ESTIMATE_FACTOR: f64 = 1.5;

/// Builds, measures, and judges.
pub(super) fn run(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let mut claims = Claims::default();
    for name in ["latency", "bandwidth"] {
        whole(&numalab, name, &mut claims)?;
    }
    in_turns(&numalab, &mut claims)?;
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

/// Runs the matrix with the working set that it finds and with four times the cache, in turns;
/// compares the first with a plan made just before.
fn in_turns(numalab: &OwnBinary, claims: &mut Claims) -> Result<()> {
    let usual = [
        "latency",
        "--last-level-cache",
        CACHE,
        "--rounds",
        ROUNDS,
        "--json",
    ];
    let with = |more: &[&str]| numalab.json(&[&usual[..], more].concat());
    let (mut figures, mut times, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let planned_s = with(&["--dry-run"])?["seconds_max"].as_f64();
        let begun = Instant::now();
        let ours = with(&["--anyway"])?;
        let took_s = begun.elapsed().as_secs_f64();
        let four = with(&["--anyway", "--working-set", FOUR_CACHES])?;
        let (ours_ns, four_ns) = (local_ns(&ours)?, local_ns(&four)?);
        let bytes = ours["method"]["working_set_bytes"].as_f64();
        let bytes = bytes.context("a matrix has a working set")?;
        let planned_s = planned_s.context("a plan has a time")?;
        println!(
            "turn {turn}: {:.0} MiB {ours_ns:.1} ns, {FOUR_CACHES} {four_ns:.1} ns; {took_s:.1} s, \
             planned {planned_s:.1} s",
            bytes / f64::from(1 << 20)
        );
        figures.push(ours_ns / four_ns);
        times.push(took_s / planned_s);
        sizes.push(bytes / f64::from(1 << 20));
    }
    let spread = |values: &[f64]| Spread::of(values).context("there are turns");
    let (ratio, time) = (spread(&figures)?, spread(&times)?);
    println!("working sets found: {} MiB", spread(&sizes)?);
    let found = format!("working set found against {FOUR_CACHES}: {ratio}");
    let is_met = (ratio.median - 1.0).abs() <= TOLERANCE;
    claims.add(&found, "median within 2 %", is_met);
    let found = format!("time against plan: {time}");
    let is_met = time.median <= ESTIMATE_FACTOR && time.median >= 1.0 / ESTIMATE_FACTOR;
    claims.add(&found, "median within a factor of 1.5", is_met);
    Ok(())
}

/// Returns the first figure of a matrix, which is of local memory.
fn local_ns(document: &Value) -> Result<f64> {
    document["ns"][0][0]
        .as_f64()
        .context("a matrix has a figure")
}
