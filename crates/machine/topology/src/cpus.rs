//! What each CPU says about itself. The CPUs of one core say the same, so one of them is read and
//! speaks for the others: a machine with many CPUs has tens of thousands of such files.

use std::collections::{BTreeMap, BTreeSet};

use linux::each_cpu::of_each;
use linux::sysfs_caches::{self, CpuCache};
use linux::sysfs_cpus::{self, CpuPosition};
use linux::{Error, Root};
use model::{CpuId, CpuSet};

/// What the CPUs of a machine say about themselves, by kind.
#[derive(Default)]
pub(crate) struct Cpus {
    pub(crate) positions: BTreeMap<CpuId, CpuPosition>,
    /// `None` for a CPU without a frequency governor.
    pub(crate) governors: BTreeMap<CpuId, Option<String>>,
    /// In the kernel's order.
    pub(crate) caches: BTreeMap<CpuId, Vec<CpuCache>>,
}

/// Reads what every CPU in `online` says, or what another CPU of its core says for it. Which CPUs
/// are read depends on what they say alone, not on which thread is faster.
pub(crate) fn read(root: &Root, online: &CpuSet) -> Result<Cpus, Error> {
    let held = sysfs_cpus::directories(root)?;
    let governor = |cpu: CpuId| sysfs_cpus::governor(&held, cpu);
    let all = |cpu: CpuId| {
        let position = sysfs_cpus::position(&held, cpu)?;
        Ok((position, sysfs_caches::read(&held, cpu)?, governor(cpu)?))
    };
    let example = online.first().map(|cpu| sysfs_cpus::position(&held, cpu));
    let example = example.transpose()?.and_then(|at| at.core_cpus);
    let firsts = likely_firsts(online, &example.unwrap_or_default());
    let mut cpus = Cpus::default();
    let add = |cpus: &mut Cpus, which: &CpuSet| {
        for (cpu, (position, caches, governor)) in of_each(which, all)? {
            cpus.positions.insert(cpu, position);
            cpus.caches.insert(cpu, caches);
            cpus.governors.insert(cpu, governor);
        }
        Ok(())
    };
    add(&mut cpus, &firsts)?;
    let spoken_for = cpus.speak_for_siblings(online);
    let others = online.difference(&firsts).difference(&spoken_for);
    add(&mut cpus, &others)?;
    // Nothing says that the CPUs of one core have one governor, but either all or none have one.
    let governors = match cpus.governors.values().any(Option::is_some) {
        true => of_each(&spoken_for, governor)?,
        false => spoken_for.iter().map(|cpu| (cpu, None)).collect(),
    };
    cpus.governors.extend(governors);
    // One CPU of each package says whether its list is that of the CPUs with its number.
    let mut seen = BTreeSet::new();
    for (cpu, position) in &mut cpus.positions {
        if position.package.is_some_and(|package| seen.insert(package)) {
            position.package_cpus = sysfs_cpus::package_cpus(&held, *cpu)?;
        }
    }
    Ok(cpus)
}

/// The first CPU of each core if every core is numbered like that of the first CPU, whose
/// `siblings` these are: they are neighbours on some machines, and half of all CPUs apart on
/// others.
fn likely_firsts(online: &CpuSet, siblings: &CpuSet) -> CpuSet {
    let distances: Vec<u32> = match siblings.first() {
        Some(first) => siblings.iter().map(|it| it.0 - first.0).collect(),
        None => Vec::new(),
    };
    let mut seen = BTreeSet::new();
    let mut firsts = Vec::new();
    for cpu in online {
        if seen.insert(cpu.0) {
            firsts.push(cpu);
            seen.extend(distances.iter().filter_map(|it| cpu.0.checked_add(*it)));
        }
    }
    firsts.into_iter().collect()
}

impl Cpus {
    /// Lets the CPUs that were read speak for those of their core that were not, and returns the
    /// latter. A CPU that says less than others does not speak: a sibling may have the file that it
    /// lacks.
    fn speak_for_siblings(&mut self, online: &CpuSet) -> CpuSet {
        let of = |(position, caches): (&CpuPosition, &Vec<CpuCache>)| Facts::of(position, caches);
        let said = || self.positions.values().zip(self.caches.values());
        let most = said().map(of).fold(Facts::default(), Facts::or);
        let mut spoken = BTreeMap::new();
        for (position, caches) in said().filter(|said| of(*said) == most) {
            let is_new = |cpu: &CpuId| online.contains(*cpu) && !self.positions.contains_key(cpu);
            let siblings = position.core_cpus.iter().flatten().filter(is_new);
            for cpu in siblings.filter(|cpu| is_shared_by(*cpu, position, caches)) {
                let said = || (position.clone(), caches.clone());
                spoken.entry(cpu).or_insert_with(said);
            }
        }
        let spoken_for = spoken.keys().copied().collect();
        for (cpu, (position, caches)) in spoken {
            self.positions.insert(cpu, position);
            self.caches.insert(cpu, caches);
        }
        spoken_for
    }
}

/// Whether a CPU has the package, the die and all caches of another.
fn is_shared_by(cpu: CpuId, position: &CpuPosition, caches: &[CpuCache]) -> bool {
    let parts = [&position.package_cpus, &position.die_cpus];
    let mut sets = parts.into_iter().filter_map(|it| it.as_ref());
    let uses = |cache: &CpuCache| cache.shared_by.as_ref().is_some_and(|it| it.contains(cpu));
    sets.all(|cpus| cpus.contains(cpu)) && caches.iter().all(uses)
}

/// What a CPU says at all.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Facts {
    /// A bit for each member of its position that it says.
    of_position: u8,
    /// How many members of its caches it says.
    of_caches: u32,
}

impl Facts {
    fn of(at: &CpuPosition, caches: &[CpuCache]) -> Self {
        let of_position = [
            at.package.is_some(),
            at.package_cpus.is_some(),
            at.die.is_some(),
            at.die_cpus.is_some(),
            at.core.is_some(),
        ];
        let of_cache = |it: &CpuCache| {
            [
                it.level.is_some(),
                it.kind.is_some(),
                it.size_bytes.is_some(),
                it.line_bytes.is_some(),
            ]
        };
        let add = |bits, has| bits << 1 | u8::from(has);
        Self {
            of_position: of_position.into_iter().fold(0, add),
            of_caches: caches.iter().flat_map(of_cache).map(u32::from).sum(),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            of_position: self.of_position | other.of_position,
            of_caches: self.of_caches.max(other.of_caches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpus_of_cores_are_guessed_from_the_siblings_of_the_first() {
        let check = |online: &str, siblings: &str, expected: &str| {
            let set = |text: &str| match text {
                "" => CpuSet::new(),
                text => text.parse().unwrap(),
            };
            let found = likely_firsts(&set(online), &set(siblings));
            assert_eq!(found, set(expected), "{online}: {siblings}");
        };
        check("0-7", "0,4", "0-3");
        check("0-7", "0-1", "0,2,4,6");
        check("0-7", "0-3", "0,4");
        check("0-3", "", "0-3");
        check("0-3", "0", "0-3");
        // CPU 0 is offline, and 2 has no sibling.
        check("1,3-7", "1,5", "1,3-4,6");
        let last = CpuSet::of(CpuId(u32::MAX));
        assert_eq!(likely_firsts(&last, &"0,3".parse().unwrap()), last);
    }
}
