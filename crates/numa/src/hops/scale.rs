//! Compares the firmware's distances, read as multiples of 10 for local, with what was measured.
//!
//! The table is defined as a scale (ACPI, System Locality Information Table: a distance of 20 is
//! twice the local latency), but hardly any firmware fills it in as one: 21 stands for 1.5 to 2.0
//! times, AMD's 32 for 1.9. Order is what placement needs, so a wrong scale alone is for
//! information; but Linux draws a line across it.

use std::collections::BTreeMap;

use model::{DistanceTable, Finding, NodeMatrix, Severity};

use super::classes::Measured;
use super::figures;
use super::judge::{OVERSTATED, UNDERSTATED, finding};

/// A scale is wrong from this factor on: the usual 21 for two sockets is within it.
const SCALE_FACTOR: f64 = 1.45;

/// Beyond this distance Linux does not spread tasks over nodes when it balances the load
/// (`RECLAIM_DISTANCE`, include/linux/topology.h).
const RECLAIM_DISTANCE: u32 = 30;

/// Distances below 10 and 255 have meanings of their own.
const SCALE: std::ops::Range<u32> = 11..255;

/// Adds one finding for each distance whose scale is wrong everywhere.
pub(crate) fn judge(matrix: &NodeMatrix, distances: &DistanceTable, found: &mut Vec<Finding>) {
    let mut ratios: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
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
            let ratio = measured.ns / local.ns;
            let range = ratios.entry(distance).or_insert((ratio, ratio));
            *range = (range.0.min(ratio), range.1.max(ratio));
        }
    }
    for (distance, (low, high)) in ratios {
        if SCALE.contains(&distance) {
            judge_one(distance, low, high, found);
        }
    }
}

fn judge_one(distance: u32, low: f64, high: f64, found: &mut Vec<Finding>) {
    let says = f64::from(distance) / 10.0;
    let measured = figures::times_range(low, high);
    if high * SCALE_FACTOR < says {
        let line = if distance > RECLAIM_DISTANCE {
            format!(
                "; beyond {RECLAIM_DISTANCE}, Linux is slow to use idle CPUs of other nodes, too"
            )
        } else {
            String::new()
        };
        let message = format!(
            "distance {distance} says {says:.1} times the local latency; measured: {measured} \
             times{line}"
        );
        found.push(finding(OVERSTATED, Severity::Info, message));
    } else if low > says * SCALE_FACTOR {
        let message = format!(
            "distance {distance} says {says:.1} times the local latency; measured: {measured} times"
        );
        found.push(finding(UNDERSTATED, Severity::Info, message));
    }
}
