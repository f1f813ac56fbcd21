//! A comparison of machines, as text and as the document `numalab.fleet-comparison/1`.

use model::{
    FactKind, FactSplit, FigureDifference, FigurePair, FleetComparison, FleetFinding, FleetGroup,
    GroupFigure, counted,
};

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

/// Formats a comparison, on one screen unless `is_full`.
pub fn fleet_comparison_text(
    comparison: &FleetComparison,
    is_full: bool,
    options: &TextOptions,
) -> String {
    let mut text = options.paragraph("", &fleet_answer(comparison), Style::Strong);
    let groups = comparison.groups.iter();
    let groups: Vec<Vec<String>> = groups.map(|group| group_lines(group, options)).collect();
    let needs: Vec<usize> = groups.iter().map(|lines| count_of(lines)).collect();
    let rooms = match is_full {
        true => needs.clone(),
        false => rooms(&needs, SCREEN_LINES - FRAME_LINES),
    };
    let (mut unshown, mut groups_unshown) = (0, 0);
    for (lines, room) in groups.into_iter().zip(rooms) {
        let (shown, not_shown) = within(lines, room);
        groups_unshown += usize::from(shown.is_empty());
        unshown += not_shown;
        text.push_str(&shown);
    }
    if unshown > 0 {
        let groups = match groups_unshown {
            0 => String::new(),
            count => format!(", {} not shown at all", counted(count, "group")),
        };
        let more = counted(unshown, "more line");
        text.push_str(&format!("\nand {more}{groups}: --full\n"));
    }
    text
}

/// Shares lines among groups: those that need few get them, and the others the same number each.
fn rooms(needs: &[usize], lines: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|group| needs[*group]);
    let (mut rooms, mut left) = (vec![0; needs.len()], lines);
    for (done, group) in order.into_iter().enumerate() {
        rooms[group] = needs[group].min(left / (needs.len() - done));
        left -= rooms[group];
    }
    rooms
}

fn count_of(entries: &[String]) -> usize {
    entries.iter().map(|entry| entry.lines().count()).sum()
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
    let undecided = comparison.groups.iter();
    let undecided =
        undecided.map(|group| group.splits.len() + usize::from(!group.pairs.is_empty()));
    let undecided = match undecided.sum::<usize>() {
        0 => String::new(),
        count => format!(
            "; in {}, none can be called the odd one",
            counted(count, "difference")
        ),
    };
    format!("{machines} in {groups} by {by}: {odd}{undecided}")
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
    let undecided = fleet_undecided_words(group);
    lines.extend(
        undecided
            .iter()
            .map(|words| options.paragraph("  ", words, Style::Care)),
    );
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
    let style = match &finding.figure {
        Some(figure) if figure.is_worse => Style::Bad,
        Some(_) => Style::Care,
        None => Style::Usual,
    };
    options.paragraph("  ", &fleet_finding_words(finding), style)
}

