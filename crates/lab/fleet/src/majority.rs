//! The value that most machines of a group have, and those that have another; or that there is no
//! such value.

use std::collections::BTreeMap;

use model::{FactKind, FactSplit, FactValue, FleetFinding};

use crate::facts::Fact;

/// Memory within this share of one another is equal: firmware and kernel keep some, which differs
/// by some MiB from boot to boot. A module is at least a 32nd of the memory of a node.
const EQUAL_SHARE: f64 = 0.02;

/// What the machines of a group say of one fact.
pub(crate) enum Agreement {
    /// All say the same, or only one says anything.
    Equal,
    /// Most say the same: the others, one finding for each other value.
    Odd(Vec<FleetFinding>),
    /// No value is that of most.
    Split(FactSplit),
}

/// Compares one fact of machines, which are named by `host`. Of two that differ, neither is odd.
pub(crate) fn agreement(known: &[(usize, &Fact)], host: &dyn Fn(usize) -> String) -> Agreement {
    let Some((_, first)) = known.first() else {
        return Agreement::Equal;
    };
    let mut values = by_value(known);
    if values.len() < 2 {
        return Agreement::Equal;
    }
    // The most frequent first; of equally frequent ones the one that sorts first.
    values.sort_by(|(one, those), (other, these)| {
        these.len().cmp(&those.len()).then_with(|| one.cmp(other))
    });
    let hosts = |machines: &[usize]| machines.iter().map(|it| host(*it)).collect::<Vec<_>>();
    let (expected, having) = &values[0];
    if 2 * having.len() <= known.len() {
        let values = values.iter().map(|(value, machines)| FactValue {
            value: value.clone(),
            hosts: hosts(machines),
        });
        return Agreement::Split(FactSplit {
            kind: first.kind,
            fact: first.name.clone(),
            values: values.collect(),
        });
    }
    let odd = values[1..].iter().map(|(value, machines)| FleetFinding {
        kind: first.kind,
        fact: first.name.clone(),
        hosts: hosts(machines),
        expected: expected.clone(),
        having: having.len() as u32,
        known: known.len() as u32,
        measured: value.clone(),
        figure: None,
    });
    Agreement::Odd(odd.collect())
}

/// The machines with each value. Values of memory that are close to one another are one, shown as
/// the middle one.
fn by_value(known: &[(usize, &Fact)]) -> Vec<(String, Vec<usize>)> {
    let is_memory = known.iter().all(|(_, fact)| fact.kind == FactKind::Memory);
    if !is_memory {
        let mut values: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (machine, fact) in known {
            values.entry(&fact.value).or_default().push(*machine);
        }
        let values = values.into_iter();
        return values
            .map(|(value, machines)| (value.to_owned(), machines))
            .collect();
    }
    let mut sorted: Vec<(u64, usize, &Fact)> = known
        .iter()
        .map(|(machine, fact)| (fact.bytes.unwrap_or(0), *machine, *fact))
        .collect();
    sorted.sort_by_key(|(bytes, machine, _)| (*bytes, *machine));
    let is_close = |one: &(u64, usize, &Fact), other: &(u64, usize, &Fact)| {
        (other.0 - one.0) as f64 <= EQUAL_SHARE * other.0 as f64
    };
    let groups = sorted.chunk_by(is_close).map(|group| {
        let mut machines: Vec<usize> = group.iter().map(|(_, machine, _)| *machine).collect();
        machines.sort_unstable();
        (group[group.len() / 2].2.value.clone(), machines)
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: FactKind, values: &[(&str, u64)]) -> Vec<Fact> {
        let fact = |(value, bytes): &(&str, u64)| Fact {
            kind,
            name: "it".to_owned(),
            value: (*value).to_owned(),
            bytes: (kind == FactKind::Memory).then_some(*bytes),
            is_of_node: false,
        };
        values.iter().map(fact).collect()
    }

    /// What is expected and what each other value is, with machines; or that it is split.
    fn check(kind: FactKind, values: &[(&str, u64)], expected: &str) {
        let facts = facts(kind, values);
        let known: Vec<(usize, &Fact)> = facts.iter().enumerate().collect();
        let said = match agreement(&known, &|it| it.to_string()) {
            Agreement::Equal => "equal".to_owned(),
            Agreement::Odd(odd) => {
                let odd = odd.iter().map(|it| {
                    let hosts = it.hosts.join(" ");
                    format!(
                        "{} not {} ({} of {}): {hosts}",
                        it.measured, it.expected, it.having, it.known
                    )
                });
                odd.collect::<Vec<_>>().join("; ")
            }
            Agreement::Split(split) => {
                let values = split.values.iter();
                let values = values.map(|it| format!("{} {}", it.hosts.len(), it.value));
                format!("split: {}", values.collect::<Vec<_>>().join(", "))
            }
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn most_is_more_than_half() {
        let plain = |values: &[&'static str]| values.iter().map(|it| (*it, 0)).collect::<Vec<_>>();
        let check =
            |values: &[&'static str], expected| check(FactKind::Setting, &plain(values), expected);
        check(&[], "equal");
        check(&["a"], "equal");
        check(&["a", "a"], "equal");
        check(&["a", "b"], "split: 1 a, 1 b");
        check(&["a", "b", "a"], "b not a (2 of 3): 1");
        check(&["a", "b", "c"], "split: 1 a, 1 b, 1 c");
        check(&["b", "b", "a", "a"], "split: 2 a, 2 b");
        check(
            &["b", "b", "a", "b", "c"],
            "a not b (3 of 5): 2; c not b (3 of 5): 4",
        );
    }

    #[test]
    fn memory_that_the_kernel_keeps_is_no_difference_and_a_module_is_one() {
        let machines = [
            ("511.9 GiB", 51190),
            ("512.0 GiB", 51200),
            ("480 GiB", 48000),
        ];
        check(
            FactKind::Memory,
            &machines,
            "480 GiB not 512.0 GiB (2 of 3): 2",
        );
        let zero = [("0 B", 0), ("0 B", 0), ("1 B", 1)];
        check(FactKind::Memory, &zero, "1 B not 0 B (2 of 3): 2");
    }
}
