//! Chooses CPUs: fewer than available, or two that share a core, a package or neither.

use model::{Core, CpuId, CpuSet, Topology, cpu_words};

use super::cannot::Cannot;
use super::host::Host;
use crate::definition::CpuPair;

/// Chooses the pair on the highest-numbered cores: CPU 0 has the most other work.
pub(crate) fn pair(host: &Host, pair: CpuPair) -> Result<CpuSet, Cannot> {
    let usable = host.cpus_to_choose_from();
    let of_core = |core: &Core| core.cpus.intersection(&usable);
    let cores = host.topology.core_list.iter();
    let cores: Vec<&Core> = cores.filter(|core| !of_core(core).is_empty()).collect();
    let last = |core: &Core| of_core(core).iter().last();
    let found: Option<Vec<CpuId>> = match pair {
        CpuPair::OneCore => cores.iter().rev().find_map(|core| {
            let cpus: Vec<CpuId> = of_core(core).iter().collect();
            (cpus.len() >= 2).then(|| cpus[..2].to_vec())
        }),
        CpuPair::TwoCores => two(&cores, last, |a, b| {
            a.package.is_some() && a.package == b.package
        }),
        CpuPair::TwoPackages => two(&cores, last, |a, b| {
            a.package.is_some() && b.package.is_some() && a.package != b.package
        }),
    };
    let found = found.map(|cpus| cpus.into_iter().collect());
    found.ok_or_else(|| {
        let (needed, advice) = match pair {
            CpuPair::OneCore => (
                "a core with two hardware threads",
                "enable SMT in the firmware (or /sys/devices/system/cpu/smt/control), or allow \
                 both threads of a core",
            ),
            CpuPair::TwoCores => ("two cores of one package", "allow CPUs of two cores"),
            CpuPair::TwoPackages => (
                "two packages",
                "run it on a machine with two sockets, or allow CPUs of both",
            ),
        };
        let advice = format!("not among {}: {advice}", cpu_words(usable));
        Cannot::machine(format!("needs {needed}"), advice)
    })
}

/// Returns the last CPU of each of two matching cores.
fn two(
    cores: &[&Core],
    last: impl Fn(&Core) -> Option<CpuId>,
    go_together: impl Fn(&Core, &Core) -> bool,
) -> Option<Vec<CpuId>> {
    cores.iter().enumerate().rev().find_map(|(index, b)| {
        let a = cores[..index].iter().rev().find(|a| go_together(a, b))?;
        Some(vec![last(a)?, last(b)?])
    })
}

/// Chooses `count` of `cpus`: cores before their second threads, CPU 0 last, otherwise by ascending
/// id.
///
/// Two sessions on one core get less done than two sessions on two cores, and CPU 0 handles
/// interrupts and housekeeping (article 000 left it out). CPU 0 counts as the last thread of its
/// core, so that its core is used through a sibling where there is one.
///
/// Returns `None` when there are fewer than `count`.
pub(crate) fn first(topology: &Topology, cpus: &CpuSet, count: u32) -> Option<CpuSet> {
    let count = usize::try_from(count).ok()?;
    if count > cpus.len() {
        return None;
    }
    let is_first = |cpu: CpuId| cpu == CpuId(0);
    // The rank of a CPU among the CPUs of its core that may be chosen.
    let thread = |cpu: CpuId| match topology.core_of_cpu(cpu) {
        Some(core) => {
            let siblings = core.cpus.iter().filter(|sibling| cpus.contains(*sibling));
            let before = |sibling: &CpuId| (is_first(*sibling), *sibling) < (is_first(cpu), cpu);
            siblings.filter(before).count()
        }
        None => 0,
    };
    let mut keys: Vec<_> = cpus
        .iter()
        .map(|cpu| (thread(cpu), is_first(cpu), cpu))
        .collect();
    keys.sort_unstable();
    Some(
        keys.into_iter()
            .take(count)
            .map(|(_, _, cpu)| cpu)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use model::{Core, Topology};

    use super::*;
    use crate::definition::CpuPair;
    use crate::plan::host::Host;

    /// Builds a machine from cores given as (package, CPUs).
    fn machine(cores: &[(u32, &str)]) -> Topology {
        let core = |(package, cpus): &(u32, &str)| Core {
            cpus: cpus.parse().unwrap(),
            node: None,
            package: Some(*package),
            die: None,
            core: None,
        };
        let cores: Vec<Core> = cores.iter().map(core).collect();
        Topology {
            cpus: cores.iter().flat_map(|core| core.cpus.iter()).collect(),
            core_list: cores,
            ..Topology::default()
        }
    }

    fn pairs(cores: &[(u32, &str)], expected: [&str; 3]) {
        let machine = machine(cores);
        let host = Host::new(&machine);
        let pairs = [CpuPair::OneCore, CpuPair::TwoCores, CpuPair::TwoPackages];
        let found = pairs.map(|pair| match super::pair(&host, pair) {
            Ok(cpus) => cpus.to_string(),
            Err(cannot) => cannot.reason,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn pairs_share_what_they_are_named_for() {
        let two_sockets = [(0, "0,4"), (0, "1,5"), (1, "2,6"), (1, "3,7")];
        pairs(&two_sockets, ["3,7", "6-7", "5,7"]);
    }

    #[test]
    fn what_the_machine_lacks_is_named() {
        pairs(
            &[(0, "0"), (0, "1")],
            [
                "needs a core with two hardware threads",
                "0-1",
                "needs two packages",
            ],
        );
    }

    fn firsts(cores: &[&str], cpus: &str, count: u32, expected: Option<&str>) {
        let core = |cpus: &&str| Core {
            cpus: cpus.parse().unwrap(),
            ..Core::default()
        };
        let topology = Topology {
            core_list: cores.iter().map(core).collect(),
            ..Topology::default()
        };
        let chosen = first(&topology, &cpus.parse().unwrap(), count);
        let chosen = chosen.map(|cpus| cpus.to_string());
        assert_eq!(chosen.as_deref(), expected, "{count} of {cpus}");
    }

    #[test]
    fn cores_come_before_their_second_threads() {
        let cores = ["1,41", "2,42", "3,43", "4,44"];
        firsts(&cores, "1-4,41-44", 3, Some("1-3"));
        firsts(&cores, "1-4,41-44", 4, Some("1-4"));
        firsts(&cores, "1-4,41-44", 5, Some("1-4,41"));
        // Adjacent ids are often threads of one core.
        firsts(&["0-1", "2-3", "4-5"], "0-5", 3, Some("1-2,4"));
    }

    #[test]
    fn cpu_0_comes_last_when_there_is_a_choice() {
        let cores = ["0", "1", "2", "3"];
        firsts(&cores, "0-3", 3, Some("1-3"));
        firsts(&cores, "0-3", 4, Some("0-3"));
        firsts(&["0,4", "1,5", "2,6", "3,7"], "0-7", 4, Some("1-4"));
        firsts(&["0,4", "1,5", "2,6", "3,7"], "0-7", 7, Some("1-7"));
    }

    #[test]
    fn unknown_cores_are_cores_of_their_own() {
        firsts(&[], "0-3", 2, Some("1-2"));
    }

    #[test]
    fn only_cpus_that_may_be_chosen_count_as_threads() {
        firsts(&["0,4", "1,5"], "4-5", 2, Some("4-5"));
        firsts(&["0,4", "1,5"], "4-5", 3, None);
        firsts(&[], "", 0, Some(""));
    }
}
