//! What placements would mean for a target, as text and as the document `numalab.predict/1`.

use model::{ByteSize, MemoryFigures, NeededMemory, PredictedPlacement, Prediction, shell_line};

use crate::diagnosis::cure_plan_text::cpus_of_cure;
use crate::form::advice::Advice;
use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;

/// Formats a prediction.
pub fn predict_text(prediction: &Prediction, options: &TextOptions) -> String {
    let target = plain(&prediction.target);
    let mut text = options.heading(&format!("Placements of {target}, not tried"));
    text.push_str(&table(prediction).text(options));
    text.push('\n');
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    say(&meaning(prediction), Style::Usual);
    for placement in &prediction.placements {
        if let Some((sentence, style)) = needs(placement) {
            say(&sentence, style);
        }
    }
    for placement in &prediction.placements {
        if let Some(cpus) = &placement.cpus {
            say(&cpus_of_cure(&placement.placement, cpus), Style::Usual);
        }
    }
    for note in &prediction.notes {
        say(&plain(note), Style::Care);
    }
    if let Some(advice) = next(prediction) {
        text.push_str(&advice.text("", Style::Usual, options));
    }
    text
}

/// The widest name of a placement, so that the table fits 80 columns.
const NAME_COLUMNS: usize = 27;

fn table(prediction: &Prediction) -> Table {
    let mut table = Table::of("placement|>remote|>access|>fullest|>to move|>CPU time");
    let mut push = |name: &str, figures: &MemoryFigures, moved: String, bound: String| {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let access = match figures.latency_ns {
            Some(ns) => format!("{ns:.0} ns"),
            None => format!("{:.2}", figures.relative_access),
        };
        let [remote, fullest] = [figures.remote_share, figures.fullest_share].map(percent);
        let name = plain_within(name, NAME_COLUMNS);
        let cells = [name, remote, access, fullest, moved, bound];
        table.row(cells);
    };
    push("now", &prediction.now, String::new(), String::new());
    for placement in &prediction.placements {
        let moved = ByteSize(placement.bytes_to_move).to_string();
        push(&name(placement), &placement.after, moved, bound(placement));
    }
    table
}

/// As it is typed: a placement, and what `numalab move` needs besides.
fn name(placement: &PredictedPlacement) -> String {
    let shared = match placement.is_shared_only {
        true => " --shared",
        false => "",
    };
    format!("{}{shared}", plain(&placement.placement))
}

/// The bound: CPU time per unit of work.
fn bound(placement: &PredictedPlacement) -> String {
    let percent = placement.cpu_time_change_at_most * 100.0;
    match percent.abs() < 0.5 {
        true => "as now".to_owned(),
        false => format!("{percent:+.0} % at most"),
    }
}

/// What the columns mean.
fn meaning(prediction: &Prediction) -> String {
    let access = match &prediction.distances_by {
        Some(by) => format!("access: latency measured by {}", plain(by)),
        None => "access: by the firmware's distances, 1 is local".to_owned(),
    };
    format!(
        "{access}, if every byte is used alike; fullest: share of the memory on one node; CPU \
         time: per unit of work, a bound and no forecast, reached if all of it is accesses that \
         take so long. Queues at a full memory controller are not in it."
    )
}

/// What must be free for a placement; `None` if nothing must.
fn needs(placement: &PredictedPlacement) -> Option<(String, Style)> {
    let most = placement.needs.iter().max_by_key(|need| need.bytes)?;
    let (need, lacks, style) = match placement.needs.iter().find(|it| it.lacks_room()) {
        Some(need) => (need, " has no room:", Style::Bad),
        None => (most, "", Style::Usual),
    };
    let pages = need.huge_page_bytes.map_or(String::new(), |bytes| {
        format!(" in huge pages of {}", ByteSize(bytes))
    });
    let room = need
        .room_bytes
        .map_or("unknown".to_owned(), |bytes| ByteSize(bytes).to_string());
    let (name, bytes, node) = (name(placement), ByteSize(need.bytes), need.node);
    let sentence = format!("{name}{lacks} needs {bytes}{pages} on node {node}, free there: {room}");
    let more = match placement.needs.len() {
        1 => String::new(),
        _ => ", and at most as much on each of the others".to_owned(),
    };
    let more = Some(more).filter(|_| lacks.is_empty()).unwrap_or_default();
    Some((format!("{sentence}{more}"), style))
}

