//! `cargo xtask bench inspect`: the time of `numalab inspect` on much memory, many processes, and a
//! sparse segment, with that of `numastat -p` (Debian package numactl) and with lower bounds for
//! any program that asks the kernel: reading the maps of each process once, and the page map of the
//! segment. Nothing is claimed in seconds.

use std::process::Command;

use anyhow::{Context, Result};

use super::harness::{Harness, seconds};
use super::holder::{Holder, MANY_PROCESSES, PAGE_HOLDER};
use super::huge_pages::HugePages;
use crate::guest::packages;

const NUMASTAT: &str = "numastat -p";
const INSPECT: &str = "numalab inspect";
const ONLY_SHARED: &str = "numalab inspect --only-shared";
const SAMPLE: &str = "numalab inspect --sample";
const VERSION: &str = "numalab --version";
const MAPS: &str = "reading the maps of each process";
const PAGE_MAP: &str = "reading the page map of the segment";
#[rustfmt::skip]
const SUBJECTS: [&str; 7] = [NUMASTAT, INSPECT, ONLY_SHARED, SAMPLE, VERSION, MAPS, PAGE_MAP];

/// Processes and what they hold: what, the program and its words, pages of 2 MiB that they need,
/// rounds, and how many times as long as another subject a subject may take in the same rounds: the
/// speed of a machine is in both.
type Situation = (
    &'static str,
    ((&'static str, &'static str), &'static str),
    u64,
    usize,
    [(&'static str, f64, &'static str); 2],
);

#[rustfmt::skip]
const SITUATIONS: [Situation; 4] = [
    ("4 GiB in pages of 4 KiB in 50 processes",
     (PAGE_HOLDER, "4096 50 memfd"), 0, 9,
     [(INSPECT, 1.0 / 20.0, NUMASTAT), (SAMPLE, 1.0 / 10.0, NUMASTAT)]),
    // No claim against numastat: its time grows with the pages, some 70 ns for each in each process
    // on Linux 6.18, and that of an inspection hardly does (docs/inspect.md).
    ("4 GiB in pages of 2 MiB in 50 processes",
     (PAGE_HOLDER, "4096 50 memfd-huge"), 4096 / 2, 9,
     [(INSPECT, 10.0, MAPS), (SAMPLE, 10.0, MAPS)]),
    // An inspection reads of each process its identity (twice, to notice an end), title, maps
    // (twice, to notice a change), page map, status and policy.
    ("1 GiB, a quarter of which exists, in 10,000 processes",
     (MANY_PROCESSES, "1073741824 268435456 4096 10000"), 0, 5,
     [(INSPECT, 8.0, MAPS), (INSPECT, 3.0, NUMASTAT)]),
    // No inspection without `PAGEMAP_SCAN` (Linux 6.7) can go below reading the page map.
    ("a page every 16 MiB of 1 TiB in 2 processes",
     (MANY_PROCESSES, "1099511627776 1099511627776 16777216 2"), 0, 5,
     [(INSPECT, 1.0, PAGE_MAP), (SAMPLE, 1.0 / 10.0, PAGE_MAP)]),
];

/// Needs root to enlarge the pool of huge pages while it runs.
pub(super) fn run(harness: &mut Harness) -> Result<()> {
    packages::require_program("numastat", "numactl")?;
    for (what, (program, words), huge_pages, rounds, limits) in SITUATIONS {
        let pages = (huge_pages > 0).then(|| HugePages::require(harness, huge_pages));
        let _pages = match pages.transpose() {
            Ok(pages) => pages,
            Err(error) => {
                harness.claims.not_compared(what, &format!("{error:#}"));
                continue;
            }
        };
        let holder = Holder::start(harness, &[], program, words)?;
        let (family, page_map) = (holder.family()?, page_map(&holder.pid)?);
        let turns = harness.turns(rounds, &SUBJECTS, |subject| {
            let inspect = |options: &[&str]| {
                let mut command = harness.numalab(&["inspect", &holder.pid, "--json"]);
                seconds(command.args(options))
            };
            match subject {
                NUMASTAT => seconds(Command::new("numastat").arg("-p").args(&family)),
                INSPECT => inspect(&[]),
                ONLY_SHARED => inspect(&["--only-shared"]),
                SAMPLE => inspect(&["--sample"]),
                VERSION => seconds(&mut harness.numalab(&["--version"])),
                MAPS => {
                    let maps = family.iter().map(|pid| format!("/proc/{pid}/maps"));
                    seconds(Command::new("cat").args(maps))
                }
                _ => seconds(Command::new("dd").args(&page_map)),
            }
        })?;
        turns.print(what, 1.0, "s")?;
        if limits.iter().all(|(_, _, peer)| *peer != NUMASTAT) {
            let ratio = turns.ratio(INSPECT, NUMASTAT)?;
            println!("{INSPECT}: {ratio} times {NUMASTAT}; nothing is claimed");
        }
        for (subject, most, peer) in limits {
            harness.claims.at_most_times(&turns, subject, most, peer)?;
        }
    }
    Ok(())
}

/// Returns the words with which dd(1) reads the entries of all pages of the longest mapping of a
/// process: 8 bytes for each page of 4096.
fn page_map(pid: &str) -> Result<Vec<String>> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).context("read maps")?;
    let range = |line: &str| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?))
    };
    let ranges = maps.lines().filter_map(range);
    let longest = ranges.max_by_key(|(start, end)| end - start);
    let (start, end) = longest.context("the process maps nothing")?;
    let [skip, count] = [start, end - start].map(|bytes| bytes / 4096 * 8);
    let words = format!(
        "if=/proc/{pid}/pagemap of=/dev/null bs=1M iflag=skip_bytes,count_bytes status=none \
         skip={skip} count={count}"
    );
    Ok(words.split(' ').map(str::to_owned).collect())
}
