//! Which nodes are near to one another: hierarchical clustering by measured figures.
//!
//! The method is average linkage (UPGMA: Sokal and Michener, "A statistical method for evaluating
//! systematic relationships", 1958): the two groups with the smallest mean over all pairs between
//! them are joined, until one is left. Pairs without a figure do not enter the mean; groups without
//! any are joined last, at an unknown height. Ties go to the lowest indices, and of two joined
//! groups that with the lowest index comes first, so that the order is always the same.

/// A tree of items `0..count`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Leaf(usize),
    Join {
        /// The mean figure between both; `None` where none is known.
        height: Option<f64>,
        first: Box<Tree>,
        second: Box<Tree>,
    },
}

impl Tree {
    /// The items in the order of the leaves.
    pub(crate) fn order(&self) -> Vec<usize> {
        match self {
            Tree::Leaf(item) => vec![*item],
            Tree::Join { first, second, .. } => {
                let mut order = first.order();
                order.extend(second.order());
                order
            }
        }
    }

    /// The largest height.
    pub(crate) fn height(&self) -> Option<f64> {
        match self {
            Tree::Leaf(_) => None,
            Tree::Join {
                height,
                first,
                second,
            } => {
                let heights = [*height, first.height(), second.height()];
                heights.into_iter().flatten().reduce(f64::max)
            }
        }
    }

    /// The tree of the items that `keep` accepts; `None` when it accepts none.
    pub(crate) fn pruned(&self, keep: &impl Fn(usize) -> bool) -> Option<Tree> {
        match self {
            Tree::Leaf(item) => keep(*item).then_some(Tree::Leaf(*item)),
            Tree::Join {
                height,
                first,
                second,
            } => match (first.pruned(keep), second.pruned(keep)) {
                (Some(first), Some(second)) => Some(Tree::Join {
                    height: *height,
                    first: Box::new(first),
                    second: Box::new(second),
                }),
                (first, second) => first.or(second),
            },
        }
    }
}

/// The sum of the known figures between two groups, and their number.
type Between = (f64, u32);

/// Joins `count` items by the figures between them; `None` when there are none.
pub(crate) fn tree(count: usize, figure: impl Fn(usize, usize) -> Option<f64>) -> Option<Tree> {
    let mut groups: Vec<Tree> = (0..count).map(Tree::Leaf).collect();
    let between = |row: usize, column: usize| match figure(row, column) {
        Some(figure) if row != column => (figure, 1),
        _ => (0.0, 0),
    };
    let mut sums: Vec<Vec<Between>> = (0..count)
        .map(|row| (0..count).map(|column| between(row, column)).collect())
        .collect();
    while groups.len() > 1 {
        let (first, second, height) = nearest(&sums);
        let joined = groups.remove(second);
        let first_group = std::mem::replace(&mut groups[first], Tree::Leaf(0));
        groups[first] = Tree::Join {
            height,
            first: Box::new(first_group),
            second: Box::new(joined),
        };
        let moved = sums.remove(second);
        for row in &mut sums {
            let (sum, pairs) = row.remove(second);
            row[first].0 += sum;
            row[first].1 += pairs;
        }
        let moved = moved.into_iter().enumerate();
        let moved = moved.filter(|(column, _)| *column != second);
        for (place, (_, (sum, pairs))) in sums[first].iter_mut().zip(moved) {
            place.0 += sum;
            place.1 += pairs;
        }
    }
    groups.pop()
}

/// The two groups with the smallest mean, the lower index first.
fn nearest(sums: &[Vec<Between>]) -> (usize, usize, Option<f64>) {
    let mut nearest = (0, 1, None);
    for (row, cells) in sums.iter().enumerate() {
        for (column, (sum, pairs)) in cells.iter().enumerate().skip(row + 1) {
            let mean = sum / f64::from(*pairs);
            // Equal figures may have means that differ in their last digit.
            if *pairs > 0
                && nearest
                    .2
                    .is_none_or(|least: f64| mean < least - 1e-9 * least.abs())
            {
                nearest = (row, column, Some(mean));
            }
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::{Tree, tree};

    fn check(rows: &[&[f64]], order: &[usize], height: Option<f64>) -> Tree {
        let figure = |row: usize, column: usize| {
            let value = rows[row][column];
            (value >= 0.0).then_some(value)
        };
        let tree = tree(rows.len(), figure).unwrap();
        assert_eq!(tree.order(), order);
        assert_eq!(tree.height(), height);
        tree
    }

    #[test]
    fn near_items_stand_beside_one_another() {
        let tree = check(
            &[
                &[0.0, 9.0, 2.0, 9.0],
                &[9.0, 0.0, 9.0, 3.0],
                &[2.0, 9.0, 0.0, 9.0],
                &[9.0, 3.0, 9.0, 0.0],
            ],
            &[0, 2, 1, 3],
            Some(9.0),
        );
        let pruned = tree.pruned(&|item| item != 2).unwrap();
        assert_eq!(pruned.order(), [0, 1, 3]);
        assert_eq!(tree.pruned(&|_| false), None);
    }

    #[test]
    fn the_height_of_a_join_is_the_mean_of_all_pairs() {
        // {0, 1} join at 2; then 2 joins at (4 + 8) / 2.
        check(
            &[&[0.0, 2.0, 4.0], &[2.0, 0.0, 8.0], &[4.0, 8.0, 0.0]],
            &[0, 1, 2],
            Some(6.0),
        );
    }

    #[test]
    fn pairs_without_a_figure_are_not_taken_for_near() {
        check(
            &[&[0.0, -1.0, 5.0], &[-1.0, 0.0, -1.0], &[5.0, -1.0, 0.0]],
            &[0, 2, 1],
            Some(5.0),
        );
        check(&[&[0.0, -1.0], &[-1.0, 0.0]], &[0, 1], None);
        check(&[&[0.0]], &[0], None);
        assert_eq!(tree(0, |_, _| None), None);
    }

    #[test]
    fn the_order_is_a_permutation_for_any_figures() {
        for count in 1..40_usize {
            let figure =
                |row: usize, column: usize| Some(((row * 31 + column * 17) % 23) as f64 + 1.0);
            let mut order = tree(count, figure).unwrap().order();
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
