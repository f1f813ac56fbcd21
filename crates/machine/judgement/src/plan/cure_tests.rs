//! Tables of targets whose best cure is none of the usual two: memory in proportion to what differs
//! between the nodes, and the CPUs to the memory.

use model::{CurePlan, NodeId, ShellLine};

use super::diagnosis::{diagnose, diagnose_for};
use super::plan_tests::{GIB, machine, with_process, with_segment};
use super::prediction::{Wish, predict};
use super::verification::in_force;
use crate::doctor::DoctorInput;

fn plan(input: &DoctorInput) -> CurePlan {
    diagnose(input).plan.unwrap()
}

/// The cure, and the one that comes after it.
fn cures(input: &DoctorInput) -> (String, Option<String>) {
    let plan = plan(input);
    (plan.cure, plan.runner_up.map(|it| it.cure))
}

fn in_words((cure, other): &(String, Option<String>)) -> (&str, Option<&str>) {
    (cure, other.as_deref())
}

/// A server on all CPUs with 4 GiB of shared memory on node 0.
fn everywhere() -> DoctorInput {
    let mut input = machine();
    with_process(&mut input, "0-7", "0-3", &[]);
    with_segment(&mut input, &[(0, 4)], 4096);
    input
}

/// A server on the CPUs of node 0 with 4 GiB of private memory on node 3.
fn far() -> DoctorInput {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 4)]);
    input
}

#[test]
fn memory_goes_in_proportion_to_measured_bandwidth() {
    let mut input = everywhere();
    let weights = [2, 2, 1, 1];
    input.bandwidth_weights = (0..4).map(NodeId).zip(weights).collect();
    let found = plan(&input);
    assert_eq!(found.cure, "spread=0:2,1:2,2:1,3:1");
    // Node 0 has all of it and a third of the bandwidth; then each has its part.
    let load = |it: model::MemoryFigures| it.busiest_load.unwrap();
    assert!((load(found.before) - 3.0).abs() < 1e-9, "{found:?}");
    assert!((load(found.after) - 1.0).abs() < 1e-6, "{found:?}");
    assert_eq!(found.runner_up.unwrap().cure, "nodes:0");
    let for_good = found.for_good.join("\n");
    assert!(
        for_good.contains("this kernel keeps no proportions"),
        "{for_good}"
    );
    assert!(
        for_good.contains("numactl --interleave=0-3 COMMAND"),
        "{for_good}"
    );
    // Where the kernel has these weights, later memory follows, too.
    let of_kernel = [20, 20, 10, 10];
    let of_kernel = (0..4).map(NodeId).zip(of_kernel).collect();
    input.topology.settings.interleave_weights = Some(of_kernel);
    let found = plan(&input);
    assert_eq!(found.cure, "weighted-interleave=0-3");
    let expected = ShellLine::of("numactl --weighted-interleave=0-3 COMMAND");
    assert!(found.for_good.contains(&expected), "{found:?}");
    assert_eq!(
        found.verify[0],
        "numalab doctor redis:6379 --verify weighted-interleave=0-3"
    );
    // Other weights were set for another reason: what was measured counts.
    let of_kernel = (0..4).map(NodeId).zip([1, 1, 2, 2]).collect();
    input.topology.settings.interleave_weights = Some(of_kernel);
    let found = plan(&input);
    assert_eq!(found.cure, "spread=0:2,1:2,2:1,3:1");
    assert!(found.for_good[0].contains("--weights --set"), "{found:?}");
    // Nothing differs.
    input.bandwidth_weights = (0..4).map(|id| (NodeId(id), 7)).collect();
    assert_eq!(plan(&input).cure, "interleave=0-3");
}

#[test]
fn without_bandwidths_memory_goes_to_where_most_cpus_use_it() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[]);
    with_process(&mut input, "0-3", "0-3", &[]);
    with_segment(&mut input, &[(3, 4)], 4096);
    let found = plan(&input);
    assert_eq!(found.cure, "spread=0:3,1:1");
    assert!((found.after.remote_share - 0.375).abs() < 1e-6, "{found:?}");
}

#[test]
fn memory_goes_where_there_is_room_for_it() {
    let mut input = everywhere();
    input.room.insert(NodeId(3), GIB / 2);
    let found = plan(&input);
    assert_eq!(found.cure, "spread=0:5,1:5,2:5,3:2");
    assert!(found.no_room[0].starts_with("interleave=0-3 would need 1 GiB on node 3"));
}

#[test]
fn cpus_go_to_the_memory_if_it_has_no_room_near_them_and_they_are_enough() {
    let mut input = far();
    input.room = [(NodeId(0), GIB), (NodeId(3), GIB)].into();
    input
        .room
        .extend([(NodeId(1), GIB / 2), (NodeId(2), GIB / 2)]);
    let check = |input: &DoctorInput, expected: (&str, Option<&str>)| {
        assert_eq!(in_words(&cures(input)), expected, "{:?}", input.cpus_used);
    };
    input.cpus_used = Some(1.5);
    let other = "spread=0:2,1:1,2:1,3:4";
    check(&input, ("nodes:3", Some(other)));
    let found = plan(&input);
    assert_eq!(found.no_room.len(), 2, "{:?}", found.no_room);
    let cpus = found.cpus.as_ref().unwrap();
    assert_eq!((cpus.cpus.to_string().as_str(), cpus.of), ("6-7", 2));
    assert_eq!((found.bytes_to_move, found.after.remote_share), (0, 0.0));
    assert_eq!(found.now[0], "numalab doctor redis:6379 --apply=nodes:3");
    assert_eq!(found.undo, ["numalab undo"]);
    let expected = "numactl --physcpubind=6-7 COMMAND";
    assert_eq!(found.for_good[0], expected);
    assert_eq!(
        found.verify[0],
        "numalab doctor redis:6379 --verify nodes:3"
    );
    input.units = [(100, "redis.service".to_owned())].into();
    let file = &plan(&input).files[0];
    assert_eq!(file.text, "[Service]\nCPUAffinity=\nCPUAffinity=6-7\n");
    // It used more, or nobody knows.
    input.cpus_used = Some(2.5);
    check(&input, (other, None));
    input.cpus_used = None;
    check(&input, (other, Some("nodes:3")));
}

