//! `numalab bind`: a program starts where requested, ends as it would without numalab, and the
//! report says whether its placement took effect.
//!
//! Tests of placement, linux.

use rustix::process::Signal;

use crate::first_touch::report_in;
use crate::laboratory::{Laboratory, binary};
use crate::patience::until;
use crate::unmet_need::is_root;
use crate::user::User;

/// Prints the CPUs that the program may use, and its policy.
const SHOW: &str = "grep Cpus_allowed_list /proc/self/status; grep stack /proc/self/numa_maps";

#[test]
fn a_program_starts_under_the_policy_that_was_asked_for() {
    let laboratory = Laboratory::new();
    for (options, policy) in [
        (["--physcpubind", "+0", "--membind", "0"], "bind:0 stack"),
        (["-C", "+0", "-i", "all"], "interleave:0"),
        (["-C", "+0", "-p", "0"], "prefer:0 stack"),
        (["-C", "+0", "--localalloc", "--all"], "local stack"),
    ] {
        let words: Vec<_> = ["bind"]
            .iter()
            .chain(&options)
            .chain(&["--", "sh", "-c", SHOW])
            .copied()
            .collect();
        let shown = laboratory.run(&words).with_code(0).stdout;
        assert!(shown.contains(policy), "{options:?}: {shown}");
        let cpus = shown.lines().next().unwrap().rsplit('\t').next().unwrap();
        assert!(cpus.parse::<u32>().is_ok(), "one CPU: {shown}");
    }
}

#[test]
fn the_exit_status_is_that_of_the_program() {
    let laboratory = Laboratory::new();
    for verify in [&[][..], &["--verify"]] {
        let run = |command: &[&str]| {
            let words: Vec<_> = ["bind"]
                .iter()
                .chain(verify)
                .chain(&["--"])
                .chain(command)
                .copied()
                .collect();
            laboratory.run(&words)
        };
        run(&["sh", "-c", "exit 7"]).with_code(7);
        run(&["numalab-no-such-program"])
            .with_code(127)
            .says(&["cannot start numalab-no-such"]);
        run(&["/"]).with_code(126).says(&["cannot start /"]);
        let killed = run(&["sh", "-c", "kill -KILL $$"]);
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&killed.status),
            Some(9)
        );
    }
}

#[test]
fn streams_environment_and_arguments_pass_through() {
    let laboratory = Laboratory::new();
    for verify in [&[][..], &["--verify"]] {
        let script = "cat; echo \"$1 $NUMALAB_TEST\" >&2";
        let mut command = laboratory.command(&["bind", "--no-lint"]);
        command
            .args(verify)
            .args(["sh", "-c", script, "sh", "--x"])
            .env("NUMALAB_TEST", "here");
        command.stdin(std::process::Stdio::from(
            std::fs::File::open(laboratory.file("in", "fed\n")).unwrap(),
        ));
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "fed\n");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("--x here\n"), "{said}");
    }
}

#[test]
fn without_anything_to_do_afterwards_numalab_becomes_the_program() {
    let laboratory = Laboratory::new();
    let shown = laboratory.run(&[
        "bind",
        "-C",
        "all",
        "sh",
        "-c",
        "exec tr '\\0' ' ' </proc/$$/cmdline",
    ]);
    assert_eq!(shown.with_code(0).stdout, "tr \\0   ");
}

/// A program that lives until the report is there, however slow the machine is.
fn until_reported(file: &str) -> String {
    format!("while ! [ -s {file} ]; do sleep 0.1; done")
}

#[test]
fn a_program_that_keeps_its_policy_is_proved() {
    let laboratory = Laboratory::new();
    let file = laboratory.file("report", "");
    let script = until_reported(&file);
    let words = [
        "bind", "-N", "0", "-m", "0", "--verify", "--after", "0.2", "--json", "--output", &file,
        "--", "sh", "-c", &script,
    ];
    laboratory.run(&words).with_code(0);
    let report = report_in(&file);
    assert_eq!(report["format"], "numalab.bind/1");
    assert_eq!(report["honoured"], true, "{report}");
    assert_eq!(report["asked"]["policy"], "bind:0");
    assert_eq!(report["trigger_reached"], true);
    assert!(
        report["bytes_by_node"]["0"].as_u64().unwrap() > 0,
        "{report}"
    );
}

