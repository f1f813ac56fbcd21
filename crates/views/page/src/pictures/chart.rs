//! Lines over two axes, each labelled at its end.

use maud::html;

use super::colours::line_colour;
use super::picture::{Anchor, Label, Picture, px, text_width};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 26.0;
const FONT: f64 = 12.0;
/// Maximum number of lines in one chart.
pub(crate) const LINES_MAX: usize = 12;
/// Maximum number of points of one line.
const POINTS_MAX: usize = 1000;

/// How a length along an axis follows from a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// In proportion, from 0.
    Linear,
    /// By its logarithm.
    Logarithmic,
}

/// An axis.
pub(crate) struct Axis {
    /// What it shows, with unit.
    pub(crate) words: &'static str,
    pub(crate) scale: Scale,
    /// Logarithmic ticks are powers of this.
    pub(crate) base: f64,
    /// Formats a tick.
    pub(crate) figure: fn(f64) -> String,
}

/// One line.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<ChartPoint>,
}

/// One point of a line.
pub(crate) struct ChartPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// All that is known of it, shown on hover.
    pub(crate) title: String,
}

/// A vertical line at a figure of the horizontal axis.
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) name: String,
}

/// A chart to draw.
pub(crate) struct Chart {
    pub(crate) across: Axis,
    pub(crate) up: Axis,
    pub(crate) lines: Vec<Line>,
    pub(crate) marks: Vec<Mark>,
}

/// The figures that an axis reaches.
#[derive(Debug, Clone, Copy)]
struct Reach {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Reach {
    fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Reach> {
        let fits = |value: &f64| match axis.scale {
            Scale::Linear => value.is_finite() && *value >= 0.0,
            Scale::Logarithmic => value.is_finite() && *value > 0.0,
        };
        let ends = values.filter(fits).fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high) = ends?;
        let (low, high) = match axis.scale {
            Scale::Linear => (0.0, if high > 0.0 { high * 1.05 } else { 1.0 }),
            Scale::Logarithmic => (low / 1.3, high * 1.3),
        };
        high.is_finite().then_some(Reach {
            low,
            high,
            scale: axis.scale,
        })
    }

    /// The place of a value, 0 to 1.
    fn place(self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// About five figures for ticks.
    fn ticks(self, base: f64) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = 10_f64.powf(rough.log10().floor());
                let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
                let step = steps.into_iter().find(|step| *step >= rough);
                let step = step.unwrap_or(rough);
                let count = (self.high / step).floor().clamp(0.0, 20.0) as u32;
                (0..=count).map(|tick| f64::from(tick) * step).collect()
            }
            Scale::Logarithmic => {
                let first = self.low.log(base).ceil() as i32;
                let last = self.high.log(base).floor() as i32;
                let each = ((last - first) / 6 + 1) as usize;
                let powers = (first..=last).step_by(each).take(20);
                let powers = powers.map(|power| base.powi(power));
                // Few powers of ten are too few ticks.
                let steps: &[f64] = if base == 10.0 && last - first < 4 {
                    &[0.2, 0.5, 1.0, 2.0, 5.0]
                } else {
                    &[1.0]
                };
                let ticks = powers.flat_map(|power| steps.iter().map(move |step| power * step));
                let mut ticks: Vec<f64> = ticks.collect();
                ticks.sort_by(f64::total_cmp);
                ticks.dedup_by(|one, other| (*one / *other - 1.0).abs() < 1e-9);
                ticks.retain(|tick| (self.low..=self.high).contains(tick));
                ticks
            }
        }
    }
}

impl Chart {
    /// Draws it; `None` where no point can be drawn.
    pub(crate) fn picture(&self) -> Option<Picture> {
        let of_lines = || self.lines.iter().flat_map(|line| &line.points);
        let marks = self.marks.iter().map(|mark| mark.x);
        let across = of_lines().map(|point| point.x).chain(marks);
        let across = Reach::of(&self.across, across)?;
        let up = Reach::of(&self.up, of_lines().map(|point| point.y))?;
        let mut picture = Picture::default();
        self.draw_axes(&mut picture, across, up);
        self.draw_marks(&mut picture, across);
        let place = |point: &ChartPoint| {
            let (x, y) = (across.place(point.x), up.place(point.y));
            let inside = x.is_finite() && y.is_finite() && (0.0..=1.0).contains(&y);
            inside.then_some((LEFT + x * WIDTH, TOP + (1.0 - y) * HEIGHT))
        };
        let mut ends = Vec::new();
        for (index, line) in self.lines.iter().take(LINES_MAX).enumerate() {
            let points: Vec<(f64, f64, &str)> = line
                .points
                .iter()
                .take(POINTS_MAX)
                .filter_map(|point| place(point).map(|(x, y)| (x, y, point.title.as_str())))
                .collect();
            if let Some((_, y, _)) = points.last() {
                ends.push((*y, index, line.name.as_str()));
            }
            draw_line(&mut picture, index, &points);
        }
        draw_names(&mut picture, &mut ends);
        Some(picture)
    }

    fn draw_axes(&self, picture: &mut Picture, across: Reach, up: Reach) {
        let bottom = TOP + HEIGHT;
        picture.label(Label::new(4.0, 12.0, FONT, self.up.words).muted());
        for tick in up.ticks(self.up.base) {
            let y = bottom - up.place(tick) * HEIGHT;
            let path = format!("M{} {}H{}", px(LEFT), px(y), px(LEFT + WIDTH));
            picture.path(&path, "thin");
            let label = Label::new(LEFT - 6.0, y + 4.0, FONT, (self.up.figure)(tick));
            picture.label(label.anchored(Anchor::End));
        }
        let mut free_from = 0.0;
        for tick in across.ticks(self.across.base) {
            let x = LEFT + across.place(tick) * WIDTH;
            let path = format!("M{} {}v5", px(x), px(bottom));
            picture.path(&path, "frame");
            let label = Label::new(x, bottom + 18.0, FONT, (self.across.figure)(tick));
            let label = label.anchored(Anchor::Middle);
            let [left, _, right, _] = label.bounds();
            if left >= free_from {
                free_from = right + 6.0;
                picture.label(label);
            }
        }
        picture.path(
            &format!("M{} {}H{}", px(LEFT), px(bottom), px(LEFT + WIDTH)),
            "frame",
        );
        let words = Label::new(LEFT + WIDTH / 2.0, bottom + 36.0, FONT, self.across.words);
        picture.label(words.anchored(Anchor::Middle).muted());
    }

