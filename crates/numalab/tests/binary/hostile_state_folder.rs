//! numalab obeys the state folder and the journal, as root above all. So it refuses by name what
//! others may have written there, and executes a line only if numalab itself could have written it.
//!
//! Tests of journal, store.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use linux::private_folder::PrivateFolder;

use crate::laboratory::Laboratory;
use crate::unmet_need::is_root;
use crate::user::{NOBODY, User};

/// A laboratory with a file that must never change, and a journal that asks to change it.
struct Attacked {
    laboratory: Laboratory,
    precious: PathBuf,
}

impl Attacked {
    fn new() -> Self {
        let laboratory = Laboratory::new();
        let precious = PathBuf::from(laboratory.file("nr_hugepages", "9"));
        let attacked = Attacked {
            laboratory,
            precious,
        };
        let path = attacked.precious.display().to_string();
        let change = format!(r#"{{"kind":"pool-resized","path":"{path}","before":1,"asked":9}}"#);
        attacked.write(&[&change]);
        attacked
    }

    fn folder(&self) -> PathBuf {
        self.laboratory.state().join("numalab")
    }

    fn journal(&self) -> PathBuf {
        self.folder().join("journal.jsonl")
    }

    /// Writes a journal with these changes, made by a process that is gone.
    fn write(&self, changes: &[&str]) {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let folder = PrivateFolder::open_or_make(&self.folder()).unwrap();
        let mut journal = folder.append("journal.jsonl").unwrap();
        journal.set_len(0).unwrap();
        for (entry, change) in (1..).zip(changes) {
            let maker = format!("\"pid\":4194304,\"boot\":\"{}\"", boot.trim());
            writeln!(journal, "{{\"entry\":{entry},{maker},\"change\":{change}}}").unwrap();
        }
    }

    /// Asserts that every command that uses the folder fails without effect and reports the owner,
    /// the mode and a hint.
    #[track_caller]
    fn is_refused(&self, expected: &[&str]) {
        for words in [
            &["undo"][..],
            &["undo", "--force"],
            &["undo", "--list"],
            &["history"],
            &["group", "list"],
        ] {
            let refused = self.laboratory.run(words).with_code(9);
            refused.says(&["cannot use the state folder: "]);
            refused.says(expected);
            refused.says(&["hint: "]);
            assert_eq!(refused.stdout, "", "{words:?}");
        }
        self.is_unharmed();
    }

    #[track_caller]
    fn is_unharmed(&self) {
        assert_eq!(fs::read_to_string(&self.precious).unwrap(), "9");
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn give(path: &Path, user: User) {
    chown(path, Some(user.0), Some(user.0)).unwrap();
}

#[test]
fn what_others_may_write_is_refused_with_its_owner_and_mode() {
    let attacked = Attacked::new();
    let journal = attacked.journal();
    for (path, mode, shown) in [
        (&journal, 0o666, "mode 0666"),
        (&journal, 0o620, "mode 0620"),
        (&attacked.folder(), 0o777, "mode 0777"),
        (&attacked.folder(), 0o730, "mode 0730"),
        (&attacked.laboratory.state(), 0o707, "mode 0707"),
    ] {
        let before = fs::metadata(path).unwrap().permissions();
        set_mode(path, mode);
        let name = path.display().to_string();
        attacked.is_refused(&[&name, "is writable by others", shown, "chmod go-w"]);
        fs::set_permissions(path, before).unwrap();
    }
    set_mode(&journal, 0o600);
    // A run of another user would be shown as our own.
    let store = attacked.folder().join("runs.sqlite");
    fs::write(&store, "").unwrap();
    set_mode(&store, 0o666);
    attacked.is_refused(&["runs.sqlite is writable by others"]);
}

#[test]
fn links_in_the_place_of_folder_and_files_are_not_followed() {
    let attacked = Attacked::new();
    let elsewhere = attacked.laboratory.state().join("elsewhere");
    fs::rename(attacked.folder(), &elsewhere).unwrap();
    symlink(&elsewhere, attacked.folder()).unwrap();
    attacked.is_refused(&["numalab is not a folder, or is a symbolic link to one"]);
    fs::remove_file(attacked.folder()).unwrap();
    fs::rename(&elsewhere, attacked.folder()).unwrap();

    let journal = attacked.journal();
    let moved = attacked.folder().join("other");
    fs::rename(&journal, &moved).unwrap();
    symlink(&moved, &journal).unwrap();
    let refused = attacked.laboratory.run(&["undo"]).with_code(9);
    refused.says(&[
        "journal.jsonl is not a regular file, or is a symbolic link to one",
        "hint: ",
    ]);
    attacked.is_unharmed();
}

#[test]
fn root_obeys_no_folder_of_another_user() {
    if !is_root("root_obeys_no_folder_of_another_user") {
        return;
    }
    let attacked = Attacked::new();
    let all = [attacked.journal(), attacked.folder()];
    for path in &all {
        give(path, NOBODY);
        let name = path.display().to_string();
        let expected = [
            &name,
            "belongs to user 65534 (mode 0",
            "not to user 0",
            "sudo -H",
        ];
        attacked.is_refused(&expected);
    }
    // As under `sudo -E`: even the parent directory belongs to the user, and the folder does not
    // exist yet.
    let state = attacked.laboratory.state();
    fs::remove_dir_all(attacked.folder()).unwrap();
    NOBODY.owns(&state);
    attacked.is_refused(&[&state.display().to_string(), "belongs to user 65534"]);
    let refused = attacked.laboratory.run(&["run", "binding-vs-caging"]);
    refused.with_code(9).says(&["belongs to user 65534"]);
    assert!(!attacked.folder().exists());
}

/// A directory with decoys of the files that numalab changes, and a fake systemctl that records
/// that it was run.
struct Bait {
    attacked: Attacked,
    folder: PathBuf,
    run: PathBuf,
}

/// The content of every decoy, before and after.
const UNTOUCHED: &str = "7\n";

impl Bait {
    fn new() -> Self {
        let attacked = Attacked::new();
        let folder = attacked.laboratory.state().join("bait");
        for name in ["numalab-group", "other", "numalab-postgres-1-0"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::create_dir(folder.join("numalab-empty")).unwrap();
        for file in [
            "cpuset.cpus",
            "hugepages-2048kB",
            "cgroup.subtree_control",
            "other/cgroup.procs",
            "numalab-postgres-1-0/numalab.cluster",
        ] {
            fs::write(folder.join(file), UNTOUCHED).unwrap();
        }
        let own = std::process::id().to_string();
        fs::write(folder.join("numalab-group/cgroup.procs"), own).unwrap();
        symlink("/sys/devices/system/node", folder.join("node")).unwrap();
        let run = folder.join("run");
        let systemctl = folder.join("systemctl");
        fs::write(
            &systemctl,
            format!("#!/bin/sh\necho $* >>{}\n", run.display()),
        )
        .unwrap();
        set_mode(&systemctl, 0o755);
        Bait {
            attacked,
            folder,
            run,
        }
    }

    /// Asserts that a change is refused and named, stays in the journal until it is given up by its
    /// number, and that nothing is ever touched.
    fn check(&self, change: &str) {
        let change = change.replace("BAIT", self.folder.to_str().unwrap());
        self.attacked.write(&[&change]);
        let why = "the journal has an entry that numalab cannot have written (";
        for words in [&["undo"][..], &["undo", "--force"], &["undo", "1"]] {
            let output = self.run(words);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(4), "{change}: {said}");
            assert!(said.contains(why), "{said}");
            assert!(said.contains("hint: check journal.jsonl"), "{said}");
            self.is_untouched(&change);
        }
        let listed = self.attacked.laboratory.run(&["undo", "--list"]);
        assert!(listed.stdout.starts_with("1: "), "{}", listed.stdout);
        let output = self.run(&["undo", "--force", "1"]);
        assert_eq!(output.status.code(), Some(0), "{change}: {output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            said.starts_with("gave up, ") && said.contains(why),
            "{said}"
        );
        self.is_untouched(&change);
        let listed = self.attacked.laboratory.run(&["undo", "--list"]);
        assert_eq!(listed.stdout, "no changes in force\n");
    }

    /// Runs numalab with the bait first in its PATH.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = self.attacked.laboratory.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.folder.display()));
        command.output().unwrap()
    }

    #[track_caller]
    fn is_untouched(&self, change: &str) {
        for file in [
            "cpuset.cpus",
            "hugepages-2048kB",
            "cgroup.subtree_control",
            "other/cgroup.procs",
            "numalab-postgres-1-0/numalab.cluster",
        ] {
            let now = fs::read_to_string(self.folder.join(file)).unwrap();
            assert_eq!(now, UNTOUCHED, "{file} after {change}");
        }
        assert!(self.folder.join("numalab-empty").is_dir(), "{change}");
        assert!(!self.run.exists(), "systemctl was run: {change}");
    }
}

#[test]
fn a_line_can_ask_for_nothing_that_numalab_does_not_change() {
    let bait = Bait::new();
    // Files that are not the kernel's, or that numalab never writes.
    let file = |path: &str| {
        format!(r#"{{"kind":"file-written","path":"{path}","before":"1","written":"7"}}"#)
    };
    bait.check(&file("BAIT/cpuset.cpus"));
    bait.check(&file("/proc/self/comm"));
    bait.check(&file("/sys/devices/system/cpu/../cpu/online"));
    let pool =
        |path: &str| format!(r#"{{"kind":"pool-resized","path":"{path}","before":1,"asked":7}}"#);
    bait.check(&pool("BAIT/hugepages-2048kB"));
    bait.check(&pool("BAIT/node/possible"));
    bait.check(&pool("/sys/devices/system/node/possible"));
    // Directories that are not cgroups, or cgroups that are not numalab's.
    let group = |path: &str| format!(r#"{{"kind":"group-created","directory":"{path}"}}"#);
    bait.check(&group("BAIT/numalab-empty"));
    bait.check(&group("/sys/fs/cgroup"));
    let controller = |path: &str, name: &str| {
        format!(r#"{{"kind":"controller-enabled","directory":"{path}","controller":"{name}"}}"#)
    };
    bait.check(&controller("BAIT", "cpuset"));
    bait.check(&controller("/sys/fs/cgroup", "memory"));
    let named = |name: &str, path: &str, unit: &str| {
        format!(r#"{{"kind":"group-named","name":"{name}","directories":["{path}"]{unit}}}"#)
    };
    bait.check(&named("numalab-empty", "BAIT/numalab-empty", ""));
    bait.check(&named("../x", "/sys/fs/cgroup/x", ""));
    let unit = r#","unit":"ssh.service""#;
    bait.check(&named("none", "/sys/fs/cgroup/none", unit));
    let pid = std::process::id();
    let stat = linux::proc_stat::read(&linux::Root::live(), pid).unwrap();
    let member = format!(r#""pid":{pid},"start_ticks":{}"#, stat.start_ticks);
    let places = r#""from":["BAIT/other"],"to":["BAIT/numalab-group"]"#;
    bait.check(&format!(r#"{{"kind":"member-moved",{member},{places}}}"#));
    // A directory that another process has made, or none has.
    let cluster = |path: &str| format!(r#"{{"kind":"cluster-made","directory":"{path}"}}"#);
    bait.check(&cluster("BAIT/numalab-postgres-1-0"));
    bait.check(&cluster("BAIT"));
}

#[test]
fn a_group_that_a_line_invents_is_not_used() {
    let bait = Bait::new();
    let path = bait.folder.join("numalab-empty");
    let path = path.display();
    let change = format!(r#"{{"kind":"group-named","name":"db","directories":["{path}"]}}"#);
    bait.attacked.write(&[&change]);
    for words in [
        &["group", "list"][..],
        &["group", "delete", "db"],
        &["group", "set", "db", "--physcpubind=0"],
        &["bind", "--group", "db", "--", "true"],
    ] {
        let refused = bait.attacked.laboratory.run(words).with_code(9);
        refused.says(&["the journal has an entry that numalab cannot have written ("]);
        bait.is_untouched(&change);
    }
}
