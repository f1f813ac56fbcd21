//! A picture under construction: shapes, and labels whose boxes are known, so that a test can see
//! whether two overlap.

use maud::{Markup, PreEscaped, html};

use super::colours::category_properties;

/// Width of a character in parts of the font size: that of the widest usual sans-serif font's
/// digits (DejaVu Sans: 0.636).
const CHARACTER_WIDTH: f64 = 0.64;

/// Where a label stands from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// Text at a point.
#[derive(Debug, Clone)]
pub(crate) struct Label {
    /// Where the point is from left to right, as a share of the picture's width: only in a picture
    /// as wide as its page.
    pub(crate) share: f64,
    /// The point, to the right of `share`, and on the baseline.
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) anchor: Anchor,
    /// Font size in pixels.
    pub(crate) size: f64,
    pub(crate) text: String,
    /// A colour as `#rrggbb`; `None`: the page's ink.
    pub(crate) ink: Option<String>,
    /// Whether it is less important.
    pub(crate) is_muted: bool,
    /// Whether it is read from bottom to top.
    pub(crate) is_turned: bool,
    /// Whether it names what is beside it.
    pub(crate) is_strong: bool,
}

/// The narrowest picture that is as wide as its page, in pixels: that of a phone of 360.
pub(crate) const NARROW: f64 = 328.0;

/// Returns the width that a text may take, in pixels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * CHARACTER_WIDTH * size
}

impl Label {
    /// A label in the page's ink.
    pub(crate) fn new(x: f64, y: f64, size: f64, text: impl Into<String>) -> Self {
        Label {
            share: 0.0,
            x,
            y,
            anchor: Anchor::Start,
            size,
            text: text.into(),
            ink: None,
            is_muted: false,
            is_turned: false,
            is_strong: false,
        }
    }

    /// Moves it to this share of the picture's width.
    pub(crate) fn at(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    pub(crate) fn strong(mut self) -> Self {
        self.is_strong = true;
        self
    }

    pub(crate) fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    pub(crate) fn muted(mut self) -> Self {
        self.is_muted = true;
        self
    }

    pub(crate) fn turned(mut self) -> Self {
        self.is_turned = true;
        self
    }

    pub(crate) fn inked(mut self, ink: String) -> Self {
        self.ink = Some(ink);
        self
    }

    /// The box it may take: left, top, right, bottom.
    pub(crate) fn bounds(&self) -> [f64; 4] {
        self.bounds_within(0.0)
    }

    /// The same in a picture as wide as its page.
    pub(crate) fn bounds_within(&self, picture_width: f64) -> [f64; 4] {
        let width = text_width(&self.text, self.size);
        let start = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        // Digits and capitals reach 0.73 of the size above the baseline.
        let (above, below) = (0.73 * self.size, 0.1 * self.size);
        if self.is_turned {
            let end = self.y - start;
            return [self.x - above, end - width, self.x + below, end];
        }
        let left = self.share * picture_width + self.x + start;
        [left, self.y - above, left + width, self.y + below]
    }

    pub(crate) fn markup(&self) -> Markup {
        let class = if self.is_muted { "muted" } else { "ink" };
        let (x, dx) = match self.share > 0.0 {
            true => (percent(self.share), Some(px(self.x))),
            false => (px(self.x), None),
        };
        let turn = format!("rotate(-90 {} {})", px(self.x), px(self.y));
        html! {
            text x=(x) dx=[dx] y=(px(self.y)) font-size=(px(self.size))
                font-weight=[self.is_strong.then_some("600")]
                text-anchor=[(self.anchor != Anchor::Start).then(|| self.anchor.name())]
                class=[self.ink.is_none().then_some(class)]
                fill=[self.ink.as_deref()]
                transform=[self.is_turned.then_some(turn)] { (self.text) }
        }
    }
}

/// A picture under construction.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Whether it is as wide as its page: its lengths across are then shares of its width, so that
    /// its text has one size in every window.
    is_fluid: bool,
    shapes: String,
    pub(crate) labels: Vec<Label>,
}

