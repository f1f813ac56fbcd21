//! Compares the firmware's distances, read as multiples of 10 for local, with measured latencies.
//!
//! The table is defined as a scale (ACPI, System Locality Information Table: a distance of 20 is
//! twice the local latency), but hardly any firmware fills it in as one: 21 stands for 1.5 to 2.0
//! times, AMD's 32 for 1.9. Placement only needs the order, so a wrong scale alone is for
//! information; but Linux applies a threshold to it.

use std::collections::BTreeMap;

use model::{DistanceTable, NodeMatrix};

use super::classes::Measured;
use super::figures;
use super::pairs::Range;

/// A scale is wrong if off by more than this factor: the usual 21 for two sockets is within it.
const SCALE_FACTOR: f64 = 1.45;

/// Beyond this distance, Linux does not spread tasks over nodes when it balances load
/// (`RECLAIM_DISTANCE`, include/linux/topology.h).
const RECLAIM_DISTANCE: u32 = 30;

/// Distances below 10, and 255, have other meanings.
const SCALE: std::ops::Range<u32> = 11..255;

/// A sentence on the distances that overstate every measured latency.
pub(crate) fn too_much(matrix: &NodeMatrix, distances: &DistanceTable) -> Option<String> {
    let mut all = ratios(matrix, distances);
    all.retain(|distance, range| range.high * SCALE_FACTOR < times(*distance));
    let is_beyond = all.keys().any(|distance| *distance > RECLAIM_DISTANCE);
    let line = match is_beyond {
        true => format!(
            "; beyond {RECLAIM_DISTANCE}, Linux is slow to use idle CPUs of other nodes, too"
        ),
        false => String::new(),
    };
    sentence(&all).map(|sentence| sentence + &line)
}

/// A sentence on the distances that understate every measured latency.
pub(crate) fn too_little(matrix: &NodeMatrix, distances: &DistanceTable) -> Option<String> {
    let mut all = ratios(matrix, distances);
    all.retain(|distance, range| range.low > times(*distance) * SCALE_FACTOR);
    sentence(&all)
}

/// For each distance on the scale, how many times the local latency was measured.
fn ratios(matrix: &NodeMatrix, distances: &DistanceTable) -> BTreeMap<u32, Range> {
    let mut ratios: BTreeMap<u32, Range> = BTreeMap::new();
    for (cpu_node, cells) in matrix.rows() {
        let local = matrix.cell(cpu_node, cpu_node);
        let Some(local) = local.and_then(|cell| Measured::of(cpu_node, cell)) else {
            continue;
        };
        for (node, cell) in matrix.memory_nodes().iter().zip(cells) {
            let measured = Measured::of(*node, cell).filter(|_| *node != cpu_node);
            let distance = distances.distance(cpu_node, *node);
            let distance = distance.filter(|distance| SCALE.contains(distance));
            let (Some(measured), Some(distance)) = (measured, distance) else {
                continue;
            };
            let range = ratios.entry(distance).or_default();
            range.add(measured.ns / local.ns);
        }
    }
    ratios
}

/// The multiple of the local latency that a distance stands for.
fn times(distance: u32) -> f64 {
    f64::from(distance) / 10.0
}

/// `distance 32 says 3.2 times the local latency, measured 1.9`, for each.
fn sentence(all: &BTreeMap<u32, Range>) -> Option<String> {
    let each = all.iter().map(|(distance, range)| {
        let (says, measured) = (
            times(*distance),
            figures::times_range(range.low, range.high),
        );
        format!(
            "distance {distance} stands for {says:.1} times the local latency, measured \
                 {measured}"
        )
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join("; "))
}
