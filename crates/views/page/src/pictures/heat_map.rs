//! A matrix of nodes as coloured cells with figures, ordered by locality, with the tree of that
//! order beside it.

use maud::{Markup, html};
use model::NodeId;

use super::colours::Ramp;
use super::dendrogram::{self, BREADTH};
use super::picture::{Anchor, Label, Picture, px, text_width};
use super::tree::Tree;

/// Maximum number of rows or columns whose cells hold figures; the cells of more are small, and
/// their figures are in the table.
pub(crate) const FIGURES_MAX: usize = 48;
/// Side of a cell without a figure.
const SMALL_CELL: f64 = 14.0;
/// Font size of headings without figures below them, and the least of all fonts.
const SMALL_FONT: f64 = 12.0;
/// Maximum number of dots that mark a hop class.
pub(crate) const DOTS_MAX: u32 = 5;
/// Steps of the legend.
const LEGEND_STEPS: u32 = 24;
/// Width of the legend.
const LEGEND_WIDTH: f64 = 216.0;

/// One cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeatCell {
    /// Its place on the ramp, 0 to 1; `None`: unknown, hatched.
    pub(crate) share: Option<f64>,
    /// Its figure.
    pub(crate) figure: String,
    /// All that is known of it, shown on hover.
    pub(crate) title: String,
    /// Dots below the figure.
    pub(crate) dots: u32,
}

/// A matrix to draw.
pub(crate) struct HeatMap {
    /// What it shows, for readers that do not see it.
    pub(crate) name: String,
    /// A word for its patterns, unique on the page.
    pub(crate) id: &'static str,
    pub(crate) ramp: Ramp,
    pub(crate) rows: Vec<NodeId>,
    pub(crate) columns: Vec<NodeId>,
    pub(crate) cells: Vec<Vec<HeatCell>>,
    /// The tree of the rows, and that of the columns where they are other nodes; the leaves are
    /// indices of rows and columns.
    pub(crate) row_tree: Option<Tree>,
    pub(crate) column_tree: Option<Tree>,
    /// What the heights of the tree are, with unit.
    pub(crate) tree_words: &'static str,
    /// The figures at the start, the middle and the end of the ramp, with unit.
    pub(crate) legend: [String; 3],
    /// What the legend's figures are.
    pub(crate) legend_words: &'static str,
    /// Whether dots are explained.
    pub(crate) has_dots: bool,
}

/// Sizes that follow from the matrix.
struct Sizes {
    has_figures: bool,
    font: f64,
    cell_width: f64,
    cell_height: f64,
    left: f64,
    top: f64,
    /// Width of the headings of rows, and height of those of columns.
    words_width: f64,
    words_height: f64,
}

impl HeatMap {
    /// Draws it in a box that scrolls, where the headings of rows and columns stay in sight: they
    /// are drawn again above the picture, each in its place, and stick to the edges of the box.
    pub(crate) fn markup(&self) -> Markup {
        let sizes = self.sizes();
        let picture = self.picture();
        let (left, top) = (
            sizes.left - sizes.words_width,
            sizes.top - sizes.words_height,
        );
        let (width, height) = (sizes.words_width, sizes.words_height);
        let across = picture.width - sizes.left;
        let down = self.rows.len() as f64 * sizes.cell_height;
        let padding = format!("scroll-padding:{}px 0 0 {}px", px(height), px(width));
        html! {
            div.scroll.pinned style=(padding) {
                (picture.markup(&self.name, true))
                (pinned("down", [sizes.left, top, across, height], &self.column_labels(&sizes)))
                (pinned("across", [left, sizes.top, width, down], &self.row_labels(&sizes)))
                (pinned("down across", [left, top, width, height], &corner_labels(&sizes)))
            }
        }
    }

