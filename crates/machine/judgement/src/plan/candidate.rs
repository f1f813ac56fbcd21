//! A cure with what it leads to and what it costs, and which of two is better (docs/doctor.md).

use model::{CpusOfCure, MemoryFigures};
use placement::{Destination, TargetPlacement};

use super::patient::Layout;

/// Figures that differ by less are equal.
pub(crate) const EQUAL: f64 = 1.05;

/// A cure.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Where memory goes, or on which CPUs all threads.
    pub cure: TargetPlacement,
    /// These CPUs.
    pub cpus: Option<CpusOfCure>,
    /// Whether private memory goes there, too.
    pub moves_private: bool,
    /// Where memory lies then.
    pub layout: Layout,
    /// What that means.
    pub figures: MemoryFigures,
    /// Bytes to move.
    pub bytes_to_move: u64,
}

impl Candidate {
    /// Where memory goes, if it moves.
    pub(crate) fn destination(&self) -> Option<&Destination> {
        self.cure.memory.as_ref()
    }

    /// Whether it is better than what memory that moves nowhere and nobody's CPUs mean.
    pub(crate) fn is_gain(&self, before: &MemoryFigures) -> bool {
        // To do nothing costs nothing, so that equal figures are no gain.
        better_figures(&self.figures, before) == Some(true)
    }

    /// Whether it is better than another one: by what it leads to, else by what it costs. Memory
    /// follows the CPUs that an administrator chose, unless that is worse.
    pub(crate) fn is_better(&self, than: &Self) -> bool {
        let cost = |it: &Self| (it.cpus.is_some(), it.bytes_to_move);
        better_figures(&self.figures, &than.figures).unwrap_or(cost(self) < cost(than))
    }

    /// The better one of two; the first if they are equal.
    pub(crate) fn better(self, other: Self) -> Self {
        match other.is_better(&self) {
            true => other,
            false => self,
        }
    }
}

/// Whether one placement is better than another by its figures; `None` if these are equal.
fn better_figures(one: &MemoryFigures, other: &MemoryFigures) -> Option<bool> {
    let differ = |one: f64, other: f64| one.max(other) >= EQUAL * one.min(other);
    let load = |it: &MemoryFigures| it.busiest_load.unwrap_or(it.fullest_share);
    let figures = [
        (one.relative_access, other.relative_access),
        (load(one), load(other)),
    ];
    let mut different = figures
        .into_iter()
        .filter(|(one, other)| differ(*one, *other));
    different.next().map(|(one, other)| one < other)
}
