//! A machine as it is compared.

use model::{KeptDiagnosis, Machine};

use crate::{Fact, Figure, facts, groups};

/// A machine to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetMachine {
    /// `uname -n`.
    pub host: String,
    /// The run that its facts are from.
    pub run: String,
    /// When that was, RFC 3339 with offset.
    pub started_at: String,
    /// Its processors: what its group has in common unless the user asks otherwise.
    pub model: String,
    /// Whether it is emulated, so that its figures say nothing.
    pub emulated: bool,
    /// Its facts, by kind and name.
    pub facts: Vec<Fact>,
    /// What was measured on it.
    pub figures: Vec<Figure>,
}

impl FleetMachine {
    /// A machine without figures, as a stored run describes it.
    pub fn new(
        run: String,
        started_at: String,
        machine: &Machine,
        kept: Option<&KeptDiagnosis>,
    ) -> Self {
        let topology = &machine.topology;
        let is_emulated = |emulated: Option<bool>| emulated == Some(true);
        FleetMachine {
            host: machine.host.clone(),
            run,
            started_at,
            model: groups::model_of(topology),
            emulated: is_emulated(machine.emulated) || is_emulated(topology.emulated),
            facts: facts::of(machine, kept),
            figures: Vec::new(),
        }
    }
}
