//! Draws the tree of nodes beside a matrix: a join stands as far from the matrix as the mean figure
//! between both groups.

use super::picture::{Picture, px};
use super::tree::Tree;

/// Width of a drawn tree.
pub(crate) const BREADTH: f64 = 84.0;

/// Draws a tree whose leaves end `breadth` from the picture's edge; `place` says where the leaf of
/// an index in the order of leaves stands along the matrix. `is_above`: the tree is above the
/// columns, not left of the rows.
pub(crate) fn draw(
    picture: &mut Picture,
    tree: &Tree,
    breadth: f64,
    is_above: bool,
    place: impl Fn(usize) -> f64,
) {
    let greatest = tree.height().unwrap_or(0.0);
    let mut drawing = Drawing {
        picture,
        breadth,
        greatest,
        is_above,
        leaves: 0,
    };
    drawing.join(tree, &place);
}

struct Drawing<'p> {
    picture: &'p mut Picture,
    breadth: f64,
    greatest: f64,
    is_above: bool,
    /// Leaves drawn so far.
    leaves: usize,
}

impl Drawing<'_> {
    /// Draws a tree and returns where its top is: along the matrix, and away from it.
    fn join(&mut self, tree: &Tree, place: &impl Fn(usize) -> f64) -> (f64, f64) {
        let (height, first, second) = match tree {
            Tree::Leaf(_) => {
                let along = place(self.leaves);
                self.leaves += 1;
                return (along, 0.0);
            }
            Tree::Join {
                height,
                first,
                second,
            } => (height, first, second),
        };
        let (first_along, first_away) = self.join(first, place);
        let (second_along, second_away) = self.join(second, place);
        // Means of incomplete figures may shrink on the way up; a join is never drawn below its
        // parts. An unknown height is drawn as the greatest, dashed.
        let share = match height {
            Some(height) if self.greatest > 0.0 => height / self.greatest,
            _ => 1.0,
        };
        let away = (share * (self.breadth - 4.0))
            .max(first_away)
            .max(second_away);
        let class = if height.is_some() { "line" } else { "mark" };
        let point = |along: f64, away: f64| {
            let away = self.breadth - away;
            let (x, y) = if self.is_above {
                (along, away)
            } else {
                (away, along)
            };
            format!("{} {}", px(x), px(y))
        };
        let path = format!(
            "M{}L{}L{}L{}",
            point(first_along, first_away),
            point(first_along, away),
            point(second_along, away),
            point(second_along, second_away)
        );
        self.picture.path(&path, class);
        ((first_along + second_along) / 2.0, away)
    }
}
