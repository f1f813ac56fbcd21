//! A comparison of machines, as text and as the document `numalab.fleet-comparison/1`.

use model::{
    FactKind, FactSplit, FigureDifference, FigurePair, FleetComparison, FleetFinding, FleetGroup,
    GroupFigure, counted,
};
use serde::Serialize;

use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::run::figures::{decimals, value};
use crate::screen::whole::SCREEN_LINES;

/// Names of machines in a line; the rest is counted.
const NAMES: usize = 3;
/// Columns of a name, of a value, and of the name of a fact.
const NAME_COLUMNS: usize = 40;
const VALUE_COLUMNS: usize = 60;
/// Lines of a screen for what stands above and below the groups.
const FRAME_LINES: usize = 6;
/// Lines that a group has at least, however many groups there are.
const GROUP_LINES: usize = 3;

/// The document.
#[derive(Debug, Serialize)]
pub struct FleetComparisonDocument<'a> {
    /// `numalab.fleet-comparison/1`.
    pub format: &'static str,
    /// Its fields.
    #[serde(flatten)]
    pub comparison: &'a FleetComparison,
}

/// Returns the document.
pub fn fleet_comparison_document(comparison: &FleetComparison) -> FleetComparisonDocument<'_> {
    FleetComparisonDocument {
        format: "numalab.fleet-comparison/1",
        comparison,
    }
}

/// Formats a comparison, on one screen unless `is_full`.
pub fn fleet_comparison_text(
    comparison: &FleetComparison,
    is_full: bool,
    options: &TextOptions,
) -> String {
    let mut text = options.paragraph("", &fleet_answer(comparison), Style::Strong);
    let mut left = match is_full {
        true => usize::MAX,
        false => SCREEN_LINES - FRAME_LINES,
    };
    let (mut unshown, mut groups_left) = (0, comparison.groups.len());
    for group in &comparison.groups {
        groups_left -= 1;
        // The groups that follow have a few lines, too.
        let room = left
            .saturating_sub(groups_left.saturating_mul(GROUP_LINES))
            .max(GROUP_LINES);
        let lines = group_lines(group, options);
        let (shown, not_shown) = within(lines, room.min(left));
        left = left.saturating_sub(shown.lines().count());
        unshown += not_shown;
        text.push_str(&shown);
    }
    if unshown > 0 {
        let more = counted(unshown, "more line");
        text.push_str(&format!("\nand {more}, less important: --full shows all\n"));
    }
    text
}

/// The answer in one sentence.
pub fn fleet_answer(comparison: &FleetComparison) -> String {
    let groups = match comparison.groups.len() {
        1 => "1 group".to_owned(),
        count => counted(count, "group"),
    };
    let findings = comparison.groups.iter().flat_map(|group| &group.findings);
    let mut hosts: Vec<&str> = findings
        .flat_map(|it| &it.hosts)
        .map(String::as_str)
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let odd = match hosts.len() {
        0 => "none is unlike most of its group".to_owned(),
        1 => format!("{} is not as most of its group", plain(hosts[0])),
        count => format!("{count} are not as most of their group"),
    };
    let machines = counted(comparison.machines, "machine");
    let by = &comparison.grouped_by;
    format!("{machines} in {groups} by {by}: {odd}")
}

/// So many entries as have room, the most important first, and how many lines are not shown.
fn within(entries: Vec<String>, room: usize) -> (String, usize) {
    let (mut text, mut lines, mut unshown) = (String::new(), 0, 0);
    for entry in entries {
        let more = entry.lines().count();
        match lines + more <= room && unshown == 0 {
            true => {
                text.push_str(&entry);
                lines += more;
            }
            false => unshown += more,
        }
    }
    (text, unshown)
}

/// A group: its name, what is odd, what is split, and how little was too little to be found.
fn group_lines(group: &FleetGroup, options: &TextOptions) -> Vec<String> {
    let count = counted(group.machines.len(), "machine");
    let heading = format!("{}: {count}", plain(&group.name));
    let mut lines = vec![format!(
        "\n{}",
        options.paragraph("", &heading, Style::Strong)
    )];
    lines.extend(group.findings.iter().map(|it| finding_lines(it, options)));
    lines.extend(
        group
            .splits
            .iter()
            .map(|it| split_lines(it, group, options)),
    );
    lines.extend(pairs_lines(&group.pairs, options));
    lines.extend(found_from_lines(&group.figures, options));
    lines.extend(without_lines(group, options));
    if group.machines.len() == 1 {
        lines.push("  nothing to compare it with\n".to_owned());
    } else if lines.len() == 1 {
        lines.push("  no difference\n".to_owned());
    }
    lines
}

fn finding_lines(finding: &FleetFinding, options: &TextOptions) -> String {
    let hosts = names(&finding.hosts);
    match &finding.figure {
        Some(figure) => {
            let style = match figure.is_worse {
                true => Style::Bad,
                false => Style::Care,
            };
            options.paragraph("  ", &format!("{hosts}: {}", figure_words(figure)), style)
        }
        None => {
            let FleetFinding { having, known, .. } = finding;
            let (fact, expected) = (
                plain_within(&finding.fact, NAME_COLUMNS),
                shown(&finding.expected),
            );
            let measured = shown(&finding.measured);
            let words = match finding.kind {
                FactKind::Doctor => format!(
                    "{hosts}: doctor's {fact} {measured}; on {having} of {known} {expected}"
                ),
                FactKind::Nodes => {
                    format!("{hosts}: {measured}, {having} of {known} have {expected}")
                }
                _ => format!("{hosts}: {fact} {measured}, {having} of {known} have {expected}"),
            };
            options.paragraph("  ", &words, Style::Usual)
        }
    }
}

