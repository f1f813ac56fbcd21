//! `cargo xtask bench matrix-time`: how long `numalab latency` and `numalab bandwidth` take where
//! the last-level cache has 300 MiB (as an option, on any machine), whether the plan of the first
//! says so, and whether the working set that it finds is large enough: in the same memory, its
//! latency is that of four times the cache.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::harness::{Harness, number};
use super::latency::cpu_of;
use super::turns::{Median, Turns};

const PART_CHASE: &str = concat!(include_str!("chase.h"), include_str!("part_chase.c"));

/// The last-level cache, and four of them in bytes.
const CACHE: [&str; 2] = ["--last-level-cache", "300MiB"];
const FOUR_CACHES: u64 = 1200 << 20;
/// How long a matrix of one node may take, in seconds.
const ONE_NODE_S_MAX: f64 = 60.0;
/// Turns of a plan and its matrix.
const TURNS: usize = 9;
/// How far the time that a matrix took may be from its estimate, as a factor either way.
const ESTIMATE_FACTOR: f64 = 1.5;
/// Memories in which the working set found is compared with four times the cache; turns in each.
const MEMORIES: u64 = 7;
const TURNS_OF_MEMORY: u64 = 21;
/// Maximum deviation from 1 of the median ratio of both.
const TOLERANCE: f64 = 0.02;
/// A working set of which caches hold much, in bytes. The comparison has to show that.
const TOO_SMALL: u64 = 16 << 20;
/// Maximum median ratio of it to four times the cache.
const TOO_SMALL_MAX: f64 = 1.0 - 2.0 * TOLERANCE;

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    for name in ["latency", "bandwidth"] {
        let began = Instant::now();
        let document = harness.json(&[name, "--anyway", CACHE[0], CACHE[1]])?;
        let took_s = Median::of(&[began.elapsed().as_secs_f64()])?;
        let nodes = document["cpu_nodes"].as_array().map_or(0, Vec::len);
        let what = format!("{name}, {nodes} nodes");
        match nodes {
            1 => harness.claims.at_most(&what, took_s, ONE_NODE_S_MAX, "s"),
            _ => println!("{what}: {took_s} s; the claim is of one node"),
        }
    }
    let (bytes, group) = in_turns(harness)?;
    let cpu = cpu_of(&harness.json(&["show", "last"])?)?;
    let chase = harness.c_program("part_chase", PART_CHASE)?;
    let ratio = |part: u64| -> Result<Median> {
        let mut ratios = Vec::new();
        for seed in 0..MEMORIES {
            let words = [cpu, part, FOUR_CACHES, group, TURNS_OF_MEMORY, seed];
            let words = words.map(|word| word.to_string());
            let text = harness.text(Command::new(&chase).args(words))?;
            for line in text.lines() {
                let (part, whole) = line.split_once(' ').context("two figures")?;
                ratios.push(part.parse::<f64>()? / whole.parse::<f64>()?);
            }
        }
        Median::of(&ratios)
    };
    let (found, too_small) = (ratio(bytes)?, ratio(TOO_SMALL)?);
    let what = format!("{} MiB, found, against 1200 MiB", bytes >> 20);
    harness.claims.near_one(&what, found, TOLERANCE);
    // Or it would see nothing.
    let (what, unit) = ("16 MiB, too small", "times 1200 MiB");
    harness.claims.at_most(what, too_small, TOO_SMALL_MAX, unit);
    Ok(())
}

/// Runs the matrix and compares its time with a plan made just before; returns the median of the
/// working sets found, and the bytes that are visited at random before others.
fn in_turns(harness: &mut Harness) -> Result<(u64, u64)> {
    let usual = ["latency", CACHE[0], CACHE[1], "--rounds", "5"];
    let with = |more: &str| harness.json(&[&usual[..], &[more]].concat());
    let (mut turns, mut group) = (Turns::default(), 0.0);
    for _ in 0..TURNS {
        let planned_s = number(&with("--dry-run")?, "/seconds_max")?;
        let began = Instant::now();
        let document = with("--anyway")?;
        let took_s = began.elapsed().as_secs_f64();
        let method = |field: &str| number(&document["method"], field);
        let bytes = method("/working_set_bytes")?;
        group = method("/tlb_group_pages")? * method("/page_bytes")?;
        println!("{bytes} bytes, {took_s:.1} s, planned {planned_s:.1} s");
        turns.note("took", took_s);
        turns.note("planned", planned_s);
        turns.note("bytes", bytes);
    }
    let time = turns.ratio("took", "planned")?;
    let is_met = time.median <= ESTIMATE_FACTOR && time.median >= 1.0 / ESTIMATE_FACTOR;
    let found = format!("time against plan: {time}");
    harness.claims.add(&found, "within a factor of 1.5", is_met);
    Ok((turns.median("bytes")?.median as u64, group as u64))
}