/// A finding in one sentence: the machines, what they have, and what the others have.
pub fn fleet_finding_words(finding: &FleetFinding) -> String {
    let hosts = names(&finding.hosts);
    if let Some(figure) = &finding.figure {
        return format!("{hosts}: {}", figure_words(figure));
    }
    let fact = plain_within(&finding.fact, NAME_COLUMNS);
    let (measured, expected) = (shown(&finding.measured), shown(&finding.expected));
    let others = format!("{} of {}", finding.having, finding.known);
    match finding.kind {
        FactKind::Doctor => format!("{hosts}: doctor's {fact}: {measured}; on {others} {expected}"),
        FactKind::Nodes => format!("{hosts}: {measured}; {others} have {expected}"),
        _ => format!("{hosts}: {fact}: {measured}; {others} have {expected}"),
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
        count => format!("; {count} of {} differ", counted(figure.cases, "case")),
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

/// Differences of a group of which none can be called the odd one: a sentence each.
pub fn fleet_undecided_words(group: &FleetGroup) -> Vec<String> {
    let splits = group.splits.iter().map(|it| split_words(it, group));
    splits.chain(pairs_words(&group.pairs)).collect()
}

fn split_words(split: &FactSplit, group: &FleetGroup) -> String {
    let values = split
        .values
        .iter()
        .take(NAMES)
        .map(|it| match it.hosts.len() {
            ..=NAMES => format!("{} ({})", shown(&it.value), names(&it.hosts)),
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
    format!("{fact}: {}: {why}", values.join(", "))
}

/// Figures by which two machines differ: the one with the largest ratio, and how many more.
fn pairs_words(pairs: &[FigurePair]) -> Option<String> {
    let far = |pair: &FigurePair| pair.ratio.ln().abs();
    let pair = pairs
        .iter()
        .max_by(|one, other| far(one).total_cmp(&far(other)))?;
    let more = match pairs.len() - 1 {
        0 => String::new(),
        more => format!(" ({} differ, too)", counted(more, "other figure")),
    };
    Some(format!(
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
    ))
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

#[cfg(test)]
mod tests {
    use model::{FactValue, FleetMember};
    use proptest::prelude::*;

    use super::*;

    fn finding(hosts: &[&str]) -> FleetFinding {
        FleetFinding {
            kind: FactKind::Memory,
            fact: "memory of node 1".to_owned(),
            hosts: hosts.iter().map(|it| (*it).to_owned()).collect(),
            expected: "256 GiB".to_owned(),
            having: 37,
            known: 40,
            measured: "234.67 GiB".to_owned(),
            figure: None,
        }
    }

    fn group(machines: usize, findings: usize) -> FleetGroup {
        FleetGroup {
            name: "AMD EPYC 9654, 2 sockets".to_owned(),
            machines: vec![FleetMember::default(); machines],
            findings: vec![finding(&["a", "b", "c", "d"]); findings],
            ..FleetGroup::default()
        }
    }

    fn comparison(groups: Vec<FleetGroup>) -> FleetComparison {
        FleetComparison {
            grouped_by: "model".to_owned(),
            machines: groups.iter().map(|it| it.machines.len() as u32).sum(),
            groups,
        }
    }

    #[test]
    fn a_finding_has_its_machines_and_what_the_others_have() {
        let mut two = group(2, 0);
        two.splits.push(FactSplit {
            kind: FactKind::Setting,
            fact: "vm.swappiness".to_owned(),
            values: ["1", "60"]
                .map(|value| FactValue {
                    value: value.to_owned(),
                    hosts: vec![format!("db{value}")],
                })
                .to_vec(),
        });
        let comparison = comparison(vec![group(40, 1), two, group(1, 0)]);
        let text = fleet_comparison_text(&comparison, false, &TextOptions::default());
        let expected = "\
43 machines in 3 groups by model: 4 are not as most of their group; in 1
difference, none can be called the odd one

AMD EPYC 9654, 2 sockets: 40 machines
  a, b, c and 1 more: memory of node 1: 234.67 GiB; 37 of 40 have 256 GiB

AMD EPYC 9654, 2 sockets: 2 machines
  vm.swappiness: 1 (db1), 60 (db60): which is the odd one cannot be told

AMD EPYC 9654, 2 sockets: 1 machine
  nothing to compare it with
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_name_that_others_chose_moves_no_cursor() {
        let mut hostile = group(3, 0);
        hostile.findings.push(finding(&["\u{1b}[2J\n"]));
        let text = fleet_comparison_text(&comparison(vec![hostile]), true, &TextOptions::default());
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_fleet_fits_on_a_screen(
            groups in prop::collection::vec((1_usize..5, 0_usize..40), 0..40),
        ) {
            let groups = groups.into_iter().map(|(machines, findings)| group(machines, findings));
            let comparison = comparison(groups.collect());
            let text = fleet_comparison_text(&comparison, false, &TextOptions::default());
            prop_assert!(text.lines().count() <= SCREEN_LINES, "{text}");
        }
    }
}
