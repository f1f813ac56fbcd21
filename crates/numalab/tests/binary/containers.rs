//! A container's seccomp profile refuses the calls that place memory and report where it is: what
//! needs none of them works, the rest is refused with a hint.
//!
//! Tests of linux, placement, residency.

use crate::environments::Environment;
use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::memory;
use crate::unmet_need::{has_groups, is_root};

#[test]
fn memory_that_can_lie_on_one_node_only_needs_no_policy() {
    const NAME: &str = "memory_that_can_lie_on_one_node_only_needs_no_policy";
    let Some(laboratory) = Environment::Seccomp.laboratory(NAME) else {
        return;
    };
    let load = format!("{SMALL}\nwork-unit = 16");
    let keys = "memory-nodes = \"all\"\nallocation = \"bind:all\"\nmechanism = \"affinity\"";
    let experiment = ExperimentFile::new("bound", &load).case("bound", keys);
    let path = laboratory.file("bound.toml", experiment.text());
    let words = ["run", &path, "--json", "--seconds", "0.2", "--within", "1"];
    let ended = laboratory.run_until_a_trial_counts(&words);
    let topology = laboratory.document(&["topology", "--json"]);
    if topology["nodes"].as_array().unwrap().len() > 1 {
        let reason = "case bound: needs a memory policy, which is refused here";
        let ended = ended.with_code(4);
        ended.says(&[reason, "set_mempolicy", "docker run --cap-add SYS_NICE"]);
        assert!(!laboratory.store().exists(), "nothing was started");
        return;
    }
    let ended = ended.with_code(0);
    ended.says(&[
        "Memory policies are not available here (set_mempolicy",
        "run without one.",
    ]);
    let bound = &ended.document()["cases"][0];
    assert!(bound["placement"]["memory_nodes"].is_null(), "{bound:#}");
    let sga = &bound["trials"][0]["evidence"]["sga"];
    assert_eq!(sga["policy"], "default");
    assert!(bound["trials_valid"].as_u64() > Some(0), "{bound:#}");
    laboratory.nothing_is_left();
}

#[test]
fn memory_itself_is_measured_without_a_policy_where_there_is_one_node() {
    const NAME: &str = "memory_itself_is_measured_without_a_policy_where_there_is_one_node";
    let Some(laboratory) = Environment::Seccomp.laboratory(NAME) else {
        return;
    };
    let topology = laboratory.document(&["topology", "--json"]);
    let code = match topology["nodes"].as_array().unwrap().len() {
        1 => 0,
        _ => 4,
    };
    let words = ["latency", "--anyway", "--rounds", "1", "--json"];
    let ended = laboratory.run(&[&words[..], &memory::SMALL].concat());
    let ended = ended.with_code(code);
    if code == 0 {
        let cell = &ended.document()["ns"][0][0];
        assert!(cell.as_f64().is_some_and(|ns| ns > 0.0), "{cell}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn where_memory_lies_is_known_without_the_call_that_tells() {
    const NAME: &str = "where_memory_lies_is_known_without_the_call_that_tells";
    let Some(laboratory) = Environment::Seccomp.laboratory(NAME) else {
        return;
    };
    let experiment = ExperimentFile::new("memfd", SMALL)
        .case("memfd", "")
        .case("segment", "backing = \"sysv\"");
    let path = laboratory.file("free.toml", experiment.text());
    let words = ["run", &path, "--json", "--trials", "5", "--seconds", "0.2"];
    let run = laboratory.document(&words);
    for case in run["cases"].as_array().unwrap() {
        assert_eq!(case["trials_valid"], 5, "{case:#}");
        for trial in case["trials"].as_array().unwrap() {
            let sga = &trial["evidence"]["sga"];
            let by_node = sga["bytes_by_node_after"].as_object().unwrap();
            let bytes: u64 = by_node.values().map(|bytes| bytes.as_u64().unwrap()).sum();
            assert!(bytes >= 1 << 20, "{sga}");
            assert_eq!(sga["bytes_without_node"], 0);
        }
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_policy_for_a_program_is_refused_with_who_refuses_it() {
    const NAME: &str = "a_policy_for_a_program_is_refused_with_who_refuses_it";
    let Some(laboratory) = Environment::Seccomp.laboratory(NAME) else {
        return;
    };
    let refused = laboratory.run(&["bind", "-m", "0", "true"]).with_code(4);
    refused.says(&[
        "set_mempolicy",
        "needs no capability, so the seccomp filter of this process",
        "--cap-add SYS_NICE",
    ]);
    laboratory.run(&["bind", "-C", "all", "true"]).with_code(0);
}

#[test]
fn a_read_only_view_of_cgroups_is_named() {
    const NAME: &str = "a_read_only_view_of_cgroups_is_named";
    if !has_groups(NAME) || !is_root(NAME) {
        return;
    }
    let mut laboratory = Laboratory::new();
    let mount = placement::hierarchy::find(&linux::Root::live())
        .unwrap()
        .mount;
    let script = format!(
        "mount -o remount,bind,ro {} && exec \"$@\"",
        mount.display()
    );
    laboratory.launch_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"]);
    let refused = laboratory.run(&["group", "create", "x"]).with_code(4);
    refused.says(&[
        "is on a read-only file system, as in a container",
        "--cpuset-cpus",
    ]);
}
