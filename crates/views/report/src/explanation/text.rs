//! An explanation as text: CPU and cost of each case, then each difference split into its parts.

use model::{Run, shell_line};
use stats::Interval;
use verdict::{CaseCost, Difference, Explanation, Factor, MemoryShare};

use crate::form::advice::Advice;
use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::run::figures::{UNKNOWN, decimals, rate};
use crate::run::ranking::NAME_COLUMNS;

/// Maximum number of causes of time off the CPU that are listed.
const CAUSES_SHOWN: usize = 3;
/// Columns of one cause in the table of all cases.
const CAUSE_COLUMNS: usize = 23;

/// Formats the explanation of a run: on one screen, or with the parts of every difference.
pub fn explanation_text(
    run: &Run,
    found: &Explanation,
    is_full: bool,
    options: &TextOptions,
) -> String {
    let title = format!(
        "Why do the cases of run {} of {} differ?",
        run.id, run.experiment
    );
    let mut text = options.paragraph("", &title, Style::Strong);
    text.push('\n');
    text.push_str(&cases(found).text(options));
    text.push('\n');
    match is_full {
        true => text.push_str(&in_full(found, options)),
        false => text.push_str(&in_short(run, found, options)),
    }
    text
}

/// What the table says of its largest difference, and where there is more.
fn in_short(run: &Run, found: &Explanation, options: &TextOptions) -> String {
    let mut text = String::new();
    let ln = |it: &&Difference| it.reads.ratio.ln().abs();
    let explained = found.differences.iter().filter(|it| it.shares.is_some());
    let largest = explained.max_by(|one, other| ln(one).total_cmp(&ln(other)));
    if let Some(difference) = largest.or(found.differences.first()) {
        text.push_str(&options.paragraph("", &sentence(found, difference), Style::Usual));
        text.push_str(&memory(difference, options));
    }
    let too_few = found.differences.iter().filter(|it| it.has_too_few());
    let too_few: Vec<String> = too_few
        .map(|it| plain_within(&found.cases[it.case].name, NAME_COLUMNS))
        .collect();
    if !too_few.is_empty() {
        let line = format!("too few trials to explain: {}", too_few.join(", "));
        text.push_str(&options.paragraph("", &line, Style::Care));
    }
    let more = Advice::paste(
        "the parts of each difference, and each case against the next:",
        shell_line!("numalab explain {} --full", run.id),
    );
    text.push_str(&more.text("", Style::Usual, options));
    text
}

fn in_full(found: &Explanation, options: &TextOptions) -> String {
    let mut text = options.heading("DB time off the CPU, seconds per second");
    for case in &found.cases {
        let name = plain_within(&case.name, NAME_COLUMNS);
        let line = format!("{name}: {}", off_cpu(case));
        text.push_str(&options.paragraph("", &line, Style::Usual));
    }
    text.push('\n');
    let against = found
        .differences
        .first()
        .map(|it| &found.cases[it.baseline]);
    if let Some(baseline) = against {
        let name = plain_within(&baseline.name, NAME_COLUMNS);
        text.push_str(&options.heading(&format!("Against {name}")));
        text.push_str(&differences(found, &found.differences, options));
    }
    if !found.steps.is_empty() {
        text.push('\n');
        text.push_str(&options.heading("Step by step, each against the one above it"));
        text.push_str(&differences(found, &found.steps, options));
    }
    text
}

