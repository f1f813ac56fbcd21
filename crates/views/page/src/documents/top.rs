//! The top of a page: what was asked, the answer, where, when and how sure, and what changes how
//! it is read. It stands on one screen.

use maud::{Markup, html};
use model::{Machine, counted, moment};
use serde::Deserialize;

use super::table::cut;

/// Maximum number of warnings that are not folded, and of all.
const WARNINGS_OPEN: usize = 2;
const WARNINGS_MAX: usize = 200;

/// What stands at the top of a page, or of a part of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Top {
    /// The answer, one short sentence.
    pub(crate) answer: String,
    pub(crate) host: Option<String>,
    /// When: to the minute, with the zone.
    pub(crate) at: Option<String>,
    pub(crate) machine: Option<String>,
    /// What was looked at: a database, a process.
    pub(crate) target: Option<String>,
    /// How sure the answer is.
    pub(crate) sureness: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl Top {
    /// Adds what a document knows of the machine that it was measured on.
    pub(crate) fn on(mut self, machine: Option<&Machine>) -> Self {
        let Some(machine) = machine else { return self };
        self.host = Some(machine.host.clone());
        let model = machine.cpu_model.as_deref();
        let mut words = model.unwrap_or("processor unknown").to_owned();
        if let Some(hypervisor) = &machine.hypervisor {
            words.push_str(&format!(", virtual machine ({hypervisor})"));
        }
        words.push_str(&format!(
            ", Linux {}, numalab {}",
            machine.kernel, machine.numalab
        ));
        self.machine = Some(words);
        if machine.emulated == Some(true) {
            let emulated = "This machine is emulated in software: its nodes are equally far, and \
                            no speed measured on it is meaningful.";
            self.warnings.insert(0, emulated.to_owned());
        }
        self
    }

    /// Adds where and when a document was made.
    pub(crate) fn taken(mut self, taken: Option<&Taken>) -> Self {
        let Some(taken) = taken else { return self };
        self.host = self.host.or_else(|| taken.host.clone());
        let at = taken.at.as_deref();
        self.at = self.at.or_else(|| at.map(moment));
        self
    }

    pub(crate) fn markup(&self) -> Markup {
        let facts = [
            ("Host", &self.host),
            ("When", &self.at),
            ("Target", &self.target),
            ("How sure", &self.sureness),
            ("Machine", &self.machine),
        ];
        let known = facts.into_iter();
        let known = known.filter_map(|(name, fact)| Some((name, fact.as_deref()?)));
        html! {
            p.answer { (unbroken(&cut(&self.answer))) }
            dl.facts {
                @for (name, fact) in known { div { dt { (name) } dd { (cut(fact)) } } }
            }
            @let (open, folded) = self.warnings.split_at(self.warnings.len().min(WARNINGS_OPEN));
            @for warning in open { p.warning { (cut(warning)) } }
            @if !folded.is_empty() {
                details {
                    summary { (counted(folded.len(), "more warning")) }
                    @for warning in folded.iter().take(WARNINGS_MAX) {
                        p.warning { (cut(warning)) }
                    }
                }
            }
        }
    }
}

/// Keeps intervals in brackets on one line, with the unit behind them.
fn unbroken(sentence: &str) -> String {
    let (mut is_inside, mut is_behind) = (false, false);
    let characters = sentence.chars().map(|character| {
        let is_kept = character == ' ' && (is_inside || is_behind);
        is_inside = character == '[' || is_inside && character != ']';
        is_behind = character == ']';
        if is_kept { '\u{a0}' } else { character }
    });
    characters.collect()
}

/// Where and when a document was made, as `numalab COMMAND --json` writes it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Taken {
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    at: Option<String>,
}

impl Taken {
    /// Reads it; `None` where a document has none, as those of numalab before 0.2.
    pub(crate) fn of(document: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Signed {
            taken: Taken,
        }
        let signed: Signed = serde_json::from_str(document).ok()?;
        Some(signed.taken)
    }
}
