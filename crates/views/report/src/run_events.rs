//! Top events by total time: where the DB time of a case went, with CPU and run queue among the
//! waits.

use model::TimeModel;

use crate::run_figures::{UNKNOWN, decimals, whole};
use crate::run_plain::plain_within;
use crate::run_totals::CaseTotals;

/// Maximum number of events shown.
const SHOWN: usize = 10;
/// Width of an event's name, in columns.
const NAME_COLUMNS: usize = 30;
/// Minimum share of DB time from which unaccounted time is shown; less is rounding.
const UNACCOUNTED_SHARE: f64 = 0.000_5;

/// One line of the table.
struct Line {
    event: String,
    count: Option<u64>,
    total_s: f64,
}

/// Formats the events over all valid trials of a case.
pub(crate) fn top_events(totals: &CaseTotals) -> String {
    let mut lines = lines(&totals.time);
    lines.sort_by(|a, b| b.total_s.total_cmp(&a.total_s));
    let left_out = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if totals.time.unaccounted_share().abs() >= UNACCOUNTED_SHARE {
        lines.push(Line {
            event: "(not accounted for)".to_string(),
            count: None,
            total_s: totals.time.unaccounted_s(),
        });
    }
    let mut text = format!(
        "{:<NAME_COLUMNS$} {:>11} {:>11} {:>10} {:>9}\n{} {} {} {} {}\n",
        "Top Events by Total Time",
        "Waits",
        "Time(s)",
        "Avg(ms)",
        "% DB time",
        "-".repeat(NAME_COLUMNS),
        "-".repeat(11),
        "-".repeat(11),
        "-".repeat(10),
        "-".repeat(9),
    );
    for line in &lines {
        text.push_str(&shown(line, totals.time.db_time_s));
    }
    if left_out > 0 {
        text.push_str(&format!("and {left_out} more\n"));
    }
    text
}

fn lines(time: &TimeModel) -> Vec<Line> {
    let of_cpu = [("DB CPU", time.db_cpu_s), ("CPU wait", time.cpu_wait_s)];
    let of_cpu = of_cpu.map(|(event, total_s)| Line {
        event: event.to_string(),
        count: None,
        total_s,
    });
    let waits = time.waits.iter().map(|(event, wait)| Line {
        event: event.clone(),
        count: Some(wait.count),
        total_s: wait.total_s,
    });
    of_cpu.into_iter().chain(waits).collect()
}

fn shown(line: &Line, db_time_s: f64) -> String {
    use unicode_width::UnicodeWidthStr;
    let event = plain_within(&line.event, NAME_COLUMNS);
    let pad = " ".repeat(NAME_COLUMNS.saturating_sub(event.width()));
    let average = match line.count {
        Some(count) if count > 0 => decimals(1e3 * line.total_s / count as f64, 2),
        _ => String::new(),
    };
    let share = match db_time_s {
        db_time_s if db_time_s > 0.0 => decimals(100.0 * line.total_s / db_time_s, 1),
        _ => UNKNOWN.to_string(),
    };
    format!(
        "{event}{pad} {:>11} {:>11} {average:>10} {share:>9}\n",
        line.count.map(whole).unwrap_or_default(),
        decimals(line.total_s, 1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{WAIT_CPU_QUANTUM, Wait};

    /// The figures of article 001, test 2.
    #[test]
    fn caging_shows_as_its_wait_event() {
        let wait = Wait {
            count: 16_005,
            total_s: 1065.4,
        };
        let totals = CaseTotals {
            time: TimeModel {
                db_time_s: 2704.0,
                db_cpu_s: 1638.6,
                waits: [(WAIT_CPU_QUANTUM.to_string(), wait)].into(),
                ..TimeModel::default()
            },
            ..CaseTotals::default()
        };
        let text = top_events(&totals);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            "DB CPU                                         1,638.6                 60.6"
        );
        assert_eq!(
            lines[3],
            "resmgr:cpu quantum                  16,005     1,065.4      66.57      39.4"
        );
        assert!(lines[4].starts_with("CPU wait "), "{text}");
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn what_is_missing_is_named_and_floods_are_cut() {
        let mut time = TimeModel {
            db_time_s: 100.0,
            db_cpu_s: 50.0,
            ..TimeModel::default()
        };
        for number in 0..20 {
            time.waits
                .insert(format!("event {number}"), Wait::default());
        }
        let text = top_events(&CaseTotals {
            time,
            ..CaseTotals::default()
        });
        assert!(text.contains("(not accounted for)"), "{text}");
        assert!(text.ends_with("and 12 more\n"), "{text}");
    }
}