/// Returns one quotable sentence about a difference.
pub(crate) fn sentence(found: &Explanation, difference: &Difference) -> String {
    let (case, baseline) = (
        &found.cases[difference.case],
        &found.cases[difference.baseline],
    );
    let reads = difference.reads;
    if difference.is_tie() {
        let interval = reads.interval.map(|it| format!(" [{}]", ends(&it)));
        return format!(
            "{} ties with {}: {} times{}, so there is no difference to split",
            plain(&case.name),
            plain(&baseline.name),
            decimals(reads.ratio, 3),
            interval.unwrap_or_default(),
        );
    }
    let percent = decimals(100.0 * (reads.ratio - 1.0).abs(), 1);
    let more = if reads.ratio >= 1.0 { "more" } else { "fewer" };
    let sure = match (reads.interval, case.trials.max(baseline.trials)) {
        (Some(interval), _) => format!("[{}]", ends(&interval)),
        (None, 1) => "one repetition of each gives no interval".to_string(),
        (None, _) => "too few repetitions for an interval".to_string(),
    };
    let than = format!(
        "{} does {percent} % {more} logical reads per second than {}",
        plain(&case.name),
        plain(&baseline.name),
    );
    let times = decimals(reads.ratio, 3);
    let Some(shares) = difference.shares else {
        let why = match difference.has_too_few() {
            true => "not explained: too few trials",
            false => "the cause is unknown",
        };
        return format!("{than} ({times} times; {sure}); {why}");
    };
    let of_cpus = format!(
        "CPUs delivered ({} against {})",
        known(case.cpus, |it| decimals(it, 2)),
        known(baseline.cpus, |it| decimals(it, 2)),
    );
    let of_cost = format!(
        "CPU time per logical read ({} against {})",
        known(case.cpu_ns_per_read, ns),
        known(baseline.cpu_ns_per_read, ns),
    );
    let mut parts = [(shares.first, of_cpus), (shares.second, of_cost)];
    parts.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let [(larger, first), (smaller, second)] = parts;
    let percent = |share: f64| decimals(100.0 * share, 1);
    let second = match smaller < 0.0 {
        true => format!("{second} counteracts it, {} %", percent(smaller)),
        false => format!("{} % comes from {second}", percent(smaller)),
    };
    format!(
        "{than} ({times} times; {sure}): {} % comes from {first}; {second}",
        percent(larger),
    )
}

fn cases(found: &Explanation) -> Table {
    let mut table = Table::of("case|times|>trials|>CPUs|>ns/read|off the CPU, s per s");
    for (at, case) in found.cases.iter().enumerate() {
        table.row([
            plain_within(&case.name, NAME_COLUMNS),
            against_baseline(found, at),
            case.trials.to_string(),
            known(case.cpus, |it| decimals(it, 2)),
            known(case.cpu_ns_per_read, rate),
            most_off_cpu(case),
        ]);
    }
    table
}

/// How many times as much a case does as the baseline, and by how much that is sure.
fn against_baseline(found: &Explanation, case: usize) -> String {
    let mut all = found.differences.iter();
    let Some(difference) = all.find(|it| it.case == case) else {
        let reads = found.cases[case].logical_reads_per_s;
        return reads.map_or("baseline".to_owned(), |it| format!("{}/s", rate(it)));
    };
    let margin = difference.reads.interval.map(|it| {
        let [ratio, low, high] = [difference.reads.ratio, it.low, it.high].map(|it| it.max(0.0));
        (high - ratio).max(ratio - low)
    });
    let ratio = decimals(difference.reads.ratio, 2);
    match margin {
        Some(_) if difference.is_tie() => format!("{ratio} tie"),
        Some(margin) => format!("{ratio} \u{b1}{}", decimals(margin, 2)),
        None => ratio,
    }
}

/// The largest cause of time off the CPU.
fn most_off_cpu(case: &CaseCost) -> String {
    let most = case.not_on_cpu.first();
    most.map_or_else(
        || UNKNOWN.to_string(),
        |(cause, rate)| {
            let rate = decimals(*rate, 2);
            let room = CAUSE_COLUMNS - rate.len() - 1;
            format!("{} {rate}", plain_within(cause, room))
        },
    )
}

fn off_cpu(case: &CaseCost) -> String {
    let causes = case.not_on_cpu.iter().take(CAUSES_SHOWN);
    let causes = causes.map(|(cause, rate)| format!("{} {}", plain(cause), decimals(*rate, 2)));
    let causes: Vec<String> = causes.collect();
    match causes.is_empty() {
        true => UNKNOWN.to_string(),
        false => causes.join(", "),
    }
}

