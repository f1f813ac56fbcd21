//! Compares the firmware's distances, read as multiples of 10 for local, with measured latencies.
//!
//! The table is defined as a scale (ACPI, System Locality Information Table: a distance of 20 is
//! twice the local latency), but hardly any firmware fills it in as one: 21 stands for 1.5 to 2.0
//! times, AMD's 32 for 1.9. Placement only needs the order, so a wrong scale alone is for
//! information; but Linux applies a threshold to it.

use std::collections::BTreeMap;

use model::{DistanceTable, Finding, NodeMatrix, Severity};

use super::classes::Measured;
use super::figures;
use super::findings::{OVERSTATED, UNDERSTATED, finding};
use super::pairs::Range;

/// A scale is wrong if off by more than this factor: the usual 21 for two sockets is within it.
const SCALE_FACTOR: f64 = 1.45;

/// Beyond this distance, Linux does not spread tasks over nodes when it balances load
/// (`RECLAIM_DISTANCE`, include/linux/topology.h).
const RECLAIM_DISTANCE: u32 = 30;

/// Distances below 10, and 255, have other meanings.
const SCALE: std::ops::Range<u32> = 11..255;

/// Adds one finding for all distances that overstate every measured latency, and one for all that
/// understate every one.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let mut ratios: BTreeMap<u32, Range> = BTreeMap::new();
    for (cpu_node, cells) in matrix.rows() {
        let local = matrix.cell(cpu_node, cpu_node);
        let Some(local) = local.and_then(|cell| Measured::of(cpu_node, cell)) else {
            continue;
        };
        for (node, cell) in matrix.memory_nodes().iter().zip(cells) {
            let measured = Measured::of(*node, cell).filter(|_| *node != cpu_node);
            let distance = distances.distance(cpu_node, *node);
            let (Some(measured), Some(distance)) = (measured, distance) else {
                continue;
            };
            let range = ratios.entry(distance).or_default();
            range.add(measured.ns / local.ns);
        }
    }
    let scaled = |wanted: fn(u32, &Range) -> bool| -> Vec<(u32, Range)> {
        let ratios = ratios.iter().map(|(distance, range)| (*distance, *range));
        let ratios = ratios.filter(|(distance, _)| SCALE.contains(distance));
        ratios
            .filter(|(distance, range)| wanted(*distance, range))
            .collect()
    };
    let too_much = scaled(|distance, range| range.high * SCALE_FACTOR < times(distance));
    let too_little = scaled(|distance, range| range.low > times(distance) * SCALE_FACTOR);
    let is_beyond = too_much
        .iter()
        .any(|(distance, _)| *distance > RECLAIM_DISTANCE);
    let line = match is_beyond {
        true => format!(
            "; beyond {RECLAIM_DISTANCE}, Linux is slow to use idle CPUs of other nodes, too"
        ),
        false => String::new(),
    };
    for (id, all, line) in [
        (OVERSTATED, too_much, line),
        (UNDERSTATED, too_little, String::new()),
    ] {
        if !all.is_empty() {
            found.push(finding(id, Severity::Info, sentence(&all) + &line));
        }
    }
}

/// The multiple of the local latency that a distance stands for.
fn times(distance: u32) -> f64 {
    f64::from(distance) / 10.0
}

/// `distance 32 says 3.2 times the local latency; measured: 1.9 times`, for each.
fn sentence(all: &[(u32, Range)]) -> String {
    let each = all.iter().map(|(distance, range)| {
        let measured = figures::times_range(range.low, range.high);
        (distance, times(*distance), measured)
    });
    let each = each.map(|(distance, says, measured)| {
        format!("distance {distance} says {says:.1} times the local latency, measured {measured}")
    });
    each.collect::<Vec<_>>().join("; ")
}
