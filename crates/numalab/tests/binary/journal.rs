//! Which changes are still in use: `numalab undo` looks for the process that made a change, not
//! only for its id.
//!
//! Tests of journal.

use std::fs;
use std::io::Write;

use linux::Root;
use linux::private_folder::PrivateFolder;

use testing::{Need, not_run};

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::processes::Role;
use crate::unmet_need::has_groups;

/// Returns a laboratory whose journal says that a process created a group, which is gone by now.
fn with_entry(maker: &str) -> Laboratory {
    let change = r#"{"kind":"group-created","directory":"/sys/fs/cgroup/cpuset/numalab-none"}"#;
    with_change(maker, change)
}

/// Returns a laboratory whose journal has this change, made by this process.
fn with_change(maker: &str, change: &str) -> Laboratory {
    let laboratory = Laboratory::new();
    let line = format!("{{\"entry\":1,{maker},\"change\":{change}}}\n");
    let folder = PrivateFolder::open_or_make(&laboratory.state().join("numalab")).unwrap();
    let mut journal = folder.append("journal.jsonl").unwrap();
    journal.write_all(line.as_bytes()).unwrap();
    laboratory
}

fn with_a_group() -> ExperimentFile {
    ExperimentFile::new("one", SMALL).case("one", "cpus = \"all:1\"\nmechanism = \"group\"")
}

/// In a container, a killed coordinator may stay a zombie.
#[test]
fn a_killed_coordinator_that_nobody_collects_holds_nothing() {
    if !has_groups("a_killed_coordinator_that_nobody_collects_holds_nothing") {
        return;
    }
    let laboratory = Laboratory::new();
    let path = laboratory.file("group.toml", with_a_group().text());
    let mut under_way = laboratory.start(&["run", &path]);
    under_way.until_there_are(1, Role::Session);
    under_way.kill();
    laboratory.no_process_or_memory_is_left();
    let undone = laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(undone.starts_with("undone: processor group"), "{undone}");
    laboratory.nothing_is_left();
    under_way.finish();
}

#[test]
fn another_process_with_the_same_id_holds_nothing() {
    // Process 1 runs, but it did not start that late.
    let pid = "\"pid\":1,\"boot\":\"BOOT\",\"start_ticks\":99999999999999";
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let later = with_entry(&pid.replace("BOOT", boot.trim()));
    later.run(&["undo"]).with_code(0);
    later.nothing_is_left();
}

/// Returns the machine on which the tests run, as in a line of the journal; `None` if it has no id.
fn this_machine() -> Option<String> {
    let id = linux::machine_id::read(&Root::live())?;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    Some(format!("{{\"id\":\"{id}\",\"host\":\"{}\"}}", host.trim()))
}

/// Returns a process of an earlier boot.
fn earlier(machine: &str) -> String {
    let boot = "00000000-0000-0000-0000-000000000000";
    format!("\"pid\":1,\"boot\":\"{boot}\",\"start_ticks\":7,\"machine\":{machine}")
}

/// After a reboot, ids and start times belong to other processes.
#[test]
fn what_was_made_before_the_machine_was_rebooted_is_struck_off() {
    let test = "what_was_made_before_the_machine_was_rebooted_is_struck_off";
    let Some(machine) = this_machine() else {
        return not_run(test, Need::Kernel, "this machine has no /etc/machine-id");
    };
    let rebooted = with_entry(&earlier(&machine));
    let undone = rebooted.run(&["undo"]).with_code(0).stdout;
    assert!(undone.starts_with("undone: processor group"), "{undone}");
    rebooted.nothing_is_left();
}

