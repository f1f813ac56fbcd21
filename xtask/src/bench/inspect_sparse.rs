//! The part of `cargo xtask bench inspect` with a sparse segment: of 1 TiB that two processes have
//! mapped, a page exists every 16 MiB.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::claims::Claims;
use super::looks::{SAMPLE_SECONDS_MAX, timed};
use super::sharers::Sharers;
use super::spread::Spread;
use super::supervisor::Supervisor;

/// Length of the segment, and how far its pages are apart.
const BYTES: &str = "1099511627776";
const STEP: &str = "16777216";
/// Inspections in turns.
const ROUNDS: usize = 5;
/// Most times as long as reading its page map once, which no inspection without `PAGEMAP_SCAN`
/// (Linux 6.7) can go below.
const PAGE_MAP_MAX: f64 = 1.0;
/// An entry of a page map, and the page that it stands for.
const ENTRY_BYTES: u64 = 8;
const PAGE_BYTES: u64 = 4096;

/// Times inspections and samples against reading the page map of the segment once, in turns.
pub(super) fn run(
    binary: &Path,
    folder: &Path,
    supervisor: &Supervisor,
    claims: &mut Claims,
) -> Result<()> {
    let sharers = Sharers::start(folder, supervisor, &[BYTES, BYTES, STEP, "2"])?;
    let mut rows = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        supervisor.check()?;
        let inspect = |option: &[&str]| {
            let mut command = Command::new(binary);
            timed(
                command
                    .args(["inspect", &sharers.first, "--json"])
                    .args(option),
            )
        };
        let round = [
            reading_page_map(&sharers.first)?,
            inspect(&[])?,
            inspect(&["--sample"])?,
        ];
        for (row, time) in rows.iter_mut().zip(round) {
            row.push(time);
        }
    }
    println!("a page every 16 MiB of 1 TiB, in 2 processes, medians of {ROUNDS} looks (range), s:");
    let names = [
        "reading its page map once",
        "numalab inspect",
        "numalab inspect --sample",
    ];
    for (name, row) in names.iter().zip(&rows) {
        println!("{name:39} {}", Spread::of(row).context("there are rounds")?);
    }
    judge(&rows, claims);
    Ok(())
}

/// Reads the entries of all pages of the longest mapping of a process; returns the seconds.
fn reading_page_map(pid: &str) -> Result<f64> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let range = |line: &str| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?))
    };
    let ranges = maps.lines().filter_map(range);
    let longest = ranges.max_by_key(|(start, end)| end - start);
    let (start, end) = longest.context("the process maps nothing")?;
    let file = File::open(format!("/proc/{pid}/pagemap"))?;
    let mut bytes = vec![0; 1 << 20];
    let began = Instant::now();
    let (mut at, end) = (
        start / PAGE_BYTES * ENTRY_BYTES,
        end / PAGE_BYTES * ENTRY_BYTES,
    );
    while at < end {
        let count = usize::try_from(end - at).map_or(bytes.len(), |left| left.min(bytes.len()));
        let read = file.read_at(&mut bytes[..count], at)?;
        ensure!(read > 0, "the page map of process {pid} ends early");
        at += read as u64;
    }
    Ok(began.elapsed().as_secs_f64())
}

fn judge([page_map, exact, sample]: &[Vec<f64>; 3], claims: &mut Claims) {
    let ratios: Vec<f64> = exact
        .iter()
        .zip(page_map)
        .map(|(one, map)| one / map)
        .collect();
    let (Some(ratio), Some(sample)) = (Spread::of(&ratios), Spread::of(sample)) else {
        return claims.not_compared("reading the page map", "there is no time of both");
    };
    claims.add(
        &format!("1 TiB, sparse: {ratio} times as long as reading its page map once"),
        &format!("at most {PAGE_MAP_MAX}"),
        ratio.median <= PAGE_MAP_MAX,
    );
    claims.add(
        &format!("1 TiB, sparse: a sample takes {sample} s"),
        &format!("at most {SAMPLE_SECONDS_MAX} s"),
        sample.median <= SAMPLE_SECONDS_MAX,
    );
}

#[cfg(test)]
mod tests {
    use super::{Claims, judge, reading_page_map};

    #[test]
    fn a_look_longer_than_the_page_map_and_a_slow_sample_are_told() {
        let is_met = |exact: f64, sample: f64| {
            let mut claims = Claims::default();
            judge(&[vec![1.0], vec![exact], vec![sample]], &mut claims);
            claims.conclude().is_ok()
        };
        assert!(is_met(1.0, 0.2));
        assert!(!is_met(1.1, 0.2));
        assert!(!is_met(1.0, 0.21));
    }

    #[test]
    fn the_page_map_of_this_process_is_read() {
        assert!(reading_page_map("self").unwrap() > 0.0);
    }
}