    /// Draws it.
    pub(crate) fn picture(&self) -> Picture {
        let sizes = self.sizes();
        let mut picture = Picture::default();
        self.draw_patterns(&mut picture);
        self.draw_trees(&mut picture, &sizes);
        self.draw_headings(&mut picture, &sizes);
        for (row, cells) in self.cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                self.draw_cell(&mut picture, &sizes, (row, column), cell);
            }
        }
        self.draw_legend(&mut picture, &sizes);
        picture
    }

    fn sizes(&self) -> Sizes {
        let count = self.rows.len().max(self.columns.len());
        let has_figures = count <= FIGURES_MAX;
        // Few cells are large, and 32 still fit a page of 1100 px.
        let (font, room) = match count {
            0..=4 => (20.0, 44.0),
            5..=8 => (16.0, 28.0),
            9..=16 => (13.0, 14.0),
            _ => (SMALL_FONT, 5.0),
        };
        let texts = self.cells.iter().flatten().map(|cell| &cell.figure);
        let widest = texts.map(|text| text_width(text, font)).fold(0.0, f64::max);
        let headings = self.rows.iter().chain(&self.columns);
        let heading = headings.map(|node| text_width(&node.to_string(), font));
        let heading = heading.fold(0.0, f64::max);
        let (cell_width, cell_height) = if has_figures {
            let dots = if self.has_dots { 7.0 } else { 0.0 };
            (widest.max(heading) + room, font * 1.6 + 0.3 * room + dots)
        } else {
            (SMALL_CELL, SMALL_CELL)
        };
        let tree = |tree: &Option<Tree>| tree.as_ref().map_or(0.0, |_| BREADTH + 8.0);
        // Headings of columns without figures are turned.
        let column_heading = if has_figures { font } else { heading };
        let words_width = heading.max(text_width("node", SMALL_FONT)) + 8.0;
        let words_height = 18.0 + column_heading + 6.0;
        Sizes {
            has_figures,
            font,
            cell_width,
            cell_height,
            left: tree(&self.row_tree) + words_width,
            top: tree(&self.column_tree) + words_height,
            words_width,
            words_height,
        }
    }

    fn draw_patterns(&self, picture: &mut Picture) {
        let id = self.hatch();
        picture.shape(&html! {
            defs {
                pattern id=(id) width="5" height="5" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    path d="M0 0V5" class="hatch" {}
                }
            }
        });
    }

    fn hatch(&self) -> String {
        format!("hatch-{}", self.id)
    }

    fn draw_trees(&self, picture: &mut Picture, sizes: &Sizes) {
        if let Some(tree) = &self.row_tree {
            let place = |row: usize| sizes.top + (row as f64 + 0.5) * sizes.cell_height;
            dendrogram::draw(picture, tree, BREADTH, false, place);
        }
        if let Some(tree) = &self.column_tree {
            let place = |column: usize| sizes.left + (column as f64 + 0.5) * sizes.cell_width;
            dendrogram::draw(picture, tree, BREADTH, true, place);
        }
    }

    fn draw_headings(&self, picture: &mut Picture, sizes: &Sizes) {
        let all = [
            self.column_labels(sizes),
            self.row_labels(sizes),
            corner_labels(sizes),
        ];
        for label in all.into_iter().flatten() {
            picture.label(label);
        }
    }

    fn row_labels(&self, sizes: &Sizes) -> Vec<Label> {
        let label = |(row, node): (usize, &NodeId)| {
            let y = sizes.top + (row as f64 + 0.5) * sizes.cell_height + sizes.font * 0.35;
            let label = Label::new(sizes.left - 6.0, y, sizes.font, node.to_string());
            label.anchored(Anchor::End)
        };
        self.rows.iter().enumerate().map(label).collect()
    }

    fn column_labels(&self, sizes: &Sizes) -> Vec<Label> {
        let y = sizes.top - 6.0;
        let label = |(column, node): (usize, &NodeId)| {
            let x = sizes.left + (column as f64 + 0.5) * sizes.cell_width;
            if sizes.has_figures {
                Label::new(x, y, sizes.font, node.to_string()).anchored(Anchor::Middle)
            } else {
                Label::new(x + sizes.font * 0.35, y, sizes.font, node.to_string()).turned()
            }
        };
        let above = sizes.top - sizes.words_height + SMALL_FONT;
        let words = Label::new(sizes.left, above, SMALL_FONT, "memory node").muted();
        let nodes = self.columns.iter().enumerate().map(label);
        std::iter::once(words).chain(nodes).collect()
    }

    fn draw_cell(
        &self,
        picture: &mut Picture,
        sizes: &Sizes,
        (row, column): (usize, usize),
        cell: &HeatCell,
    ) {
        let x = sizes.left + column as f64 * sizes.cell_width;
        let y = sizes.top + row as f64 * sizes.cell_height;
        picture.reach(x + sizes.cell_width, y + sizes.cell_height);
        let colour = cell.share.map(|share| self.ramp.at(share));
        let fill = match colour {
            Some(colour) => colour.hex(),
            None => format!("url(#{})", self.hatch()),
        };
        picture.shape(&html! {
            rect.cell.heat x=(px(x)) y=(px(y)) width=(px(sizes.cell_width))
                height=(px(sizes.cell_height)) fill=(fill) {
                title { (cell.title) }
            }
        });
        let (Some(colour), true) = (colour, sizes.has_figures) else {
            return;
        };
        let ink = colour.ink().hex();
        let dots = cell.dots.min(DOTS_MAX);
        let middle = x + sizes.cell_width / 2.0;
        let dots_height = if dots > 0 { 7.0 } else { 0.0 };
        let baseline = y + (sizes.cell_height - dots_height) / 2.0 + sizes.font * 0.36;
        let figure = Label::new(middle, baseline, sizes.font, &cell.figure);
        picture.label(figure.anchored(Anchor::Middle).inked(ink.clone()));
        for dot in 0..dots {
            let dot_x = middle + (f64::from(dot) - f64::from(dots - 1) / 2.0) * 4.2;
            let dot_y = y + sizes.cell_height - 5.0;
            picture.shape(&html! {
                circle cx=(px(dot_x)) cy=(px(dot_y)) r="1.5" fill=(ink) {}
            });
        }
    }

    fn draw_legend(&self, picture: &mut Picture, sizes: &Sizes) {
        let left = 4.0;
        let mut y = sizes.top + self.rows.len() as f64 * sizes.cell_height + 24.0;
        picture.label(Label::new(left, y, 12.0, self.legend_words));
        y += 8.0;
        let step_width = LEGEND_WIDTH / f64::from(LEGEND_STEPS);
        for step in 0..LEGEND_STEPS {
            let share = (f64::from(step) + 0.5) / f64::from(LEGEND_STEPS);
            let x = left + f64::from(step) * step_width;
            picture.shape(&html! {
                rect x=(px(x)) y=(px(y)) width=(px(step_width + 0.3)) height="12"
                    fill=(self.ramp.at(share).hex()) {}
            });
        }
        let anchors = [Anchor::Start, Anchor::Middle, Anchor::End];
        for (index, (text, anchor)) in self.legend.iter().zip(anchors).enumerate() {
            if text.is_empty() {
                continue;
            }
            let x = left + LEGEND_WIDTH * index as f64 / 2.0;
            let label = Label::new(x, y + 26.0, SMALL_FONT, text);
            picture.label(label.anchored(anchor));
        }
        y += 42.0;
        let mut notes = Vec::new();
        if self.has_dots && sizes.has_figures {
            notes.push("dots: hop class from that CPU node; none: the nearest class".to_owned());
        }
        let mut trees = [&self.row_tree, &self.column_tree].into_iter().flatten();
        if trees.any(|tree| tree.height().is_some()) {
            notes.push(self.tree_words.to_owned());
        }
        for note in notes {
            picture.label(Label::new(left, y, SMALL_FONT, note).muted());
            y += 16.0;
        }
        let has_unknown = self.cells.iter().flatten().any(|cell| cell.share.is_none());
        if has_unknown {
            picture.shape(&html! {
                rect class="frame" x=(px(left)) y=(px(y - 10.0)) width="18" height="12"
                    style=(format!("fill:url(#{})", self.hatch())) {}
            });
            picture.label(Label::new(left + 24.0, y, SMALL_FONT, "unknown").muted());
        }
    }
}