/// A figure beside its group's: `latency from-0-to-1 118 ns [117 to 119], 1.20 times the group's 98
/// (89 to 108); 3 of 4 cases`.
fn figure_words(figure: &FigureDifference) -> String {
    let of = |number: f64| value(figure.metric, number);
    let unit = figure.metric.facts().shown_unit;
    let interval = match (figure.measured_low, figure.measured_high) {
        (Some(low), Some(high)) => format!(" [{} to {}]", of(low), of(high)),
        _ => String::new(),
    };
    let also = match figure.cases_differing {
        1 => String::new(),
        count => format!("; {count} of {} cases differ", figure.cases),
    };
    format!(
        "{} {} {} {unit}{interval}, {} times the group's {} ({} to {}){also}",
        plain_within(&figure.experiment, NAME_COLUMNS),
        plain_within(&figure.case, NAME_COLUMNS),
        of(figure.measured),
        decimals(figure.ratio, 2),
        of(figure.expected),
        of(figure.expected_low),
        of(figure.expected_high),
    )
}

fn split_lines(split: &FactSplit, group: &FleetGroup, options: &TextOptions) -> String {
    let values = split.values.iter().take(NAMES).map(|it| match split.kind {
        _ if it.hosts.len() <= NAMES => format!("{} ({})", shown(&it.value), names(&it.hosts)),
        _ => format!(
            "{} ({})",
            shown(&it.value),
            counted(it.hosts.len(), "machine")
        ),
    });
    let mut values: Vec<String> = values.collect();
    if let more @ 1.. = split.values.len().saturating_sub(NAMES) {
        values.push(counted(more, "other value"));
    }
    let why = match group.machines.len() {
        2 => "which is the odd one cannot be told",
        _ => "no value is that of most",
    };
    let fact = plain_within(&split.fact, NAME_COLUMNS);
    options.paragraph(
        "  ",
        &format!("{fact}: {}: {why}", values.join(", ")),
        Style::Care,
    )
}

/// Figures by which two machines differ: the one with the largest ratio, and how many more.
fn pairs_lines(pairs: &[FigurePair], options: &TextOptions) -> Option<String> {
    let far = |pair: &FigurePair| pair.ratio.ln().abs();
    let pair = pairs
        .iter()
        .max_by(|one, other| far(one).total_cmp(&far(other)))?;
    let more = match pairs.len() - 1 {
        0 => String::new(),
        more => format!(" ({} differ, too)", counted(more, "other figure")),
    };
    let words = format!(
        "{} {}: {} {}, {} {} {}: {} times [{} to {}]{more}: only two machines have it, which is \
         the odd one cannot be told",
        plain_within(&pair.experiment, NAME_COLUMNS),
        plain_within(&pair.case, NAME_COLUMNS),
        plain_within(&pair.hosts[0], NAME_COLUMNS),
        value(pair.metric, pair.values[0]),
        plain_within(&pair.hosts[1], NAME_COLUMNS),
        value(pair.metric, pair.values[1]),
        pair.metric.facts().shown_unit,
        decimals(pair.ratio, 2),
        decimals(pair.ratio_low, 2),
        decimals(pair.ratio_high, 2),
    );
    Some(options.paragraph("  ", &words, Style::Care))
}

/// By experiment, how large a difference had to be to be found: of its middle case.
fn found_from_lines(figures: &[GroupFigure], options: &TextOptions) -> Vec<String> {
    let experiments = figures.chunk_by(|one, other| one.experiment == other.experiment);
    let lines = experiments.filter_map(|figures| {
        let mut from: Vec<f64> = figures.iter().filter_map(|it| it.found_from).collect();
        from.sort_by(f64::total_cmp);
        let middle = from.get(from.len() / 2)?;
        let experiment = plain_within(&figures[0].experiment, NAME_COLUMNS);
        let cases = counted(figures.len(), "case");
        let machines = counted(figures[0].machines, "machine");
        let words = match *middle {
            ..1.0 => format!(
                "{experiment}: {cases} on {machines}; from {} % on, one would be told apart",
                decimals(100.0 * middle, 0)
            ),
            _ => format!(
                "{experiment}: {cases} on {machines}: too few to tell their spread from an odd one"
            ),
        };
        Some(options.paragraph("  ", &words, Style::Usual))
    });
    lines.collect()
}

fn without_lines(group: &FleetGroup, options: &TextOptions) -> Option<String> {
    let without = group.without_figures.len();
    if without == 0 || without == group.machines.len() {
        return None;
    }
    let words = format!("no figures compared: {}", names(&group.without_figures));
    Some(options.paragraph("  ", &words, Style::Usual))
}

/// The first machines by name, and how many more.
fn names(hosts: &[String]) -> String {
    let first: Vec<String> = hosts
        .iter()
        .take(NAMES)
        .map(|it| plain_within(it, NAME_COLUMNS))
        .collect();
    match hosts.len().saturating_sub(NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn shown(value: &str) -> String {
    plain_within(value, VALUE_COLUMNS)
}
