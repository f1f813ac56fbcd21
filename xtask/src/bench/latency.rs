//! `cargo xtask bench latency`: the local latency and the depth curve of `numalab latency` against
//! a plain chase, which is a C program of its own with nothing in common (`plain_chase.c`), in
//! turns on the same CPU; and the time that a curve takes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::release_binary;
use crate::{program, repository};

/// The plain chase.
const PROGRAM: &str = include_str!("plain_chase.c");
/// Turns of both, alternately.
const TURNS: usize = 15;
/// Working sets of the curve that are compared: within the first and the second cache of most
/// processors of servers.
const SIZES_COMPARED: [u64; 2] = [16 << 10, 512 << 10];

/// Builds the release binary and the plain chase, and prints medians, ratios and the time of a
/// curve.
pub fn run() -> Result<()> {
    let binary = release_binary::build()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let plain = Plain::build(&folder)?;
    let numalab = Numalab { binary, folder };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let cell = numalab.cell()?;
        theirs.push(plain.ns(cell.cpu, cell.bytes, turn)?);
        ours.push(cell.ns);
    }
    println!("{}", compared("local memory", &mut ours, &mut theirs));
    let (mut curves, mut seconds) = (Vec::new(), Vec::new());
    let mut plains = SIZES_COMPARED.map(|_| Vec::new());
    for turn in 0..TURNS / 3 {
        let curve = numalab.curve()?;
        for (plains, bytes) in plains.iter_mut().zip(SIZES_COMPARED) {
            plains.push(plain.ns(curve.cpu, bytes, turn)?);
        }
        seconds.push(curve.seconds);
        curves.push(curve.points);
    }
    for (bytes, plains) in SIZES_COMPARED.into_iter().zip(&mut plains) {
        let at = |points: &Vec<(u64, f64)>| points.iter().find(|it| it.0 == bytes).map(|it| it.1);
        let mut ours: Vec<f64> = curves.iter().filter_map(at).collect();
        let title = format!("{} KiB", bytes >> 10);
        println!("{}", compared(&title, &mut ours, plains));
    }
    let (least, median, most) = range(&mut seconds);
    let last = curves.first().and_then(|points| points.last());
    let mib = last.map_or(0, |(bytes, _)| bytes >> 20);
    println!("curve of 1 KiB to {mib} MiB: {median:.2} s ({least:.2} to {most:.2})");
    Ok(())
}

/// Medians with their ranges, and the ratio of the medians.
fn compared(title: &str, ours: &mut [f64], theirs: &mut [f64]) -> String {
    if ours.is_empty() || theirs.is_empty() {
        return format!("{title}: not measured");
    }
    let text = |(least, median, most): (f64, f64, f64)| {
        format!("{median:.2} ns ({least:.2} to {most:.2})")
    };
    let (ours, theirs) = (range(ours), range(theirs));
    format!(
        "{title}: numalab {}, plain chase {}, ratio of the medians {:.3}",
        text(ours),
        text(theirs),
        ours.1 / theirs.1
    )
}

/// The least, the median and the most.
fn range(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    (
        values[0],
        values[values.len() / 2],
        values[values.len() - 1],
    )
}

/// The plain chase, built.
struct Plain(PathBuf);

impl Plain {
    fn build(folder: &Path) -> Result<Self> {
        let (source, built) = (folder.join("plain_chase.c"), folder.join("plain_chase"));
        std::fs::write(&source, PROGRAM).with_context(|| format!("write {}", source.display()))?;
        let words = ["-O2", "-o"].map(str::to_owned).into_iter();
        let files = [&built, &source].map(|path| path.display().to_string());
        let words: Vec<String> = words.chain(files).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        program::output("cc", &words, folder)?;
        Ok(Plain(built))
    }

    fn ns(&self, cpu: u64, bytes: u64, turn: usize) -> Result<f64> {
        let words = [cpu, bytes, turn as u64 + 1].map(|word| word.to_string());
        let output = Command::new(&self.0).args(&words).output();
        let output = output.with_context(|| format!("run {}", self.0.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let ns = text.split(' ').next().and_then(|word| word.parse().ok());
        ns.with_context(|| format!("the plain chase ended with {}: {text}", output.status))
    }
}

/// One cell of ours.
struct Cell {
    cpu: u64,
    bytes: u64,
    ns: f64,
}

/// One curve of ours.
struct Curve {
    cpu: u64,
    seconds: f64,
    points: Vec<(u64, f64)>,
}

/// The binary, with a store of its own.
struct Numalab {
    binary: PathBuf,
    folder: PathBuf,
}

impl Numalab {
    fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = Command::new(&self.binary)
            .args(arguments)
            .env("XDG_STATE_HOME", &self.folder)
            .stderr(Stdio::null())
            .output()
            .with_context(|| format!("run {}", self.binary.display()))?;
        if !output.status.success() {
            bail!("numalab {arguments:?} ended with {}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("numalab wrote no JSON")
    }

    /// The first cell, which is local.
    fn cell(&self) -> Result<Cell> {
        self.json(&["latency", "--anyway", "--rounds", "1", "--json"])?;
        let run = self.json(&["show", "last", "--json"])?;
        let case = &run["cases"][0];
        let trial = &case["trials"][0];
        Ok(Cell {
            cpu: cpu_of(case)?,
            bytes: trial["kernel"]["working_set_bytes"]
                .as_u64()
                .context("a cell has a working set")?,
            ns: trial["value"].as_f64().context("a cell has a value")?,
        })
    }

    fn curve(&self) -> Result<Curve> {
        let arguments = ["latency", "--curve", "--anyway", "--rounds", "1", "--json"];
        let document = self.json(&arguments)?;
        let run = self.json(&["show", "last", "--json"])?;
        let case = &run["cases"][0];
        let points = document["curves"][0]["points"].as_array();
        let points = points.context("a curve has points")?.iter();
        let point = |point: &Value| Some((point["bytes"].as_u64()?, point["ns"].as_f64()?));
        Ok(Curve {
            cpu: cpu_of(case)?,
            seconds: case["trials"][0]["window_s"]
                .as_f64()
                .context("a curve has a time")?,
            points: points.filter_map(point).collect(),
        })
    }
}

fn cpu_of(case: &Value) -> Result<u64> {
    let cpus = case["placement"]["cpus"].as_str();
    let cpu = cpus.and_then(|cpus| cpus.parse().ok());
    cpu.with_context(|| format!("one CPU measures, and it is {cpus:?}"))
}

#[cfg(test)]
mod tests {
    use super::compared;

    #[test]
    fn the_ratio_is_that_of_the_medians() {
        let text = compared("x", &mut [101.0, 99.0, 300.0], &mut [100.0, 50.0, 400.0]);
        assert_eq!(
            text,
            "x: numalab 101.00 ns (99.00 to 300.00), plain chase 100.00 ns (50.00 to 400.00), \
             ratio of the medians 1.010"
        );
        assert_eq!(compared("x", &mut [], &mut [1.0]), "x: not measured");
    }
}
