//! Lines over two axes, each labelled at its end.

use maud::html;

use super::colours::line_colour;
use super::picture::{Anchor, Label, NARROW, Picture, percent, px, text_width};

/// Where the plot begins, as a share of the picture's width: right of most figures of its axis.
const START: f64 = 0.12;
/// Width of the plot in its own units: lines are stretched to the plot.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 280.0;
const TOP: f64 = 44.0;
const FONT: f64 = 12.0;
/// Characters of the longest names that stand beside their lines, and what the plot leaves them.
const NAMES_BESIDE: [(usize, f64); 2] = [(5, 0.82), (9, 0.7)];
/// Where the plot ends if the names stand below it.
const END: f64 = 0.98;
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
    /// What it varied between, if that is known: the band of the line.
    pub(crate) between: Option<(f64, f64)>,
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

/// A point where it is drawn.
struct Placed<'p> {
    /// As a share of the plot's width.
    x: f64,
    y: f64,
    between: Option<(f64, f64)>,
    title: &'p str,
}

impl Chart {
    /// Draws it; `None` where no point can be drawn.
    pub(crate) fn picture(&self) -> Option<Picture> {
        let of_lines = || self.lines.iter().flat_map(|line| &line.points);
        let marks = self.marks.iter().map(|mark| mark.x);
        let across = of_lines().map(|point| point.x).chain(marks);
        let across = Reach::of(&self.across, across)?;
        let between = of_lines().filter_map(|point| point.between);
        let between = between.flat_map(|(low, high)| [low, high]);
        let up = of_lines().map(|point| point.y).chain(between);
        let up = Reach::of(&self.up, up)?;
        let lines = &self.lines[..self.lines.len().min(LINES_MAX)];
        let longest = lines.iter().map(|line| line.name.chars().count()).max();
        let longest = longest.unwrap_or(0);
        let beside = NAMES_BESIDE.iter().find(|(length, _)| longest <= *length);
        let end = beside.map_or(END, |(_, end)| *end);
        let mut picture = Picture::fluid();
        let plot = Plot { across, up, end };
        self.draw_axes(&mut picture, plot);
        self.draw_marks(&mut picture, plot);
        let mut ends = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let points: Vec<Placed<'_>> = line
                .points
                .iter()
                .take(POINTS_MAX)
                .filter_map(|point| plot.placed(point))
                .collect();
            if let Some(last) = points.last() {
                ends.push((last.y, index, line.name.as_str()));
            }
            draw_line(&mut picture, index, plot, &points);
        }
        match beside {
            Some((_, end)) => draw_names_beside(&mut picture, &mut ends, *end),
            None => draw_names_below(&mut picture, &ends),
        }
        Some(picture)
    }

    fn draw_axes(&self, picture: &mut Picture, plot: Plot) {
        let bottom = TOP + HEIGHT;
        picture.label(Label::new(0.0, 12.0, FONT, self.up.words).muted());
        for tick in plot.up.ticks(self.up.base) {
            let y = bottom - plot.up.place(tick) * HEIGHT;
            let class = if tick == 0.0 { "frame" } else { "thin" };
            picture.shape(&html! {
                line class=(class) x1="0" x2=(percent(plot.end)) y1=(px(y)) y2=(px(y)) {}
            });
            picture.label(Label::new(0.0, y - 4.0, FONT, (self.up.figure)(tick)));
        }
        let mut free_from = 0.0;
        for tick in plot.across.ticks(self.across.base) {
            let x = plot.share(tick);
            vertical(picture, x, (bottom, bottom + 5.0), "frame", None);
            let text = (self.across.figure)(tick);
            let label = Label::new(0.0, bottom + 18.0, FONT, text).at(x);
            let label = label.anchored(Anchor::Middle);
            let [left, _, right, _] = label.bounds_within(NARROW);
            if left >= free_from && right <= NARROW {
                free_from = right + 6.0;
                picture.label(label);
            }
        }
        let y = px(bottom);
        picture.shape(&html! {
            line class="frame" x1="0" x2=(percent(plot.end)) y1=(y) y2=(y) {}
        });
        let words = Label::new(0.0, bottom + 36.0, FONT, self.across.words);
        picture.label(words.muted());
    }

    /// Marks with their names at the top; a name without room is in the title alone.
    fn draw_marks(&self, picture: &mut Picture, plot: Plot) {
        let mut free_from = 0.0;
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by(|one, other| one.x.total_cmp(&other.x));
        for mark in marks.into_iter().take(LINES_MAX) {
            let x = plot.share(mark.x);
            if !x.is_finite() {
                continue;
            }
            vertical(picture, x, (TOP, TOP + HEIGHT), "mark", Some(&mark.name));
            let label = Label::new(0.0, TOP - 12.0, FONT, &mark.name).at(x);
            let label = label.anchored(Anchor::Middle).muted();
            let [left, _, right, _] = label.bounds_within(NARROW);
            if left >= free_from && right <= NARROW {
                free_from = right + 6.0;
                picture.label(label);
            }
        }
    }
}

