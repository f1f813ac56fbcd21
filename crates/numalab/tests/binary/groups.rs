//! `numalab group`: groups are created, filled, changed, listed, deleted and undone on this
//! machine's own cgroups.
//!
//! Tests of placement, journal.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::{has_groups, is_root};
use crate::user::NOBODY;

/// Returns a name that no other test and no other test run uses.
pub(crate) fn name(test: &str) -> String {
    format!("numalab-check-{}-{test}", std::process::id())
}

/// Returns the only group of a document, and its directory.
#[track_caller]
fn only(document: &Value) -> (Value, PathBuf) {
    assert_eq!(document["format"], "numalab.groups/1");
    let groups = document["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{document}");
    let directory = Path::new(groups[0]["directories"][0].as_str().unwrap());
    (groups[0].clone(), directory.to_owned())
}

#[test]
fn a_group_is_made_filled_changed_and_removed() {
    const TEST: &str = "a_group_is_made_filled_changed_and_removed";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let (name, sleeper) = (name("a"), Running::start(&["sleep", "600"]));
    let all = sleeper.cpus();
    let first = all.split([',', '-']).next().unwrap();
    let made = laboratory.document(&["group", "create", &name, "-C", "+0", "-m", "+0", "--json"]);
    let (group, directory) = only(&made);
    assert_eq!(group["cpus"], *first);
    assert!(directory.is_dir());
    laboratory
        .run(&["group", "create", &name])
        .with_code(2)
        .says(&["it already exists; change it with"]);
    let bound = [
        "bind",
        "--group",
        &name,
        "--",
        "sh",
        "-c",
        "grep Cpus_allowed_list /proc/$$/status",
    ];
    let shown = laboratory.run(&bound).with_code(0).stdout;
    assert_eq!(shown, format!("Cpus_allowed_list:\t{first}\n"));
    for _ in ["once", "twice"] {
        laboratory
            .run(&["group", "add", &name, &sleeper.pid()])
            .with_code(0);
    }
    assert_eq!(sleeper.cpus(), first);
    let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    let moves = listed.matches(" moved into ").count();
    assert_eq!(moves, 1, "it is moved once: {listed}");
    let (group, _) = only(&laboratory.document(&["group", "list", "--json"]));
    assert_eq!(group["members"][0]["pid"], sleeper.0.id());
    assert!(
        group["bytes_by_node"]
            .as_object()
            .is_some_and(|it| !it.is_empty()),
        "{group}"
    );
    let set = laboratory.document(&[
        "group",
        "set",
        &name,
        "-C",
        "all",
        "--cpu-limit",
        "1.5",
        "--json",
    ]);
    assert_eq!(only(&set).0["cpus"], *all);
    assert_eq!(only(&set).0["cpu_limit"], 1.5);
    assert_eq!(sleeper.cpus(), all);
    let refused = laboratory.run(&["group", "delete", &name]).with_code(2);
    refused.says(&["it has members: sleep ("]);
    laboratory
        .run(&["group", "delete", &name, "--evict"])
        .with_code(0);
    assert!(!directory.exists());
    assert_eq!(sleeper.cpus(), all);
    laboratory.nothing_is_left();
}

#[test]
fn a_member_that_has_ended_leaves_the_journal_with_its_group() {
    const TEST: &str = "a_member_that_has_ended_leaves_the_journal_with_its_group";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let (name, sleeper) = (name("e"), Running::start(&["sleep", "600"]));
    laboratory.run(&["group", "create", &name]).with_code(0);
    laboratory
        .run(&["group", "add", &name, &sleeper.pid()])
        .with_code(0);
    drop(sleeper);
    laboratory.run(&["group", "delete", &name]).with_code(0);
    laboratory.nothing_is_left();
}

/// As in a container: a numalab whose groups lie in one that has a single CPU.
#[test]
fn a_group_with_more_than_its_parent_is_refused_and_nothing_is_left() {
    const TEST: &str = "a_group_with_more_than_its_parent_is_refused_and_nothing_is_left";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    if linux::affinity::of_this_thread().unwrap().len() < 2 {
        return not_run(TEST, Need::Hardware, "it needs two CPUs");
    }
    let (outside, inside) = (Laboratory::new(), Laboratory::new());
    let parent = name("f");
    let words = ["group", "create", &parent, "-C", "+0", "-m", "+0", "--json"];
    let (group, directory) = only(&outside.document(&words));
    let path = directory.display();
    // In version 1 groups lie in that of the process, in version 2 directly below the mount.
    let (enter, says) = match group["cgroup_version"].as_u64() {
        Some(1) => (format!("echo 0 >{path}/cgroup.procs"), "cannot write"),
        _ => (
            format!("mount --bind {path} /sys/fs/cgroup"),
            "(its parent has no others)",
        ),
    };
    let create = "exec numalab group create x -C all --all";
    let script = format!("exec unshare -m sh -c '{enter} && {create}'");
    let refused = inside.script(&script);
    assert!(!refused.status.success(), "{refused:?}");
    refused.says(&[says]);
    assert!(!directory.join("x").exists());
    inside.nothing_is_left();
    let children = std::fs::read_to_string(directory.join("cgroup.subtree_control"));
    assert_eq!(
        children.unwrap_or_default(),
        "",
        "controllers that it hands on"
    );
    outside.run(&["group", "delete", &parent]).with_code(0);
    outside.nothing_is_left();
}

