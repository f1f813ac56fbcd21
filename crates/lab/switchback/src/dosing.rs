//! What windows of doses say: the cost of a unit of work by how far the memory was.

use std::collections::BTreeMap;

use model::TryWindow;

/// A placement of a session of doses; the first is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its name in the windows.
    pub name: String,
    /// By how much it changes the mean distance of an access.
    pub distance: f64,
}

/// CPU seconds for each unit of work; `None` of a window that does not count.
fn cost(window: &TryWindow) -> Option<f64> {
    let work = window
        .work
        .filter(|work| *work > 0 && window.void.is_none())?;
    let cost = window.cpu_s? / work as f64;
    (cost > 0.0).then_some(cost)
}

/// The blocks in which every dose has a window that counts: distance and cost of each.
pub fn blocks(windows: &[TryWindow], given: &[Given]) -> Vec<Vec<(f64, f64)>> {
    let mut by_block: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for window in windows {
        let dose = given.iter().find(|it| it.name == window.placement);
        if let Some((dose, cost)) = dose.zip(cost(window)) {
            by_block
                .entry(window.pair)
                .or_default()
                .push((dose.distance, cost));
        }
    }
    let blocks = by_block.into_values();
    blocks.filter(|block| block.len() == given.len()).collect()
}

/// By how much each dose changed the cost, as a share of that without one: the median of the
/// blocks; `None` without a block.
pub fn changes(blocks: &[Vec<(f64, f64)>], given: &[Given]) -> Vec<Option<f64>> {
    let change = |dose: &Given| {
        let at = |block: &[(f64, f64)], distance: f64| {
            block.iter().find(|it| it.0 == distance).map(|it| it.1)
        };
        let none = given.first()?.distance;
        let changes = blocks
            .iter()
            .filter_map(|block| Some(at(block, dose.distance)? / at(block, none)? - 1.0));
        stats::median(&changes.collect::<Vec<f64>>())
    };
    given.iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_and_costs_are_of_windows_that_count() {
        let given = [("current", 0.0), ("5%", 0.05)].map(|(name, distance)| Given {
            name: name.to_owned(),
            distance,
        });
        let window = |pair: u32, placement: &str, cpu_s: f64, void: Option<&str>| TryWindow {
            placement: placement.to_owned(),
            pair,
            work: Some(4),
            cpu_s: Some(cpu_s),
            void: void.map(str::to_owned),
            ..TryWindow::default()
        };
        let windows = [
            window(1, "5%", 1.25, None),
            window(1, "current", 1.0, None),
            window(2, "current", 1.0, None),
            window(2, "5%", 1.25, Some("it was reset")),
            window(3, "current", 2.0, None),
            window(3, "5%", 3.0, None),
            window(4, "current", 0.0, None),
            window(4, "5%", 0.0, None),
        ];
        let found = blocks(&windows, &given);
        assert_eq!(
            found,
            [[(0.05, 0.3125), (0.0, 0.25)], [(0.0, 0.5), (0.05, 0.75)]]
        );
        let changes = changes(&found, &given);
        assert_eq!(changes[0], Some(0.0));
        assert!((changes[1].unwrap() - 0.375).abs() < 1e-9, "{changes:?}");
    }
}
