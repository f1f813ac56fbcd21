//! The step that runs the tests of the workspace. Cargo builds the test binaries, and this step
//! runs each as cargo would, so that it can say which tests did not run and which take long.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use testing::{NotRun, not_run};

use super::step::{Checked, Programs, Step, Verdict};
use super::{cargo, report};
use crate::program::Interrupt;
use crate::repository;

const NAME: &str = "unit";
/// The cargo arguments that build the test binaries.
const BUILD: &[&str] = &["test", "--workspace", "--locked", "--no-run"];
/// The harness reports the time of a test only with unstable options, and accepts these only on a
/// nightly compiler or with this variable (library/test/src/cli.rs, `is_nightly`).
const TIMES: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

/// Interval between two checks of a silent binary.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns the step.
pub(super) fn step() -> Step {
    Step {
        name: NAME.to_string(),
        summary: "unit and integration tests on this machine".to_string(),
        before_each_commit: true,
        is_long: false,
        needs_guest: false,
        programs: Programs::Needs,
        action: Box::new(run),
    }
}

/// A test binary, and the directory that cargo runs it in.
#[derive(Debug, PartialEq, Eq)]
struct TestBinary {
    program: PathBuf,
    folder: PathBuf,
}

fn run(interrupt: &Interrupt) -> Result<Vec<Checked>> {
    let binaries = build()?;
    let file = tempfile("not-run")?;
    let mut times = report::Times::default();
    let mut failures = report::Failures::default();
    let mut failed = Vec::new();
    for binary in &binaries {
        if interrupt.signal().is_some() {
            break;
        }
        let mut hear = |line: &str| {
            times.add(line);
            failures.add(line);
        };
        if !passes(binary, &file, &mut hear, interrupt)? {
            failed.push(binary.program.display().to_string());
        }
    }
    let documentation = cargo::run(&["test", "--workspace", "--locked", "--doc"], interrupt)?;
    let verdict = match (failed.as_slice(), documentation) {
        ([], verdict) => verdict,
        (failed, _) => Verdict::Failed(format!("tests failed in {}", failed.join(", "))),
    };
    print!("{}", times.table());
    let mut results = vec![Checked::new(NAME.to_string(), verdict)];
    results.extend(failures.of_tests().map(|(test, said)| {
        let verdict = Verdict::Failed(said);
        Checked::new(format!("{NAME} {test}"), verdict)
    }));
    let is_ci = std::env::var_os("CI").is_some();
    let text = std::fs::read_to_string(&file).context("cannot read which tests did not run")?;
    results.extend(
        NotRun::parse(&text)?
            .into_iter()
            .map(|one| checked(one, is_ci)),
    );
    std::fs::remove_file(&file).context("cannot remove the list of tests that did not run")?;
    Ok(results)
}

/// Returns the check for a test that did not run: skipped, or failed in continuous integration if
/// what is missing could have been installed.
fn checked(left_out: NotRun, is_ci: bool) -> Checked {
    let reason = format!("needs {}: {}", left_out.need.word(), left_out.why);
    let name = format!("{NAME} {}", left_out.test);
    let verdict = match is_ci && left_out.need.can_be_installed() {
        true => Verdict::Failed(format!("not run, {reason}")),
        false => Verdict::Skipped(reason),
    };
    Checked::new(name, verdict)
}

