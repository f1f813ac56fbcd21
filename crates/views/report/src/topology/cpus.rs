//! Every CPU of a machine with its location, one per row, and a summary by package, like the script
//! `cpu_topology` of article 001.

use std::collections::{BTreeMap, BTreeSet};

use model::{Core, CpuId, CpuSet, Topology};

use crate::form::style::TextOptions;
use crate::form::table::{Side, Table};

/// Formats the CPUs of a machine.
pub fn topology_cpus_text(topology: &Topology, options: &TextOptions) -> String {
    format!(
        "{}\n{}",
        cpus_table(topology, options),
        packages_table(topology, options)
    )
}

fn cpus_table(topology: &Topology, options: &TextOptions) -> String {
    let mut core_of_cpu: BTreeMap<CpuId, &Core> = BTreeMap::new();
    for core in &topology.core_list {
        core_of_cpu.extend(core.cpus.iter().map(|cpu| (cpu, core)));
    }
    let has_dies = has_dies(topology);
    let mut columns = vec![
        ("CPU", Side::Right),
        ("node", Side::Right),
        ("package", Side::Right),
    ];
    columns.extend(has_dies.then_some(("die", Side::Right)));
    columns.extend([("core", Side::Right), ("same core", Side::Left)]);
    let mut table = Table::new(&columns);
    for cpu in &topology.cpus.union(&topology.offline_cpus) {
        let core = core_of_cpu.get(&cpu).copied();
        let number = |of: fn(&Core) -> Option<u32>| {
            core.and_then(of)
                .map_or("-".to_owned(), |number| number.to_string())
        };
        let mut cells = vec![cpu.to_string(), number(|core| core.node.map(|node| node.0))];
        cells.push(number(|core| core.package));
        cells.extend(has_dies.then(|| number(|core| core.die)));
        cells.push(number(|core| core.core));
        cells.push(if topology.offline_cpus.contains(cpu) {
            "offline".to_owned()
        } else {
            core.map_or("unknown".to_owned(), |core| core.cpus.to_string())
        });
        table.row(cells);
    }
    options.heading("CPUs") + &table.text(options)
}

/// Returns whether any package has more than one die, so that the column is useful.
fn has_dies(topology: &Topology) -> bool {
    let mut die_of_package: BTreeMap<Option<u32>, BTreeSet<Option<u32>>> = BTreeMap::new();
    for core in &topology.core_list {
        die_of_package
            .entry(core.package)
            .or_default()
            .insert(core.die);
    }
    die_of_package.values().any(|dies| dies.len() > 1)
}

fn packages_table(topology: &Topology, options: &TextOptions) -> String {
    let mut cores_of_package: BTreeMap<Option<u32>, Vec<&Core>> = BTreeMap::new();
    for core in &topology.core_list {
        cores_of_package.entry(core.package).or_default().push(core);
    }
    let mut table = Table::of(">package|nodes|>cores|>CPUs|first CPU of each core|their siblings");
    for (package, cores) in cores_of_package {
        let nodes: model::NodeSet = cores.iter().filter_map(|core| core.node).collect();
        let firsts: CpuSet = cores.iter().filter_map(|core| core.cpus.first()).collect();
        let all: CpuSet = cores.iter().flat_map(|core| &core.cpus).collect();
        let cells = [
            package.map_or("unknown".to_owned(), |package| package.to_string()),
            nodes.to_string(),
            cores.len().to_string(),
            all.len().to_string(),
            firsts.to_string(),
            all.difference(&firsts).to_string(),
        ];
        table.row(cells);
    }
    options.heading("Packages") + &table.text(options)
}