/// What to do next: nothing here is known by trying.
fn next(prediction: &Prediction) -> Option<Advice> {
    let change = |it: &&PredictedPlacement| it.cpu_time_change_at_most;
    let room = |it: &&PredictedPlacement| !it.needs.iter().any(NeededMemory::lacks_room);
    let best = prediction.placements.iter().filter(room);
    let best = best.min_by(|one, other| change(one).total_cmp(&change(other)))?;
    if best.cpu_time_change_at_most > -0.005 {
        return None;
    }
    let why = "to measure what it gives the load of now:";
    Some(Advice::paste(
        why,
        shell_line!("numalab try {} --to {}", prediction.target, best.placement),
    ))
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    fn prediction() -> Prediction {
        let figures = |remote_share, relative_access| MemoryFigures {
            remote_share,
            relative_access,
            fullest_share: 1.0,
            ..MemoryFigures::default()
        };
        let near = PredictedPlacement {
            placement: "near-cpus".to_owned(),
            bytes_to_move: 573 << 20,
            after: figures(0.0, 1.0),
            cpu_time_change_at_most: 1.0 / 2.1 - 1.0,
            needs: vec![NeededMemory {
                node: NodeId(1),
                bytes: 573 << 20,
                room_bytes: Some(7 << 30),
                ..NeededMemory::default()
            }],
            ..PredictedPlacement::default()
        };
        let far = PredictedPlacement {
            placement: "0".to_owned(),
            is_shared_only: true,
            after: figures(1.0, 2.1),
            ..PredictedPlacement::default()
        };
        Prediction {
            target: "redis:6379".to_owned(),
            now: figures(1.0, 2.1),
            placements: vec![near, far],
            ..Prediction::default()
        }
    }

    #[test]
    fn a_prediction_has_a_row_for_each_placement_and_fits_the_screen() {
        let expected = "\
Placements of redis:6379, not tried
placement   remote  access  fullest  to move       CPU time
----------  ------  ------  -------  -------  -------------
now          100 %    2.10    100 %
near-cpus      0 %    1.00    100 %  573 MiB  -52 % at most
0 --shared   100 %    2.10    100 %      0 B         as now

access: by the firmware's distances, 1 is local, if every byte is used alike;
fullest: share of the memory on one node; CPU time: per unit of work, a bound
and no forecast, reached if all of it is accesses that take so long. Queues at a
full memory controller are not in it.
near-cpus needs 573 MiB on node 1, free there: 7 GiB
to measure what it gives the load of now:
  numalab try redis:6379 --to near-cpus
";
        let text = predict_text(&prediction(), &TextOptions::default());
        assert_eq!(text, expected);
    }

    #[test]
    fn a_placement_without_room_is_not_the_advice() {
        let mut full = prediction();
        full.placements[0].needs[0].room_bytes = Some(0);
        full.placements[0].needs[0].huge_page_bytes = Some(2 << 20);
        full.distances_by = Some("run 7".to_owned());
        full.now.latency_ns = Some(213.4);
        let text = predict_text(&full, &TextOptions::default());
        let no_room = "near-cpus has no room: needs 573 MiB in huge pages of 2 MiB on node 1, free";
        for expected in [no_room, "213 ns", "latency measured by run 7"] {
            assert!(text.contains(expected), "{text}");
        }
        assert!(!text.contains("numalab try"), "{text}");
    }
}
