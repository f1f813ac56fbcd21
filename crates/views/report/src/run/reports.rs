//! The reports behind an imported case, as lines: interval, load, where the time went, and
//! parameters of the instance.

use model::{Case, LoadReport, Printed, ReportEvent, ReportKind, counted};

use crate::run::figures::{decimals, rate, whole};

/// Maximum number of reports shown; the document has all of them.
const REPORTS_SHOWN: usize = 5;
/// Maximum number of events shown for a report.
const EVENTS_SHOWN: usize = 5;

/// Returns the lines for the reports of a case.
pub(crate) fn report_lines(case: &Case) -> Vec<String> {
    let reports = case.trials.iter();
    let reports: Vec<&LoadReport> = reports.filter_map(|it| it.report.as_deref()).collect();
    let mut lines: Vec<String> = Vec::new();
    for report in reports.iter().take(REPORTS_SHOWN) {
        lines.push(format!("{}: {}", source(report), load(report)));
        lines.extend(time(report));
        lines.extend(parameters(report));
    }
    if reports.len() > REPORTS_SHOWN {
        lines.push(format!(
            "and {}",
            counted(reports.len() - REPORTS_SHOWN, "more report")
        ));
    }
    lines
}

/// Formats a printed figure with its original digits.
pub(crate) fn printed(figure: Printed) -> String {
    if figure.half_unit == 0.0 {
        return rate(figure.value);
    }
    // A half unit of 0.05 means one decimal; 50 (from "144.2K") means none.
    let places = (0..6).find(|places| 2.0 * figure.half_unit >= 0.999 * 10f64.powi(-places));
    decimals(figure.value, places.unwrap_or(6) as usize)
}

fn source(report: &LoadReport) -> String {
    let kind = match report.kind {
        ReportKind::Awr => "AWR",
        ReportKind::Statspack => "Statspack",
        ReportKind::Excerpt => "excerpt",
    };
    let mut parts = vec![
        format!("{} line {}", report.file, report.line),
        kind.to_string(),
    ];
    parts.extend(report.database.as_ref().map(|it| format!("database {it}")));
    parts.extend(report.instance.as_ref().map(|it| format!("instance {it}")));
    parts.extend(report.release.as_ref().map(|it| format!("release {it}")));
    let interval = &report.interval;
    if let (Some(begin), Some(end)) = (&interval.begin, &interval.end) {
        parts.push(format!("{begin} to {end}"));
    }
    parts.push(match interval.elapsed_s {
        Some(elapsed) => format!("{} s", printed(elapsed)),
        None => "interval not known".to_string(),
    });
    parts.join(", ")
}

fn load(report: &LoadReport) -> String {
    let profile = &report.profile;
    let rows = [
        (Some(profile.logical_reads_per_s), "logical reads"),
        (profile.physical_reads_per_s, "physical reads"),
        (profile.db_time_per_s, "s of DB time"),
        (profile.db_cpu_per_s, "s of DB CPU"),
    ];
    let rows = rows.iter();
    let rows = rows.filter_map(|(figure, what)| Some(format!("{} {what}", printed((*figure)?))));
    format!("{} per second", rows.collect::<Vec<_>>().join(", "))
}

/// Returns where the time went; `None` where the report does not say.
fn time(report: &LoadReport) -> Option<String> {
    let db_time = report
        .db_time_s
        .map(|it| format!(" of {} s DB time", printed(it)));
    let cpu = report.db_cpu_s;
    let cpu = cpu.map(|it| format!("DB CPU {} s{}", printed(it), db_time.unwrap_or_default()));
    let events = report.events.iter().take(EVENTS_SHOWN);
    let parts: Vec<String> = cpu.into_iter().chain(events.filter_map(event)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn event(event: &ReportEvent) -> Option<String> {
    let mut text = format!("{} {} s", event.name, printed(event.total_s?));
    if let Some(share) = event.share_of_db_time {
        text.push_str(&format!(" ({} %)", decimals(share.value * 100.0, 1)));
    }
    if let Some(waits) = event.waits {
        text.push_str(&format!(" in {}", counted(whole(waits), "wait")));
    }
    Some(text)
}

fn parameters(report: &LoadReport) -> Option<String> {
    let each = report.parameters.iter();
    let each: Vec<String> = each
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    (!each.is_empty()).then(|| format!("parameters: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::printed;
    use model::Printed;

    #[test]
    fn figures_are_shown_with_the_digits_they_were_printed_with() {
        let check = |value, half_unit, expected: &str| {
            assert_eq!(printed(Printed { value, half_unit }), expected);
        };
        check(8.9, 0.05, "8.9");
        check(6_323_758.9, 0.05, "6,323,758.9");
        check(1639.0, 0.5, "1,639");
        check(144_200.0, 50.0, "144,200");
        check(303.0, 0.3, "303.0");
        check(5.4, 0.005, "5.40");
        check(300.0, 0.0, "300");
    }
}