#[test]
fn a_program_that_sets_its_own_policy_is_found_out() {
    let laboratory = Laboratory::new();
    let file = laboratory.file("report", "");
    let script = until_reported(&file);
    // numalab itself sets the policy again; any program that calls set_mempolicy would do.
    let binary = binary();
    let program = [
        binary.to_str().unwrap(),
        "bind",
        "-i",
        "0",
        "sh",
        "-c",
        &script,
    ];
    let words = |after| {
        let verify = [
            "bind", "-N", "0", "-m", "0", "--verify", "--after", after, "--json",
        ];
        [&verify[..], &["--output", &file], &program].concat()
    };
    // It takes as long as the machine needs to start numalab twice.
    let mut tries = ["1", "8", "64"].into_iter();
    let report = tries.find_map(|after| {
        laboratory.file("report", "");
        let finished = laboratory.run(&words(after));
        assert_eq!(finished.stderr, "");
        (finished.status.code() == Some(6)).then(|| report_in(&file))
    });
    let report = report.expect("it is found out");
    assert_eq!(report["honoured"], false);
    let mut overrides = report["overrides"].as_array().unwrap().iter();
    let one = overrides.find(|one| one["name"] == "sh");
    let one = one.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(one["how"], "set-mempolicy");
    assert!(
        one["policy"].as_str().unwrap().starts_with("interleave:0"),
        "{report}"
    );
}

#[test]
fn an_amount_of_memory_can_be_waited_for() {
    let laboratory = Laboratory::new();
    let file = laboratory.file("report", "");
    let watched = |bytes: &str, script: &str| {
        laboratory.file("report", "");
        let verify = [
            "bind",
            "-N",
            "0",
            "-m",
            "0",
            "--verify",
            "--until-bytes",
            bytes,
        ];
        let words = ["--json", "--output", &file, "sh", "-c", script];
        let finished = laboratory.run(&[&verify[..], &words].concat());
        (finished, report_in(&file))
    };
    // tail keeps all of its last line: 16 MiB of zeros. It lives until numalab has looked at it.
    let is_seen = ["0.5", "5", "60"].iter().any(|seconds| {
        let tail = format!("{{ tail -n 1; sleep {seconds}; }} >/dev/null");
        let script = format!("head -c 16777216 /dev/zero | {tail}");
        let (finished, report) = watched("1000GiB", &script);
        assert_eq!(report["trigger_reached"], false, "{report}");
        let is_seen = report["looks"].as_u64().unwrap() > 0;
        if is_seen {
            finished.with_code(0);
        }
        is_seen
    });
    assert!(is_seen, "{}", report_in(&file));
    let (finished, report) = watched("64KiB", &until_reported(&file));
    finished.with_code(0);
    assert_eq!(report["trigger_reached"], true, "{report}");
}

#[test]
fn a_signal_to_numalab_reaches_the_program() {
    let laboratory = Laboratory::new();
    let script = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.1; done";
    let words = ["bind", "--verify", "--after", "600", "sh", "-c", script];
    let under_way = laboratory.start(&words);
    until("the trap is set", || {
        under_way.stdout().contains("ready").then_some(())
    });
    under_way.signal(Signal::TERM);
    under_way.finish().with_code(42);
}

#[test]
fn a_signal_to_the_whole_group_reaches_the_program_once() {
    let laboratory = Laboratory::new();
    let script = "trap 'echo one' USR1; trap 'exit 42' TERM; echo ready; \
                  while :; do sleep 0.1; done";
    let words = ["bind", "--verify", "--after", "600", "sh", "-c", script];
    let under_way = laboratory.start(&words);
    let so_many = |count: usize| {
        until("the program has told of its signals", || {
            (under_way.stdout().matches("one").count() >= count).then_some(())
        });
    };
    until("the traps are set", || {
        under_way.stdout().contains("ready").then_some(())
    });
    for count in 1..=5 {
        under_way.signal_group(Signal::USR1);
        so_many(count);
    }
    // A signal that numalab has not taken yet absorbs the next one of its kind (signal(7)), and
    // numalab takes none while it looks at the program's memory.
    until("numalab has taken its signals", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", under_way.pid()));
        let status = status.unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        (pending.unwrap().trim().trim_matches('0').is_empty()).then_some(())
    });
    under_way.signal(Signal::USR1);
    so_many(6);
    under_way.signal(Signal::TERM);
    let finished = under_way.finish().with_code(42);
    assert_eq!(finished.stdout.matches("one").count(), 6);
}

