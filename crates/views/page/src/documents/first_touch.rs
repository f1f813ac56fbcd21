//! The page of `numalab.firsttouch/1`.

use maud::{Markup, html};
use model::{ByteSize, FirstTouch, TouchedSegment, counted};
use report::{
    Fields, Table, TextOptions, first_touch_fix, first_touch_sentences, first_touch_text,
};

use super::error::Error;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::residency::by_node;
use super::table::{UNKNOWN, cut, or_unknown, table};
use super::top::Top;
use crate::pictures::touch_map;

/// Maximum number of segments with a picture.
const SEGMENTS_MAX: usize = 8;
/// Maximum number of columns or rows of a picture.
const CELLS_MAX: u32 = 1024;
/// The longest time of a look: a week.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

/// Reads a document.
pub(crate) fn read_first_touch(text: &str) -> Result<FirstTouch, Error> {
    let touch: FirstTouch = fields(text, FirstTouch::FORMAT)?;
    let pictures = touch.segments.iter().filter_map(|it| it.picture.as_ref());
    for picture in pictures {
        let (columns, rows) = (picture.columns, picture.rows);
        if columns > CELLS_MAX || rows > CELLS_MAX {
            return Err(Error::Figures {
                field: "picture",
                expected: format!("at most {CELLS_MAX} columns and rows"),
                found: format!("{}, {}", counted(columns, "column"), counted(rows, "row")),
            });
        }
    }
    let times = touch.segments.iter().flat_map(times_of);
    for seconds in times.chain([touch.seconds]) {
        if !(0.0..=SECONDS_MAX).contains(&seconds) {
            return Err(Error::Figures {
                field: "times",
                expected: format!("from 0 to {SECONDS_MAX} s"),
                found: format!("{seconds:e}"),
            });
        }
    }
    Ok(touch)
}

fn times_of(segment: &TouchedSegment) -> Vec<f64> {
    let touchers = segment.touchers.iter();
    let of_touchers = touchers.flat_map(|it| [it.first_s, it.last_s]).flatten();
    let of_picture = segment.picture.iter();
    let of_picture = of_picture.flat_map(|it| [it.first_s, it.last_s]);
    of_touchers.chain(of_picture).collect()
}

/// Returns the page's content.
pub(crate) fn first_touch_content(touch: &FirstTouch) -> Content {
    let shown = &touch.segments[..touch.segments.len().min(SEGMENTS_MAX)];
    let mut sentences = first_touch_sentences(touch).into_iter();
    let gaps = touch.gaps.iter().filter(|_| !touch.complete);
    let top = Top {
        answer: sentences
            .next()
            .unwrap_or_else(|| "No first touch was seen.".to_owned()),
        target: Some(touch.target.clone()),
        sureness: Some(format!("a look of {:.1} s", touch.seconds)),
        warnings: gaps
            .map(|gap| format!("not everything was seen: {gap}"))
            .collect(),
        ..Top::default()
    };
    let body = html! {
        @for sentence in sentences { p { (cut(&sentence)) } }
        @if let Some(fix) = first_touch_fix(touch) {
            p { "Fix: " (cut(&fix.sentence)) }
            @if let Some(command) = &fix.command { pre { (cut(command)) } }
        }
        @for segment in shown {
            section {
                h2 { (cut(&segment.name)) }
                (touch_map(segment))
                (touchers(segment))
            }
        }
        @if touch.segments.len() > shown.len() {
            p { "Left out: " (counted(touch.segments.len() - shown.len(), "smaller segment")) "." }
        }
        section {
            h2 { "Figures" }
            (as_text(&first_touch_text(touch, &TextOptions::default())))
        }
    };
    Content { top, body }
}

fn touchers(segment: &TouchedSegment) -> Markup {
    let rows = segment.touchers.iter().map(|toucher| {
        let seconds = |time: Option<f64>| or_unknown(time.map(|time| format!("{time:.1}")));
        let now = toucher.bytes_by_node.as_ref();
        vec![
            cut(&toucher.class),
            toucher.pid.to_string(),
            or_unknown(toucher.cpu_node),
            ByteSize(toucher.bytes).to_string(),
            seconds(toucher.first_s),
            seconds(toucher.last_s),
            now.map_or_else(|| UNKNOWN.to_owned(), by_node),
            toucher.later_faults.to_string(),
        ]
    });
    let titles = "first touched by|>pid|>node|>bytes|>from s|>to s|now on|>later faults";
    table("Who touched it", &Table::of(titles).with(rows))
}