impl Picture {
    /// A picture as wide as its page.
    pub(crate) fn fluid() -> Self {
        Picture {
            is_fluid: true,
            ..Picture::default()
        }
    }

    /// Adds a shape above those before.
    pub(crate) fn shape(&mut self, shape: &Markup) {
        self.shapes.push_str(&shape.0);
    }

    /// Adds a line along a path (SVG 1.1, section 8.3) in a class of [`PICTURE_STYLE`].
    pub(crate) fn path(&mut self, path: &str, class: &str) {
        self.shape(&html! { path d=(path) class=(class) {} });
    }

    /// Adds a label; labels are above all shapes.
    pub(crate) fn label(&mut self, label: Label) {
        let [_, _, right, bottom] = label.bounds();
        self.reach(right, bottom);
        self.labels.push(label);
    }

    /// Makes the picture reach this point.
    pub(crate) fn reach(&mut self, right: f64, bottom: f64) {
        self.width = self.width.max(right);
        self.height = self.height.max(bottom);
    }

    /// The SVG element with this width, for a file.
    pub(crate) fn nested(&self, name: &str, width: f64) -> Markup {
        self.element(name, "picture", (&px(width), None))
    }

    /// The SVG element. `is_fixed`: it keeps its size, and the page scrolls it; otherwise it
    /// shrinks with the page.
    pub(crate) fn markup(&self, name: &str, is_fixed: bool) -> Markup {
        if self.is_fluid {
            return self.element(name, "picture fluid", ("100%", None));
        }
        let (width, height) = (px(self.width.ceil() + 4.0), px(self.height.ceil() + 4.0));
        let class = if is_fixed { "picture fixed" } else { "picture" };
        let view = format!("0 0 {width} {height}");
        self.element(name, class, (&width, Some(view)))
    }

    fn element(&self, name: &str, class: &str, (width, view): (&str, Option<String>)) -> Markup {
        let height = px(self.height.ceil() + 4.0);
        html! {
            svg class=(class) xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(name)
                width=(width) height=(height) viewBox=[view] {
                (PreEscaped(&self.shapes))
                @for label in &self.labels { (label.markup()) }
            }
        }
    }
}

