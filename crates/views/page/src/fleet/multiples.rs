//! The matrices of all machines of a group as small multiples: each cell by how many times it is
//! the group's, on one scale. Machines with the same colours share a picture, and pictures that are
//! alike stand side by side.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{FleetGroup, GroupFigure, counted};
use report::plain;

use crate::pictures::Ramp;

/// One step of colour is this ratio: less is not seen, and is noise among equal machines.
const STEP: f64 = 1.05;
/// Steps to each end of the scale: 1.05⁸ is half as much again.
const STEPS: i8 = 8;
/// A cell that was not measured.
const UNKNOWN: i8 = i8::MAX;
/// Pictures of one experiment of a group, and cells of all of them; the rest is counted.
const PICTURES_MAX: usize = 96;
const CELLS_MAX: usize = 40_000;
/// Names below a picture; the rest is counted.
const NAMES: usize = 2;
/// Side of a matrix, of any number of nodes, in pixels.
const SIDE: f64 = 96.0;

/// The figures of one experiment that are a matrix: by CPU node and memory node.
pub(super) struct Matrix<'g> {
    /// The figure of each cell, row by row; `None` where the group has none.
    cells: Vec<Option<&'g GroupFigure>>,
    columns: usize,
}

/// Machines whose matrices have the same colours.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    steps: Vec<i8>,
    /// Their places in the group.
    machines: Vec<usize>,
}

