//! `cargo xtask bench inspect`: compares the time of `numalab inspect` with that of `numastat -p`
//! (Debian package numactl) for one shared segment of 4 GiB that 50 processes have mapped, in pages
//! of 4 KiB and of 2 MiB. Needs root to enlarge the pool of the latter while it runs. Also times
//! lower bounds for any program that asks the kernel about 50 processes: starting a program that
//! does nothing, and reading /proc/PID/maps of each process once.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::claims::Claims;
use super::looks::{SAMPLE_SECONDS_MAX, family, reading_maps, timed};
use super::own_binary;
use super::spread::Spread;
use super::supervisor::{Guarded, Supervisor};
use super::{inspect_many, inspect_sparse};
use crate::guest::packages;
use crate::repository;

/// The program that creates the segment; guests use it, too.
const PROGRAM: &str = include_str!("../guest_checks/shared_memory.py");
/// Size of the segment.
const MIB: &str = "4096";
/// Processes that have it mapped.
const PROCESSES: &str = "50";
/// Number of inspections with each program, in turns.
const ROUNDS: usize = 9;
/// How long the processes may take to read all of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// A kind of segment.
struct Kind {
    /// Its name for the program.
    name: &'static str,
    pages: &'static str,
    /// How many times faster than [`THEIRS`] an inspection must be.
    least: f64,
}

/// The kinds.
const KINDS: [Kind; 2] = [
    Kind {
        name: "memfd",
        pages: "4 KiB",
        least: 20.0,
    },
    Kind {
        name: "memfd-huge",
        pages: "2 MiB",
        least: 1.0,
    },
];
/// Pages of 2 MiB in the segment.
const HUGE_PAGES: u64 = 4096 / 2;
/// Their pool.
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

/// Builds the release binary, creates each segment, and prints the medians and their ratios; fails
/// if a ratio is below its minimum.
pub(super) fn run(limit: Duration) -> Result<()> {
    packages::require_program("numastat", "numactl")?;
    let binary = own_binary::release()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let supervisor = Supervisor::start(limit)?;
    let mut claims = Claims::default();
    for kind in KINDS {
        let _pool = match kind.name {
            "memfd-huge" => Some(Pool::larger_by(HUGE_PAGES)?),
            _ => None,
        };
        let mut rows = look(&binary, &folder, kind.name, &supervisor)?;
        println!("{}", summary(kind.pages, &mut rows));
        judge(&kind, &rows, &mut claims);
    }
    inspect_many::run(&binary, &folder, &supervisor, &mut claims)?;
    inspect_sparse::run(&binary, &folder, &supervisor, &mut claims)?;
    claims.conclude()
}

fn judge(kind: &Kind, rows: &[Row], claims: &mut Claims) {
    let times = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(&[][..], |row| &row.times)
    };
    let pages = kind.pages;
    let in_turns = times(THEIRS).iter().zip(times(INSPECT));
    let ratios: Vec<f64> = in_turns.map(|(theirs, ours)| theirs / ours).collect();
    match Spread::of(&ratios) {
        Some(ratio) => claims.add(
            &format!("{INSPECT}, pages of {pages}: {ratio} times less than {THEIRS}"),
            &format!("at least {}", kind.least),
            ratio.median >= kind.least,
        ),
        None => claims.not_compared(THEIRS, "there is no time of both"),
    }
    match Spread::of(times(SAMPLE)) {
        Some(sample) => claims.add(
            &format!("{SAMPLE}, pages of {pages}: {sample} s"),
            &format!("at most {SAMPLE_SECONDS_MAX} s"),
            sample.median <= SAMPLE_SECONDS_MAX,
        ),
        None => claims.not_compared(SAMPLE, "there is no time of it"),
    }
}

/// What is timed, and its times in seconds.
struct Row {
    name: &'static str,
    times: Vec<f64>,
}

/// What everything else is compared with.
const THEIRS: &str = "numastat -p";
/// numalab's full inspection.
const INSPECT: &str = "numalab inspect";
/// numalab without the private memory of the processes.
const ONLY_SHARED: &str = "numalab inspect --only-shared";

/// numalab with a sample of the segment.
const SAMPLE: &str = "numalab inspect --sample";

/// Times all of them in turns on one segment.
fn look(binary: &Path, folder: &Path, kind: &str, supervisor: &Supervisor) -> Result<Vec<Row>> {
    let holder = Holder::start(folder, kind, supervisor)?;
    let pid = holder.pid.clone();
    let family = family(&pid)?;
    let names = [
        THEIRS,
        INSPECT,
        ONLY_SHARED,
        SAMPLE,
        "start of a program (numalab --version)",
        "reading maps of each process once",
    ];
    let times = Vec::new();
    let mut rows = names.map(|name| Row {
        name,
        times: times.clone(),
    });
    for _ in 0..ROUNDS {
        supervisor.check()?;
        let inspect = |option: &[&str]| {
            timed(
                Command::new(binary)
                    .args(["inspect", &pid, "--json"])
                    .args(option),
            )
        };
        let round = [
            timed(Command::new("numastat").arg("-p").args(&family))?,
            inspect(&[])?,
            inspect(&["--only-shared"])?,
            inspect(&["--sample"])?,
            timed(Command::new(binary).arg("--version"))?,
            reading_maps(&family)?,
        ];
        for (row, time) in rows.iter_mut().zip(round) {
            row.times.push(time);
        }
    }
    Ok(rows.into())
}

