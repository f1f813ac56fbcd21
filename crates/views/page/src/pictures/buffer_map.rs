//! Shared memory as squares coloured by node: by segment, or before and after a move.

use maud::{Markup, html};
use model::{ByteSize, BytesByNode, MoveReport, MovedPart, Residency, SegmentResidency, counted};
use report::plain;

use super::squares::{
    COLUMNS, COLUMNS_OF_TWO, Drawing, NodeColours, STRIPS_MAX, Strip, draw, key, pieces,
    square_bytes, square_words,
};

/// Maximum number of segments that are drawn.
const SEGMENTS_MAX: usize = 24;
/// A segment of less than this part of all is in a list instead: 1 %.
const SMALL: u128 = 100;
/// Maximum number of such segments in the list.
const SMALL_MAX: usize = 100;
/// Maximum number of parts of one segment that are drawn.
const AREAS_MAX: usize = 16;
/// Maximum number of characters of a name.
const NAME_MAX: usize = 36;

/// Returns the map of the shared memory of a residency; nothing where there is none.
pub fn buffer_map(residency: &Residency) -> Markup {
    let shared = residency.segments.iter();
    let shared: Vec<&SegmentResidency> = shared
        .filter(|segment| segment.kind.is_shared_memory())
        .filter(|segment| bytes_of(segment) > 0)
        .collect();
    if shared.is_empty() {
        return html! {};
    }
    let all = shared.iter().map(|segment| u128::from(bytes_of(segment)));
    let least = all.sum::<u128>() / SMALL;
    let is_large = |it: &&SegmentResidency| u128::from(bytes_of(it)) >= least;
    let (large, small): (Vec<_>, Vec<_>) = shared.into_iter().partition(is_large);
    let shown = &large[..large.len().min(SEGMENTS_MAX)];
    let strips: Vec<Strip> = shown
        .iter()
        .flat_map(|segment| strips_of(segment))
        .collect();
    let found = strips.iter().flat_map(|strip| &strip.pieces);
    let nodes = found
        .filter_map(|(node, _)| *node)
        .chain(residency.memory_nodes.iter());
    let colours = NodeColours::of(nodes);
    let square = square_bytes(strips.iter());
    let left_out = large.len() - shown.len();
    let areas_left_out: usize = shown
        .iter()
        .map(|segment| segment.areas.len().saturating_sub(AREAS_MAX))
        .sum();
    let strips_left_out = strips.len().saturating_sub(STRIPS_MAX);
    html! {
        figure {
            figcaption {
                "Shared memory by node: a square is " (square_words(square)) ", and every node has "
                "at least one. " (order_words(shown))
            }
            div.scroll {
                (draw(&strips, Drawing { square, columns: COLUMNS, colours: &colours, id: "map" })
                    .markup("Shared memory of each segment as squares by node", true))
            }
            (key(&strips, &colours))
            @if !small.is_empty() {
                details {
                    summary {
                        (counted(small.len(), "segment")) " of less than 1 % of shared memory"
                    }
                    ul { @for segment in small.iter().take(SMALL_MAX) {
                        li { (segment_name(segment)) }
                    } }
                }
            }
            @if left_out > 0 {
                p { "Left out of the picture: " (counted(left_out, "smaller segment")) "." }
            }
            @if areas_left_out + strips_left_out > 0 {
                p {
                    "Left out of the picture: " (areas_left_out + strips_left_out)
                    " parts of segments."
                }
            }
        }
    }
}

fn bytes_of(segment: &SegmentResidency) -> u64 {
    let sizes = segment.bytes_by_node.values();
    let bytes = sizes.fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    bytes.saturating_add(segment.bytes_without_node)
}

fn order_words(segments: &[&SegmentResidency]) -> &'static str {
    let in_areas = |segment: &&&SegmentResidency| has_areas(segment);
    match segments.iter().filter(in_areas).count() {
        0 => "The order of pages within a segment is not known: each node's are drawn together.",
        count if count == segments.len() => {
            "Parts are in order of address; within a part the order of pages is not known."
        }
        _ => {
            "Parts with policies of their own are in order of address; elsewhere, and within a \
             part, the order of pages is not known: each node's are drawn together."
        }
    }
}

