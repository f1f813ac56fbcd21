//! Processor groups as text.

use std::fmt::Write;

use model::{ByteSize, BytesByNode, GroupState, counted, cpu_words, node_words};

/// Maximum number of members listed; the rest are counted, as a database may have a thousand
/// sessions.
const MEMBERS_SHOWN: usize = 10;

/// Formats the groups, one paragraph each.
pub fn groups_text(groups: &[GroupState]) -> String {
    if groups.is_empty() {
        return "no groups\n".to_owned();
    }
    let mut text = String::new();
    for group in groups {
        let line = "writing to a string cannot fail";
        let limit = group.cpu_limit.map_or(String::new(), |cpus| {
            format!(", at most {} of time", counted(cpus, "CPU"))
        });
        writeln!(
            text,
            "{}: {}, memory of {}{limit}",
            group.name,
            cpu_words(&group.cpus),
            node_words(&group.memory_nodes)
        )
        .expect(line);
        let place = group.unit.as_ref().map_or_else(
            || {
                format!(
                    "cgroup v{} {}",
                    group.cgroup_version,
                    group.directories.join(" and ")
                )
            },
            |unit| format!("systemd {unit}"),
        );
        writeln!(text, "  where    {place}").expect(line);
        writeln!(text, "  members  {}", members(group)).expect(line);
        if let Some(bytes) = &group.bytes_by_node {
            let least = if group.complete { "" } else { "at least " };
            writeln!(text, "  memory   {least}{}", memory(bytes)).expect(line);
        }
        for gap in &group.gaps {
            writeln!(text, "  not seen {gap}").expect(line);
        }
    }
    text
}

fn members(group: &GroupState) -> String {
    let shown = group.members.iter().take(MEMBERS_SHOWN).map(|member| {
        let name = member.name.as_deref().unwrap_or("ended");
        format!("{name} ({})", member.pid)
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    match group.members.len() {
        0 => text.push_str("none"),
        count if count > MEMBERS_SHOWN => {
            write!(text, " and {} more", count - MEMBERS_SHOWN)
                .expect("writing to a string cannot fail");
        }
        _ => {}
    }
    text
}

fn memory(bytes: &BytesByNode) -> String {
    let total: u64 = bytes.values().sum();
    let of_node = |(node, bytes): (&model::NodeId, &u64)| {
        let percent = 100.0 * *bytes as f64 / total.max(1) as f64;
        format!("node {node} {} ({percent:.1} %)", ByteSize(*bytes))
    };
    let parts: Vec<_> = bytes.iter().map(of_node).collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{GroupMember, GroupState, NodeId};

    use super::groups_text;

    #[test]
    fn a_group_says_what_it_has_and_who_is_in_it() {
        let member = |pid| GroupMember {
            pid,
            name: Some("db".to_owned()),
        };
        let group = GroupState {
            name: "oracle".to_owned(),
            directories: vec!["/c/oracle".to_owned()],
            cgroup_version: 1,
            cpus: "1-9".parse().unwrap(),
            memory_nodes: "0".parse().unwrap(),
            cpu_limit: Some(1.5),
            members: (1..13).map(member).collect(),
            bytes_by_node: Some(BTreeMap::from([(NodeId(0), 3 << 20), (NodeId(7), 1 << 20)])),
            complete: true,
            ..GroupState::default()
        };
        let text = groups_text(&[group]);
        for expected in [
            "oracle: CPUs 1-9, memory of node 0, at most 1.5 CPUs of time\n",
            "cgroup v1 /c/oracle\n",
            "db (10) and 2 more\n",
            "memory   node 0 3 MiB (75.0 %), node 7 1 MiB (25.0 %)\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in {text}");
        }
        assert_eq!(groups_text(&[]), "no groups\n");
    }
}
