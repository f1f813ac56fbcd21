//! A row of the table of findings.

use model::{Cost, Finding, Residency, Severity};

use crate::doctor::DoctorInput;
use crate::doctor::sight::Sight;
use crate::found::Found;
use crate::inputs::{BandwidthInput, BindInput, LatencyInput};

/// One possible finding.
pub struct Row {
    /// Its name.
    pub id: &'static str,
    /// How much it matters, at most.
    pub severity: Severity,
    /// What is wrong when it is found.
    pub about: &'static str,
    /// What it costs.
    pub cost: &'static str,
    /// Who measured or states that.
    pub cost_source: &'static str,
    /// Where it is looked for, and how.
    pub(super) checks: &'static [Check],
}

/// A check and the command that makes it.
pub(super) enum Check {
    /// `numalab doctor`.
    /// With what it looks at.
    Doctor(Sight, fn(&DoctorInput) -> Option<Found>),
    /// `numalab inspect`.
    Inspect(fn(&Residency) -> Option<Found>),
    /// `numalab latency`: of a few kinds there is one for each distance.
    Latency(fn(&LatencyInput<'_>) -> Vec<Found>),
    /// `numalab bandwidth`.
    Bandwidth(fn(&BandwidthInput<'_>) -> Option<Found>),
    /// `numalab bind`.
    Bind(fn(&BindInput<'_>) -> Option<Found>),
}

impl Check {
    fn command(&self) -> &'static str {
        match self {
            Check::Doctor(..) => "doctor",
            Check::Inspect(_) => "inspect",
            Check::Latency(_) => "latency",
            Check::Bandwidth(_) => "bandwidth",
            Check::Bind(_) => "bind",
        }
    }
}

impl Row {
    /// The commands that look for it.
    pub fn commands(&self) -> Vec<&'static str> {
        let mut commands: Vec<_> = self.checks.iter().map(Check::command).collect();
        commands.dedup();
        commands
    }

    /// The finding.
    pub(super) fn finding(&self, found: Found) -> Finding {
        Finding {
            id: self.id.to_owned(),
            severity: found.severity.unwrap_or(self.severity),
            message: found.message,
            evidence: found.evidence,
            cost: Some(Cost {
                estimate: self.cost.to_owned(),
                source: self.cost_source.to_owned(),
            }),
            fix: found.fix,
        }
    }
}