fn differences(found: &Explanation, differences: &[Difference], options: &TextOptions) -> String {
    let each = differences.iter().map(|difference| {
        let mut text = options.paragraph("", &sentence(found, difference), Style::Usual);
        if !difference.is_tie() && difference.cpus.is_some() {
            text.push_str(&parts(found, difference).text(options));
        }
        text.push_str(&memory(difference, options));
        text
    });
    each.collect::<Vec<_>>().join("\n")
}

/// Returns the parts of a difference, one per row.
fn parts(found: &Explanation, difference: &Difference) -> Table {
    let (case, baseline) = (
        &found.cases[difference.case],
        &found.cases[difference.baseline],
    );
    let mut table = Table::of("|>case|>against|times|>share of the difference");
    let shares = difference.shares;
    let share = |share: Option<f64>| known(share, |it| format!("{} %", decimals(100.0 * it, 1)));
    let two = |figure: fn(&CaseCost) -> Option<f64>, shown: fn(f64) -> String| {
        (known(figure(case), shown), known(figure(baseline), shown))
    };
    let cpus = two(|it| it.cpus, |it| decimals(it, 2));
    let cost = two(|it| it.cpu_ns_per_read, ns);
    let nothing = (String::new(), String::new());
    let rest = known(difference.rest, |it| decimals(it, 3));
    let rows = [
        (
            "CPUs delivered",
            cpus,
            times(difference.cpus),
            shares.map(|it| it.first),
        ),
        (
            "CPU time per read",
            cost,
            times(difference.cost),
            shares.map(|it| it.second),
        ),
        ("rest", nothing, rest, shares.map(|it| it.rest)),
    ];
    for (what, (case, baseline), times, of_difference) in rows {
        let cells = [
            what.to_string(),
            case,
            baseline,
            times,
            share(of_difference),
        ];
        table.row(cells);
    }
    table
}

fn memory(difference: &Difference, options: &TextOptions) -> String {
    let Some(memory) = &difference.memory else {
        return String::new();
    };
    options.paragraph("memory: ", &memory_sentence(memory), Style::Usual)
}

fn memory_sentence(memory: &MemoryShare) -> String {
    let latencies = format!(
        "latency from the sessions to the SGA is {} against {}",
        ns(memory.latency_ns),
        ns(memory.baseline_latency_ns),
    );
    let known = memory
        .accesses_per_read
        .zip(memory.share.zip(memory.baseline_share));
    let Some((accesses, (share, baseline_share))) = known else {
        return format!("{latencies}; the cost per read does not rise with it");
    };
    let percent = |share: f64| decimals(100.0 * share, 0);
    let doubt = match share.max(baseline_share) > 1.0 {
        true => "; more than 100 %: something other than latency differs, such as bandwidth",
        false => "",
    };
    format!(
        "{latencies}; if nothing else differs, {} accesses per read wait for memory, and {} % of \
         the CPU time per read is memory latency, against {} %{doubt}",
        decimals(accesses, 1),
        percent(share),
        percent(baseline_share),
    )
}

/// Formats a factor: `0.917 [0.914 to 0.920]`.
fn times(factor: Option<Factor>) -> String {
    known(factor.map(|it| it.ratio), |ratio| {
        let factor = factor.expect("its ratio is known");
        let digits = factor
            .rounding
            .filter(|it| it.high - it.low >= ROUNDING_LEAST);
        let ends = match (factor.interval, digits) {
            (Some(interval), _) => format!(" [{}]", ends(&interval)),
            (None, Some(digits)) => format!(" ({} by the printed digits)", ends(&digits)),
            (None, None) => String::new(),
        };
        format!("{}{ends}", decimals(ratio, 3))
    })
}

/// Rounding ranges narrower than this are not shown.
const ROUNDING_LEAST: f64 = 0.001;

fn ends(interval: &Interval) -> String {
    format!(
        "{} to {}",
        decimals(interval.low, 3),
        decimals(interval.high, 3)
    )
}

fn ns(ns: f64) -> String {
    format!("{} ns", rate(ns))
}

fn known(figure: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    figure.map_or_else(|| UNKNOWN.to_string(), shown)
}
