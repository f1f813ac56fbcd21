//! `cargo xtask bench inspect`: the time of `numalab inspect` against that of `numastat -p` (Debian
//! package numactl) for one shared segment of 4 GiB that 50 processes have mapped, in pages of
//! 4 KiB and of 2 MiB. As root, the pool of the latter is made larger for as long as it takes.
//! Beside them, what nothing that asks the kernel about 50 processes can go below: the start of a
//! program that does nothing, and reading /proc/PID/maps of each process once.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::release_binary;
use crate::interrupt::Interrupt;
use crate::repository;

/// The program that makes the segment; guests use it, too.
const PROGRAM: &str = include_str!("../guest_checks/shared_memory.py");
/// Size of the segment.
const MIB: &str = "4096";
/// Processes that have it mapped.
const PROCESSES: &str = "50";
/// Looks with each program, alternately.
const ROUNDS: usize = 5;
/// How long the processes may take to read all of it.
const PATIENCE: Duration = Duration::from_secs(300);

/// The kinds of segment, as the program names them, and their pages.
const KINDS: [(&str, &str); 2] = [("memfd", "4 KiB"), ("memfd-huge", "2 MiB")];
/// Pages of 2 MiB in the segment.
const HUGE_PAGES: u64 = 4096 / 2;
/// The pool of them.
const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

/// Builds the release binary, makes each segment, and prints both medians and their ratio.
pub fn run() -> Result<()> {
    let binary = release_binary::build()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let interrupt = Interrupt::watch()?;
    for (kind, pages) in KINDS {
        let _pool = match kind {
            "memfd-huge" => Some(Pool::larger_by(HUGE_PAGES)?),
            _ => None,
        };
        let mut rows = look(&binary, &folder, kind, &interrupt)?;
        println!("{}", summary(pages, &mut rows));
    }
    Ok(())
}

/// What is timed, and how long each look took, in seconds.
struct Row {
    name: &'static str,
    times: Vec<f64>,
}

/// What all others are compared with.
const THEIRS: &str = "numastat -p";

/// The times of all, by turns, on one segment.
fn look(binary: &Path, folder: &Path, kind: &str, interrupt: &Interrupt) -> Result<Vec<Row>> {
    let holder = Holder::start(folder, kind, interrupt)?;
    let family = holder.family()?;
    let pid = holder.child.id().to_string();
    let names = [
        THEIRS,
        "numalab inspect",
        "numalab inspect --only-shared",
        "start of a program (numalab --version)",
        "reading maps of each process once",
    ];
    let times = Vec::new();
    let mut rows = names.map(|name| Row {
        name,
        times: times.clone(),
    });
    for _ in 0..ROUNDS {
        stop_if_asked(interrupt)?;
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
            timed(Command::new(binary).arg("--version"))?,
            reading_maps(&family)?,
        ];
        for (row, time) in rows.iter_mut().zip(round) {
            row.times.push(time);
        }
    }
    Ok(rows.into())
}

fn reading_maps(family: &[String]) -> Result<f64> {
    let start = Instant::now();
    for pid in family {
        let path = format!("/proc/{pid}/maps");
        std::fs::read(&path).with_context(|| format!("read {path}"))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Ctrl-C must not leave processes or a pool behind.
fn stop_if_asked(interrupt: &Interrupt) -> Result<()> {
    match interrupt.signal() {
        Some(signal) => bail!("stopped by signal {signal}"),
        None => Ok(()),
    }
}

/// A pool of huge pages that was made larger, until dropped.
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

/// What the benchmark found, in words.
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

fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("run {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} ended with {status}", command.get_program());
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The processes that have the segment mapped, until dropped.
struct Holder {
    child: Child,
}

impl Holder {
    fn start(folder: &Path, kind: &str, interrupt: &Interrupt) -> Result<Self> {
        let (program, ready) = (
            folder.join("shared_memory.py"),
            folder.join("shared_memory.ready"),
        );
        std::fs::write(&program, PROGRAM)
            .with_context(|| format!("write {}", program.display()))?;
        // From an earlier run, if it is there.
        let _ = std::fs::remove_file(&ready);
        let child = Command::new("python3")
            .arg(&program)
            .args([MIB, PROCESSES, kind])
            .arg(&ready)
            .spawn()
            .context("run python3")?;
        let holder = Holder { child };
        let start = Instant::now();
        while std::fs::read_to_string(&ready).map_or(true, |text| text.is_empty()) {
            stop_if_asked(interrupt)?;
            if start.elapsed() > PATIENCE {
                bail!("the processes did not read the segment within {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(holder)
    }

    /// All of them, by id.
    fn family(&self) -> Result<Vec<String>> {
        let pid = self.child.id();
        let path = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let own = pid.to_string();
        Ok(std::iter::once(own.as_str())
            .chain(children.split(' '))
            .map(str::to_owned)
            .filter(|pid| !pid.trim().is_empty())
            .collect())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Its children first: they would outlive it. What is gone already is no failure.
        for pid in self.family().unwrap_or_default().iter().rev() {
            let _ = Command::new("kill").arg(pid).status();
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, summary};

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
}
