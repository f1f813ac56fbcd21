//! What a plan is written as.

/// What is written for an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Paths below the folder, with texts; the plan is the first.
    pub files: Vec<(String, String)>,
    /// What to type next, in the folder: each a command with what it does.
    pub next: Vec<(String, &'static str)>,
}
