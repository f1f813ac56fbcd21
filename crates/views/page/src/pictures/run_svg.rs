//! One picture of a run as an SVG file that needs no page: every trial, under question and verdict.

use maud::{Markup, PreEscaped, html};
use report::{RunView, plain};

use super::picture::{Label, PICTURE_STYLE, Picture, palette, px, text_width};
use super::trial_dots::bare_trial_dots;

const MARGIN: f64 = 16.0;
/// Width of what is drawn.
const WIDTH: f64 = 760.0;
/// Font sizes of the question, and of other lines.
const LARGE: f64 = 16.0;
const SMALL: f64 = 13.0;
/// Maximum number of characters of one text.
const TEXT_MAX: usize = 1000;

/// Returns every trial of a run as an SVG file, with its question, verdict and machine; `None`
/// where there is nothing to draw: a run without figures, or of an emulated machine.
pub fn run_svg(view: &RunView) -> Option<String> {
    let inner = bare_trial_dots(view)?;
    let width = WIDTH;
    let mut words = Picture::default();
    let mut bottom = 0.0;
    push(&mut words, &mut bottom, width, LARGE, &view.question, false);
    push(&mut words, &mut bottom, width, SMALL, &view.verdict, false);
    let middle = view.cases.first().map_or("median", |case| case.middle);
    let said = format!(
        "Each dot is a trial (hollow: does not count), the line the {}, the bar its {} \
         interval.",
        middle, view.confidence
    );
    push(&mut words, &mut bottom, width, SMALL, &said, true);
    let top = bottom + 10.0;
    bottom = top + inner.height.ceil() + 8.0;
    push(&mut words, &mut bottom, width, SMALL, &view.which, true);
    push(&mut words, &mut bottom, width, SMALL, &view.machine, true);
    Some(standalone(&words, &inner, top, bottom))
}

/// Adds a text below what is there, in as many lines as it needs.
fn push(words: &mut Picture, bottom: &mut f64, width: f64, size: f64, text: &str, is_muted: bool) {
    let text = plain(text);
    let mut characters = text.chars();
    let mut text: String = characters.by_ref().take(TEXT_MAX).collect();
    if characters.next().is_some() {
        text.push('…');
    }
    for line in wrapped(&text, width, size) {
        *bottom += size * 1.35;
        let label = Label::new(0.0, *bottom, size, line);
        words.label(if is_muted { label.muted() } else { label });
    }
    *bottom += size * 0.3;
}

/// Breaks a text at spaces; a word that is too long, within it.
fn wrapped(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && text_width(&format!("{line} {word}"), size) > width {
            lines.push(String::new());
        } else if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars() {
            let line = lines.last().expect("there is always a line");
            if text_width(&format!("{line}{character}"), size) > width {
                lines.push(String::new());
            }
            let line = lines.last_mut().expect("there is always a line");
            line.push(character);
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The file: its colours follow the reader's choice of light or dark, on paper of its own.
fn standalone(words: &Picture, inner: &Picture, top: f64, bottom: f64) -> String {
    let (width, height) = (WIDTH + 2.0 * MARGIN, bottom + 2.0 * MARGIN);
    let (width, height) = (px(width), px(height.ceil()));
    let at = |top: f64| format!("translate({} {})", px(MARGIN), px(MARGIN + top));
    let file: Markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) {
            style { (PreEscaped(palette())) (PreEscaped(PICTURE_STYLE)) }
            rect width="100%" height="100%" rx="6" style="fill:var(--paper)" {}
            g transform=(at(0.0)) { (words.markup("What was asked, and what follows", true)) }
            g transform=(at(top)) { (inner.nested("Every trial of each case", WIDTH)) }
        }
    };
    // What XML 1.0 does not allow (section 2.2); control characters are visible already.
    file.into_string()
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
        + "\n"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::picture::tests::check_labels;
    use super::*;
    use crate::runs::samples::{any_view, view};

    #[test]
    fn the_file_has_question_verdict_trials_and_run() {
        let svg = run_svg(&view()).unwrap();
        for text in [
            "Is near memory faster?",
            "near is 1.49 times faster",
            "4.62",
            "20261123-1",
        ] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(svg.starts_with("<svg xmlns") && svg.contains("prefers-color-scheme:dark"));
        assert!(!svg.contains("href") && !svg.contains("<script"), "{svg}");
    }

    #[test]
    fn a_run_without_figures_or_of_an_emulated_machine_has_no_picture() {
        let mut emulated = view();
        emulated.is_emulated = true;
        assert_eq!(run_svg(&emulated), None);
        let mut empty = view();
        empty.cases.clear();
        assert_eq!(run_svg(&empty), None);
    }

    proptest! {
        #[test]
        fn lines_of_any_text_fit_and_stay_apart(text in ".{0,300}", size in 8.0..20.0f64) {
            let mut words = Picture::default();
            let mut bottom = 0.0;
            push(&mut words, &mut bottom, 600.0, size, &text, false);
            push(&mut words, &mut bottom, 600.0, size, "below", true);
            check_labels(&words);
            prop_assert!(words.width <= 600.0, "{}", words.width);
        }

        #[test]
        fn names_of_any_run_cannot_become_markup_of_the_file(view in any_view()) {
            let svg = run_svg(&view).unwrap_or_default();
            prop_assert!(!svg.contains("<b>evil"), "{svg}");
            let allowed = |c: char| c == '\n' || !c.is_control();
            prop_assert!(svg.chars().all(allowed));
        }
    }
}
