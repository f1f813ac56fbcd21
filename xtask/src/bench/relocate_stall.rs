//! `cargo xtask bench move-stall`: what sessions wait for a page while it moves. Two sessions read
//! random pages of a segment in a two-node guest while nothing moves, and while `numalab move`,
//! `migratepages` and the kernel's NUMA balancing (`numalab balance`) bring it to their node, in
//! turns. A guest is emulated: only ratios to the times with nothing moving count.

use anyhow::{Result, ensure};

use super::claims::Claims;
use super::harness::Harness;
use super::holder::PAGE_HOLDER;
use super::relocate::{in_guest, lines};
use super::turns::Turns;
use crate::guest::{self, Options, Relay};

const READER: &str = include_str!("page_reader.c");
const SCRIPT: &str = include_str!("relocate_stall.sh");
/// Size of the segment in MiB: the script has it as `MIB`. Beside two sessions that read, an
/// emulated guest moves little more than 1 MiB in a second.
const MIB: u64 = 16;
/// How the memory is moved, as the script names it.
const NAMES: [&str; 4] = ["nothing", "numalab", "migratepages", "balancing"];
/// What is compared with nothing moving: reads of both sessions, and times of the reads of the one
/// that waited longer.
const FIGURES: [&str; 4] = ["reads in a second", "p99", "p99.9", "longest"];
/// The median of the p99 while numalab moves, as a multiple of that while migratepages does, at
/// most (docs/move.md has what was measured). The 99.9th percentile says more about the few CPUs of
/// the host, which the emulated ones share, and is only printed.
const P99_MAX: f64 = 1.5;

/// Fails if not every page moved, or if sessions wait longer for numalab than for migratepages.
pub(super) fn run(harness: &mut Harness) -> Result<()> {
    let reader = harness.c_program("page_reader", READER)?;
    let holder = harness.c_program(PAGE_HOLDER.0, PAGE_HOLDER.1)?;
    let options = Options {
        timeout: harness.supervisor.time_left(),
        binaries: vec![harness.binary.clone(), reader, holder],
        ..Options::of(guest::find("two-node")?)
    };
    println!("NAME PAGES-MOVED MS, and of both sessions READS P99-NS P999-NS LONGEST-NS:");
    let text = in_guest(
        &options,
        &SCRIPT.replace("MIB", &MIB.to_string()),
        Relay::Pass,
    )?;
    judge(&text, &mut harness.claims)
}

fn judge(text: &str, claims: &mut Claims) -> Result<()> {
    let mut turns = Turns::default();
    for name in NAMES {
        for [pages, ms, reads, p99, p999, longest, others @ ..] in lines::<10>(text, name)? {
            let [reads_too, p99_too, p999_too, longest_too] = others;
            let is_read = reads > 0.0 && reads_too > 0.0;
            ensure!(is_read, "a session did not read beside {name}");
            for (figure, value) in [
                ("pages", pages),
                ("seconds", ms / 1e3),
                ("reads in a second", (reads + reads_too) / ms * 1e3),
                ("p99", p99.max(p99_too)),
                ("p99.9", p999.max(p999_too)),
                ("longest", longest.max(longest_too)),
            ] {
                turns.note(&format!("{name}: {figure}"), value);
            }
        }
    }
    for name in &NAMES[1..] {
        println!("{name}, by what it is with nothing moving:");
        for figure in FIGURES {
            let ratio = turns.ratio(&format!("{name}: {figure}"), &format!("nothing: {figure}"))?;
            println!("  {figure} {ratio}");
        }
    }
    let pages = turns.figures("numalab: pages");
    let is_all = pages.iter().all(|pages| *pages >= (MIB << 20 >> 12) as f64);
    claims.add(&format!("numalab moved {pages:?}"), "all pages", is_all);
    claims.at_most_times(&turns, "numalab: p99", P99_MAX, "migratepages: p99")
}

#[cfg(test)]
mod tests {
    use super::{Claims, judge};

    #[test]
    fn the_session_that_waits_longer_counts() {
        let text = "nothing 0 3000 9 100 200 4000 9 200 300 2000\n\
                    balancing 0 3000 9 100 200 4000 9 200 300 2000\n\
                    numalab 4096 1500 9 300 400 8000 9 100 900 9000\n\
                    migratepages 4096 1500 9 200 700 900 9 250 600 800\n";
        let is_met = |text: &str| {
            let mut claims = Claims::default();
            judge(text, &mut claims).unwrap();
            claims.conclude().is_ok()
        };
        assert!(is_met(text));
        assert!(!is_met(&text.replace("9 300 400", "9 400 400")));
        assert!(!is_met(&text.replace("numalab 4096", "numalab 4095")));
        let mut claims = Claims::default();
        assert!(judge(&text.replace("1500 9 300", "1500 0 300"), &mut claims).is_err());
        assert!(judge("", &mut claims).is_err());
    }
}
