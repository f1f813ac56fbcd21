//! A move as text and as the document `numalab.move/1`.

use model::{ByteSize, MoveReport, MoveStatus, MovedPart, counted};

use crate::form::node_table::{NAME_COLUMNS, memory_label, node_rows, node_table};
use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};

/// Formats a move.
pub fn move_text(report: &MoveReport, options: &TextOptions) -> String {
    let title = format!("Memory of {} to {}", plain(&report.target), report.to);
    let mut text = options.heading(&title);
    text.push_str(&options.paragraph("", &outcome(report), Style::Usual));
    if !report.parts.is_empty() {
        text.push('\n');
        text.push_str(&parts(report, options));
    }
    for part in &report.parts {
        if let (Some(before), Some(then)) = (&part.policy_before, &part.policy_then) {
            let (name, verb) = (plain(&part.name), is_done(report, "is", "would be"));
            let sentence = format!("{name}: the policy for new pages {verb} {then} (was {before})");
            text.push_str(&options.paragraph("", &sentence, Style::Usual));
        }
    }
    for sentence in report.parts.iter().filter_map(verification) {
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    for refused in &report.refused {
        let sentence = format!("stayed: {}, {}", ByteSize(refused.bytes), refused.reason);
        text.push_str(&options.paragraph("", &sentence, Style::Care));
    }
    for note in &report.notes {
        text.push_str(&options.paragraph("", &plain(note), Style::Usual));
    }
    text
}

/// How the place of a part was verified, if not by a look at every page.
fn verification(part: &MovedPart) -> Option<String> {
    let (pages, margin) = (part.pages_sampled?, part.share_margin? * 100.0);
    let name = plain(&part.name);
    Some(format!(
        "{name}: the kernel returned the node of every page that it moved; \"after\" is an \
         estimate from {}, \u{b1}{margin:.1} % at most",
        counted(pages, "page")
    ))
}

fn is_done(report: &MoveReport, done: &'static str, planned: &'static str) -> &'static str {
    match report.status {
        MoveStatus::Planned => planned,
        _ => done,
    }
}

fn outcome(report: &MoveReport) -> String {
    let all = ByteSize(report.bytes_to_move);
    let (Some(moved), Some(pages)) = (report.bytes_moved, report.pages_moved) else {
        return format!("{all} would be moved; nothing was changed");
    };
    // Pages that appeared meanwhile were moved, too.
    let all = ByteSize(report.bytes_to_move.max(moved));
    let moved = ByteSize(moved);
    let seconds = report.seconds.unwrap_or(0.0);
    let end = match report.status {
        MoveStatus::Interrupted => "; interrupted: run the same command to move the rest",
        MoveStatus::TargetEnded => "; all processes of the target ended meanwhile",
        _ => "",
    };
    format!(
        "{moved} of {all} moved, {} in {seconds:.1} s{end}",
        counted(pages, "page")
    )
}

fn parts(report: &MoveReport, options: &TextOptions) -> String {
    let planned = is_done(report, "planned", "then");
    let mut rows = Vec::new();
    for part in &report.parts {
        let (before, after) = (&part.bytes_by_node_before, &part.bytes_by_node_after);
        let planned = Some((planned, &part.bytes_by_node_planned));
        rows.extend(node_rows(label(part), before, planned, after.as_ref()));
    }
    node_table(&rows, options)
}

fn label(part: &MovedPart) -> String {
    match part.processes {
        Some(count) => format!(
            "{} ({count} private)",
            plain_within(&part.name, NAME_COLUMNS)
        ),
        None => memory_label(&part.name, &part.kind, part.page_bytes),
    }
}

/// `34 to 51 s left`: how long the rest of a move takes, if it goes like the fastest and like the
/// slowest of its last batches.
pub fn time_left(least_s: f64, most_s: f64) -> String {
    let (unit, seconds) = match most_s {
        ..120.0 => ("s", 1.0),
        ..7200.0 => ("min", 60.0),
        _ => ("h", 3600.0),
    };
    let [least, most] = [least_s, most_s].map(|s| (s / seconds).ceil().max(1.0));
    match least == most {
        true => format!("{most:.0} {unit} left"),
        false => format!("{least:.0} to {most:.0} {unit} left"),
    }
}

#[cfg(test)]
mod tests {
    use model::{BytesByNode, NodeId, Refused};

    use super::*;

    fn bytes(list: &[(u32, u64)]) -> BytesByNode {
        list.iter()
            .map(|(node, mib)| (NodeId(*node), mib << 20))
            .collect()
    }

    fn report() -> MoveReport {
        let part = MovedPart {
            name: "/dev/zero".to_owned(),
            kind: "anonymous".to_owned(),
            shared: true,
            page_bytes: 4096,
            bytes_by_node_before: bytes(&[(0, 100)]),
            bytes_by_node_planned: bytes(&[(0, 50), (1, 50)]),
            bytes_to_move: 50 << 20,
            policy_before: Some("default".to_owned()),
            policy_then: Some("interleave:0-1".to_owned()),
            ..MovedPart::default()
        };
        MoveReport {
            target: "postgres:/data".to_owned(),
            to: "interleave".to_owned(),
            parts: vec![part],
            bytes_to_move: 50 << 20,
            ..MoveReport::default()
        }
    }

    fn text(report: &MoveReport) -> String {
        let options = TextOptions {
            width: 100,
            color: false,
        };
        move_text(report, &options)
    }

    #[test]
    fn a_plan_says_what_would_be() {
        let text = text(&report());
        for part in [
            "50 MiB would be moved; nothing was changed",
            "100.0 MiB",
            "would be interleave:0-1 (was default",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_time_left_is_a_range_in_one_unit() {
        let check = |least_s, most_s, expected| assert_eq!(time_left(least_s, most_s), expected);
        check(33.6, 50.2, "34 to 51 s left");
        check(0.0, 0.4, "1 s left");
        check(50.0, 130.0, "1 to 3 min left");
        check(7000.0, 9000.0, "2 to 3 h left");
        check(f64::INFINITY, f64::INFINITY, "inf h left");
    }

    #[test]
    fn a_move_says_what_was_done_and_what_stayed() {
        let mut report = report();
        report.status = MoveStatus::Interrupted;
        report.bytes_moved = Some(20 << 20);
        report.pages_moved = Some(5120);
        report.seconds = Some(2.0);
        report.parts[0].bytes_by_node_after = Some(bytes(&[(0, 80), (1, 20)]));
        report.parts[0].pages_sampled = Some(10_000);
        report.parts[0].share_margin = Some(0.009_8);
        let reason = "in use by the kernel or pinned (EBUSY)".to_owned();
        report.refused = vec![Refused {
            reason,
            bytes: 4096,
        }];
        let text = text(&report);
        for part in [
            "20 MiB of 50 MiB moved, 5120 pages in 2.0 s; interrupted: run the same command to \
             move the rest",
            "after",
            "80.0 MiB",
            "10000 pages",
            "±1.0 %",
            "stayed: 4 KiB, in use by the kernel",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
