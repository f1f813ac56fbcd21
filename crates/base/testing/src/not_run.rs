//! Tests that this machine cannot run. What they lack is reported to the person who runs the tests,
//! bypassing the harness, which hides the output of passing tests. It is also written to a file, so
//! that `cargo xtask test` counts the test as skipped rather than passed.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::Error;

/// The variable that names the file to append to.
pub const FILE: &str = "NUMALAB_NOT_RUN";

/// What a test needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A program that can be installed as a package.
    Package,
    /// Root, or a capability of root.
    Root,
    /// Something that the kernel or its file system lacks, or that a container hides.
    Kernel,
    /// Another number of memory nodes.
    Nodes,
    /// A guest, in which `cargo xtask test` runs it.
    Guest,
    /// More CPUs, other CPUs, or a machine that is not emulated.
    Hardware,
    /// A host on the Internet.
    Network,
    /// Minutes of time: it runs only on request.
    Time,
}

impl Need {
    /// Every need, with the word for it in the file.
    pub const TABLE: &[(Need, &str)] = &[
        (Need::Package, "package"),
        (Need::Root, "root"),
        (Need::Kernel, "kernel"),
        (Need::Nodes, "nodes"),
        (Need::Guest, "guest"),
        (Need::Hardware, "hardware"),
        (Need::Network, "network"),
        (Need::Time, "time"),
    ];

    /// Classifies a refusal that needs root: only the kernel or a container refuses root itself.
    pub fn root_or_kernel(is_root: bool) -> Self {
        match is_root {
            true => Need::Kernel,
            false => Need::Root,
        }
    }

    /// The word for it in the file.
    pub fn word(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(need, _)| *need == self);
        row.map_or("", |(_, word)| word)
    }

    /// Whether no machine of ours can meet it, so that continuous integration lets it pass:
    ///
    /// | need | why |
    /// | --- | --- |
    /// | kernel | a machine boots the kernel that it has; guests have others |
    /// | nodes | a test of one node on a host with several: developers' machines have one |
    /// | hardware | nobody adds a CPU to it |
    /// | network | what tests fetch comes from the package registries, or not at all |
    pub fn is_beyond_us(self) -> bool {
        matches!(
            self,
            Need::Kernel | Need::Nodes | Need::Hardware | Need::Network
        )
    }
}

/// A test that was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// Its name.
    pub test: String,
    /// What it needs.
    pub need: Need,
    /// What exactly is missing.
    pub why: String,
}

/// Reports that a test, or a part of it, was not run, and why.
///
/// # Panics
/// When the file named by [`FILE`] cannot be written: the test would count as passed.
pub fn not_run(test: &str, need: Need, why: &str) {
    let not_run = NotRun {
        test: test.to_owned(),
        need,
        why: why.to_owned(),
    };
    say(&format!("NOT RUN : {test}: {}", why.trim_end()));
    if let Some(path) = std::env::var_os(FILE) {
        let written = append(&path, &not_run);
        written.unwrap_or_else(|cause| panic!("{}: {cause}", PathBuf::from(path).display()));
    }
}

/// Prints a message to the person who runs the tests, bypassing the test harness.
pub fn say(text: &str) {
    let line = format!("{text}\n");
    // Nothing can be reported when standard error is closed.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Writes one line in one call, so that lines of concurrent tests do not mix.
fn append(path: &OsStr, not_run: &NotRun) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(not_run.line().as_bytes())
}

impl NotRun {
    /// The line for the file, including its line break:
    ///
    /// ```text
    /// test<TAB>package|root|kernel|nodes|guest|hardware|network|time<TAB>reason
    /// ```
    pub fn line(&self) -> String {
        let field = |text: &str| text.trim().replace(['\t', '\n', '\r'], " ");
        let (test, word) = (field(&self.test), self.need.word());
        format!("{test}\t{word}\t{}\n", field(&self.why))
    }

    /// Reads the lines of the file.
    ///
    /// # Errors
    /// When a line is not of that form.
    pub fn parse(text: &str) -> Result<Vec<Self>, Error> {
        let lines = text.lines().enumerate();
        lines
            .map(|(index, line)| {
                Self::parse_line(line).ok_or(Error::Archive {
                    line: index + 1,
                    expected: "a test, a need and a reason, with tabs between them",
                })
            })
            .collect()
    }

    fn parse_line(line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, '\t');
        let (test, word, why) = (fields.next()?, fields.next()?, fields.next()?);
        let (need, _) = Need::TABLE.iter().find(|(_, known)| *known == word)?;
        Some(NotRun {
            test: test.to_owned(),
            need: *need,
            why: why.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(need: Need, why: &str) -> NotRun {
        NotRun {
            test: "a_test".to_owned(),
            need,
            why: why.to_owned(),
        }
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not-run");
        let all: Vec<_> = Need::TABLE
            .iter()
            .map(|(need, word)| of(*need, &format!("no {word}")))
            .collect();
        for one in &all {
            append(path.as_os_str(), one).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().next(), Some("a_test\tpackage\tno package"));
        assert_eq!(NotRun::parse(&text).unwrap(), all);
    }

    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        let line = of(Need::Package, "none\tof\nthem\n").line();
        assert_eq!(line, "a_test\tpackage\tnone of them\n");
    }

    #[test]
    fn lines_of_another_form_are_named() {
        for text in ["a\tpackage", "a\tluck\tnone", "", "a package none"] {
            let text = format!("a\troot\tit needs root\n{text}\n");
            let error = NotRun::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with("line 2: expected a test"), "{error}");
        }
    }

    #[test]
    fn root_is_what_others_than_root_need() {
        assert_eq!(Need::root_or_kernel(false), Need::Root);
        assert!(Need::root_or_kernel(true).is_beyond_us());
    }
}
