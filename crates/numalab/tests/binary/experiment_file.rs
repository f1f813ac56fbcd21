//! Experiment files as a user writes them, small enough for a test.

/// The text of an experiment file whose first case is the baseline.
#[derive(Debug, Clone)]
pub(crate) struct ExperimentFile(String);

impl ExperimentFile {
    /// Creates an experiment without cases. `defaults` are tables such as `[load]`, for every case.
    pub(crate) fn new(baseline: &str, defaults: &str) -> Self {
        ExperimentFile(format!(
            "format = \"numalab.experiment/1\"\nname = \"mine\"\nquestion = \"Does it matter?\"\n\
             baseline = \"{baseline}\"\nasks-about-memory = false\n{defaults}\n"
        ))
    }

    /// Makes it ask about memory.
    pub(crate) fn about_memory(self) -> Self {
        let (no, yes) = ("asks-about-memory = false", "asks-about-memory = true");
        ExperimentFile(self.0.replace(no, yes))
    }

    /// Adds a case that sets `keys`.
    pub(crate) fn case(mut self, name: &str, keys: &str) -> Self {
        self.0.push_str(&format!(
            "\n[[case]]\nname = \"{name}\"\nabout = \"A case of a test.\"\n{keys}\n"
        ));
        self
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The smallest possible load: its trials consist mostly of starting and ending processes.
pub(crate) const SMALL: &str = "[sga]\ncache = \"1MiB\"\n[load]\nsessions = 2";