/// Whether the parts of a segment say where its bytes are.
fn has_areas(segment: &SegmentResidency) -> bool {
    let mut areas = segment.areas.iter();
    segment.areas.len() > 1 && areas.any(|area| area.bytes_by_node.values().any(|it| *it > 0))
}

fn strips_of(segment: &SegmentResidency) -> Vec<Strip> {
    let name = segment_name(segment);
    if !has_areas(segment) {
        let policy = segment.policy.as_deref().map(named);
        let policy = policy
            .map(|policy| format!(", {policy}"))
            .unwrap_or_default();
        return vec![Strip {
            name: format!("{name}{policy}"),
            pieces: pieces(&segment.bytes_by_node, segment.bytes_without_node),
        }];
    }
    let count = segment.areas.len();
    let areas = segment.areas.iter().take(AREAS_MAX).enumerate();
    let mut strips: Vec<Strip> = areas
        .map(|(index, area)| Strip {
            name: format!(
                "{name}, part {} of {count}: {}",
                index + 1,
                named(&area.policy)
            ),
            pieces: pieces(&area.bytes_by_node, 0),
        })
        .filter(|strip| !strip.pieces.is_empty())
        .collect();
    if segment.bytes_without_node > 0 {
        strips.push(Strip {
            name: format!("{name}, node unknown"),
            pieces: vec![(None, segment.bytes_without_node)],
        });
    }
    strips
}

fn segment_name(segment: &SegmentResidency) -> String {
    format!(
        "{} {}, {}",
        segment.kind.word(),
        named(&segment.name),
        ByteSize(bytes_of(segment))
    )
}

/// A name as it may be shown, cut to its length.
fn named(name: &str) -> String {
    let mut characters = name.chars();
    let start: String = characters.by_ref().take(NAME_MAX).collect();
    let more = if characters.next().is_some() {
        "…"
    } else {
        ""
    };
    // Escaped, one character may become ten.
    let shown: String = plain(&start).chars().take(2 * NAME_MAX).collect();
    format!("{shown}{more}")
}

/// Returns the map of a move: before, and after it or as planned; nothing where nothing is to be
/// moved.
pub fn move_map(report: &MoveReport) -> Markup {
    if report.parts.is_empty() {
        return html! {};
    }
    let shown = &report.parts[..report.parts.len().min(SEGMENTS_MAX)];
    let strips = |of: fn(&MovedPart) -> &BytesByNode| -> Vec<Strip> {
        let strip = |part: &MovedPart| Strip {
            name: format!("{} {}", named(&part.kind), named(&part.name)),
            pieces: pieces(of(part), 0),
        };
        shown.iter().map(strip).collect()
    };
    let is_done = shown.iter().all(|part| part.bytes_by_node_after.is_some());
    let before = strips(|part| &part.bytes_by_node_before);
    let then = if is_done {
        strips(|part| {
            let planned = &part.bytes_by_node_planned;
            part.bytes_by_node_after.as_ref().unwrap_or(planned)
        })
    } else {
        strips(|part| &part.bytes_by_node_planned)
    };
    let both = || before.iter().chain(&then);
    let found = both().flat_map(|strip| &strip.pieces);
    let colours = NodeColours::of(found.filter_map(|(node, _)| *node));
    let square = square_bytes(both());
    let of_two = |id| Drawing {
        square,
        columns: COLUMNS_OF_TWO,
        colours: &colours,
        id,
    };
    let then_word = if is_done { "after" } else { "as planned" };
    html! {
        div.sides.compare {
            figure {
                figcaption { "Memory by node before: a square is " (square_words(square)) }
                div.scroll {
                    (draw(&before, of_two("before"))
                        .markup("Memory by node before the move", true))
                }
                (key(&before, &colours))
            }
            figure {
                figcaption { "Memory by node " (then_word) }
                div.scroll {
                    (draw(&then, of_two("after"))
                        .markup("Memory by node after the move", true))
                }
                (key(&then, &colours))
            }
        }
        p {
            "The order of pages within a part is not known: each node's are drawn together, and "
            "every node has at least one square."
        }
        @if report.parts.len() > shown.len() {
            p {
                "Left out of the picture: "
                (counted(report.parts.len() - shown.len(), "more part")) "."
            }
        }
    }
}

