//! What the kernel says about numalab while it measures: a program (`kernel_account.py`) polls it,
//! because the measuring processes are gone before a later command could ask. numalab's own
//! evidence is not used.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::check::{Complaints, GuestCommand, shell};
use super::numa_maps::{Line, ids, lines};

/// The name of the answer with numalab's document.
pub(super) const DOCUMENT: &str = "document";
/// The name of the answer with what the kernel said meanwhile.
pub(super) const ACCOUNT: &str = "account";

/// Maximum number of pairs that are each seen for long enough; of more, some may be missed.
const PAIRS_MAX: usize = 16;

/// The program that polls.
const PROGRAM: &str = include_str!("kernel_account.py");

/// Returns commands that run numalab with these arguments and look at it all the time.
pub(super) fn commands(arguments: &[&str]) -> [GuestCommand; 3] {
    let write = format!("cat >/tmp/kernel_account.py <<'END'\n{PROGRAM}\nEND");
    let run = format!(
        "/usr/bin/python3 /tmp/kernel_account.py /tmp/account numalab {}",
        arguments.join(" ")
    );
    [
        shell("kernel_account.py", &write),
        shell(DOCUMENT, &run),
        shell(ACCOUNT, "cat /tmp/account"),
    ]
}

/// One look.
#[derive(Debug, Default)]
struct Look {
    memory: Vec<Line>,
    /// The CPUs of threads that may use only one.
    cpus: BTreeSet<u64>,
}

/// All looks.
#[derive(Debug, Default)]
pub(super) struct Account {
    node_of_cpu: BTreeMap<u64, u64>,
    looks: Vec<Look>,
}

impl Account {
    /// Reads what the command printed.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut account = Account::default();
        let mut parts = text.split("look\n");
        for line in parts.next().unwrap_or_default().lines() {
            let node = line.strip_prefix("node ").context(line.to_owned())?;
            let (node, cpus) = node.split_once(' ').context(line.to_owned())?;
            if !cpus.is_empty() {
                let node: u64 = node.parse()?;
                let cpus = ids(cpus)?.into_iter().map(|cpu| (cpu, node));
                account.node_of_cpu.extend(cpus);
            }
        }
        for part in parts {
            let allowed = part.lines().filter_map(|line| line.strip_prefix("cpus "));
            account.looks.push(Look {
                memory: lines(part),
                cpus: allowed.filter_map(|list| list.parse().ok()).collect(),
            });
        }
        Ok(account)
    }

    /// Complains about memory that is not where its policy says, and about pairs of a node with
    /// CPUs and a node with memory that were never seen together; if there are more than
    /// [`PAIRS_MAX`], about nodes that were never seen.
    pub(super) fn judge(
        &self,
        cpu_nodes: &[u64],
        memory_nodes: &[u64],
        complaints: &mut Complaints,
    ) {
        let mut seen = BTreeSet::new();
        let mut elsewhere = BTreeSet::new();
        for look in &self.looks {
            let from = look.cpus.iter().filter_map(|cpu| self.node_of_cpu.get(cpu));
            let from: BTreeSet<u64> = from.copied().collect();
            for line in &look.memory {
                let nodes = line.nodes();
                if is_where_asked(&line.policy, &nodes) {
                    seen.extend(pairs(&from, &nodes));
                } else {
                    elsewhere.insert((line.policy.clone(), nodes));
                }
            }
        }
        for (policy, nodes) in elsewhere {
            complaints.add(format!(
                "the kernel has memory of {policy} on nodes {nodes:?}"
            ));
        }
        let mut missed: Vec<_> = pairs(cpu_nodes, memory_nodes).collect();
        if missed.len() > PAIRS_MAX {
            missed.retain(|(from, to)| {
                !seen.iter().any(|(other, _)| other == from)
                    || !seen.iter().any(|(_, other)| other == to)
            });
        }
        missed.retain(|pair| !seen.contains(pair));
        let what = format!(
            "CPUs and memory of nodes that the kernel never had together, in {} different looks",
            self.looks.len()
        );
        complaints.expect(&what, &missed, &Vec::new());
    }
}

/// Whether memory of a policy is on its nodes. Memory that is being allocated may not be on all of
/// them yet.
fn is_where_asked(policy: &str, nodes: &[u64]) -> bool {
    let asked = match policy.split_once(':') {
        Some(("bind" | "interleave", list)) => ids(list).unwrap_or_default(),
        _ => Vec::new(),
    };
    nodes.iter().all(|node| asked.contains(node))
}

/// Returns every pair of a node of the first and one of the second.
fn pairs<'n>(
    from: impl IntoIterator<Item = &'n u64>,
    to: &'n [u64],
) -> impl Iterator<Item = (u64, u64)> {
    from.into_iter()
        .flat_map(|from| to.iter().map(|to| (*from, *to)))
}

#[cfg(test)]
mod tests {
    use super::{Account, Complaints};

    /// Returns the complaints about looks at these policies, nodes and CPUs, on two nodes of two
    /// CPUs.
    fn complaints(looks: &[(&str, u64, u64)]) -> Vec<String> {
        let mut text = "node 0 0-1\nnode 1 2-3\nnode 2 \n".to_owned();
        for (policy, node, cpu) in looks {
            text.push_str(&format!(
                "look\nmap {policy} anon=9 N{node}=9 kernelpagesize_kB=4\n\
                 cpus 0-3\ncpus {cpu}\n"
            ));
        }
        let mut complaints = Complaints::default();
        let account = Account::parse(&text).unwrap();
        account.judge(&[0, 1], &[0, 1], &mut complaints);
        complaints.into_list()
    }

    #[test]
    fn every_pair_must_be_seen_and_memory_be_where_its_policy_says() {
        let all = [
            ("bind:0", 0, 0),
            ("bind:0", 0, 2),
            ("bind:1", 1, 1),
            ("bind:1", 1, 3),
        ];
        assert_eq!(complaints(&all), [""; 0]);
        let [found] = &complaints(&all[..3])[..] else {
            panic!("one pair is missing");
        };
        assert!(
            found.contains("in 3 different looks: found [(1, 1)]"),
            "{found}"
        );
        let elsewhere = [&all[..], &[("bind:1", 0, 0)]].concat();
        assert_eq!(
            complaints(&elsewhere),
            ["the kernel has memory of bind:1 on nodes [0]"]
        );
        assert_eq!(complaints(&[]).len(), 1);
    }

    #[test]
    fn of_many_pairs_every_node_must_be_seen() {
        let nodes: Vec<u64> = (0..5).collect();
        let account = |looked: &[u64]| {
            let mut text = String::new();
            nodes
                .iter()
                .for_each(|node| text.push_str(&format!("node {node} {node}\n")));
            for node in looked {
                text.push_str(&format!("look\nmap bind:{node} N{node}=9\ncpus {node}\n"));
            }
            let mut complaints = Complaints::default();
            Account::parse(&text)
                .unwrap()
                .judge(&nodes, &nodes, &mut complaints);
            complaints.into_list().len()
        };
        assert_eq!(account(&nodes), 0);
        assert_eq!(account(&nodes[1..]), 1);
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = Account::parse("numalab: not found\n").unwrap_err();
        assert!(error.to_string().contains("not found"));
    }
}
