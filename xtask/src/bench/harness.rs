//! What every benchmark runs in: the binary as users have it, a folder, a time limit, turns and
//! claims.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use stats::Generator;

use super::claims::Claims;
use super::supervisor::Supervisor;
use super::turns::Turns;
use crate::{program, repository};

/// Where the order within rounds begins.
const SEED: u64 = 1;

/// One benchmark.
pub(super) struct Harness {
    /// numalab, built for release.
    pub binary: PathBuf,
    /// Where numalab has its store and the benchmark its programs.
    pub folder: PathBuf,
    /// Starts numalab and its peers.
    pub supervisor: Supervisor,
    /// What is claimed.
    pub claims: Claims,
}

impl Harness {
    /// Builds numalab; the benchmark's time starts afterwards.
    pub(super) fn start(limit: Duration) -> Result<Self> {
        let words = "build --release --locked --quiet --package numalab".split(' ');
        program::output("cargo", &words.collect::<Vec<_>>(), &repository::root())?;
        let folder = repository::target().join("bench");
        std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(Harness {
            binary: repository::target().join("release/numalab"),
            folder,
            supervisor: Supervisor::start(limit)?,
            claims: Claims::default(),
        })
    }

    /// Measures each subject once in each round, in a new random order.
    pub(super) fn turns<S: AsRef<str>>(
        &self,
        rounds: usize,
        subjects: &[S],
        mut measure: impl FnMut(&str) -> Result<f64>,
    ) -> Result<Turns> {
        let mut generator = Generator::new(SEED, 0);
        let mut subjects: Vec<&str> = subjects.iter().map(AsRef::as_ref).collect();
        let mut turns = Turns::default();
        for _ in 0..rounds {
            generator.shuffle(&mut subjects);
            for subject in &subjects {
                self.supervisor.check()?;
                let figure = measure(subject).with_context(|| (*subject).to_owned())?;
                turns.note(subject, figure);
            }
        }
        Ok(turns)
    }

    /// Returns a command of numalab with the benchmark's store.
    pub(super) fn numalab<S: AsRef<std::ffi::OsStr>>(&self, words: &[S]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).env("XDG_STATE_HOME", &self.folder);
        command
    }

    /// Runs a program under the supervisor; returns its stdout.
    pub(super) fn text(&self, command: &Command) -> Result<String> {
        let output = self.supervisor.output(command)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{command:?} ended with {}: {said}",
            output.status
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs a command of numalab; returns its document.
    pub(super) fn json(&self, words: &[&str]) -> Result<Value> {
        let text = self.text(self.numalab(words).arg("--json"))?;
        serde_json::from_str(&text).with_context(|| format!("numalab {words:?} wrote no JSON"))
    }

    /// Runs a command of numalab that stores a run; returns the document of the run.
    pub(super) fn stored(&self, words: &[&str]) -> Result<Value> {
        self.json(words)?;
        self.json(&["show", "last"])
    }

    /// Runs an experiment, in the format that users write.
    pub(super) fn experiment(&self, text: &str, options: &[&str]) -> Result<Value> {
        let file = self.write("experiment.toml", text)?.display().to_string();
        self.json(&[&["run", &file], options].concat())
    }

    /// Runs a program in Python; returns the document that it prints.
    pub(super) fn python(
        &self,
        (name, text): (&str, &str),
        words: &[impl AsRef<std::ffi::OsStr>],
    ) -> Result<Value> {
        let mut command = Command::new("python3");
        command.arg(self.write(name, text)?).args(words);
        let text = self.text(&command)?;
        serde_json::from_str(&text).with_context(|| format!("{name} wrote no JSON"))
    }

    /// Builds a program with the C compiler of this machine: it shares no code with numalab.
    pub(super) fn c_program(&self, name: &str, text: &str) -> Result<PathBuf> {
        let source = self.write(&format!("{name}.c"), text)?;
        let source = source.display().to_string();
        program::output("cc", &["-O2", "-o", name, &source], &self.folder)?;
        Ok(self.folder.join(name))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }
}

/// Runs a command to its end without a guard, which would be timed, too; returns the seconds.
pub(super) fn seconds(command: &mut Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("start {command:?}"))?;
    let took = began.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(took)
}

/// Returns a number of a document.
pub(super) fn number(document: &Value, pointer: &str) -> Result<f64> {
    let found = document.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("no number {pointer} in {document}"))
}

/// Returns the case of a run with this name.
pub(super) fn case<'r>(run: &'r Value, name: &str) -> Result<&'r Value> {
    let mut cases = run["cases"].as_array().into_iter().flatten();
    let found = cases.find(|case| case["name"] == name);
    found.with_context(|| match why_skipped(run, name) {
        Some(why) => format!("the run has no case {name}: {why}"),
        None => format!("the run has no case {name}"),
    })
}

/// Returns why this machine did not run a case, if it did not.
fn why_skipped<'r>(run: &'r Value, name: &str) -> Option<&'r str> {
    let mut skipped = run["skipped"].as_array()?.iter();
    skipped.find(|case| case["case"] == name)?["reason"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::case;

    #[test]
    fn a_case_that_did_not_run_says_why() {
        let run = json!({
            "cases": [{"name": "small"}],
            "skipped": [{"case": "huge", "reason": "needs 518 pages (512 free)"}],
        });
        assert_eq!(case(&run, "small").unwrap()["name"], "small");
        let error = |name| case(&run, name).unwrap_err().to_string();
        let expected = "the run has no case huge: needs 518 pages (512 free)";
        assert_eq!(error("huge"), expected);
        assert_eq!(error("other"), "the run has no case other");
    }
}
