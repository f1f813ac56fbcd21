//! Chooses two CPUs that share a core, a package or neither.

use model::{Core, CpuId, CpuSet};

use super::cannot::Cannot;
use super::host::Host;
use crate::definition::CpuPair;

/// Chooses the pair on the highest-numbered cores: CPU 0 has the most other work.
pub(crate) fn choose(host: &Host<'_>, pair: CpuPair) -> Result<CpuSet, Cannot> {
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
                "switch SMT on in the firmware (or /sys/devices/system/cpu/smt/control), or allow \
                 both threads of a core",
            ),
            CpuPair::TwoCores => ("two cores of one package", "allow CPUs of two cores"),
            CpuPair::TwoPackages => (
                "two packages",
                "run it on a machine with two sockets, or allow CPUs of both",
            ),
        };
        let advice = format!("CPUs {usable} are not: {advice}");
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

#[cfg(test)]
mod tests {
    use model::{Core, Topology};

    use super::choose;
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

    fn check(cores: &[(u32, &str)], expected: [&str; 3]) {
        let machine = machine(cores);
        let host = Host::new(&machine);
        let pairs = [CpuPair::OneCore, CpuPair::TwoCores, CpuPair::TwoPackages];
        let found = pairs.map(|pair| match choose(&host, pair) {
            Ok(cpus) => cpus.to_string(),
            Err(cannot) => cannot.reason,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn pairs_share_what_they_are_named_for() {
        let two_sockets = [(0, "0,4"), (0, "1,5"), (1, "2,6"), (1, "3,7")];
        check(&two_sockets, ["3,7", "6-7", "5,7"]);
    }

    #[test]
    fn what_the_machine_lacks_is_named() {
        check(
            &[(0, "0"), (0, "1")],
            [
                "needs a core with two hardware threads",
                "0-1",
                "needs two packages",
            ],
        );
    }
}
