//! What a plan lets each machine do: one table of the commands, with what each of them needs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a machine does: a command that stores what it measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Step {
    kind: &'static Kind,
    /// The target or the experiment; empty where the command takes none.
    of: String,
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Kind {
    /// The word on the command line, and of the plan.
    word: &'static str,
    /// The row of docs/security.md that says which capabilities it needs.
    security_row: &'static str,
    /// These capabilities, by their names without `CAP_`.
    capabilities: &'static [&'static str],
    /// Whether it looks at processes of others, so that a container needs the process ids of the
    /// host.
    sees_processes: bool,
    /// Whether it places memory, which the seccomp profiles of container runtimes let pass only
    /// with `CAP_SYS_NICE` (set_mempolicy, mbind, get_mempolicy).
    places_memory: bool,
    /// Seconds after which it has ended or is stopped; `None`: by the plan's limit of experiments.
    seconds: Option<u32>,
}

const DOCTOR: Kind = Kind {
    word: "doctor",
    security_row: "`doctor`",
    capabilities: &[],
    sees_processes: false,
    places_memory: false,
    seconds: Some(300),
};
const DOCTOR_OF: Kind = Kind {
    security_row: "`doctor TARGET`",
    capabilities: &["SYS_PTRACE"],
    sees_processes: true,
    ..DOCTOR
};
/// An hour: 32 nodes have 1,024 pairs.
const MATRIX_SECONDS: u32 = 3600;
const LATENCY: Kind = Kind {
    word: "latency",
    security_row: "`latency`",
    capabilities: &[],
    sees_processes: false,
    places_memory: true,
    seconds: Some(MATRIX_SECONDS),
};
const BANDWIDTH: Kind = Kind {
    word: "bandwidth",
    security_row: "`bandwidth`",
    ..LATENCY
};
const RUN: Kind = Kind {
    word: "run",
    security_row: "`run EXPERIMENT`",
    seconds: None,
    ..LATENCY
};

/// Longest name of an experiment or target.
const OF_MAX: usize = 200;

/// A step that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepError {
    word: String,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = &self.word;
        write!(
            f,
            "{word:?} is nothing that a machine can do: expected doctor, \"doctor TARGET\", \
             latency, bandwidth or the name of an experiment"
        )
    }
}

impl std::error::Error for StepError {}

impl Step {
    /// Reads `doctor`, `doctor TARGET`, `latency`, `bandwidth`, or the name of an experiment, which
    /// may stand after `run `. Whether the experiment exists is not known here.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn named(text: &str) -> Result<Self, StepError> {
        let error = || StepError {
            word: text.chars().take(OF_MAX).collect(),
        };
        let (word, of) = text.split_once(' ').unwrap_or((text, ""));
        let kind = match (word, of) {
            ("doctor", "") => &DOCTOR,
            ("doctor", _) => &DOCTOR_OF,
            ("latency", "") => &LATENCY,
            ("bandwidth", "") => &BANDWIDTH,
            ("run", _) => &RUN,
            (_, "") => &RUN,
            _ => return Err(error()),
        };
        let of = if kind == &RUN && of.is_empty() {
            word
        } else {
            of
        };
        let is_word = |of: &str| {
            let is_fit = |letter: char| letter.is_ascii_graphic() && letter != '\\';
            !of.starts_with('-') && of.len() <= OF_MAX && of.chars().all(is_fit)
        };
        let is_experiment = |of: &str| {
            let mut letters = of.chars();
            !of.is_empty()
                && letters.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-')
        };
        match is_word(of) && (kind != &RUN || is_experiment(of)) {
            true => Ok(Step {
                kind,
                of: of.to_owned(),
            }),
            false => Err(error()),
        }
    }

    /// The experiment, if it runs one.
    pub fn experiment(&self) -> Option<&str> {
        (self.kind == &RUN).then_some(&self.of)
    }

    /// The name of its runs in the store.
    pub fn stored_as(&self) -> String {
        match self.kind.word {
            "run" => self.of.clone(),
            _ => self.to_string(),
        }
    }

    /// Its name as a file, a container and a label: letters, digits and hyphens, at most 40.
    pub fn short_name(&self) -> String {
        let of = self.stored_as();
        let fit = |letter: char| match letter.is_ascii_alphanumeric() {
            true => letter.to_ascii_lowercase(),
            false => '-',
        };
        let name: String = of.chars().map(fit).take(40).collect();
        name.trim_matches('-').to_owned()
    }

    /// The words after `numalab`.
    pub(crate) fn words(&self, within_s: u32) -> Vec<String> {
        let words: &[&str] = match self.kind.word {
            "doctor" if self.of.is_empty() => &["doctor", "--keep"],
            "doctor" => &["doctor", &self.of, "--keep"],
            "run" => &["run", &self.of, "--within", &within_s.to_string()],
            word => &[word],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// Seconds after which it has ended, or is stopped.
    pub(crate) fn limit_s(&self, within_s: u32) -> u32 {
        // Beside what it measures, an experiment makes its data and calibrates.
        self.kind.seconds.unwrap_or(within_s * 2 + 120)
    }

    /// Capabilities that it needs, without `CAP_`: docs/security.md.
    pub(crate) fn capabilities(&self) -> &'static [&'static str] {
        self.kind.capabilities
    }

    /// Whether it looks at processes of others.
    pub(crate) fn sees_processes(&self) -> bool {
        self.kind.sees_processes
    }

    /// Whether it places memory.
    pub(crate) fn places_memory(&self) -> bool {
        self.kind.places_memory
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word)?;
        match self.of.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", self.of),
        }
    }
}