/// A user with no other process, so that a limit of processes counts those of the test.
const LONELY: User = User(61_834);

#[test]
fn a_program_that_cannot_be_followed_is_not_started() {
    if !is_root("a_program_that_cannot_be_followed_is_not_started") {
        return;
    }
    // No process more: not the one that watches signals; then not the program.
    let check = |processes: &str, code: i32, expected: &str| {
        let mut laboratory = Laboratory::of(LONELY);
        laboratory.launch_behind(&["prlimit", &format!("--nproc={processes}")]);
        let mark = laboratory.state().join("started");
        let script = format!("touch {}; exec sleep 600", mark.display());
        let finished = laboratory.run(&["bind", "--verify", "--", "sh", "-c", &script]);
        finished.with_code(code).says(&[expected]);
        laboratory.no_process_is_left();
        assert!(!mark.exists());
    };
    check("1", 3, "cannot start a process to watch signals: ");
    check("2", 126, "cannot start sh: ");
}

#[test]
fn numalab_waits_for_the_program_whatever_fails_meanwhile() {
    let laboratory = Laboratory::new();
    let wait = "until [ -e go ]; do sleep 0.01; done; touch done; exit ";
    for (name, status, code) in [("good", 0, 9), ("bad", 7, 7)] {
        for file in ["go", "done"] {
            let _ = std::fs::remove_file(laboratory.folder().join(file));
        }
        let script = format!("{wait}{status}");
        let words = [
            "bind",
            "--verify",
            "--after",
            "0.05",
            "--report",
            "/dev/full",
            "--",
            "sh",
            "-c",
            &script,
        ];
        let mut under_way = laboratory.start(&words);
        until("numalab says what failed", || {
            assert!(!under_way.has_ended(), "{name}: {}", under_way.stderr());
            let said = under_way.stderr();
            said.contains("cannot write the report: ").then_some(())
        });
        assert!(under_way.stderr().contains("; the program goes on"));
        laboratory.file("go", "");
        under_way.finish().with_code(code);
        assert!(laboratory.folder().join("done").exists(), "{name}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn what_means_nothing_here_is_refused() {
    let laboratory = Laboratory::new();
    let check = |words: &[&str], code: i32, expected: &str| {
        let words: Vec<_> = ["bind"].iter().chain(words).copied().collect();
        laboratory.run(&words).with_code(code).says(&[expected]);
    };
    check(
        &["-m", "4095", "true"],
        2,
        "--membind 4095: there is no node 4095: this machine has",
    );
    check(
        &["-N", "4095", "true"],
        2,
        "--cpunodebind 4095: there is no node 4095",
    );
    check(
        &["-C", "65000", "true"],
        2,
        "--physcpubind 65000: there is no online CPU 65000",
    );
    check(&["-m", "", "true"], 2, "the list is empty");
    check(&["-m", "!all", "true"], 2, "comes to no node at all");
    check(&["-m", "0-99999999", "true"], 2, "expected ids up to 65535");
    check(&["-m", "0", "-i", "0", "true"], 2, "cannot be used with");
    check(&["-C", "0", "-N", "0", "true"], 2, "cannot be used with");
    check(&["-i", "0", "-b", "true"], 2, "cannot be used with");
    check(&["-b", "true"], 2, "--membind");
    check(&["-m", "+7000", "true"], 2, "this process may use");
    check(&["-m", "netdev:none", "true"], 2, "netdev:none");
    check(&["--after", "1", "true"], 2, "--verify");
    check(
        &["--verify", "--report", "/no/such/folder/x", "true"],
        2,
        "/no/such/folder/x",
    );
    check(&[], 2, "<COMMAND>");
}