#[test]
fn undo_takes_a_group_back_with_its_members_and_changes() {
    const TEST: &str = "undo_takes_a_group_back_with_its_members_and_changes";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let (name, sleeper) = (name("b"), Running::start(&["sleep", "600"]));
    let before = std::fs::read_to_string(format!("/proc/{}/cgroup", sleeper.0.id())).unwrap();
    let all = sleeper.cpus();
    let made = laboratory.document(&["group", "create", &name, "--json"]);
    let (_, directory) = only(&made);
    laboratory
        .run(&["group", "set", &name, "-C", "+0", "--cpu-limit", "2"])
        .with_code(0);
    laboratory
        .run(&["group", "add", &name, &sleeper.pid()])
        .with_code(0);
    laboratory.run(&["undo"]).with_code(0);
    assert!(!directory.exists());
    let after = std::fs::read_to_string(format!("/proc/{}/cgroup", sleeper.0.id())).unwrap();
    assert_eq!((after, sleeper.cpus()), (before, all));
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
}

#[test]
fn a_group_with_members_is_not_undone_and_they_are_named() {
    const TEST: &str = "a_group_with_members_is_not_undone_and_they_are_named";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let name = name("c");
    laboratory.run(&["group", "create", &name]).with_code(0);
    let under_way = laboratory.start(&["bind", "--group", &name, "--", "sleep", "600"]);
    let seen = || laboratory.document(&["group", "list", "--json"]);
    crate::patience::until("the program is in the group", || {
        (seen()["groups"][0]["members"][0]["name"] == "sleep").then_some(())
    });
    laboratory
        .run(&["undo"])
        .with_code(4)
        .says(&["it has members: sleep ("]);
    under_way.kill();
    let _ = under_way.finish();
    laboratory.run(&["undo"]).with_code(0);
    laboratory.nothing_is_left();
}

#[test]
fn a_limit_for_one_program_goes_with_it() {
    const TEST: &str = "a_limit_for_one_program_goes_with_it";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::new();
    let script = "grep numalab-bind /proc/self/cgroup; exit 5";
    let shown = laboratory
        .run(&["bind", "--cpu-limit", "0.5", "sh", "-c", script])
        .with_code(5);
    assert!(shown.stdout.contains("/numalab-bind-"), "{}", shown.stdout);
    laboratory
        .run(&["bind", "--cpu-limit", "0.5", "numalab-no-such-program"])
        .with_code(127);
    laboratory.nothing_is_left();
}

#[test]
fn a_configuration_is_printed_and_nothing_is_made() {
    let laboratory = Laboratory::new();
    let name = name("d");
    for (kind, expected) in [
        ("cgconfig", format!("group {name} {{\n")),
        ("systemd", "AllowedCPUs=0\n".to_owned()),
        ("kubernetes", "cpuManagerPolicy: static\n".to_owned()),
        (
            "oracle",
            format!("alter system set processor_group_name='{name}' scope=spfile sid='*';\n"),
        ),
    ] {
        let words = [
            "group", "create", &name, "-C", "0", "-m", "0", "--emit", kind,
        ];
        let text = laboratory.run(&words).with_code(0).stdout;
        assert!(text.contains(&expected), "{kind}: {text}");
    }
    let groups = laboratory.run(&["group", "list"]).with_code(0);
    assert_eq!(groups.stdout, "no groups\n");
    laboratory.nothing_is_left();
}

#[test]
fn what_cannot_be_a_group_is_refused() {
    let laboratory = Laboratory::new();
    let check = |words: &[&str], code: i32, expected: &str| {
        let words: Vec<_> = ["group"].iter().chain(words).copied().collect();
        laboratory.run(&words).with_code(code).says(&[expected]);
    };
    check(&["create", "../x"], 2, "letters, digits");
    check(&["create", "cgroup.procs"], 2, "files of the kernel");
    check(&["create", "x", "-N", "4095"], 2, "there is no node 4095");
    check(&["create", "x", "-C", ""], 2, "the list is empty");
    check(
        &["create", "x", "--cpu-limit", "0"],
        2,
        "expected a number of CPUs",
    );
    check(
        &["set", "x", "-C", "0"],
        2,
        "numalab created no group of this name",
    );
    check(&["set", "x"], 2, "nothing to set");
    check(&["set", "/../../etc", "-C", "0"], 2, "no such cgroup:");
    check(&["add", "x", "99999999"], 2, "no process of 99999999");
    check(&["delete", "/x"], 2, "only groups that it created");
    laboratory
        .run(&["bind", "--group", "x", "true"])
        .with_code(2)
        .says(&["numalab created no group of this name"]);
    laboratory.nothing_is_left();
}

#[test]
fn a_user_without_permission_is_told_what_it_takes() {
    const TEST: &str = "a_user_without_permission_is_told_what_it_takes";
    if !has_groups(TEST) || !is_root(TEST) {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let refused = laboratory.run(&["group", "create", "x"]).with_code(4);
    refused.says(&["is not writable by this user: needs root (CAP_DAC_OVERRIDE)"]);
    let refused = laboratory
        .run(&["bind", "--cpu-limit", "1", "true"])
        .with_code(4);
    refused.says(&["is not writable by this user"]);
    let shown = laboratory.run(&[
        "bind", "-m", "0", "--verify", "--after", "0.1", "sleep", "3",
    ]);
    shown.with_code(0).says(&["placement honoured"]);
    laboratory.nothing_is_left();
}