/// Formats a share of the picture's width.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// Formats a length: at most one decimal.
pub(crate) fn px(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Returns the colours of pages and files, in light, dark and print.
pub(crate) fn palette() -> String {
    let [light, dark] = category_properties();
    let light = format!("color-scheme:light;--paper:#fff;--care:#8a4b00;--bad:#b3261e;{light}");
    let on_screen = "--ink:#16202c;--muted:#566270;--grid:#d3dae2";
    let dark = format!(
        "color-scheme:dark;--paper:#12171d;--ink:#e6eaee;--muted:#9aa7b4;--grid:#36404b;\
         --care:#ffb870;--bad:#ff8a80;{dark}"
    );
    format!(
        ":root{{{light}{on_screen}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\
         @media print{{:root{{{light}--ink:#000;--muted:#444;--grid:#ccc}}}}"
    )
}

/// The rules that pictures need, besides the colours of the page: `--ink`, `--paper`, `--muted`,
/// `--grid`.
pub const PICTURE_STYLE: &str = "\
.scroll{overflow-x:auto;max-width:100%}\
svg.picture{font-family:system-ui,sans-serif;font-variant-numeric:tabular-nums;\
max-width:100%;height:auto;display:block}\
svg.picture.fixed{max-width:none}\
svg.picture:not(.fixed):not(.fluid){min-width:27rem}\
svg.picture .ink{fill:var(--ink)}\
svg.picture text.ink,svg.picture text.muted{paint-order:stroke;stroke:var(--paper);\
stroke-width:4px;stroke-linejoin:round}\
svg.picture .muted{fill:var(--muted)}\
svg.picture .line{stroke:var(--ink);fill:none;stroke-width:1.2}\
svg.picture .thin{stroke:var(--grid);fill:none;stroke-width:1}\
svg.picture .mark{stroke:var(--muted);fill:none;stroke-width:1;stroke-dasharray:4 3}\
svg.picture .frame{stroke:var(--muted);fill:none;stroke-width:1}\
svg.picture .unknown{fill:var(--paper);stroke:var(--grid)}\
svg.picture .hatch{stroke:var(--muted);fill:none;stroke-width:1}\
svg.picture .cell{stroke:var(--paper);stroke-width:1}\
svg.picture .gap{stroke:var(--paper);stroke-width:1;fill:none}\
.sides{display:flex;flex-wrap:wrap;gap:1.5rem}\
.sides>*{min-width:0}.sides figcaption{max-width:28rem}\
.key{display:flex;flex-wrap:wrap;gap:.3rem 1rem;list-style:none;padding:0;margin:.5rem 0;\
font-size:.9rem}\
.key i{display:inline-block;width:.9em;height:.9em;margin-right:.4em;vertical-align:-.1em;\
border:1px solid var(--muted)}\
.key .hatched{background:repeating-linear-gradient(45deg,var(--paper) 0 2px,var(--muted) 2px 3px)}\
.pinned{display:grid;justify-items:start;align-items:start}.pinned>*{grid-area:1/1}\
.pinned .across,.pinned .down{position:sticky;background:var(--paper)}\
.pinned .across{left:0}.pinned .down{top:0}.pinned .down.across{z-index:1}\
@media (max-width:600px){.pinned{max-height:85vh}}\
.pile{display:grid}.pile>*{grid-area:1/1}.pile>svg:last-child{background:var(--paper)}\
@media print{.scroll{overflow:visible;max-height:none}.pinned .across,.pinned .down{display:none}\
svg.picture,svg.picture.fixed,.sheet svg{max-width:100%;\
height:auto;min-width:0;max-height:22cm}figcaption{break-after:avoid}\
svg,tr{break-inside:avoid}.key i{print-color-adjust:exact}}\
.slider{display:flex;gap:.5rem;align-items:center}.slider input{flex:1}";

#[cfg(test)]
pub(crate) mod tests {
    use super::{Anchor, Label, NARROW, Picture};

    /// Checks that no two labels overlap, and that none leaves the picture.
    pub(crate) fn check_labels(picture: &Picture) {
        match picture.is_fluid {
            true => [NARROW, 1100.0].map(|width| check_labels_within(picture, width)),
            false => [check_labels_within(picture, f64::INFINITY); 2],
        };
    }

    fn check_labels_within(picture: &Picture, width: f64) {
        for (index, label) in picture.labels.iter().enumerate() {
            let bounds = |label: &Label| match width.is_finite() {
                true => label.bounds_within(width),
                false => label.bounds(),
            };
            let [left, top, right, bottom] = bounds(label);
            assert!(left >= -0.5 && top >= -0.5, "outside: {label:?}");
            assert!(right <= width + 0.5, "outside of {width}: {label:?}");
            for other in &picture.labels[..index] {
                let [other_left, other_top, other_right, other_bottom] = bounds(other);
                let apart = right <= other_left + 0.01
                    || other_right <= left + 0.01
                    || bottom <= other_top + 0.01
                    || other_bottom <= top + 0.01;
                assert!(apart, "{label:?}\noverlaps {other:?}");
            }
        }
    }

    #[test]
    fn the_box_of_a_label_follows_its_anchor_and_turn() {
        let label = Label::new(10.0, 20.0, 10.0, "ab");
        assert_eq!(label.bounds().map(f64::round), [10.0, 13.0, 23.0, 21.0]);
        let end = label.clone().anchored(Anchor::End);
        assert_eq!(end.bounds().map(f64::round), [-3.0, 13.0, 10.0, 21.0]);
        let turned = label.turned();
        assert_eq!(turned.bounds().map(f64::round), [3.0, 7.0, 11.0, 20.0]);
    }

    #[test]
    fn text_in_a_picture_is_escaped() {
        let mut picture = Picture::default();
        picture.label(Label::new(0.0, 10.0, 10.0, "<script>"));
        let text = picture.markup("a \"name\"", true).0;
        assert!(text.contains("&lt;script&gt;") && text.contains("a &quot;name&quot;"));
    }
}