/// What the headings of rows are.
fn corner_labels(sizes: &Sizes) -> Vec<Label> {
    let label = |(above, word): (f64, &str)| {
        let label = Label::new(sizes.left - 6.0, sizes.top - above, SMALL_FONT, word);
        label.anchored(Anchor::End).muted()
    };
    [(20.0, "CPU"), (6.0, "node")].map(label).into()
}

/// The labels in a part of the picture (left, top, width, height), which sticks to the edges of
/// the box that these classes name. Readers that do not see it have the picture.
fn pinned(edges: &str, [left, top, width, height]: [f64; 4], labels: &[Label]) -> Markup {
    let view = format!("{} {} {} {}", px(left), px(top), px(width), px(height));
    let place = format!("margin:{}px 0 0 {}px", px(top), px(left));
    html! {
        svg class=(format!("picture fixed {edges}")) aria-hidden="true" viewBox=(view)
            width=(px(width)) height=(px(height)) style=(place) {
            @for label in labels { (label.markup()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::check_labels;
    use super::super::tree::tree;
    use super::*;

    fn map(count: usize, figure: &str) -> HeatMap {
        let cell = |row: usize, column: usize| HeatCell {
            share: ((row + 2 * column) % 5 != 4).then_some(column as f64 / count as f64),
            figure: figure.to_owned(),
            title: format!("{row} to {column}"),
            dots: (row % 7) as u32,
        };
        HeatMap {
            name: "test".to_owned(),
            id: "test",
            ramp: Ramp::Sequential,
            rows: (0..count as u32).map(NodeId).collect(),
            columns: (0..count as u32).map(NodeId).collect(),
            cells: (0..count)
                .map(|row| (0..count).map(|column| cell(row, column)).collect())
                .collect(),
            row_tree: tree(count, |row, column| Some((row + column) as f64)),
            column_tree: tree(count, |row, column| Some((row + column) as f64)),
            tree_words: "tree: mean latency between groups, ns",
            legend: ["1 ns".into(), "2 ns".into(), "3 ns".into()],
            legend_words: "latency, ns",
            has_dots: true,
        }
    }

    #[test]
    fn labels_never_overlap_at_any_size() {
        for count in [1, 2, 3, 8, 9, 16, 17, 32, 48, 49, 128] {
            check_labels(&map(count, "1,234").picture());
        }
    }

    #[test]
    fn figures_are_at_least_12_px_and_present_once_in_every_known_cell() {
        let map = map(32, "248");
        let picture = map.picture();
        assert!(picture.labels.iter().all(|label| label.size >= 12.0));
        let known = map.cells.iter().flatten();
        let known = known.filter(|cell| cell.share.is_some()).count();
        let figures = picture.labels.iter().filter(|label| label.text == "248");
        assert_eq!(figures.count(), known);
        let text = picture.markup("test", true).0;
        assert_eq!(text.matches("<title>").count(), 32 * 32);
    }

    #[test]
    fn an_unknown_cell_is_hatched_and_has_no_figure() {
        let mut map = map(1, "0");
        map.cells[0][0].share = None;
        let picture = map.picture();
        let text = picture.markup("test", true).0;
        assert!(text.contains("url(#hatch-test)"));
        // The heading of the row and that of the column, and no figure.
        assert_eq!(
            picture
                .labels
                .iter()
                .filter(|label| label.text == "0")
                .count(),
            2
        );
    }
}