impl TryFrom<String> for Step {
    type Error = StepError;

    fn try_from(text: String) -> Result<Self, StepError> {
        Step::named(&text)
    }
}

impl From<Step> for String {
    fn from(step: Step) -> String {
        step.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BANDWIDTH, DOCTOR, DOCTOR_OF, Kind, LATENCY, RUN, Step};

    const KINDS: [&Kind; 5] = [&DOCTOR, &DOCTOR_OF, &LATENCY, &BANDWIDTH, &RUN];

    #[test]
    fn each_command_needs_what_the_page_on_security_says() {
        let page = testing::Page::read("docs/security.md");
        for kind in KINDS {
            let names = kind.capabilities.iter();
            let names: Vec<String> = names.map(|it| format!("`CAP_{it}`")).collect();
            let needed = match names.is_empty() {
                true => "none".to_owned(),
                false => names.join(", "),
            };
            let row = format!("| {} | {needed} |", kind.security_row);
            assert!(page.text().lines().any(|line| line == row), "{row}");
        }
    }

    #[track_caller]
    fn check(text: &str, words: &str, stored_as: &str, short_name: &str) {
        let step = Step::named(text).unwrap();
        assert_eq!(step.words(60).join(" "), words);
        assert_eq!(step.stored_as(), stored_as);
        assert_eq!(step.short_name(), short_name);
        assert_eq!(Step::named(&step.to_string()), Ok(step));
    }

    #[test]
    fn a_step_is_a_command_that_stores_what_it_measured() {
        check("doctor", "doctor --keep", "doctor", "doctor");
        check("latency", "latency", "latency", "latency");
        check(
            "doctor postgres:/srv/pg",
            "doctor postgres:/srv/pg --keep",
            "doctor postgres:/srv/pg",
            "doctor-postgres--srv-pg",
        );
        let run = "run binding-vs-caging --within 60";
        check(
            "binding-vs-caging",
            run,
            "binding-vs-caging",
            "binding-vs-caging",
        );
        check(
            "run binding-vs-caging",
            run,
            "binding-vs-caging",
            "binding-vs-caging",
        );
        for wrong in [
            "",
            "latency 0",
            "run",
            "doctor --apply",
            "a b",
            "../x.toml",
            "doctor a b",
        ] {
            let found = Step::named(wrong);
            // `run` alone is an experiment of that name, which no list has.
            assert!(found.is_err() || wrong == "run", "{wrong}: {found:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_alike(text in "(run |doctor )?\\PC{0,12}") {
            if let Ok(step) = Step::named(&text) {
                let written = Step::named(&step.to_string());
                prop_assert_eq!(&written, &Ok(step.clone()));
                let is_fit = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-';
                prop_assert!(step.short_name().chars().all(is_fit));
            }
        }
    }
}
