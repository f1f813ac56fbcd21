//! What came of a plan, as text: the sum first, then who is missing and why, on one screen.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::counted;

use crate::progress::{HostProgress, HostState, PlanProgress, StepProgress};

/// Lines about the hosts in one state, on one screen.
const LINES_MAX: usize = 5;

/// Renders the text; `is_full`: every host.
pub fn progress_text(found: &PlanProgress, width: usize, is_full: bool) -> String {
    let mut text = headline(found);
    text.push('\n');
    let names = found.steps.iter().map(|step| step.chars().count());
    let longest = names.max().unwrap_or(0);
    for (place, step) in found.steps.iter().enumerate() {
        writeln!(text, "{step:longest$}  {}", step_words(found, place))
            .expect("a string takes all");
    }
    if !found.is_complete() {
        text.push('\n');
    }
    for state in [
        HostState::Failed,
        HostState::Partial,
        HostState::NeverAnswered,
    ] {
        let mut lines = Vec::new();
        for (what, hosts) in grouped(found, state) {
            lines.extend(wrapped(&format!("{what}: "), &hosts, width, is_full));
        }
        if !is_full && lines.len() > LINES_MAX {
            let left_out = lines.len() - (LINES_MAX - 1);
            lines.truncate(LINES_MAX - 1);
            lines.push(format!("and {} more: --full", counted(left_out, "line")));
        }
        for line in lines {
            text += &line;
            text.push('\n');
        }
    }
    text
}

fn headline(found: &PlanProgress) -> String {
    let plan = format!("Plan {} of {}", found.plan, found.made_at);
    let all = found.hosts.len();
    let done = found.count(HostState::Done);
    if all == 0 {
        return format!("{plan}: no machine has answered yet\n");
    }
    if found.is_complete() {
        let named = match found.hosts_are_named {
            true => "",
            false => " that answered",
        };
        return format!("{plan}: complete, {}{named}\n", counted(all, "machine"));
    }
    let others = [
        (HostState::Failed, "failed"),
        (HostState::Partial, "partial"),
        (HostState::NeverAnswered, "never answered"),
    ];
    let others: Vec<String> = others
        .iter()
        .filter(|(state, _)| found.count(*state) > 0)
        .map(|(state, word)| format!("{} {word}", found.count(*state)))
        .collect();
    format!(
        "{plan}: {done} of {} done\n{}\n",
        counted(all, "machine"),
        others.join(", ")
    )
}

fn step_words(found: &PlanProgress, place: usize) -> String {
    let of = |is: fn(&StepProgress) -> bool| {
        let steps = found.hosts.iter().map(|host| &host.steps[place]);
        steps.filter(|step| is(step)).count()
    };
    let done = of(|step| *step == StepProgress::Done);
    let failed = of(|step| matches!(step, StepProgress::Failed { .. }));
    let again = found.hosts.iter().filter(|host| host.tries[place] > 1);
    let mut words = format!("{done} of {}", found.hosts.len());
    if failed > 0 {
        words += &format!(", {failed} failed");
    }
    match again.count() {
        0 => {}
        again => words += &format!(", {again} tried again"),
    }
    words
}

/// Hosts in this state of which the same is to be said, those of most hosts first.
fn grouped(found: &PlanProgress, state: HostState) -> Vec<(String, Vec<&str>)> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for host in found.hosts.iter().filter(|host| host.state == state) {
        let what = said_of(host, &found.steps);
        groups.entry(what).or_default().push(&host.host);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    groups
}