/// Where figures are in the picture.
#[derive(Debug, Clone, Copy)]
struct Plot {
    across: Reach,
    up: Reach,
    /// Where it ends, as a share of the picture's width.
    end: f64,
}

impl Plot {
    /// The place of a figure of the horizontal axis, as a share of the picture's width.
    fn share(self, value: f64) -> f64 {
        self.of_picture(self.across.place(value))
    }

    /// A share of the plot's width as one of the picture's.
    fn of_picture(self, share: f64) -> f64 {
        START + share * (self.end - START)
    }

    fn placed(self, point: &ChartPoint) -> Option<Placed<'_>> {
        let up = |value: f64| TOP + (1.0 - self.up.place(value)) * HEIGHT;
        let (x, y) = (self.across.place(point.x), self.up.place(point.y));
        let is_inside = x.is_finite() && y.is_finite() && (0.0..=1.0).contains(&y);
        let between = point.between.map(|(low, high)| (up(low), up(high)));
        is_inside.then(|| Placed {
            x,
            y: up(point.y),
            between: between.filter(|(low, high)| low.is_finite() && high.is_finite()),
            title: &point.title,
        })
    }
}

fn vertical(
    picture: &mut Picture,
    share: f64,
    (top, bottom): (f64, f64),
    class: &str,
    title: Option<&str>,
) {
    let x = percent(share);
    picture.shape(&html! {
        line class=(class) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {
            @if let Some(title) = title { title { (title) } }
        }
    });
}

/// Strokes by the number of a line: they differ without colour, too.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

fn draw_line(picture: &mut Picture, index: usize, plot: Plot, points: &[Placed<'_>]) {
    let colour = line_colour(index);
    let path_of = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let steps = points.enumerate().map(|(step, (x, y))| {
            let letter = if step == 0 { 'M' } else { 'L' };
            format!("{letter}{} {}", px(x * WIDTH), px(y - TOP))
        });
        steps.collect::<String>()
    };
    let path = path_of(&mut points.iter().map(|it| (it.x, it.y)));
    let band = points.iter().filter_map(|it| Some((it.x, it.between?)));
    let band: Vec<(f64, (f64, f64))> = band.collect();
    let lows = band.iter().map(|(x, (low, _))| (*x, *low));
    let highs = band.iter().rev().map(|(x, (_, high))| (*x, *high));
    let band = path_of(&mut lows.chain(highs));
    let dash = DASHES[index % DASHES.len()];
    // Lines are stretched with the plot, and their strokes are not.
    picture.shape(&html! {
        svg x=(percent(START)) width=(percent(plot.end - START)) y=(px(TOP)) height=(px(HEIGHT))
            viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none"
            overflow="visible" {
            @if !band.is_empty() { path d=(band) fill=(colour) fill-opacity="0.2" {} }
            path d=(path) fill="none" stroke=(colour) stroke-width="2"
                vector-effect="non-scaling-stroke"
                stroke-dasharray=[(!dash.is_empty()).then_some(dash)] {}
        }
        @for point in points {
            circle cx=(percent(plot.of_picture(point.x))) cy=(px(point.y)) r="3.5"
                fill=(colour) { title { (point.title) } }
        }
    });
}

/// Writes the names of lines beside their ends, moved apart where they would overlap.
fn draw_names_beside(picture: &mut Picture, ends: &mut [(f64, usize, &str)], share: f64) {
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let step = FONT + 3.0;
    let mut free_from = TOP;
    let last = TOP + HEIGHT;
    let count = ends.len();
    for (index, (y, line, name)) in ends.iter().enumerate() {
        let room_below = last - (count - 1 - index) as f64 * step;
        let y = y.min(room_below).max(free_from);
        free_from = y + step;
        draw_name(picture, share, y, (*line, name));
    }
}

/// Writes the names of lines below the axis, one below the other.
fn draw_names_below(picture: &mut Picture, ends: &[(f64, usize, &str)]) {
    let room = (NARROW / text_width("m", FONT)) as usize - 4;
    for (index, (_, line, name)) in ends.iter().enumerate() {
        let y = TOP + HEIGHT + 56.0 + 18.0 * index as f64;
        let name: String = name.chars().take(room).collect();
        draw_name(picture, 0.0, y, (*line, &name));
    }
}

fn draw_name(picture: &mut Picture, share: f64, y: f64, (line, name): (usize, &str)) {
    let (x, colour) = (percent(share), line_colour(line));
    picture.shape(&html! {
        rect x=(x) y=(px(y - 5.0)) width="10" height="10" transform="translate(6 0)"
            fill=(colour) {}
    });
    picture.label(Label::new(22.0, y + 4.0, FONT, name).at(share));
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
                    between: Some((*y * 0.9, *y * 1.1)),
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
