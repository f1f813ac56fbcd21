//! The load profile of a case, per second and per statement, and its top events by total time, in
//! the format of an AWR report. Both are of the sums over the sessions of its valid trials.

use model::{LatencySummary, TimeModel};
use verdict::CaseTotals;

use crate::form::plain::plain_within;
use crate::run::figures::{UNKNOWN, decimals, whole};

/// Formats the load profile over all valid trials of a case.
pub(crate) fn load_profile(totals: &CaseTotals) -> String {
    let mut text = format!(
        "{:<26} {:>15} {:>15}\n{:<26} {:>15} {:>15}\n",
        "Load Profile",
        "Per Second",
        "Per Statement",
        "~".repeat(12),
        "-".repeat(15),
        "-".repeat(15),
    );
    let time = &totals.time;
    let mut rows = vec![
        ("DB Time(s)", time.db_time_s, Some(time.db_time_s)),
        ("DB CPU(s)", time.db_cpu_s, Some(time.db_cpu_s)),
    ];
    if let Some(kernel_s) = time.kernel_cpu_s {
        rows.push(("of it in the kernel(s)", kernel_s, Some(kernel_s)));
    }
    rows.extend([
        ("CPU Wait(s)", time.cpu_wait_s, Some(time.cpu_wait_s)),
        ("Other waits(s)", time.waits_s(), Some(time.waits_s())),
    ]);
    // Omit the row of zeros for work that reads no blocks, or none from a device.
    let reads = [
        ("Logical read (blocks)", totals.logical_reads),
        ("Physical read (blocks)", totals.physical_reads),
    ];
    let met = reads.into_iter().filter(|(_, count)| *count > 0.0);
    rows.extend(met.map(|(label, count)| (label, count, Some(count))));
    if let Some((updated, written)) = totals.updates {
        rows.push(("Physical write (blocks)", written, Some(written)));
        rows.push(("Rows updated", updated, Some(updated)));
    }
    rows.push(("Statements", totals.statements, None));
    for (label, total, of_statement) in rows {
        let per_second = share(total, totals.window_s);
        let per_statement = of_statement.and_then(|total| share(total, totals.statements));
        text.push_str(&format!(
            "{:>25}: {:>15} {:>15}\n",
            label,
            per_second.map_or(UNKNOWN.to_string(), |value| decimals(value, 1)),
            match (of_statement, per_statement) {
                (None, _) => String::new(),
                (Some(_), None) => UNKNOWN.to_string(),
                (Some(_), Some(value)) => decimals(value, places(value)),
            },
        ));
    }
    text.push_str(&latency(totals));
    // Trim rows without a second column, which end in spaces.
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// Formats statement latency. Quantiles cannot be summed, so these are medians over the trials.
fn latency(totals: &CaseTotals) -> String {
    let median = |of: fn(&LatencySummary) -> Option<u64>| {
        let known: Vec<f64> = totals
            .latencies
            .iter()
            .filter_map(of)
            .map(|ns| ns as f64)
            .collect();
        stats::median(&known).map(|ns| decimals(ns / 1e6, 3))
    };
    match (median(|it| it.p50_ns), median(|it| it.p99_ns)) {
        (Some(p50), Some(p99)) => {
            format!("Statements: half within {p50} ms, 99 % within {p99} ms (medians of trials).\n")
        }
        _ => String::new(),
    }
}

fn share(total: f64, of: f64) -> Option<f64> {
    let share = total / of;
    (of > 0.0 && share.is_finite()).then_some(share)
}

/// Returns the decimals for a value per statement: statements last microseconds to seconds, and
/// read one block to thousands.
fn places(value: f64) -> usize {
    match value.abs() {
        size if size >= 10.0 => 1,
        size if size >= 0.1 => 3,
        _ => 6,
    }
}

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
    use model::{TimeModel, WAIT_CPU_QUANTUM, Wait};

    use super::*;

    #[test]
    fn the_profile_has_the_shape_people_know() {
        let totals = CaseTotals {
            trials: 1,
            window_s: 300.0,
            statements: 1000.0,
            logical_reads: 1_897_127_670.0,
            time: TimeModel {
                db_time_s: 2700.0,
                db_cpu_s: 2690.0,
                ..TimeModel::default()
            },
            ..CaseTotals::default()
        };
        let text = load_profile(&totals);
        let expected = "    Logical read (blocks):     6,323,758.9     1,897,127.7\n";
        assert!(text.contains(expected), "{text}");
        let expected = "               DB Time(s):             9.0           2.700\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn updates_are_shown_where_there_are_any() {
        let totals = CaseTotals {
            window_s: 2.0,
            statements: 4.0,
            updates: Some((30.0, 8.0)),
            ..CaseTotals::default()
        };
        let text = load_profile(&totals);
        for expected in [
            "  Physical write (blocks):             4.0           2.000\n",
            "             Rows updated:            15.0           7.500\n",
        ] {
            assert!(text.contains(expected), "{text}");
        }
        assert!(!load_profile(&CaseTotals::default()).contains("updated"));
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let text = load_profile(&CaseTotals::default());
        let expected = "               DB Time(s):               -               -\n";
        assert!(text.contains(expected), "{text}");
    }

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
