//! Targets of every kind that do not exist: wrong usage (exit code 2), with a hint that shows how
//! to list those that do.
//!
//! Tests of residency.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::{has_groups, is_root};
use crate::user::NOBODY;

/// Asserts that every command that takes a target refuses it with these texts, in this order.
fn check(laboratory: &Laboratory, target: &str, code: i32, expected: &[&str]) {
    let archive = laboratory.file("none.tar.zst", "");
    for words in [
        &["inspect", target][..],
        &["doctor", target],
        &["predict", target],
        &["move", target, "--to", "0", "--dry-run"],
        &["capture", &archive, target],
    ] {
        let refused = laboratory.run(words).with_code(code);
        refused.says(expected);
        assert_eq!(refused.stdout, "", "{words:?}");
    }
}

#[test]
fn what_is_not_there_is_refused_with_what_shows_its_kind() {
    let laboratory = Laboratory::new();
    let check = |target: &str, expected: &[&str]| check(&laboratory, target, 2, expected);
    check("4000000000", &["no process of 4000000000", "`ps -e`"]);
    check(
        "no-such-program",
        &["no process of no-such-program", "`ps -e`"],
    );
    check(
        "oracle:NONE",
        &["no process of oracle:NONE", "_pmon_", "pluggable"],
    );
    check(
        "unit:none",
        &["no process of unit:none", "systemctl list-units"],
    );
    check(
        "cgroup:/no/such",
        &["no such control group: /no/such", "/sys/fs/cgroup"],
    );
    check(
        "postgres:/no/such",
        &[
            "no PostgreSQL server runs on /no/such: there is no such directory",
            "ps -C postgres",
        ],
    );
    let data = laboratory.state();
    let target = format!("postgres:{}", data.display());
    check(&target, &["it has no postmaster.pid", "ps -C postgres"]);
    let lock_file = data.join("postmaster.pid");
    fs::write(&lock_file, "hello\n").unwrap();
    check(
        &target,
        &["expected the PID of a postmaster", "ps -C postgres"],
    );
    fs::write(&lock_file, "4000000\n/data\n").unwrap();
    check(&target, &["no process of postgres:", "ps -C postgres"]);
}

#[test]
fn a_stranger_with_the_pid_of_a_server_that_is_gone_is_not_taken_for_it() {
    let laboratory = Laboratory::new();
    let data = laboratory.state();
    let sleeper = Running::start(&["sleep", "600"]);
    let pid = sleeper.0.id();
    fs::write(data.join("postmaster.pid"), format!("{pid}\n")).unwrap();
    let target = format!("postgres:{}", data.display());
    let names = format!("postmaster.pid names process {pid} (sleep)");
    check(&laboratory, &target, 2, &[&names, "ps -C postgres"]);
}

#[test]
fn a_data_directory_of_another_user_needs_permission() {
    const NAME: &str = "a_data_directory_of_another_user_needs_permission";
    if !is_root(NAME) {
        return;
    }
    let laboratory = Laboratory::of(NOBODY);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("postmaster.pid"), "1\n").unwrap();
    let only_ours = fs::Permissions::from_mode(0o700);
    fs::set_permissions(folder.path(), only_ours).unwrap();
    let target = format!("postgres:{}", folder.path().display());
    for command in ["inspect", "doctor"] {
        let refused = laboratory.run(&[command, &target]).with_code(4);
        refused.says(&["postmaster.pid: Permission denied", "as the owner"]);
    }
}

#[test]
fn a_control_group_without_processes_is_told_from_none() {
    const NAME: &str = "a_control_group_without_processes_is_told_from_none";
    if !is_root(NAME) || !has_groups(NAME) {
        return;
    }
    let laboratory = Laboratory::new();
    let group = format!("numalab-check-{}-empty", std::process::id());
    let words = ["group", "create", &group, "--all", "--json"];
    let made = laboratory.document(&words);
    let directory = made["groups"][0]["directories"][0].as_str().unwrap();
    let hierarchy = placement::hierarchy::find_controller(&linux::Root::live(), "cpuset").unwrap();
    let path = hierarchy.path(directory.as_ref());
    let target = format!("cgroup:{path}");
    check(
        &laboratory,
        &target,
        2,
        &["no process of", "have processes"],
    );
    laboratory.run(&["group", "delete", &group]).with_code(0);
    check(&laboratory, &target, 2, &["no such control group:"]);
    laboratory.nothing_is_left();
}
