//! What the kernel says of numalab while it measures: looked at again and again by a shell, since
//! what measures is gone before anybody could ask about it. numalab's own evidence is not asked.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::check::{GuestCommand, shell};
use super::complaints::Complaints;
use super::numa_maps::{Line, ids, lines};

/// The answer that has the document of numalab.
pub const DOCUMENT: &str = "document";
/// The answer that has what the kernel said meanwhile.
pub const ACCOUNT: &str = "account";

/// Runs numalab with these arguments and looks at it so often; the account is:
///
/// ```text
/// node 0 0-1                      CPUs of each node
/// look
/// 7f2c00000000 bind:1 …           mappings with a policy, of numa_maps
/// Cpus_allowed_list:      0       of every thread
/// ```
pub fn commands(arguments: &[&str], every_s: f64) -> [GuestCommand; 2] {
    let words = arguments.join(" ");
    let script = format!(
        r#"for node in /sys/devices/system/node/node[0-9]*; do
echo "node ${{node##*/node}} $(cat $node/cpulist)"; done >/tmp/account
numalab {words} >/tmp/document 2>/tmp/said & pid=$!
while kill -0 $pid 2>/dev/null; do
echo look
grep -E '^[0-9a-f]+ (bind|interleave|prefer)' /proc/$pid/numa_maps
grep -h Cpus_allowed_list /proc/$pid/task/*/status
sleep {every_s}
done 2>/dev/null >>/tmp/account
wait $pid; status=$?; cat /tmp/document; cat /tmp/said >&2; exit $status"#
    );
    [shell(DOCUMENT, &script), shell(ACCOUNT, "cat /tmp/account")]
}

/// One look.
#[derive(Debug, Default)]
struct Look {
    memory: Vec<Line>,
    /// The only CPU of each thread that has only one.
    cpus: BTreeSet<u64>,
}

/// All looks.
#[derive(Debug, Default)]
pub struct Account {
    node_of_cpu: BTreeMap<u64, u64>,
    looks: Vec<Look>,
}

impl Account {
    /// Reads what the command printed.
    pub fn parse(text: &str) -> Result<Self> {
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
            let allowed = part
                .lines()
                .filter_map(|it| it.strip_prefix("Cpus_allowed_list:"));
            account.looks.push(Look {
                memory: lines(part),
                cpus: allowed
                    .filter_map(|list| list.trim().parse().ok())
                    .collect(),
            });
        }
        Ok(account)
    }

    /// Complains of memory that is not where its policy says, and of pairs of a node with CPUs and
    /// a node with memory that were never seen together.
    pub fn judge(&self, cpu_nodes: &[u64], memory_nodes: &[u64], complaints: &mut Complaints) {
        let mut seen = BTreeSet::new();
        let mut is_wrong = BTreeSet::new();
        for look in &self.looks {
            let from = look.cpus.iter().filter_map(|cpu| self.node_of_cpu.get(cpu));
            let from: BTreeSet<u64> = from.copied().collect();
            for line in &look.memory {
                let nodes = line.nodes();
                // Memory that is being made may not be on all of its nodes yet.
                let may_be_on = |list: &str| {
                    ids(list).is_ok_and(|asked| nodes.iter().all(|node| asked.contains(node)))
                };
                match line.policy.split_once(':') {
                    Some(("bind" | "interleave", list)) if may_be_on(list) => {
                        let pairs = from
                            .iter()
                            .flat_map(|from| nodes.iter().map(|to| (*from, *to)));
                        seen.extend(pairs);
                    }
                    _ => drop(is_wrong.insert((line.policy.clone(), nodes))),
                }
            }
        }
        for (policy, nodes) in is_wrong {
            complaints.add(format!(
                "the kernel has memory of {policy} on nodes {nodes:?}"
            ));
        }
        let asked = cpu_nodes
            .iter()
            .flat_map(|from| memory_nodes.iter().map(|to| (*from, *to)));
        let missed: Vec<_> = asked.filter(|pair| !seen.contains(pair)).collect();
        let what = format!(
            "CPUs and memory of nodes that the kernel never had together, in {} looks",
            self.looks.len()
        );
        complaints.expect(&what, &missed, &Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Complaints};

    /// Looks at memory of these policies on these nodes, from CPUs, of two nodes of two CPUs.
    fn complaints(looks: &[(&str, u64, u64)]) -> Vec<String> {
        let mut text = "node 0 0-1\nnode 1 2-3\nnode 2 \n".to_owned();
        for (policy, node, cpu) in looks {
            text.push_str(&format!(
                "look\n7f00 {policy} anon=9 N{node}=9 kernelpagesize_kB=4\n\
                 Cpus_allowed_list:\t0-3\nCpus_allowed_list:\t{cpu}\n"
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
        assert!(found.contains("in 3 looks: found [(1, 1)]"), "{found}");
        let elsewhere = [&all[..], &[("bind:1", 0, 0)]].concat();
        assert_eq!(
            complaints(&elsewhere),
            ["the kernel has memory of bind:1 on nodes [0]"]
        );
        assert_eq!(complaints(&[]).len(), 1);
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = Account::parse("numalab: not found\n").unwrap_err();
        assert!(error.to_string().contains("not found"));
    }
}
