//! The test programs that cargo builds, and the tests that each has.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::repository;

/// The cargo arguments that build every test program, and the numalab that they run. Always the
/// whole workspace: with fewer packages, cargo would build dependencies with other features again.
const BUILD: &[&str] = &["test", "--workspace", "--locked", "--no-run"];

/// A program with tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The file.
    pub file: PathBuf,
    /// The folder of its package, in which its tests run.
    pub folder: PathBuf,
    /// The package.
    pub package: String,
    /// What it is of the package: `lib`, `bin NAME` or `test NAME`, as options of cargo.
    pub target: Vec<String>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    /// The program that has it.
    pub program: TestProgram,
    /// Its name within the program: `bind::a_placement_is_verified`.
    pub name: String,
}

impl TestProgram {
    /// Whether this is the program that runs numalab as users do (`crates/numalab/tests/binary`).
    pub(crate) fn is_of_binary(&self) -> bool {
        self.package == "numalab" && self.target == ["--test", "binary"]
    }

    /// Asks the program for its tests.
    fn tests(&self) -> Result<Vec<Test>> {
        let output = Command::new(&self.file)
            .args(["--list", "--format", "terse"])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", self.file.display()))?;
        if !output.status.success() {
            bail!(
                "{} --list ended with {}",
                self.file.display(),
                output.status
            );
        }
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        let test = |name: &str| Test {
            program: self.clone(),
            name: name.to_owned(),
        };
        Ok(names.map(test).collect())
    }
}

impl Test {
    /// The name in reports: `numalab bind::a_placement_is_verified`.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.program.package, self.name)
    }

    /// The command that runs it again, alone.
    pub(crate) fn again(&self) -> String {
        let (package, target) = (&self.program.package, self.program.target.join(" "));
        format!("cargo test -p {package} {target} -- --exact {}", self.name)
    }
}

/// Builds every test program and returns all tests.
pub(crate) fn build() -> Result<Vec<Test>> {
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
    let programs: Vec<_> = messages.lines().filter_map(test_program).collect();
    let tests: Result<Vec<_>> = programs.iter().map(TestProgram::tests).collect();
    let tests = tests?.concat();
    if tests.is_empty() {
        bail!("cargo built no test");
    }
    Ok(tests)
}

/// Returns the test program of one message of cargo, if it is about one
/// (doc.rust-lang.org/cargo/reference/external-tools.html).
fn test_program(message: &str) -> Option<TestProgram> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let name = message["target"]["name"].as_str()?;
    let target = match message["target"]["kind"][0].as_str()? {
        "lib" => vec!["--lib".to_owned()],
        kind => vec![format!("--{kind}"), name.to_owned()],
    };
    Some(TestProgram {
        file: message["executable"].as_str()?.into(),
        folder: folder.to_owned(),
        package: folder.file_name()?.to_str()?.to_owned(),
        target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_what_cargo_says_it_built_for_tests() {
        let check = |profile: &str, executable: &str, kind: &str, expected: Option<&[&str]>| {
            let message = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/crates/x/Cargo.toml",
                "target":{{"name":"all","kind":["{kind}"]}},
                "profile":{{"test":{profile}}},"executable":{executable}}}"#
            );
            let found = test_program(&message).map(|it| {
                assert_eq!(
                    (it.package.as_str(), it.folder),
                    ("x", "/p/crates/x".into())
                );
                it.target
            });
            assert_eq!(
                found.as_deref(),
                expected
                    .map(<[_]>::to_owned)
                    .as_deref()
                    .map(|it| it.to_vec())
                    .map(|it: Vec<&str>| it.into_iter().map(str::to_owned).collect::<Vec<_>>())
                    .as_deref(),
                "{message}"
            );
        };
        check("true", r#""/t/x-1""#, "lib", Some(&["--lib"]));
        check("true", r#""/t/x-1""#, "test", Some(&["--test", "all"]));
        check("true", "null", "lib", None);
        check("false", r#""/t/x-1""#, "lib", None);
        assert_eq!(test_program("   Compiling x"), None);
        assert_eq!(test_program(r#"{"reason":"build-finished"}"#), None);
    }
}
