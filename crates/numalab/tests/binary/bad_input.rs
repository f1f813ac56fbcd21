//! Bad input on the command line, in experiment files and in captured machines: errors say what is
//! wrong, where, and what was expected, and numalab never panics.
//!
//! Tests of experiment.

use std::fs;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;

#[test]
fn an_unknown_experiment_names_the_nearest() {
    let laboratory = Laboratory::new();
    let refused = laboratory.run(&["run", "binding-vs-cagin"]).with_code(2);
    refused.says(&[
        "no experiment named \"binding-vs-cagin\"",
        "did you mean `binding-vs-caging`?",
        "numalab list",
    ]);
    let refused = laboratory.run(&["run", "local-vs-remot"]).with_code(2);
    refused.says(&["did you mean `local-vs-remote`?"]);
    let hostile = laboratory.run(&["run", "\u{1b}[2Jx"]).with_code(2);
    assert!(!hostile.stderr.contains('\u{1b}'), "{:?}", hostile.stderr);
    laboratory.nothing_is_left();
}

/// Replaces `old` in a good file by `new` and looks for `expected` in the error.
#[track_caller]
fn check(laboratory: &Laboratory, old: &str, new: &str, expected: &[&str]) {
    let good = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all\"")
        .case("other", "allocation = \"interleave:all\"");
    assert!(good.text().contains(old), "{old}");
    let path = laboratory.file("mine.toml", good.text().replacen(old, new, 1));
    let refused = laboratory.run(&["run", &path]).with_code(2);
    let file = ["cannot read the experiment: ", &path];
    refused.says(&[&file[..], expected].concat());
    assert_eq!(refused.stdout, "");
}

#[test]
fn an_experiment_file_that_is_wrong_names_line_key_and_what_was_expected() {
    let laboratory = Laboratory::new();
    let check = |old, new, expected: &[&str]| check(&laboratory, old, new, expected);
    check(
        "cpus = \"all\"",
        "cpu = \"all\"",
        &[
            "line 14",
            "[[case]]",
            "one of the keys",
            "\"cpu\"",
            "did you mean `cpus`?",
        ],
    );
    check(
        "baseline = \"one\"",
        "baseline = \"on\"",
        &[
            "line 4",
            "`baseline`",
            "the name of a case: one, other",
            "did you mean `one`?",
        ],
    );
    check(
        "sessions = 2",
        "sessions = true",
        &[
            "line 9",
            "`sessions`",
            "expected a number from 1 to 8192",
            "found true",
        ],
    );
    check(
        "cache = \"1MiB\"",
        "cache = 1",
        &["line 7", "`cache` in [sga]", "a size from 1 MiB", "found 1"],
    );
    check(
        "interleave:all",
        "interleave:al",
        &["line 19", "`allocation`", "did you mean `interleave:all`?"],
    );
    check(
        "[load]",
        "[laod]",
        &["line 8", "\"laod\"", "did you mean `load`?"],
    );
    check("name = \"mine\"", "name = \"mine", &["line 2"]);
    check(
        "name = \"mine\"",
        "",
        &["`name` in the top of the file", "found nothing"],
    );
    check(
        "experiment/1",
        "experiment/2",
        &["line 1", "\"numalab.experiment/1\""],
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let laboratory = Laboratory::new();
    let refused = laboratory.run(&["run", "./missing.toml"]).with_code(2);
    refused.says(&["./missing.toml", "No such file"]);
    laboratory
        .run(&["run", "/tmp/"])
        .with_code(2)
        .says(&["/tmp/", "Is a directory"]);
    let binary = laboratory.file("binary.toml", b"\xff\xff\x00name");
    laboratory
        .run(&["run", &binary])
        .with_code(2)
        .says(&[&binary, "UTF-8"]);
    // Endless or too large: these must not be read whole.
    laboratory
        .run(&["run", "/dev/zero"])
        .with_code(2)
        .says(&["/dev/zero", "1 MiB"]);
    let huge = laboratory.file("huge.toml", "# long\n".repeat(1 << 18));
    laboratory
        .run(&["run", &huge])
        .with_code(2)
        .says(&[&huge, "1 MiB"]);
    laboratory.nothing_is_left();
}

#[test]
fn wrong_options_are_refused_with_what_was_expected() {
    let laboratory = Laboratory::new();
    let check = |words: &[&str], expected: &[&str]| {
        let refused = laboratory.run(words).with_code(2);
        refused.says(expected);
        assert_eq!(refused.stdout, "");
    };
    let experiment = "binding-vs-caging";
    check(
        &["run", experiment, "--trials", "2"],
        &["--trials 2", "at least 5"],
    );
    check(
        &["run", experiment, "--trials", "many"],
        &["'many'", "--trials"],
    );
    check(
        &["run", experiment, "--seconds", "x"],
        &["'x'", "--seconds", "0.05"],
    );
    check(
        &["run", experiment, "--seconds", "-1"],
        &["'-1'", "--seconds", "0.05"],
    );
    check(&["run", experiment, "--seed", "-1"], &["'-1'", "--seed"]);
    check(
        &["run", experiment, "--trails", "5"],
        &["--trails", "--trials"],
    );
    check(&["topolgy"], &["'topolgy'", "'topology'"]);
    check(&["topology", "--json", "--cpus"], &["--json", "--cpus"]);
    check(&["history", "--limit", "all"], &["'all'", "--limit"]);
    laboratory.nothing_is_left();
}

#[test]
fn a_captured_machine_that_is_malformed_is_named_by_its_file() {
    let laboratory = Laboratory::new();
    let machine = testing::article_machines::four_nodes();
    let check = |path: &str, content: &str| {
        let mut tree = machine.tree();
        tree.set(path, content);
        let unpacked = tree.expand().unwrap();
        let root = unpacked.path().to_str().unwrap().to_owned();
        let refused = laboratory.run(&["topology", "--root", &root]);
        assert_eq!(refused.status.code(), Some(3), "{path} {content:.40}");
        refused.says(&["cannot read the topology", path]);
        assert_eq!(refused.stdout, "");
    };
    let node = "sys/devices/system/node";
    let online = "sys/devices/system/cpu/online";
    check(online, "0-x\n");
    check(online, &"9".repeat(1 << 20));
    check(online, &"0-3,".repeat(5 << 20));
    check(&format!("{node}/node1/distance"), "21 ten 21 21\n");
    check(&format!("{node}/node0/cpulist"), "0-99999999999\n");
    check(
        &format!("{node}/node2/meminfo"),
        "Node 2 MemTotal: much kB\n",
    );
}

#[test]
fn a_root_that_is_no_captured_machine_is_refused() {
    let laboratory = Laboratory::new();
    let missing = laboratory.run(&["topology", "--root", "./missing"]);
    missing.with_code(2).says(&["--root", "./missing"]);
    let file = laboratory.file("file", "");
    laboratory
        .run(&["topology", "--root", &file])
        .with_code(2)
        .says(&["--root", &file]);
    let empty = laboratory.state().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    laboratory
        .run(&["topology", "--root", empty])
        .with_code(3)
        .says(&["cannot read", empty]);
}