/// Creates an empty file in the build directory.
fn tempfile(name: &str) -> Result<PathBuf> {
    let path = repository::target().join(format!("{name}-{}", std::process::id()));
    std::fs::write(&path, "").with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Builds the tests of the binary and returns their program. Cargo builds all tests, as for this
/// step: with fewer packages it would build dependencies with other features again.
pub(super) fn tests_of_binary() -> Result<PathBuf> {
    let is_meant = |one: &TestBinary| {
        let name = one.program.file_name().and_then(OsStr::to_str);
        one.folder.ends_with("crates/numalab") && name.is_some_and(|it| it.starts_with("binary-"))
    };
    let found = build()?.into_iter().find(is_meant);
    Ok(found
        .context("cargo built no tests of numalab's binary")?
        .program)
}

fn build() -> Result<Vec<TestBinary>> {
    println!("$ cargo {}", BUILD.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(BUILD)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(repository::root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!(
            "the tests were not built: cargo ended with {}",
            output.status
        );
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let binaries: Vec<_> = messages.lines().filter_map(test_binary).collect();
    if binaries.is_empty() {
        bail!("cargo built no test binary");
    }
    Ok(binaries)
}

/// Returns the test binary of one message of cargo, if it is about one
/// (doc.rust-lang.org/cargo/reference/external-tools.html).
fn test_binary(message: &str) -> Option<TestBinary> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(TestBinary {
        program: message["executable"].as_str()?.into(),
        folder: manifest.parent()?.to_owned(),
    })
}

/// Runs one test binary, shows its output, passes each line on to `hear`, and returns whether all
/// its tests passed.
fn passes(
    binary: &TestBinary,
    not_run: &Path,
    hear: &mut impl FnMut(&str),
    interrupt: &Interrupt,
) -> Result<bool> {
    let shown = binary.program.file_name().and_then(OsStr::to_str);
    println!("\n$ {}", shown.unwrap_or("a test binary"));
    let mut child = Command::new(&binary.program)
        .args(["-Zunstable-options", "--report-time"])
        .env(TIMES.0, TIMES.1)
        .env(not_run::FILE, not_run)
        .current_dir(&binary.folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", binary.program.display()))?;
    let said = child.stdout.take().context("its output is a pipe")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(said).lines().map_while(Result::ok);
        // The receiver is gone once the binary has ended.
        lines.for_each(|line| drop(sender.send(line)));
    });
    loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => {
                hear(&line);
                println!("{line}");
                continue;
            }
            // A process that a test left behind may keep the pipe open: the binary's end counts.
            Err(RecvTimeoutError::Timeout) if interrupt.signal().is_some() => child.kill()?,
            Err(_) => {}
        }
        if let Some(status) = child.try_wait().context("cannot wait for a test binary")? {
            return Ok(status.success());
        }
    }
}

#[cfg(test)]
mod tests {
    use testing::Need;

    use super::*;

    #[test]
    fn test_binaries_are_what_cargo_says_it_built_for_tests() {
        let check = |profile: &str, executable: &str, expected: Option<(&str, &str)>| {
            let message = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/crates/x/Cargo.toml",
                "profile":{{"test":{profile}}},"executable":{executable}}}"#
            );
            let expected = expected.map(|(program, folder)| TestBinary {
                program: program.into(),
                folder: folder.into(),
            });
            assert_eq!(test_binary(&message), expected, "{message}");
        };
        let found = Some(("/t/x-1", "/p/crates/x"));
        check("true", r#""/t/x-1""#, found);
        check("true", "null", None);
        check("false", r#""/t/x-1""#, None);
        assert_eq!(test_binary("   Compiling x"), None);
        assert_eq!(test_binary(r#"{"reason":"build-finished"}"#), None);
    }

    #[test]
    fn what_could_have_been_provided_fails_in_ci_and_is_skipped_elsewhere() {
        let check = |need: Need, is_ci: bool, is_failure: bool| {
            let left_out = NotRun {
                test: "a_test".to_string(),
                need,
                why: "no such thing".to_string(),
            };
            let checked = checked(left_out, is_ci);
            assert_eq!(checked.name, "unit a_test");
            let failed = matches!(checked.verdict, Verdict::Failed(_));
            assert_eq!(failed, is_failure, "{need:?} {is_ci}");
        };
        check(Need::Package, true, true);
        check(Need::Root, true, true);
        check(Need::Kernel, true, false);
        check(Need::Package, false, false);
    }
}