    /// Marks with their names at the top; a name without room is in the title alone.
    fn draw_marks(&self, picture: &mut Picture, across: Reach) {
        let mut free_from = text_width(self.up.words, FONT) + 12.0;
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by(|one, other| one.x.total_cmp(&other.x));
        for mark in marks.into_iter().take(LINES_MAX) {
            let x = LEFT + across.place(mark.x) * WIDTH;
            if !x.is_finite() {
                continue;
            }
            picture.shape(&html! {
                path class="mark" d=(format!("M{} {}V{}", px(x), px(TOP), px(TOP + HEIGHT))) {
                    title { (mark.name) }
                }
            });
            let label = Label::new(x, TOP - 8.0, 11.0, &mark.name).anchored(Anchor::Middle);
            let [left, _, right, _] = label.bounds();
            if left >= free_from {
                free_from = right + 6.0;
                picture.label(label.muted());
            }
        }
    }
}

/// Strokes by the number of a line: they differ without colour, too.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

fn draw_line(picture: &mut Picture, index: usize, points: &[(f64, f64, &str)]) {
    let colour = line_colour(index).hex();
    let steps = points.iter().enumerate().map(|(step, (x, y, _))| {
        let letter = if step == 0 { 'M' } else { 'L' };
        format!("{letter}{} {}", px(*x), px(*y))
    });
    let path: String = steps.collect();
    let dash = DASHES[index % DASHES.len()];
    picture.shape(&html! {
        path d=(path) fill="none" stroke=(colour) stroke-width="2"
            stroke-dasharray=[(!dash.is_empty()).then_some(dash)] {}
        @for (x, y, title) in points {
            circle cx=(px(*x)) cy=(px(*y)) r="3.2" fill=(colour) { title { (title) } }
        }
    });
}

/// Writes the names of lines beside their ends, moved apart where they would overlap.
fn draw_names(picture: &mut Picture, ends: &mut [(f64, usize, &str)]) {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let step = FONT + 3.0;
    let mut free_from = TOP;
    let last = TOP + HEIGHT;
    let count = ends.len();
    for (index, (y, line, name)) in ends.iter().enumerate() {
        let room_below = last - (count - 1 - index) as f64 * step;
        let y = y.min(room_below).max(free_from);
        free_from = y + step;
        let x = LEFT + WIDTH + 10.0;
        picture.shape(&html! {
            rect x=(px(x)) y=(px(y - 5.0)) width="10" height="10" fill=(line_colour(*line).hex()) {}
        });
        picture.label(Label::new(x + 15.0, y + 4.0, FONT, *name));
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::check_labels;
    use super::*;

    fn axis(scale: Scale, base: f64) -> Axis {
        Axis {
            words: "latency, ns",
            scale,
            base,
            figure: |tick| format!("{tick:.0}"),
        }
    }

    fn chart(values: &[&[(f64, f64)]], across: Scale) -> Chart {
        let line = |(index, points): (usize, &&[(f64, f64)])| Line {
            name: format!("0 to {index}"),
            points: points
                .iter()
                .map(|(x, y)| ChartPoint {
                    x: *x,
                    y: *y,
                    title: format!("{x}, {y}"),
                })
                .collect(),
        };
        Chart {
            across: axis(across, 2.0),
            up: axis(Scale::Linear, 10.0),
            lines: values.iter().enumerate().map(line).collect(),
            marks: vec![
                Mark {
                    x: 4.0,
                    name: "L1".to_owned(),
                },
                Mark {
                    x: 4.1,
                    name: "L2".to_owned(),
                },
            ],
        }
    }

    #[test]
    fn names_of_lines_that_end_together_are_moved_apart() {
        let line: &[(f64, f64)] = &[(1.0, 50.0), (9.0, 100.0)];
        let lines: Vec<&[(f64, f64)]> = vec![line; LINES_MAX];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            let picture = chart(&lines, scale).picture().unwrap();
            check_labels(&picture);
            let names = picture.labels.iter();
            let names = names.filter(|label| label.text.starts_with("0 to "));
            assert_eq!(names.count(), LINES_MAX);
        }
    }

    #[test]
    fn figures_that_no_axis_can_show_are_left_out() {
        let odd: &[(f64, f64)] = &[
            (f64::NAN, 1.0),
            (-1.0, f64::INFINITY),
            (0.0, -5.0),
            (f64::MAX, f64::MAX),
        ];
        for scale in [Scale::Linear, Scale::Logarithmic] {
            if let Some(picture) = chart(&[odd], scale).picture() {
                let text = picture.markup("test", false).0;
                assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            }
            let mut empty = chart(&[&[]], scale);
            empty.marks.clear();
            assert!(empty.picture().is_none());
        }
    }

    #[test]
    fn every_point_is_drawn_once() {
        let picture = chart(&[&[(1.0, 2.0), (2.0, 3.0)], &[(1.0, 1.0)]], Scale::Linear).picture();
        let text = picture.unwrap().markup("test", false).0;
        assert_eq!(text.matches("<circle").count(), 3);
    }
}