/// A huge-page pool, enlarged until dropped.
struct Pool {
    before: u64,
}

impl Pool {
    fn larger_by(pages: u64) -> Result<Self> {
        let before = pool_pages()?;
        let pool = Pool { before };
        std::fs::write(POOL, (before + pages).to_string())
            .with_context(|| format!("write {POOL}, as root"))?;
        let found = pool_pages()?;
        if found < before + pages {
            bail!("{POOL} went from {before} to {found} pages, {pages} more were asked for");
        }
        Ok(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(POOL, self.before.to_string()) {
            eprintln!("{POOL} could not be set back to {}: {error}", self.before);
        }
    }
}

fn pool_pages() -> Result<u64> {
    let text = std::fs::read_to_string(POOL).with_context(|| format!("read {POOL}"))?;
    text.trim()
        .parse()
        .with_context(|| format!("a number in {POOL}"))
}

/// Renders the results as text.
fn summary(pages: &str, rows: &mut [Row]) -> String {
    for row in rows.iter_mut() {
        row.times.sort_by(f64::total_cmp);
    }
    let median = |row: &Row| row.times[row.times.len() / 2];
    let theirs = rows.iter().find(|row| row.name == THEIRS).map(median);
    let line = |row: &Row| {
        let (least, most) = (row.times[0], row.times[row.times.len() - 1]);
        let (name, median) = (row.name, median(row));
        let ratio = theirs.unwrap_or(f64::NAN) / median;
        format!("{name:39} {median:.4} s ({least:.4} to {most:.4}), {ratio:.1} times less\n")
    };
    let lines: String = rows.iter().map(line).collect();
    format!(
        "{MIB} MiB of shared memory in pages of {pages} in {PROCESSES} processes, median of \
         {ROUNDS} looks (range), against {THEIRS}:\n{lines}"
    )
}

/// The processes that have the segment mapped, until dropped.
struct Holder {
    _guarded: Guarded,
    /// The first of them.
    pid: String,
}

impl Holder {
    fn start(folder: &Path, kind: &str, supervisor: &Supervisor) -> Result<Self> {
        let (program, ready) = (
            folder.join("shared_memory.py"),
            folder.join("shared_memory.ready"),
        );
        std::fs::write(&program, PROGRAM)
            .with_context(|| format!("write {}", program.display()))?;
        // It may be left from an earlier run.
        let _ = std::fs::remove_file(&ready);
        let mut python = Command::new("python3");
        python
            .arg(&program)
            .args([MIB, PROCESSES, kind])
            .arg(&ready);
        let mut guarded = supervisor.start_guarded(&python)?;
        let start = Instant::now();
        loop {
            let pid = std::fs::read_to_string(&ready).unwrap_or_default();
            if !pid.is_empty() {
                let _guarded = guarded;
                return Ok(Holder { _guarded, pid });
            }
            supervisor.check()?;
            if guarded.has_ended() || start.elapsed() > PATIENCE {
                bail!("the processes did not read the segment within {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Claims, INSPECT, KINDS, Row, SAMPLE, THEIRS, judge, summary};

    #[test]
    fn the_ratio_is_that_of_the_medians() {
        let row = |name, times: [f64; 3]| Row {
            name,
            times: times.into(),
        };
        let mut rows = [
            row("numastat -p", [4.0, 2.0, 9.0]),
            row("ours", [0.3, 0.1, 0.2]),
        ];
        let text = summary("4 KiB", &mut rows);
        assert!(
            text.contains("0.2000 s (0.1000 to 0.3000), 20.0 times less"),
            "{text}"
        );
        assert!(text.contains("4.0000 s (2.0000 to 9.0000), 1.0 times less"));
    }
    #[test]
    fn a_look_that_takes_too_long_is_told() {
        let row = |name, time: f64| Row {
            name,
            times: vec![time; 5],
        };
        let check = |ours: f64, sample: f64, is_met: [bool; 2]| {
            let rows = [row(THEIRS, 1.0), row(INSPECT, ours), row(SAMPLE, sample)];
            let found = [0, 1].map(|index| {
                let mut claims = Claims::default();
                judge(&KINDS[index], &rows, &mut claims);
                claims.conclude().is_ok()
            });
            assert_eq!(found, is_met, "{ours:?}");
        };
        check(0.04, 0.2, [true, true]);
        check(0.06, 0.2, [false, true]);
        check(1.1, 0.2, [false, false]);
        check(0.04, 0.21, [false, false]);
        let mut claims = Claims::default();
        judge(&KINDS[0], &[row(INSPECT, 1.0)], &mut claims);
        assert!(claims.conclude().is_err());
    }
}
