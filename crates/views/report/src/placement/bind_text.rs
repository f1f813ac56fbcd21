//! The result of a placement as text: a few lines for stderr, next to those of the program.

use std::fmt::Write;

use model::{BindReport, ByteSize, counted, cpu_words};

/// Formats the report of `numalab bind --verify`.
pub fn bind_text(report: &BindReport) -> String {
    let mut text = String::new();
    let verdict = match (report.looked_after_s, report.honoured) {
        (None, _) => "placement not verified: the program ended first".to_owned(),
        (Some(_), true) => "placement honoured".to_owned(),
        (Some(_), false) => "placement NOT honoured".to_owned(),
    };
    let line = "writing to a string cannot fail";
    writeln!(text, "numalab: {verdict}").expect(line);
    writeln!(text, "  asked   {}", asked(report)).expect(line);
    if let Some(after_s) = report.looked_after_s {
        let early = if report.trigger_reached {
            ""
        } else {
            ", early: the program ended"
        };
        let processes = counted(report.processes, "process");
        writeln!(
            text,
            "  seen    {after_s:.2} s after the start, {processes}{early}"
        )
        .expect(line);
        writeln!(text, "  memory  {}", memory(report)).expect(line);
    }
    for contradiction in &report.contradictions {
        writeln!(text, "  - {contradiction}").expect(line);
    }
    text
}

fn asked(report: &BindReport) -> String {
    let asked = &report.asked;
    let parts = [
        asked.cpus.as_ref().map(|cpus| cpu_words(cpus).to_string()),
        asked
            .policy
            .as_ref()
            .map(|policy| format!("memory policy {policy}")),
        asked.group.as_ref().map(|group| format!("group {group}")),
        asked
            .cpu_limit
            .map(|limit| format!("{} of time", counted(limit, "CPU"))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "nothing".to_owned(),
        false => parts.join(", "),
    }
}

fn memory(report: &BindReport) -> String {
    let total: u64 = report.bytes_by_node.values().sum();
    let of_node = |(node, bytes): (&model::NodeId, &u64)| {
        let percent = 100.0 * *bytes as f64 / total.max(1) as f64;
        format!("node {node} {} ({percent:.1} %)", ByteSize(*bytes))
    };
    let mut parts: Vec<_> = report.bytes_by_node.iter().map(of_node).collect();
    if report.bytes_without_node > 0 {
        parts.push(format!("unknown {}", ByteSize(report.bytes_without_node)));
    }
    match parts.is_empty() {
        true => "none found".to_owned(),
        false => parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{BindAsked, BindReport, NodeId};

    use super::bind_text;

    fn report() -> BindReport {
        BindReport {
            asked: BindAsked {
                cpus: Some("0-1".parse().unwrap()),
                policy: Some("bind:1".to_owned()),
                ..BindAsked::default()
            },
            looked_after_s: Some(1.0),
            trigger_reached: true,
            processes: 1,
            bytes_by_node: BTreeMap::from([(NodeId(0), 1 << 20), (NodeId(1), 3 << 20)]),
            ..BindReport::default()
        }
    }

    #[test]
    fn the_verdict_comes_first_and_its_reasons_last() {
        let mut report = report();
        report
            .contradictions
            .push("1048576 bytes are on node 0".to_owned());
        let expected = "numalab: placement NOT honoured\n  \
            asked   CPUs 0-1, memory policy bind:1\n  \
            seen    1.00 s after the start, 1 process\n  \
            memory  node 0 1 MiB (25.0 %), node 1 3 MiB (75.0 %)\n  \
            - 1048576 bytes are on node 0\n";
        assert_eq!(bind_text(&report), expected);
    }

    #[test]
    fn a_program_that_was_too_quick_proves_nothing() {
        let report = BindReport {
            looked_after_s: None,
            ..report()
        };
        let text = bind_text(&report);
        assert!(text.contains("not verified: the program ended"), "{text}");
        assert!(!text.contains("seen"), "{text}");
    }
}
