//! The answer of the doctor as text: its findings with all that is known of them, and how many
//! checks it made.

use model::{Coverage, Diagnosis, Finding, Severity, Threads, counted};

use crate::diagnosis::cure_plan_text::{cure_plan_text, in_force_text};
use crate::diagnosis::findings_text::{Detail, findings_text};
use crate::diagnosis::reading_text::{fetch_text, reading_text};
use crate::form::style::{Style, TextOptions};
use crate::residency::threads::{counted_threads, residency_threads};

/// The lines of a screen.
const SCREEN_LINES: usize = 40;

/// Formats what the doctor found and the plan, after the threads of the target by role. In full, it
/// says all of what is for information, too, and names every check; else it is one screen if it
/// can: then the threads are counted, and of several problems the least severe have a line each.
pub fn doctor_text(
    diagnosis: &Diagnosis,
    threads: Option<&Threads>,
    is_full: bool,
    options: &TextOptions,
) -> String {
    if is_full {
        let whole = diagnosis.findings.len();
        let threads = residency_threads(threads, options);
        return text_of(diagnosis, &threads, (whole, is_full), options);
    }
    // The most severe come first; what is for information alone has a line each.
    let is_severe = |it: &&Finding| it.severity > Severity::Info;
    let severe = diagnosis.findings.iter().filter(is_severe).count();
    let shown = |threads: &str, whole| text_of(diagnosis, threads, (whole, is_full), options);
    let mut text = shown(&residency_threads(threads, options), severe);
    let counted = counted_threads(threads, options);
    let mut whole = severe;
    while text.lines().count() > SCREEN_LINES && whole > 0 {
        text = shown(&counted, whole);
        whole -= 1;
    }
    text
}

/// The text with so many findings in whole, and all if it is in full.
fn text_of(
    diagnosis: &Diagnosis,
    threads: &str,
    (whole, is_full): (usize, bool),
    options: &TextOptions,
) -> String {
    let reading = diagnosis.read_from.as_ref();
    let (whole, rest) = diagnosis.findings.split_at(whole);
    let mut parts = vec![
        reading_text(reading, options),
        threads.to_owned(),
        findings_text(whole, Detail::Full, options),
        findings_text(rest, Detail::Short, options),
    ];
    if !rest.is_empty() {
        let more = "(--full shows their evidence, cost and fix)";
        let shown = options.paragraph("         ", more, Style::Usual);
        parts
            .last_mut()
            .into_iter()
            .for_each(|it| it.push_str(&shown));
    }
    parts.extend(
        diagnosis
            .plan
            .iter()
            .map(|plan| cure_plan_text(plan, options)),
    );
    parts.push(end(diagnosis, is_full, options));
    parts.extend(
        diagnosis
            .in_force
            .iter()
            .map(|it| in_force_text(it, options)),
    );
    parts.push(fetch_text(reading, options));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// How many findings there are, and in how many checks.
fn end(diagnosis: &Diagnosis, is_full: bool, options: &TextOptions) -> String {
    let Diagnosis {
        coverage, findings, ..
    } = diagnosis;
    let (made, all) = (coverage.looked_for, coverage.checks());
    let checks = match made == all {
        true => counted(all, "check"),
        false => format!("{made} of {}", counted(all, "check")),
    };
    let findings = match findings.len() {
        0 => "no problems found".to_owned(),
        count => counted(count, "finding"),
    };
    let mut text = format!("{findings} in {checks}\n");
    if made < all {
        text += &not_seen(coverage, is_full, options);
    }
    if is_full {
        text += &options.paragraph("made: ", &coverage.made.join(", "), Style::Usual);
    }
    text
}

/// What was not looked at: no all-clear holds for it. What most checks lack comes first.
fn not_seen(coverage: &Coverage, is_full: bool, options: &TextOptions) -> String {
    let mut lacks: Vec<(&String, &usize)> = coverage.not_seen.iter().collect();
    lacks.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    if !is_full {
        let parts = lacks
            .iter()
            .map(|(what, count)| format!("{count} for lack of {what}"));
        let parts: Vec<String> = parts.collect();
        let line = format!("{} (--full lists them)", parts.join("; "));
        return options.paragraph("not made: ", &line, Style::Usual);
    }
    let lines = lacks.into_iter().map(|(what, _)| {
        let findings = coverage
            .not_made
            .get(what)
            .map_or(String::new(), |it| it.join(", "));
        options.paragraph(
            "not made: ",
            &format!("{findings}, for lack of {what}"),
            Style::Usual,
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use model::{Finding, ShellLine};

    use super::*;

    #[test]
    fn what_has_no_room_on_a_screen_has_a_line_and_the_worst_stays_whole() {
        let finding = |id: &str, severity| Finding {
            id: id.to_owned(),
            severity,
            fix: vec![ShellLine::of("a command"); 10],
            ..Finding::default()
        };
        let of = |warnings: usize| {
            let mut findings = vec![finding("the-worst", Severity::Error)];
            findings.extend((0..warnings).map(|_| finding("other", Severity::Warning)));
            let diagnosis = Diagnosis {
                findings,
                ..Diagnosis::default()
            };
            let text = |is_full| doctor_text(&diagnosis, None, is_full, &TextOptions::default());
            (text(false), text(true))
        };
        let (short, _) = of(2);
        assert_eq!(short.matches("warning: other\n").count(), 2, "{short}");
        let (short, full) = of(6);
        assert!(full.lines().count() > SCREEN_LINES, "{full}");
        assert!(short.lines().count() <= SCREEN_LINES, "{short}");
        assert!(short.starts_with("error: the-worst\n"), "{short}");
        assert!(short.contains("warning: other\n"), "{short}");
        assert!(short.contains("warning  other:\n"), "{short}");
        assert!(short.contains("(--full shows"), "{short}");
    }

    #[test]
    fn the_end_says_how_many_checks_were_made() {
        let coverage = Coverage {
            looked_for: 2,
            not_seen: [("a target".to_owned(), 20), ("distances".to_owned(), 1)].into(),
            made: ["zone-reclaim", "numa-off"].map(str::to_owned).into(),
            not_made: [("distances".to_owned(), vec!["distances-flat".to_owned()])].into(),
        };
        let text = |findings: &[Finding], is_full: bool| {
            let diagnosis = Diagnosis {
                coverage: coverage.clone(),
                findings: findings.to_vec(),
                ..Diagnosis::default()
            };
            doctor_text(&diagnosis, None, is_full, &TextOptions::default())
        };
        let finding = Finding {
            id: "zone-reclaim".to_owned(),
            ..Finding::default()
        };
        let found = text(&[finding], false);
        let start = "info     zone-reclaim:\n         (--full shows";
        assert!(found.starts_with(start), "{found}");
        let end = "1 finding in 2 of 23 checks\n\
                   not made: 20 for lack of a target; 1 for lack of distances (--full \
                   lists them)\n";
        assert!(found.ends_with(end), "{found}");
        assert!(text(&[], false).starts_with("no problems found in 2 of 23 checks\n"));
        let all = text(&[Finding::default()], true);
        assert!(all.starts_with("info: \n"), "{all}");
        let full = text(&[], true);
        assert!(
            full.contains("not made: distances-flat, for lack of distances\n"),
            "{full}"
        );
        assert!(full.ends_with("made: zone-reclaim, numa-off\n"), "{full}");
    }
}