/// The script that lays the pictures of [`move_map`] over one another, with a slider between them.
/// Without it they stand side by side.
pub const MOVE_SCRIPT: &str = "\
for(const both of document.querySelectorAll('.compare')){\
const [one,two]=both.querySelectorAll('svg');if(!one||!two)continue;\
const words=document.createElement('label');words.className='slider';\
words.append('before');\
const range=document.createElement('input');range.type='range';range.min=0;range.max=100;\
range.value=100;range.setAttribute('aria-label','from before to after');\
words.append(range,'after');\
const pile=document.createElement('div');pile.className='pile';\
const show=()=>{two.style.clipPath=`inset(0 ${100-range.value}% 0 0)`};\
const check=document.createElement('button');check.type='button';\
check.textContent='Lay over one another';\
const home=two.parentNode,next=two.nextSibling;\
check.onclick=()=>{const over=!pile.isConnected;\
if(over){one.before(pile);pile.append(one,two);pile.after(words);range.value=50;show()}\
else{pile.before(one);home.insertBefore(two,next);two.style.clipPath='';pile.remove();\
words.remove()}check.textContent=over?'Side by side':'Lay over one another'};\
range.oninput=show;both.before(check)}";

#[cfg(test)]
mod tests {
    use super::{buffer_map, move_map};
    use model::{
        BytesByNode, MoveReport, MovedPart, NodeId, Residency, SegmentArea, SegmentKind,
        SegmentResidency,
    };

    fn bytes(list: &[(u32, u64)]) -> BytesByNode {
        let list = list.iter();
        list.map(|(node, bytes)| (NodeId(*node), *bytes)).collect()
    }

    fn residency(areas: Vec<SegmentArea>) -> Residency {
        Residency {
            segments: vec![SegmentResidency {
                name: "/SYSV<00>".to_owned(),
                kind: SegmentKind::Sysv,
                bytes_by_node: bytes(&[(0, 64 << 20), (2, 32 << 20)]),
                bytes_without_node: 4 << 20,
                areas,
                ..SegmentResidency::default()
            }],
            ..Residency::default()
        }
    }

    #[test]
    fn an_unknown_order_is_said_and_an_unknown_node_is_hatched() {
        let text = buffer_map(&residency(Vec::new())).0;
        assert!(
            text.contains("order of pages within a segment is not known"),
            "{text}"
        );
        assert!(text.contains("url(#hatch-map)") && text.contains("node unknown: 4 MiB"));
        assert!(text.contains("/SYSV&lt;00&gt;, 100 MiB"), "{text}");
    }

    #[test]
    fn parts_with_policies_are_drawn_in_their_order() {
        let area = |policy: &str, node| SegmentArea {
            policy: policy.to_owned(),
            mapped_bytes: 1 << 30,
            bytes_by_node: bytes(&[(node, 32 << 20)]),
        };
        let text = buffer_map(&residency(vec![area("bind:2", 2), area("bind:0", 0)])).0;
        let first = text.find("part 1 of 2: bind:2").unwrap();
        let second = text.find("part 2 of 2: bind:0").unwrap();
        assert!(first < second && text.contains("in order of address"));
    }

    #[test]
    fn program_text_and_empty_segments_are_not_shared_memory() {
        let mut residency = residency(Vec::new());
        residency.segments[0].kind = SegmentKind::ProgramText;
        assert_eq!(buffer_map(&residency).0, "");
        assert_eq!(buffer_map(&Residency::default()).0, "");
    }

    #[test]
    fn a_plan_has_no_after() {
        let mut report = MoveReport {
            parts: vec![MovedPart {
                bytes_by_node_before: bytes(&[(0, 1 << 30)]),
                bytes_by_node_planned: bytes(&[(1, 1 << 30)]),
                ..MovedPart::default()
            }],
            ..MoveReport::default()
        };
        assert!(move_map(&report).0.contains("Memory by node as planned"));
        report.parts[0].bytes_by_node_after = Some(bytes(&[(1, 1 << 30)]));
        assert!(move_map(&report).0.contains("Memory by node after"));
        assert_eq!(move_map(&MoveReport::default()).0, "");
    }
}
