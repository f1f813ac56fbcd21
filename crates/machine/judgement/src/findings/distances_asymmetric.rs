//! The distance there differs from the distance back.

use model::{DistanceTable, NodeId, Severity};

use super::row::{Check, Row};
use crate::doctor::distances::{of_firmware, rows};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;
use crate::hops::pairs::Pairs;
use crate::inputs::LatencyInput;

pub(super) const ROW: Row = Row {
    id: "distances-asymmetric",
    severity: Severity::Info,
    about: "the firmware's distances differ between the two directions",
    cost: "rarely true; the kernel orders nodes by it all the same",
    cost_source: "`numalab latency` measures both ways",
    checks: &[
        Check::Doctor(sight::distances, of_machine),
        Check::Latency(of_latencies),
    ],
};

fn of_machine(input: &DoctorInput) -> Option<Found> {
    let message = check(&DistanceTable::of(&input.topology)?)?;
    Some(of_firmware(message, rows(&input.topology)))
}

fn of_latencies(input: &LatencyInput<'_>) -> Vec<Found> {
    let message = input.distances.and_then(check);
    message.map(Found::that).into_iter().collect()
}

fn check(distances: &DistanceTable) -> Option<String> {
    let unlike = distances.cells().filter_map(|(from, to, there)| {
        let back = distances.distance(to, from)?;
        (from < to && back != there).then_some((from, to, there, back))
    });
    let unlike: Vec<(NodeId, NodeId, u32, u32)> = unlike.collect();
    let (from, to, there, back) = unlike.first()?;
    let pairs: Pairs = unlike.iter().map(|(from, to, ..)| (*from, *to)).collect();
    Some(format!(
        "the firmware's distances {} differ by direction: {there} from {from} to {to}, {back} \
         from {to} to {from}",
        pairs.mutual()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn what_depends_on_the_direction_is_found() {
        let case = |rows: &[&[u32]], expected: bool| {
            assert_eq!(of_machine(&machine(rows)).is_some(), expected, "{rows:?}");
        };
        case(&[&[10, 21], &[21, 10]], false);
        case(&[&[10, 21], &[20, 10]], true);
        case(&[&[10, 255], &[255, 10]], false);
        case(&[&[10, 21], &[]], false);
        case(&[&[10, 21, 0], &[20, 10, 0], &[0, 0, 0]], true);
        let mut without_cpus = machine(&[&[10, 50], &[255, 10]]);
        without_cpus.topology.nodes[1].cpus = model::CpuSet::new();
        assert!(of_machine(&without_cpus).is_none());
    }
}