impl<'g> Matrix<'g> {
    /// The matrix of these figures of one experiment; `None` if its cases are not pairs of nodes.
    pub(super) fn of(figures: &'g [GroupFigure]) -> Option<Self> {
        let pairs: Option<Vec<(u32, u32)>> = figures.iter().map(|it| pair(&it.case)).collect();
        let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
        let axis = |of: fn(&(u32, u32)) -> u32| {
            let mut nodes: Vec<u32> = pairs.iter().map(of).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        let (rows, columns) = (axis(|pair| pair.0), axis(|pair| pair.1));
        let mut cells = vec![None; rows.len() * columns.len()];
        for ((from, to), figure) in pairs.iter().zip(figures) {
            let row = rows.binary_search(from).ok()?;
            let column = columns.binary_search(to).ok()?;
            cells[row * columns.len() + column] = Some(figure);
        }
        Some(Matrix {
            cells,
            columns: columns.len(),
        })
    }

    /// The patterns of the machines that have any figure: the most frequent first, each followed by
    /// the one most like it that is left.
    fn patterns(&self, machines: usize) -> Vec<Pattern> {
        let mut found: BTreeMap<Vec<i8>, Vec<usize>> = BTreeMap::new();
        for machine in 0..machines {
            let steps: Vec<i8> = self.cells.iter().map(|cell| step(*cell, machine)).collect();
            if steps.iter().any(|step| *step != UNKNOWN) {
                found.entry(steps).or_default().push(machine);
            }
        }
        let patterns = found.into_iter();
        let patterns = patterns.map(|(steps, machines)| Pattern { steps, machines });
        chained(patterns.collect(), self.most())
    }

    /// How many pictures have room.
    fn most(&self) -> usize {
        PICTURES_MAX.min(CELLS_MAX / self.cells.len().max(1)).max(1)
    }

    /// Draws the group.
    pub(super) fn markup(&self, group: &FleetGroup) -> Markup {
        let patterns = self.patterns(group.machines.len());
        let shown: usize = patterns.iter().map(|it| it.machines.len()).sum();
        let known = (0..group.machines.len()).filter(|machine| {
            self.cells
                .iter()
                .any(|cell| step(*cell, *machine) != UNKNOWN)
        });
        let left_out = known.count() - shown;
        html! {
            div.sides {
                @for pattern in &patterns {
                    figure style="width:7.5rem;margin:0" {
                        (self.picture(pattern, group))
                        figcaption { (caption(pattern, group)) }
                    }
                }
            }
            @if left_out > 0 {
                p { (counted(left_out, "machine")) " more, less unlike the others, are not drawn." }
            }
        }
    }

    /// A path for each colour: a page of many matrices stays small.
    fn picture(&self, pattern: &Pattern, group: &FleetGroup) -> Markup {
        let rows = self.cells.len() / self.columns;
        let side = SIDE / rows.max(self.columns) as f64;
        let mut paths: BTreeMap<i8, String> = BTreeMap::new();
        for (index, step) in pattern.steps.iter().enumerate() {
            let (x, y) = (index % self.columns, index / self.columns);
            let path = paths.entry(*step).or_default();
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
        let view = format!("0 0 {} {rows}", self.columns);
        let (width, height) = (side * self.columns as f64, side * rows as f64);
        let name = format!("Matrix of {}", caption(pattern, group));
        html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(name)
                width=(width) height=(height) viewBox=(view) {
                @for (step, path) in &paths {
                    path d=(path) fill=(colour(*step)) stroke="var(--grid)" stroke-width="0.04" {}
                }
            }
        }
    }
}

/// The scale of all pictures.
pub(super) fn legend() -> Markup {
    html! {
        p {
            "How many times the group's figure: "
            @for step in [-STEPS, -4, -2, -1, 0, 1, 2, 4, STEPS] {
                span style="white-space:nowrap" {
                    svg width="16" height="12" viewBox="0 0 1 1" preserveAspectRatio="none"
                        aria-hidden="true" {
                        path d="M0 0h1v1h-1z" fill=(colour(step)) stroke="var(--grid)"
                            stroke-width="0.1" {}
                    }
                    " " (format!("{:.2}", STEP.powi(step.into())))
                }
                " "
            }
            "(and beyond). Rows are CPU nodes, columns memory nodes; grey was not measured."
        }
    }
}

fn colour(step: i8) -> String {
    match step {
        UNKNOWN => "var(--muted)".to_owned(),
        step => {
            let share = 0.5 + f64::from(step) / f64::from(2 * STEPS);
            Ramp::Diverging.at(share).hex()
        }
    }
}

/// Parses `from-0-to-1`.
fn pair(case: &str) -> Option<(u32, u32)> {
    let (from, to) = case.strip_prefix("from-")?.split_once("-to-")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// The step of colour of a machine's figure.
fn step(figure: Option<&GroupFigure>, machine: usize) -> i8 {
    let ratio = figure.and_then(|it| Some((*it.values.get(machine)?)? / it.centre));
    match ratio.map(|ratio| ratio.ln() / STEP.ln()) {
        Some(steps) if steps.is_finite() => {
            steps.round().clamp((-STEPS).into(), STEPS.into()) as i8
        }
        _ => UNKNOWN,
    }
}

/// How far apart two patterns are: the sum of their steps.
fn apart(one: &[i8], other: &[i8]) -> u64 {
    let steps = one.iter().zip(other);
    steps
        .map(|(one, other)| u64::from(one.abs_diff(*other)))
        .sum()
}

/// The most frequent pattern, and those furthest from it, `most` in all; each is followed by the
/// one most like it that is left.
fn chained(mut patterns: Vec<Pattern>, most: usize) -> Vec<Pattern> {
    let usual = (0..patterns.len()).max_by_key(|at| patterns[*at].machines.len());
    let Some(usual) = usual else {
        return Vec::new();
    };
    let usual = patterns.swap_remove(usual);
    patterns.sort_by_cached_key(|it| {
        (
            std::cmp::Reverse(apart(&it.steps, &usual.steps)),
            it.machines.clone(),
        )
    });
    patterns.truncate(most.saturating_sub(1));
    let mut chain = vec![usual];
    while !patterns.is_empty() {
        let last = &chain[chain.len() - 1].steps;
        let next = (0..patterns.len()).min_by_key(|at| apart(&patterns[*at].steps, last));
        chain.push(patterns.swap_remove(next.unwrap_or(0)));
    }
    chain
}

fn caption(pattern: &Pattern, group: &FleetGroup) -> String {
    let names = pattern.machines.iter().take(NAMES);
    let names: Vec<String> = names.map(|it| plain(&group.machines[*it].host)).collect();
    match pattern.machines.len().saturating_sub(NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(steps: &[i8], machines: &[usize]) -> Pattern {
        Pattern {
            steps: steps.to_vec(),
            machines: machines.to_vec(),
        }
    }

    #[test]
    fn patterns_that_are_alike_stand_side_by_side_and_the_least_unlike_are_left_out() {
        let all = || {
            vec![
                pattern(&[0, 8], &[1]),
                pattern(&[0, 0], &[0, 3, 4]),
                pattern(&[-8, 0], &[2]),
                pattern(&[0, 7], &[5]),
                pattern(&[1, 0], &[6]),
            ]
        };
        let order = |most| {
            chained(all(), most)
                .iter()
                .map(|it| it.machines[0])
                .collect::<Vec<_>>()
        };
        assert_eq!(order(9), [0, 6, 5, 1, 2]);
        assert_eq!(order(3), [0, 1, 2]);
        assert_eq!(chained(Vec::new(), 3), []);
    }

    #[test]
    fn a_figure_is_a_step_from_the_groups_and_what_is_none_is_unknown() {
        let figure = GroupFigure {
            experiment: "latency".to_owned(),
            case: "from-0-to-1".to_owned(),
            metric: model::Metric::NsPerAccess,
            machines: 3,
            centre: 100.0,
            spread: 0.01,
            found_from: None,
            values: vec![Some(101.0), Some(110.0), Some(1e9), None, Some(f64::NAN)],
        };
        let steps = [0, 1, 2, 3, 4, 5].map(|machine| step(Some(&figure), machine));
        assert_eq!(steps, [0, 2, 8, UNKNOWN, UNKNOWN, UNKNOWN]);
        assert_eq!(pair("from-3-to-12"), Some((3, 12)));
        assert_eq!(pair("near"), None);
    }
}
