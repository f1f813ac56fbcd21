//! Colours of pictures: ramps for figures, categories for nodes, and the ink that is readable on
//! each.

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) [u8; 3]);

impl Colour {
    /// As `#rrggbb`.
    pub(crate) fn hex(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// Relative luminance, 0 to 1 (WCAG 2.1, "relative luminance").
    pub(crate) fn luminance(self) -> f64 {
        let linear = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.03928 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// Contrast with another colour, 1 to 21 (WCAG 2.1, "contrast ratio").
    pub(crate) fn contrast(self, other: Colour) -> f64 {
        let (one, two) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(two) / one.min(two)
    }

    /// Black or white, whichever has the higher contrast with this colour: at least 4.58.
    pub(crate) fn ink(self) -> Colour {
        if self.contrast(BLACK) >= self.contrast(WHITE) {
            BLACK
        } else {
            WHITE
        }
    }

    /// The colour at `share` (0 to 1) of the way to another one.
    fn towards(self, other: Colour, share: f64) -> Colour {
        let mut parts = self.0;
        for (part, end) in parts.iter_mut().zip(other.0) {
            let mixed = f64::from(*part) + (f64::from(end) - f64::from(*part)) * share;
            *part = mixed.round() as u8;
        }
        Colour(parts)
    }
}

const BLACK: Colour = Colour([0, 0, 0]);
const WHITE: Colour = Colour([255, 255, 255]);

/// Viridis, from its dark end (Smith and van der Walt, matplotlib 2.0, 2015; CC0): even steps of
/// lightness, and readable with every kind of colour blindness.
const VIRIDIS: [Colour; 10] = [
    Colour([0x44, 0x01, 0x54]),
    Colour([0x48, 0x28, 0x78]),
    Colour([0x3e, 0x49, 0x89]),
    Colour([0x31, 0x68, 0x8e]),
    Colour([0x26, 0x82, 0x8e]),
    Colour([0x1f, 0x9e, 0x89]),
    Colour([0x35, 0xb7, 0x79]),
    Colour([0x6d, 0xcd, 0x59]),
    Colour([0xb4, 0xde, 0x2c]),
    Colour([0xfd, 0xe7, 0x25]),
];

/// Purple to orange over white (Brewer, ColorBrewer 2.0, `PuOr`): two directions that a
/// colour-blind reader can tell apart.
const PURPLE_ORANGE: [Colour; 9] = [
    Colour([0x54, 0x27, 0x88]),
    Colour([0x80, 0x73, 0xac]),
    Colour([0xb2, 0xab, 0xd2]),
    Colour([0xd8, 0xda, 0xeb]),
    Colour([0xf7, 0xf7, 0xf7]),
    Colour([0xfe, 0xe0, 0xb6]),
    Colour([0xfd, 0xb8, 0x63]),
    Colour([0xe0, 0x82, 0x14]),
    Colour([0xb3, 0x58, 0x06]),
];

/// Colours for categories (Okabe and Ito, "Color Universal Design", 2008). Their black is left to
/// text, and a grey takes its place.
const CATEGORIES: [Colour; 8] = [
    Colour([0x00, 0x72, 0xb2]),
    Colour([0xe6, 0x9f, 0x00]),
    Colour([0x00, 0x9e, 0x73]),
    Colour([0xcc, 0x79, 0xa7]),
    Colour([0x56, 0xb4, 0xe9]),
    Colour([0xd5, 0x5e, 0x00]),
    Colour([0xf0, 0xe4, 0x42]),
    Colour([0x99, 0x99, 0x99]),
];

/// Number of colours that are told apart without lightness.
pub(crate) const CATEGORY_COUNT: usize = CATEGORIES.len();

/// A mapping of figures to colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ramp {
    /// Dark to bright.
    Sequential,
    /// Purple below the middle, white in it, orange above.
    Diverging,
}

impl Ramp {
    /// The colour at `share`, 0 to 1; what is outside is taken for the nearer end.
    pub(crate) fn at(self, share: f64) -> Colour {
        let stops: &[Colour] = match self {
            Ramp::Sequential => &VIRIDIS,
            Ramp::Diverging => &PURPLE_ORANGE,
        };
        let share = if share.is_nan() {
            0.5
        } else {
            share.clamp(0.0, 1.0)
        };
        let place = share * (stops.len() - 1) as f64;
        let first = (place as usize).min(stops.len() - 2);
        stops[first].towards(stops[first + 1], place - first as f64)
    }
}

/// Paper and ink, light and dark, as in the palette of pages.
const PAPERS: [(Colour, Colour); 2] = [(WHITE, BLACK), (Colour([0x12, 0x17, 0x1d]), WHITE)];
/// What WCAG 2.1 asks of shapes against what is around them (success criterion 1.4.11), with some
/// room for rounding.
const SHAPE_CONTRAST: f64 = 3.05;
/// Number of categories that have colours of their own.
const VARIANTS: usize = 4 * CATEGORY_COUNT;

/// The colour of the `index`-th category, as it is written in CSS: a property of [`palette`]. From
/// the ninth on, the same colours are nearer to the ink: there the label says which it is.
pub(crate) fn category(index: usize) -> String {
    format!("var(--c{})", index % VARIANTS)
}

/// The categories that differ most, for lines and dots.
const LINES: [usize; 7] = [0, 5, 2, 1, 3, 4, 7];

/// The colour of the `index`-th line; dashes tell apart those that share one.
pub(crate) fn line_colour(index: usize) -> String {
    category(LINES[index % LINES.len()])
}

/// A category as it is drawn on a paper: at least as far from it as shapes must be.
fn on_paper(index: usize, (paper, ink): (Colour, Colour)) -> Colour {
    let own = CATEGORIES[index % CATEGORY_COUNT];
    let towards_ink = [0.0, 0.3, 0.5, 0.7][(index / CATEGORY_COUNT) % 4];
    let steps = (0..=20).map(|step| own.towards(ink, f64::from(step) / 20.0));
    let mut far_enough = steps.filter(|it| it.contrast(paper) >= SHAPE_CONTRAST);
    far_enough.next().unwrap_or(ink).towards(ink, towards_ink)
}

/// Returns the colours of categories as custom properties, for the light theme and the dark one.
pub(crate) fn category_properties() -> [String; 2] {
    PAPERS.map(|paper| {
        let properties = (0..VARIANTS).map(|index| {
            let colour = on_paper(index, paper).hex();
            format!("--c{index}:{colour};")
        });
        properties.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{PAPERS, Ramp, VARIANTS, on_paper};

    #[test]
    fn the_ink_is_readable_on_every_colour_of_a_ramp() {
        for ramp in [Ramp::Sequential, Ramp::Diverging] {
            for step in 0..=200 {
                let colour = ramp.at(f64::from(step) / 200.0);
                // 4.5 is what WCAG 2.1 asks of normal text (success criterion 1.4.3).
                assert!(colour.contrast(colour.ink()) >= 4.5, "{}", colour.hex());
            }
        }
    }

    #[test]
    fn the_sequential_ramp_grows_lighter_with_every_step() {
        let lightness: Vec<f64> = (0..=50)
            .map(|step| Ramp::Sequential.at(f64::from(step) / 50.0).luminance())
            .collect();
        assert!(lightness.is_sorted(), "{lightness:?}");
    }

    #[test]
    fn figures_outside_the_ramp_have_the_colour_of_its_end() {
        let ramp = Ramp::Sequential;
        assert_eq!(ramp.at(-3.0), ramp.at(0.0));
        assert_eq!(ramp.at(f64::INFINITY), ramp.at(1.0));
        assert_eq!(ramp.at(f64::NAN), ramp.at(0.5));
    }

    #[test]
    fn categories_differ_and_are_seen_on_both_papers() {
        for paper in PAPERS {
            let colours = (0..VARIANTS).map(|index| on_paper(index, paper));
            let mut colours: Vec<String> = colours
                .map(|colour| {
                    let contrast = colour.contrast(paper.0);
                    assert!(contrast >= 3.0, "{}: {contrast}", colour.hex());
                    colour.hex()
                })
                .collect();
            colours.sort();
            colours.dedup();
            assert_eq!(colours.len(), VARIANTS);
        }
    }
}
