//! The line of a node in slurm.conf, and lines of gres.conf.

use std::fmt::Write;

use model::{DeviceKind, Topology};

use super::facts::Facts;

/// The lines. What the kernel does not say is left out: Slurm then takes what it finds.
pub fn node_lines(facts: Facts<'_>) -> String {
    let topology = facts.topology;
    let features = facts.figures();
    let features = features
        .iter()
        .map(|it| format!("numa-{}-{}", it.name, it.value));
    let features: Vec<String> = features.collect();
    let mut line = format!("NodeName={}", facts.host);
    let per_package = facts.nodes_per_package().unwrap_or(1);
    if let Some((sockets, cores, threads)) = shape(topology, per_package) {
        write!(
            line,
            " Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads}"
        )
        .expect("a string takes all");
    }
    if let Some(bytes) = topology.memory_bytes {
        write!(line, " RealMemory={}", bytes >> 20).expect("a string takes all");
    }
    write!(line, " Features={}", features.join(",")).expect("a string takes all");
    let mut text = "# Made by `numalab fleet feed`, for slurm.conf.\n".to_owned();
    if per_package > 1 {
        text += "# Each node counts as a socket, as its tasks should be bound:\n\
                 SlurmdParameters=numa_node_as_socket\n";
    }
    text + &line + "\n" + &gres(topology, facts.host)
}

/// Sockets, cores of each and threads of each core, where all are alike; nodes with CPUs are the
/// sockets where packages have several.
fn shape(topology: &Topology, per_package: usize) -> Option<(usize, usize, usize)> {
    let threads = topology.threads_per_core? as usize;
    let sockets = topology.packages? as usize * per_package;
    let cores = topology.cores? as usize;
    let is_even =
        sockets > 0 && cores.is_multiple_of(sockets) && cores * threads == topology.cpus.len();
    is_even.then(|| (sockets, cores / sockets, threads))
}

/// The processors of GPUs, each with the CPUs beside it, as remarks: which of them Slurm may give
/// out, and by which file, the administrator says.
fn gres(topology: &Topology, host: &str) -> String {
    let mut text = String::new();
    for device in topology.devices.iter().flatten() {
        let cpus = device.node.and_then(|node| topology.node(node));
        if let (DeviceKind::Gpu, Some(node)) = (device.kind, cpus)
            && !node.cpus.is_empty()
        {
            writeln!(
                text,
                "# gres.conf, of {}: NodeName={host} Name=gpu File=… # CPUs {} (node {})",
                device.address, node.cpus, node.id
            )
            .expect("a string takes all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::facts::tests::known;
    use super::node_lines;

    #[test]
    fn the_line_says_shape_and_figures() {
        let mut known = known();
        let text = node_lines(known.facts());
        let line = "NodeName=n1 Sockets=4 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=81920 \
                    Features=numa-nodes-5,numa-memory-only-nodes-1,";
        assert!(text.lines().any(|it| it.starts_with(line)), "{text}");
        assert!(
            text.contains("\nSlurmdParameters=numa_node_as_socket\n"),
            "{text}"
        );
        known.topology.cores = Some(7);
        assert!(node_lines(known.facts()).contains("NodeName=n1 RealMemory="));
    }
}
