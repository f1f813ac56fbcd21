//! Chooses CPUs when fewer are requested than available.

use model::{CpuId, CpuSet, Topology};

/// Chooses `count` of `cpus`: cores before their second threads, CPU 0 last, otherwise by ascending
/// id.
///
/// Two sessions on one core get less done than two sessions on two cores, and CPU 0 handles
/// interrupts and housekeeping (article 000 left it out). CPU 0 counts as the last thread of its
/// core, so that its core is used through a sibling where there is one.
///
/// Returns `None` when there are fewer than `count`.
pub(crate) fn choose(topology: &Topology, cpus: &CpuSet, count: u32) -> Option<CpuSet> {
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
    use super::*;
    use model::Core;

    fn check(cores: &[&str], cpus: &str, count: u32, expected: Option<&str>) {
        let core = |cpus: &&str| Core {
            cpus: cpus.parse().unwrap(),
            ..Core::default()
        };
        let topology = Topology {
            core_list: cores.iter().map(core).collect(),
            ..Topology::default()
        };
        let chosen = choose(&topology, &cpus.parse().unwrap(), count);
        let chosen = chosen.map(|cpus| cpus.to_string());
        assert_eq!(chosen.as_deref(), expected, "{count} of {cpus}");
    }

    #[test]
    fn cores_come_before_their_second_threads() {
        let cores = ["1,41", "2,42", "3,43", "4,44"];
        check(&cores, "1-4,41-44", 3, Some("1-3"));
        check(&cores, "1-4,41-44", 4, Some("1-4"));
        check(&cores, "1-4,41-44", 5, Some("1-4,41"));
        // Adjacent ids are often threads of one core.
        check(&["0-1", "2-3", "4-5"], "0-5", 3, Some("1-2,4"));
    }

    #[test]
    fn cpu_0_comes_last_when_there_is_a_choice() {
        let cores = ["0", "1", "2", "3"];
        check(&cores, "0-3", 3, Some("1-3"));
        check(&cores, "0-3", 4, Some("0-3"));
        check(&["0,4", "1,5", "2,6", "3,7"], "0-7", 4, Some("1-4"));
        check(&["0,4", "1,5", "2,6", "3,7"], "0-7", 7, Some("1-7"));
    }

    #[test]
    fn unknown_cores_are_cores_of_their_own() {
        check(&[], "0-3", 2, Some("1-2"));
    }

    #[test]
    fn only_cpus_that_may_be_chosen_count_as_threads() {
        check(&["0,4", "1,5"], "4-5", 2, Some("4-5"));
        check(&["0,4", "1,5"], "4-5", 3, None);
        check(&[], "", 0, Some(""));
    }
}
