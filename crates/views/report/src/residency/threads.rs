//! The threads of a residency as text: which role runs where, and how much of the memory of its
//! process is there.

use std::collections::BTreeMap;

use model::{ByteSize, BytesByNode, NodeId, NodeSet, ThreadRole, Threads, counted, node_words};

use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::by_node_text;

/// Maximum number of roles shown: with thousands of threads of any names, it stays one screen.
const ROLES_MAX: usize = 14;
/// Maximum width of a role with its name, in columns.
const ROLE_COLUMNS: usize = 27;
/// Maximum width of a list of CPUs, in columns; a longer one is counted.
const CPUS_COLUMNS: usize = 11;
/// Maximum number of nodes for which threads are counted one by one.
const NODES_MAX: usize = 3;
/// Maximum number of sentences on policies.
const POLICIES_MAX: usize = 6;

/// Formats the threads by role; nothing for processes that have one thread each, which the list of
/// processes shows.
pub(crate) fn residency_threads(threads: Option<&Threads>, options: &TextOptions) -> String {
    let Some(threads) = threads.filter(|threads| are_worth_a_table(threads)) else {
        return String::new();
    };
    let mut table = Table::of("role|>threads|CPUs|last seen on node|>data there");
    for role in threads.roles.iter().take(ROLES_MAX) {
        let cells = [
            plain_within(&words(role), ROLE_COLUMNS),
            role.threads.to_string(),
            cpus(role),
            seen(&role.last_seen_by_node),
            share(role.data_local_share_last),
        ];
        table.row(cells);
    }
    let mut text = match threads.roles.is_empty() {
        true => String::new(),
        false => options.heading("Threads by role") + &table.text(options),
    };
    for sentence in sentences(threads) {
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text
}

/// How many threads there are, where the table of them has no room.
pub(crate) fn counted_threads(threads: Option<&Threads>, options: &TextOptions) -> String {
    let Some(threads) = threads.filter(|threads| are_worth_a_table(threads)) else {
        return String::new();
    };
    let all: u32 = threads.roles.iter().map(|role| role.threads).sum();
    let counted = format!(
        "{} in {} (--full shows them)",
        counted(all, "thread"),
        counted(threads.roles.len(), "role")
    );
    options.paragraph("", &counted, Style::Usual)
}

/// Whether a process has several threads, or some thread is missing.
fn are_worth_a_table(threads: &Threads) -> bool {
    !threads.first_threads.is_empty() || threads.ended > 0 || threads.unread > 0
}

/// The role, with its name where the role does not say it.
fn words(role: &ThreadRole) -> String {
    match &role.server {
        Some(_) => role.role.clone(),
        None => {
            let names: Vec<&str> = role.names.iter().map(String::as_str).collect();
            format!("{}: {}", role.role, names.join(", "))
        }
    }
}

fn cpus(role: &ThreadRole) -> String {
    let list = role.cpus.to_string();
    match list.len() <= CPUS_COLUMNS {
        true => list,
        false => counted(role.cpus.len(), "CPU"),
    }
}

/// Formats threads by node: `0: 3, 1: 1`, or the range of the counts of many nodes.
fn seen(by_node: &BTreeMap<NodeId, u32>) -> String {
    if by_node.len() <= NODES_MAX {
        let parts = by_node
            .iter()
            .map(|(node, count)| format!("{node}: {count}"));
        return parts.collect::<Vec<_>>().join(", ");
    }
    let least = by_node.values().min().copied().unwrap_or(0);
    let most = by_node.values().max().copied().unwrap_or(0);
    format!("{}: {least}-{most}", counted(by_node.len(), "node"))
}

fn share(share: Option<f64>) -> String {
    share.map_or(String::new(), |share| format!("{:.1} %", share * 100.0))
}

/// What the table has no room for: the roles it leaves out, where the data lies, policies and
/// memory nodes that differ, and threads that were not read.
fn sentences(threads: &Threads) -> Vec<String> {
    let mut sentences = Vec::new();
    let more = threads.roles.get(ROLES_MAX..).unwrap_or_default();
    if !more.is_empty() {
        let count: u32 = more.iter().map(|role| role.threads).sum();
        sentences.push(format!(
            "and {} with {}; --json lists all of them",
            counted(more.len(), "more role"),
            counted(count, "thread")
        ));
    }
    let data = threads.roles.first().map(|role| &role.data_bytes_by_node);
    if let Some(data) = data.filter(|data| data.values().any(|bytes| *bytes > 0)) {
        let at = match by_node_text(data) {
            text if text.len() <= 60 => text,
            _ => in_total(data),
        };
        sentences.push(format!(
            "data, shared memory and private memory of the process: {at}"
        ));
    }
    let lists: NodeSet = threads
        .roles
        .iter()
        .flat_map(|role| role.memory_nodes_allowed.iter())
        .collect();
    let narrower = |role: &&ThreadRole| role.memory_nodes_allowed != lists;
    if !lists.is_empty() {
        sentences.push(format!("memory may be on {}", node_words(&lists)));
    }
    for role in threads.roles.iter().filter(narrower).take(POLICIES_MAX) {
        let (what, nodes) = (plain(&words(role)), &role.memory_nodes_allowed);
        sentences.push(format!("{what}: only on {}", node_words(nodes)));
    }
    sentences.extend(policies(threads));
    let missing = [
        (threads.ended, "ended during the inspection"),
        (threads.unread, "could not be read or were not captured"),
    ];
    for (count, what) in missing.into_iter().filter(|(count, _)| *count > 0) {
        sentences.push(format!("threads that {what}: {count}"));
    }
    sentences
}

fn in_total(data: &BytesByNode) -> String {
    let all = data
        .values()
        .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let nodes: NodeSet = data.keys().copied().collect();
    format!("{} on {}", ByteSize(all), node_words(nodes))
}

/// Names the policies of roles whose threads do not all have the default.
fn policies(threads: &Threads) -> Vec<String> {
    let differ = |role: &&ThreadRole| role.policies.keys().any(|policy| policy != "default");
    let sentence = |role: &ThreadRole| {
        let parts = role.policies.iter();
        let parts = parts.map(|(policy, count)| format!("{} ({count})", plain(policy)));
        let parts: Vec<String> = parts.take(POLICIES_MAX).collect();
        format!("policy of {}: {}", plain(&words(role)), parts.join(", "))
    };
    let roles = threads.roles.iter().filter(differ);
    let mut sentences: Vec<String> = roles.clone().take(POLICIES_MAX).map(sentence).collect();
    let more = roles.count().saturating_sub(POLICIES_MAX);
    if more > 0 {
        sentences.push(format!(
            "and {} with another policy",
            counted(more, "more role")
        ));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use model::FirstThread;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const OPTIONS: TextOptions = TextOptions {
        width: 80,
        color: false,
    };

    fn role(name: &str, threads: u32) -> ThreadRole {
        ThreadRole {
            role: "other".to_owned(),
            names: [name.to_owned()].into(),
            threads,
            cpus: "0-3,8-11,16-19,24".parse().unwrap(),
            memory_nodes_allowed: "0-1".parse().unwrap(),
            last_seen_by_node: (0..8).map(|node| (NodeId(node), 3)).collect(),
            policies: [("default".to_owned(), threads)].into(),
            data_bytes_by_node: (0..8).map(|node| (NodeId(node), 5 << 30)).collect(),
            data_local_share_last: Some(0.125),
            ..ThreadRole::default()
        }
    }

    fn of(roles: Vec<ThreadRole>) -> Threads {
        Threads {
            threads: roles.iter().map(|role| role.threads).sum(),
            first_threads: vec![FirstThread::default()],
            roles,
            ..Threads::default()
        }
    }

    #[test]
    fn a_thousand_threads_of_any_names_stay_one_screen() {
        let mut roles: Vec<_> = (0..1000)
            .map(|at| role(&format!("x\u{1b}[31m{at}x"), 1))
            .collect();
        for role in &mut roles {
            role.policies = [("interleave:0-1".to_owned(), 1)].into();
        }
        let threads = Threads {
            ended: 3,
            unread: 4,
            ..of(roles)
        };
        let text = residency_threads(Some(&threads), &OPTIONS);
        assert!(text.lines().count() <= 40, "{text}");
        for line in text.lines() {
            assert!(line.width() <= 80, "{line}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
        for words in [
            "8 nodes: 3-3",
            "13 CPUs",
            "12.5 %",
            "and 986 more roles with 986 threads",
            "and 994 more roles with another policy",
            "threads that ended during the inspection: 3",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn a_policy_and_memory_nodes_are_said_where_they_differ() {
        let mut io = role("io_thd_N", 2);
        io.role = "I/O thread".to_owned();
        io.server = Some("Valkey, Redis".to_owned());
        io.policies = [("bind:1".to_owned(), 2)].into();
        io.memory_nodes_allowed = "1".parse().unwrap();
        io.last_seen_by_node = [(NodeId(1), 2)].into();
        let text = residency_threads(Some(&of(vec![role("x", 9), io])), &OPTIONS);
        for words in [
            "policy of I/O thread: bind:1 (2)",
            "memory may be on nodes 0-1",
            "I/O thread: only on node 1",
            "1: 2",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(!text.contains("policy of other"), "{text}");
    }

    #[test]
    fn processes_of_one_thread_have_no_table() {
        assert_eq!(residency_threads(None, &OPTIONS), "");
        let threads = Threads {
            first_threads: Vec::new(),
            ..of(vec![role("x", 1)])
        };
        assert_eq!(residency_threads(Some(&threads), &OPTIONS), "");
    }
}
