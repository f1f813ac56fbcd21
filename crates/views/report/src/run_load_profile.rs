//! The load profile of a case, per second and per statement, in the format of an AWR report.

use model::LatencySummary;

use crate::run_figures::{UNKNOWN, decimals};
use crate::run_totals::CaseTotals;

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

#[cfg(test)]
mod tests {
    use super::*;
    use model::TimeModel;

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
}