#[test]
fn what_another_machine_changed_is_named_and_left_alone() {
    let check = |maker: &str, made: &str| {
        let laboratory = with_entry(maker);
        let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
        assert!(listed.starts_with("1: processor group"), "{listed}");
        assert!(listed.contains(&format!("made {made}")), "{listed}");
        for words in [&["undo"][..], &["undo", "--force"]] {
            let undone = laboratory.run(words).with_code(0);
            let left = "left in place: 1: processor group";
            assert!(undone.stdout.starts_with(left), "{}", undone.stdout);
            assert!(undone.stdout.contains(made), "{}", undone.stdout);
            undone.says(&["hint: run `numalab undo` on that machine"]);
        }
        let named = laboratory.run(&["undo", "1"]).with_code(4);
        named.says(&["1: processor group", made, "hint: ", "--force"]);
        assert_eq!(laboratory.run(&["undo", "--list"]).stdout, listed);
        let struck = laboratory.run(&["undo", "--force", "1"]).with_code(0);
        let off = "dropped from the journal: processor group";
        assert!(struck.stdout.starts_with(off), "{}", struck.stdout);
        laboratory.nothing_is_left();
    };
    let id = "00112233445566778899aabbccddeeff";
    let other = format!("{{\"id\":\"{id}\",\"host\":\"db2\"}}");
    check(&earlier(&other), "on db2");
    // A machine without an id and a line of the first versions do not tell which machine it was.
    let unknown = "under another boot id, on an unknown machine (";
    check(&earlier("{}"), unknown);
    let first_versions = earlier("{}").replace(",\"machine\":{}", "");
    check(&first_versions, unknown);
}

/// Lines without a start time were written by the first versions.
#[test]
fn a_running_process_holds_what_it_made() {
    let laboratory = with_entry("\"pid\":1");
    let listed = laboratory.run(&["undo", "--list"]).with_code(0).stdout;
    assert!(listed.contains("by process 1, still running"), "{listed}");
    let refused = laboratory.run(&["undo"]).with_code(4);
    refused.says(&["is in use by process 1, which is still running", "hint: "]);
}

#[test]
fn undo_leaves_a_run_under_way_alone() {
    if !has_groups("undo_leaves_a_run_under_way_alone") {
        return;
    }
    let laboratory = Laboratory::new();
    let path = laboratory.file("group.toml", with_a_group().text());
    let words = ["run", &path, "--trials", "5", "--seconds", "0.2"];
    let mut under_way = laboratory.start(&words);
    under_way.until_trials_are_stored(1);
    under_way.until_there_are(2, Role::Session);
    let refused = laboratory.run(&["undo"]).with_code(4);
    refused.says(&["numalab-", "is in use by process", "which is still running"]);
    assert_eq!(refused.stdout, "");
    under_way.finish().with_code(0);
    let run = laboratory.document(&["show", "--json"]);
    assert_eq!(run["cases"][0]["trials_valid"], 5);
    assert_eq!(run["cases"][0]["trials_failed"], 0);
    laboratory.nothing_is_left();
}

/// Returns a process of this boot that has ended.
fn ended() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    format!("\"pid\":4194304,\"boot\":\"{}\"", boot.trim())
}

#[test]
fn what_cannot_be_undone_is_given_up_by_its_number() {
    let schema = r#"{"kind":"schema-made","schema":"numalab_1","server":"SERVER"}"#;
    // Nothing listens on port 1, or a password is asked for and not stored.
    let schema = schema.replace("SERVER", "postgresql://dba@127.0.0.1:1/postgres");
    let pages = r#"{"kind":"pages-moved","target":"1","to":"0","pids":[1]}"#;
    let later = r#"{"kind":"of-a-later-version","field":1}"#;
    let cases = [
        (schema.as_str(), "DROP SCHEMA \"numalab_1\" CASCADE"),
        (pages, "line 1 is not of moved pages"),
        (later, "\"of-a-later-version\""),
    ];
    for (change, why) in cases {
        let laboratory = with_change(&ended(), change);
        let list = laboratory.state().join("numalab/moved-1.jsonl");
        if change == pages {
            let folder = PrivateFolder::open(list.parent().unwrap()).unwrap();
            let mut list = folder.unwrap().append("moved-1.jsonl").unwrap();
            list.write_all(b"damaged\n").unwrap();
        }
        for words in [&["undo"][..], &["undo", "1"], &["undo", "--force"]] {
            let refused = laboratory.run(words).with_code(4);
            refused.says(&[why, "hint: ", "`--force NUMBER` gives up"]);
        }
        let given_up = laboratory
            .run(&["undo", "--force", "1"])
            .with_code(0)
            .stdout;
        assert!(
            given_up.starts_with("gave up, and may have left it in place: "),
            "{given_up}"
        );
        assert!(given_up.contains(why), "{given_up}");
        assert!(!list.exists());
        laboratory.nothing_is_left();
    }
}