#[test]
fn cpus_are_not_taken_away_where_memory_can_move() {
    let mut input = everywhere();
    input.cpus_used = Some(0.3);
    let found = plan(&input);
    assert_eq!(found.cure, "interleave=0-3");
    let other = found.runner_up.unwrap();
    let cpus = other.cpus.unwrap();
    assert_eq!((&*other.cure, cpus.cpus.len(), cpus.of), ("nodes:0", 2, 8));
    assert_eq!((cpus.used, other.after.remote_share), (Some(0.3), 0.0));
    // It used more than that node has.
    input.cpus_used = Some(3.0);
    let other = plan(&input).runner_up.unwrap();
    assert!(other.cpus.is_none(), "{other:?}");
    // What was asked for is planned, if it is a cure.
    input.cpus_used = Some(0.3);
    let asked = |cure: &str| diagnose_for(&input, Some(&cure.parse().unwrap())).plan;
    let found = asked("nodes:0").unwrap();
    assert_eq!(
        (&*found.cure, found.runner_up.unwrap().cure),
        ("nodes:0", "interleave=0-3".to_owned())
    );
    assert_eq!(asked("interleave").unwrap().cure, "interleave=0-3");
    for cure in ["nodes:1", "current", "7"] {
        assert_eq!(asked(cure), None, "{cure}");
    }
}

#[test]
fn a_cpuset_decides_on_which_cpus_it_may_be() {
    let mut input = far();
    input.cpus_used = Some(0.5);
    let other = |input: &DoctorInput| plan(input).runner_up.map(|it| it.cure);
    assert_eq!(other(&input).as_deref(), Some("nodes:3"));
    input.cpuset_cpus = [(100, "0-6".parse().unwrap())].into();
    assert_eq!(other(&input).as_deref(), Some("cpus:6"));
    input.cpuset_cpus = [(100, "0-5".parse().unwrap())].into();
    assert_eq!(other(&input).as_deref(), Some("interleave=0-3"));
}

#[test]
fn a_cure_by_cpus_is_in_force_where_all_threads_are() {
    let mut input = far();
    let check = |input: &DoctorInput, cure: &str, expected: (Option<bool>, bool, usize)| {
        let found = in_force(input, &cure.parse().unwrap()).unwrap();
        let is = (found.threads_are_there, found.is_there, found.later.len());
        assert_eq!(is, expected, "{cure}");
        assert_eq!(found.holds(), is.0 != Some(false) && is.1 && is.2 == 0);
    };
    check(&input, "nodes:3", (Some(false), true, 0));
    check(&input, "nodes:0+near-cpus", (Some(true), false, 0));
    let mut there = super::on_cpus::on_cpus(&input, &"6-7".parse().unwrap());
    check(&there, "nodes:3", (Some(true), true, 0));
    there.policies = [(100, "bind:0".to_owned())].into();
    check(&there, "nodes:3", (Some(true), true, 1));
    // One thread has other CPUs.
    let threads = there.residency.as_mut().unwrap().threads.as_mut().unwrap();
    threads.roles[0].masks[0].cpus = "0-7".parse().unwrap();
    check(&there, "nodes:3", (Some(false), true, 1));
    let error = in_force(&input, &"current".parse().unwrap()).unwrap_err();
    assert!(error.contains("names neither"), "{error}");
    let error = in_force(&input, &"nodes:9".parse().unwrap()).unwrap_err();
    assert!(error.contains("there are no CPUs on node 9"), "{error}");
    input.residency = None;
    let error = in_force(&input, &"nodes:3".parse().unwrap()).unwrap_err();
    assert!(error.contains("is unknown"), "{error}");
}

#[test]
fn predictions_have_the_same_figures_and_what_it_costs() {
    let mut input = far();
    input.cpus_used = Some(0.5);
    let found = predict(&input, &[]).unwrap().placements;
    let of = |name: &str| found.iter().find(|it| it.placement == name).unwrap();
    let other = plan(&input).runner_up.unwrap();
    let cpus = of("nodes:3");
    assert_eq!((cpus.after, &cpus.cpus), (other.after, &other.cpus));
    assert!(cpus.needs.is_empty() && !cpus.is_shared_only);
    assert_eq!(of("near-cpus").cpus, None);
    // Typed, it is the same.
    let wish = Wish {
        name: "nodes:3".to_owned(),
        cpus: Some("6-7".parse().unwrap()),
        ..Wish::default()
    };
    let typed = predict(&input, &[wish]).unwrap().placements;
    assert_eq!(&typed[0], cpus);
}
