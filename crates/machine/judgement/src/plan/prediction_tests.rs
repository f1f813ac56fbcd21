//! Tests of predictions: they are the doctor's own figures, and what cannot be is refused.

use model::{MatrixCell, NodeId, NodeMatrix, PredictedPlacement, Prediction};

use super::diagnosis::diagnose;
use super::plan_tests::{GIB, machine, with_process, with_segment};
use super::prediction::{Wish, predict};
use crate::doctor::DoctorInput;

fn wish(memory: &str) -> Wish {
    Wish {
        name: memory.to_owned(),
        memory: Some(memory.parse().unwrap()),
        ..Wish::default()
    }
}

fn one(input: &DoctorInput, wish: Wish) -> PredictedPlacement {
    predict(input, &[wish]).unwrap().placements.remove(0)
}

/// Latencies of the machine: 100 ns, and more for each hop.
fn measured(input: &mut DoctorInput, hop_ns: f64) {
    let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
    let cell = |from: u32, to: u32| MatrixCell::of(100.0 + hop_ns * f64::from(from.abs_diff(to)));
    let rows = (0..4).map(|from| (0..4).map(|to| cell(from, to)).collect());
    input.latencies = NodeMatrix::new(nodes.clone(), nodes, rows.collect()).unwrap();
    input.latencies_by = "run 7".to_owned();
}

/// Targets of which each has another plan.
fn targets() -> Vec<DoctorInput> {
    let mut far = machine();
    with_process(&mut far, "0-1", "0-3", &[(3, 2)]);
    let mut bound = machine();
    with_process(&mut bound, "2-3", "0-3", &[]);
    with_process(&mut bound, "2-3", "0-3", &[(2, 1)]);
    with_segment(&mut bound, &[(0, 4)], 4096);
    let mut everywhere = machine();
    with_process(&mut everywhere, "0-7", "0-3", &[(1, 3)]);
    with_segment(&mut everywhere, &[(0, 16)], 2 << 20);
    let mut latencies = everywhere.clone();
    measured(&mut latencies, 40.0);
    vec![far, bound, everywhere, latencies]
}

#[test]
fn the_figures_are_those_of_the_doctors_plan() {
    for input in targets() {
        let plan = diagnose(&input).plan.unwrap();
        let Prediction {
            now,
            placements,
            distances_by,
            ..
        } = predict(&input, &[]).unwrap();
        assert_eq!((now, &distances_by), (plan.before, &plan.distances_by));
        let of_plan = placements.iter().find(|it| it.placement == plan.cure);
        let of_plan = of_plan.unwrap();
        assert_eq!(of_plan.after, plan.after);
        assert_eq!(of_plan.bytes_to_move, plan.bytes_to_move);
        assert_eq!(of_plan.is_shared_only, !plan.moves_private_memory);
        let saved = (-of_plan.cpu_time_change_at_most).max(0.0);
        assert!((saved - plan.gain_at_most()).abs() < 1e-12);
        if let Some(other) = plan.runner_up {
            let same = placements.iter().find(|it| it.placement == other.cure);
            assert_eq!(same.unwrap().after, other.after);
        }
        // Named, it is the same.
        let named = Wish {
            is_shared_only: of_plan.is_shared_only,
            ..wish(&plan.cure)
        };
        assert_eq!(&one(&input, named), of_plan);
    }
}

#[test]
fn a_placement_has_its_figures_and_what_must_be_free() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 2)]);
    measured(&mut input, 50.0);
    let check = |wish: Wish, change: f64, ns: f64, needs: &[(u32, u64)]| {
        let found = one(&input, wish);
        assert!((found.cpu_time_change_at_most - change).abs() < 1e-9);
        assert!((found.after.latency_ns.unwrap() - ns).abs() < 1e-9);
        let found = found.needs.iter();
        let found: Vec<_> = found.map(|need| (need.node.0, need.bytes)).collect();
        assert_eq!(found, needs);
    };
    check(wish("0"), 100.0 / 250.0 - 1.0, 100.0, &[(0, 2 * GIB)]);
    check(wish("near-cpus"), -0.6, 100.0, &[(0, 2 * GIB)]);
    check(wish("3"), 0.0, 250.0, &[]);
    let third = [(0, 3 * GIB / 2)];
    check(wish("spread=0:3,3:1"), 137.5 / 250.0 - 1.0, 137.5, &third);
    let current = Wish {
        name: "current".to_owned(),
        ..Wish::default()
    };
    check(current, 0.0, 250.0, &[]);
    let shared = Wish {
        is_shared_only: true,
        ..wish("0")
    };
    check(shared, 0.0, 250.0, &[]);
    let there = Wish {
        cpus: Some("6-7".parse().unwrap()),
        ..Wish::default()
    };
    check(there, -0.6, 100.0, &[]);
    let both = Wish {
        cpus: Some("4-5".parse().unwrap()),
        ..wish("near-cpus")
    };
    check(both, -0.6, 100.0, &[(2, 2 * GIB)]);
}

#[test]
fn what_lacks_room_says_so() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 2)]);
    input.room.insert(NodeId(0), GIB);
    let found = one(&input, wish("0"));
    assert!(found.needs[0].lacks_room());
    input.room.clear();
    let found = one(&input, wish("0"));
    assert_eq!(found.needs[0].room_bytes, None);
    assert!(!found.needs[0].lacks_room());
}

#[test]
fn distances_of_two_kinds_are_not_compared() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 2)]);
    let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
    let row = (0..4).map(|to| MatrixCell::of(100.0 + f64::from(to)));
    let rows = vec![row.collect()];
    input.latencies = NodeMatrix::new(vec![NodeId(0)], nodes, rows).unwrap();
    let found = predict(&input, &[wish("0")]).unwrap();
    assert!(found.distances_by.is_some() && found.now.latency_ns.is_some());
    let there = Wish {
        cpus: Some("6-7".parse().unwrap()),
        ..Wish::default()
    };
    let found = predict(&input, &[there]).unwrap();
    assert_eq!((found.distances_by, found.now.latency_ns), (None, None));
    assert!((found.now.relative_access - 2.2).abs() < 1e-9);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-1", &[(1, 2)]);
    let check = |input: &DoctorInput, wishes: &[Wish], expected: &str| {
        let error = predict(input, wishes).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    check(&input, &[wish("7")], "7 is impossible: there is no node 7");
    let forbidden =
        "3 is impossible: process 100 may have memory on nodes 0-1 alone, not on node 3";
    check(&input, &[wish("3")], forbidden);
    let private_stays = Wish {
        is_shared_only: true,
        ..wish("3")
    };
    one(&input, private_stays);
    let residency = input.residency.as_mut().unwrap();
    residency.processes[0].private_bytes_by_node.clear();
    check(&input, &[], "no memory of it is known");
    input.residency.as_mut().unwrap().processes.clear();
    check(&input, &[wish("0")], "its processes run is unknown");
    check(&DoctorInput::default(), &[], "its processes run is unknown");
}
