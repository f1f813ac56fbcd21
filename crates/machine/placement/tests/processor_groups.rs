//! Processor groups on this machine's own cgroup hierarchy, v1 or v2. Needs permission to make
//! cgroups; without it the tests say so and check the refusal instead.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use journal::{Journal, Kinds};
use linux::Root;
use model::CpuSet;
use placement::group::Group;
use placement::hierarchy::{self, Hierarchy};
use testing::{Need, not_run};

const KINDS: Kinds = Kinds(&[placement::CHANGES]);

fn hierarchy_or_refusal(test: &str) -> Option<Hierarchy> {
    match hierarchy::find(&Root::live()) {
        Ok(found) => Some(found),
        Err(error) => {
            let need = match error.is_permission() {
                true => Need::root_or_kernel(linux::process::is_root()),
                false => Need::Kernel,
            };
            not_run(test, need, &error.to_string());
            let missing = matches!(error, placement::Error::NoGroups { .. });
            assert!(missing || error.is_permission(), "{error}");
            None
        }
    }
}

fn one_cpu() -> CpuSet {
    let allowed = linux::affinity::of_this_thread().unwrap();
    allowed.iter().last().into_iter().collect()
}

fn name(test: &str) -> String {
    format!("numalab-test-{}-{test}", std::process::id())
}

#[test]
fn a_group_has_what_was_asked_and_leaves_nothing() {
    let Some(hierarchy) = hierarchy_or_refusal("a_group_has_what_was_asked_and_leaves_nothing")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::in_directory(folder.path());
    let cpus = one_cpu();
    let group = Group::create(&hierarchy, &name("a"), Some(&cpus), None, &journal).unwrap();
    let directory = group.directory().to_owned();
    let evidence = group.evidence().unwrap();
    assert_eq!(evidence.cpus, cpus);
    assert!(!evidence.memory_nodes.is_empty());
    assert_eq!(evidence.cgroup_version, hierarchy.version);
    let script = format!(
        "echo 0 > {}/cgroup.procs && grep Cpus_allowed_list /proc/self/status",
        directory.display()
    );
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text.split_whitespace().last(),
        Some(cpus.to_string().as_str()),
        "{text}"
    );
    group.remove().unwrap();
    assert!(!directory.exists());
    journal::undo(&journal, KINDS, |_| true, false).unwrap();
    assert_eq!(journal.in_force().unwrap(), []);
}

#[test]
fn a_group_left_behind_is_undone_from_the_journal() {
    let Some(hierarchy) = hierarchy_or_refusal("a_group_left_behind_is_undone_from_the_journal")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::in_directory(folder.path());
    let cpus = one_cpu();
    let group = Group::create(&hierarchy, &name("b"), Some(&cpus), None, &journal).unwrap();
    let directory = group.directory().to_owned();
    // As after kill -9: nobody removes the group.
    std::mem::forget(group);
    assert!(directory.exists());
    for expected in [1, 0] {
        let undone = journal::undo(&journal, KINDS, |_| true, false).unwrap();
        assert!(
            undone.iter().all(|undone| undone.failure.is_none()),
            "{undone:?}"
        );
        assert!(undone.len() >= expected, "{undone:?}");
        assert!(!directory.exists());
    }
}

/// A process that has joined a group.
fn member_of(directory: &std::path::Path) -> Child {
    let script = format!(
        "echo 0 > {}/cgroup.procs; echo; exec sleep 600",
        directory.display()
    );
    let mut command = Command::new("sh");
    let member = command.args(["-c", &script]).stdout(Stdio::piped()).spawn();
    let mut member = member.unwrap();
    let stdout = member.stdout.as_mut().unwrap();
    std::io::Read::read_exact(stdout, &mut [0]).unwrap();
    member
}

#[test]
fn what_a_trial_left_in_its_group_is_killed() {
    let Some(hierarchy) = hierarchy_or_refusal("what_a_trial_left_in_its_group_is_killed") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::in_directory(folder.path());
    let name = placement::group::trial_name(None);
    let group = Group::create(&hierarchy, &name, Some(&one_cpu()), None, &journal).unwrap();
    let mut member = member_of(group.directory());
    std::mem::forget(group);
    let undone = journal::undo(&journal, KINDS, |_| true, false).unwrap();
    assert!(undone.iter().all(|it| it.failure.is_none()), "{undone:?}");
    assert_eq!(member.wait().unwrap().signal(), Some(9));
    assert_eq!(journal.in_force().unwrap(), []);
}

#[test]
fn a_group_that_cannot_be_made_is_not_in_the_journal() {
    let Some(hierarchy) = hierarchy_or_refusal("a_group_that_cannot_be_made_is_not_in_the_journal")
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::in_directory(folder.path());
    let absent: CpuSet = "8000".parse().unwrap();
    let error = Group::create(&hierarchy, &name("c"), Some(&absent), None, &journal).unwrap_err();
    assert!(error.to_string().contains("cpuset.cpus"), "{error}");
    assert!(!hierarchy.parent.join(name("c")).exists());
    journal::undo(&journal, KINDS, |_| true, false).unwrap();
    assert_eq!(journal.in_force().unwrap(), []);
}
