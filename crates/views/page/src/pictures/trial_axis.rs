//! The axis of every trial: the figures that it reaches, its ticks, and where it begins.

use maud::html;

use super::picture::{Anchor, Label, NARROW, Picture, percent, px, text_width};

/// The plot from left to right, as shares of the picture's width: a dot at its end is not cut off.
const START: f64 = 0.02;
const END: f64 = 0.98;
/// Font size and height of a line of text.
const FONT: f64 = 13.0;
const LINE: f64 = 18.0;

/// The figures that the axis reaches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Reach {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values = values.filter(|value| value.is_finite());
        let ends = values.fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let (low, high): (f64, f64) = ends?;
        let room = ((high - low) * 0.06).max(high.abs() * 0.02).max(1e-9);
        let reach = Reach {
            // From zero on, unless that would press all dots together.
            low: if low >= 0.0 && low < 0.6 * high {
                0.0
            } else {
                low - room
            },
            high: high + room,
        };
        (reach.low.is_finite() && reach.high.is_finite()).then_some(reach)
    }

    /// Where a figure is, as a share of the picture's width.
    pub(crate) fn x(self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        START + share * (END - START)
    }

    /// About five figures at even steps.
    fn ticks(self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        let ticks = (0..12).map(|number| (first + f64::from(number)) * step);
        ticks.filter(|tick| *tick <= self.high).collect()
    }
}

/// Draws the ticks, and says where the axis begins if that is not at 0.
pub(crate) fn draw_axis(picture: &mut Picture, reach: Reach, bottom: f64, unit: &str) {
    let baseline = bottom + FONT + 4.0;
    for tick in reach.ticks() {
        let x = reach.x(tick);
        let class = if tick == 0.0 { "frame" } else { "thin" };
        draw_line(picture, x, (0.0, bottom + 4.0), class);
        let label = Label::new(0.0, baseline, FONT - 1.0, tick_text(tick));
        let label = label.at(x).anchored(Anchor::Middle);
        let [left, _, right, _] = label.bounds_within(NARROW);
        let before = picture.labels.last();
        let is_free = before.is_none_or(|it| it.bounds_within(NARROW)[2] + 6.0 < left);
        if is_free && left >= 0.0 && right <= NARROW {
            picture.label(label);
        }
    }
    let y = px(bottom);
    picture.shape(&html! {
        line class="frame" x1=(percent(START)) x2=(percent(END)) y1=(y) y2=(y) {}
    });
    let mut words = report::plain(unit);
    if reach.low > 0.0 {
        // Two strokes across the axis: what is left of them is missing.
        let (above, below) = (px(bottom - 6.0), px(bottom + 6.0));
        picture.shape(&html! {
            @for (from, to) in [("0.4%", "1.2%"), ("1.2%", "2%")] {
                line class="line" x1=(from) y1=(below) x2=(to) y2=(above) {}
            }
        });
        words.push_str(" (the axis does not begin at 0)");
    }
    let room = (NARROW / text_width("m", FONT)) as usize;
    let words: String = words.chars().take(room).collect();
    picture.label(Label::new(0.0, baseline + LINE, FONT, words).muted());
}

/// Draws a vertical line.
pub(crate) fn draw_line(picture: &mut Picture, share: f64, (top, bottom): (f64, f64), class: &str) {
    let x = percent(share);
    picture.shape(&html! {
        line class=(class) x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
    });
}

/// A tick without more digits than it needs.
fn tick_text(tick: f64) -> String {
    let (value, prefix) = match tick.abs() {
        it if it >= 1e9 => (tick / 1e9, " G"),
        it if it >= 1e6 => (tick / 1e6, " M"),
        it if it >= 1e4 => (tick / 1e3, " k"),
        _ => (tick, ""),
    };
    let text = report::decimals(value, 6);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    text + prefix
}
