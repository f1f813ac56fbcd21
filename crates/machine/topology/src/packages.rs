//! The numbers of packages and dies. Where the kernel gives none, it may still tell which CPUs
//! share one: they are then numbered here, in order of their first CPU.

use std::collections::{BTreeMap, BTreeSet};

use linux::sysfs_cpus::CpuPosition;
use model::{CpuId, CpuSet};

/// The number of each CPU's package, or die; CPUs without a known number are missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) of_cpu: BTreeMap<CpuId, u32>,
    /// Whether they were assigned here, not by the kernel.
    pub(crate) are_ours: bool,
    /// CPUs of a number and of a list that one of them has, where the two differ.
    pub(crate) contradicted: CpuSet,
}

impl Numbers {
    /// The numbers of packages.
    pub(crate) fn of_packages(positions: &BTreeMap<CpuId, CpuPosition>) -> Self {
        Self::new(positions, |at| (at.package, at.package_cpus.as_ref()))
    }

    /// The numbers of dies.
    pub(crate) fn of_dies(positions: &BTreeMap<CpuId, CpuPosition>) -> Self {
        Self::new(positions, |at| (at.die, at.die_cpus.as_ref()))
    }

    fn new(
        positions: &BTreeMap<CpuId, CpuPosition>,
        part: impl Fn(&CpuPosition) -> (Option<u32>, Option<&CpuSet>),
    ) -> Self {
        let numbered = positions.iter();
        let mut of_cpu: BTreeMap<CpuId, u32> = numbered
            .filter_map(|(cpu, at)| Some((*cpu, part(at).0?)))
            .collect();
        let contradicted = contradicted(positions, &of_cpu, |at| part(at).1);
        let sets: BTreeSet<&CpuSet> = positions.values().filter_map(|at| part(at).1).collect();
        // Where the kernel knows nothing, it reports that each CPU is alone (kernel,
        // `include/linux/topology.h`).
        let says_nothing = positions.len() > 1 && sets.iter().all(|cpus| cpus.len() == 1);
        if says_nothing {
            return Self {
                of_cpu,
                are_ours: false,
                contradicted,
            };
        }
        let are_ours = of_cpu.is_empty();
        for (number, cpus) in (0..).zip(sets) {
            let known = cpus.iter().find_map(|cpu| of_cpu.get(&cpu).copied());
            let number = if are_ours { Some(number) } else { known };
            let Some(number) = number else { continue };
            for cpu in cpus.iter().filter(|cpu| positions.contains_key(cpu)) {
                of_cpu.entry(cpu).or_insert(number);
            }
        }
        Self {
            are_ours: are_ours && !of_cpu.is_empty(),
            of_cpu,
            contradicted,
        }
    }

    /// How many distinct numbers there are.
    pub(crate) fn count(&self) -> usize {
        self.of_cpu.values().collect::<BTreeSet<_>>().len()
    }

    /// The CPUs of `online` without a number.
    pub(crate) fn unknown(&self, online: &CpuSet) -> CpuSet {
        let unknown = online.iter().filter(|cpu| !self.of_cpu.contains_key(cpu));
        unknown.collect()
    }
}

/// The CPUs of sets that are not those of the CPUs with the same number, and of these, as far as
/// both are known.
fn contradicted<'p>(
    positions: &'p BTreeMap<CpuId, CpuPosition>,
    numbers: &BTreeMap<CpuId, u32>,
    set: impl Fn(&'p CpuPosition) -> Option<&'p CpuSet>,
) -> CpuSet {
    let mut with_number: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for (cpu, number) in numbers {
        with_number.entry(*number).or_default().insert(*cpu);
    }
    let known: CpuSet = numbers.keys().copied().collect();
    let mut contradicted = CpuSet::new();
    for (cpu, at) in positions {
        let number = numbers.get(cpu).and_then(|number| with_number.get(number));
        let Some((set, number)) = set(at).zip(number) else {
            continue;
        };
        let set = set.intersection(&known);
        if set != *number {
            contradicted = contradicted.union(&set).union(number);
        }
    }
    contradicted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(packages: &[(Option<u32>, &str)], expected: &[Option<u32>], are_ours: bool) {
        let position = |(package, cpus): &(Option<u32>, &str)| CpuPosition {
            package: *package,
            package_cpus: (!cpus.is_empty()).then(|| cpus.parse().unwrap()),
            ..CpuPosition::default()
        };
        let positions = (0..)
            .map(CpuId)
            .zip(packages.iter().map(position))
            .collect();
        let numbers = Numbers::of_packages(&positions);
        let found: Vec<Option<u32>> = positions
            .keys()
            .map(|cpu| numbers.of_cpu.get(cpu).copied())
            .collect();
        assert_eq!(
            (found.as_slice(), numbers.are_ours),
            (expected, are_ours),
            "{packages:?}"
        );
    }

    #[test]
    fn numbers_of_the_kernel_are_kept() {
        check(&[(Some(7), ""), (Some(0), "")], &[Some(7), Some(0)], false);
    }

    #[test]
    fn lists_that_contradict_the_numbers_are_known() {
        let contradicted = |packages: &[(u32, &str)]| {
            let position = |(package, cpus): &(u32, &str)| CpuPosition {
                package: Some(*package),
                package_cpus: Some(cpus.parse().unwrap()),
                ..CpuPosition::default()
            };
            let positions = packages.iter().map(position);
            Numbers::of_packages(&(0..).map(CpuId).zip(positions).collect()).contradicted
        };
        // CPU 9 is offline.
        assert!(contradicted(&[(0, "0-1,9"), (0, "0-1,9"), (1, "2")]).is_empty());
        assert_eq!(contradicted(&[(0, "0"), (0, "1")]).to_string(), "0-1");
        assert_eq!(
            contradicted(&[(0, "0-1"), (1, "0-1"), (2, "2")]).to_string(),
            "0-1"
        );
    }

    #[test]
    fn packages_known_only_by_their_cpus_are_numbered() {
        let (even, odd) = ((None, "0,2"), (None, "1,3"));
        let expected = [Some(0), Some(1), Some(0), Some(1)];
        check(&[even, odd, even, odd], &expected, true);
        check(&[(None, "0")], &[Some(0)], true);
    }

    #[test]
    fn a_cpu_without_a_number_has_that_of_the_cpus_beside_it() {
        check(&[(Some(3), ""), (None, "0-1")], &[Some(3), Some(3)], false);
        check(
            &[(Some(3), ""), (None, "1-2"), (None, "1-2")],
            &[Some(3), None, None],
            false,
        );
    }

    #[test]
    fn cpus_that_are_each_alone_are_the_default_of_a_kernel_that_knows_nothing() {
        check(&[(None, "0"), (None, "1")], &[None, None], false);
        check(&[(Some(2), ""), (None, "1")], &[Some(2), None], false);
    }
}