fn said_of(host: &HostProgress, steps: &[String]) -> String {
    if host.state == HostState::NeverAnswered {
        return match &host.last_before {
            Some(at) => format!("never answered (before the plan, last at {at})"),
            None => "never answered".to_owned(),
        };
    }
    let mut parts = Vec::new();
    for (step, state) in steps.iter().zip(&host.steps) {
        match state {
            StepProgress::Failed { reason } => parts.push(match reason {
                Some(reason) => format!("{step} failed ({reason})"),
                None => format!("{step} failed"),
            }),
            StepProgress::Done | StepProgress::Missing => {}
        }
    }
    let missing = steps.iter().zip(&host.steps);
    let missing = missing.filter(|(_, state)| **state == StepProgress::Missing);
    let missing: Vec<&str> = missing.map(|(step, _)| step.as_str()).collect();
    if !missing.is_empty() {
        parts.push(format!("lacks {}", missing.join(", ")));
    }
    parts.join("; ")
}

/// The hosts after what is said of them, in lines of this width; on one screen two lines of each.
fn wrapped(head: &str, hosts: &[&str], width: usize, is_full: bool) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut words: Vec<String> = head.split_inclusive(' ').map(ToOwned::to_owned).collect();
    let last = hosts.len() - 1;
    let names = hosts.iter().enumerate();
    words.extend(names.map(|(place, host)| match place == last {
        true => (*host).to_owned(),
        false => format!("{host}, "),
    }));
    let head_words = head.split_inclusive(' ').count();
    let more = |left: usize| format!("and {left} more");
    for (place, word) in words.iter().enumerate() {
        let line = lines.last().expect("it has one").chars().count();
        // Room for what says that others follow.
        let room = if is_full || lines.len() == 1 {
            width
        } else {
            width - 16
        };
        if line + word.trim_end().chars().count() > room {
            if !is_full && lines.len() == 2 && place >= head_words {
                lines[1] += &more(words.len() - place);
                break;
            }
            lines.push("  ".to_owned());
        }
        lines.last_mut().expect("it has one").push_str(word);
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use model::RunStatus;

    use super::progress_text;
    use crate::plan::tests::plan;
    use crate::progress::progress;
    use crate::progress::tests::run;
    use crate::{Engine, Plan};

    fn of_many() -> (Plan, Vec<crate::RunOfHost>) {
        let mut plan = plan(Engine::Slurm, &["doctor", "latency"]);
        plan.hosts = (0..4000).map(|it| format!("n{it:04}")).collect();
        let mut runs = Vec::new();
        for (place, host) in plan.hosts.iter().enumerate() {
            if place % 10 == 3 {
                continue;
            }
            runs.push(run(host, "doctor", RunStatus::Settled));
            match place % 100 {
                7 => {
                    let mut failed = run(host, "latency", RunStatus::Failed);
                    failed.reason = Some(format!("reason {place}"));
                    runs.push(failed);
                }
                8 => {}
                _ => runs.push(run(host, "latency", RunStatus::Settled)),
            }
        }
        (plan, runs)
    }

    #[test]
    fn four_thousand_hosts_fit_on_one_screen() {
        let (plan, runs) = of_many();
        let found = progress(&plan, &runs);
        let text = progress_text(&found, 80, false);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.contains("40 failed, 40 partial, 400 never answered"),
            "{text}"
        );
        assert!(
            text.contains("latency failed (reason 1007): n1007"),
            "{text}"
        );
        let full = progress_text(&found, 80, true);
        for (place, host) in plan.hosts.iter().enumerate() {
            let is_named = place % 10 == 3 || [7, 8].contains(&(place % 100));
            assert_eq!(full.contains(host), is_named, "{host}");
        }
        assert!(
            full.lines().all(|line| line.chars().count() <= 80),
            "{full}"
        );
    }

    #[test]
    fn a_plan_that_is_complete_takes_few_words() {
        let plan = plan(Engine::Slurm, &["latency"]);
        let runs = ["n1", "n2"].map(|host| run(host, "latency", RunStatus::Settled));
        let text = progress_text(&progress(&plan, &runs), 80, false);
        let expected = "Plan october of 2026-10-01T08:00:00+02:00: complete, 2 machines\n\n\
                        latency  2 of 2\n";
        assert_eq!(text, expected);
    }
}
