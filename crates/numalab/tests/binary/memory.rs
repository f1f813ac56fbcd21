//! `numalab latency` and `numalab bandwidth`: results are stored and shown, matrices measured
//! elsewhere are judged, and errors name what is wrong, with a hint.
//!
//! Tests of kernels, judgement.

use serde_json::{Value, json};

use crate::busy::Busy;
use crate::huge_page_pool::{Pool, count};
use crate::laboratory::Laboratory;

/// The matrix of article 002: one row, and the firmware's table beside it.
const MATRIX_002: &str = "53 211 217 248\n";
const NUMACTL_002: &str = "available: 4 nodes (0-3)
node 0 cpus: 0 1 2 3
node distances:
node   0   1   2   3
  0:  10  21  21  21
  1:  21  10  21  21
  2:  21  21  10  21
  3:  21  21  21  10
";

/// Memory that needs no search for a size beyond all caches, which takes seconds.
pub(crate) const SMALL: [&str; 2] = ["--working-set", "64MiB"];

#[test]
fn the_hidden_hop_of_article_002_is_found() {
    let laboratory = Laboratory::new();
    let matrix = laboratory.file("matrix.txt", MATRIX_002);
    let distances = laboratory.file("distances.txt", NUMACTL_002);
    let arguments = ["latency", "--from", &matrix, "--distances", &distances];
    let text = laboratory.run(&arguments).with_code(0).stdout;
    assert!(text.contains("hidden-hop"), "{text}");
    let document = laboratory.run(&[&arguments[..], &["--json"]].concat());
    let document = document.with_code(0).document();
    assert_eq!(document["ns"], json!([[53.0, 211.0, 217.0, 248.0]]));
    assert_eq!(document["distances"], json!([[10, 21, 21, 21]]));
    let findings = document["findings"].as_array().unwrap();
    let hidden = findings.iter().find(|it| it["id"] == "hidden-hop").unwrap();
    let message = hidden["message"].as_str().unwrap();
    assert!(
        message.contains("14") && message.contains("17"),
        "{message}"
    );
    // numalab's own document is read back as it was written.
    let own = laboratory.file("own.json", document.to_string());
    let again = laboratory.run(&["latency", "--from", &own, "--json"]);
    let again = again.with_code(0).document();
    for key in ["ns", "distances", "hop_classes", "links", "findings"] {
        assert_eq!(again[key], document[key], "{key}");
    }
}

#[test]
fn a_matrix_file_that_is_wrong_is_named_with_its_line() {
    let laboratory = Laboratory::new();
    let check = |text: &str, expected: &[&str]| {
        let path = laboratory.file("matrix.txt", text);
        let refused = laboratory.run(&["latency", "--from", &path]).with_code(2);
        refused.says(&[&[path.as_str()], expected, &["hint: a matrix is"]].concat());
        assert_eq!(refused.stdout, "");
    };
    check("10 20\n30\n", &["line 2", "2 cells", "1 cell"]);
    check("10,20\n30,forty\n", &["line 2", "forty"]);
    check("", &["expected"]);
    check("{\"format\": \"numalab.run/1\"}", &["numalab.latency/1"]);
    // Commas, headings and unmeasured cells are no errors.
    for good in ["10,20\n20,10\n", "node 0 1\n0 10 -\n1 20 10\n"] {
        let path = laboratory.file("matrix.txt", good);
        laboratory.run(&["latency", "--from", &path]).with_code(0);
    }
    let matrix = laboratory.file("matrix.txt", "10 20\n20 10\n");
    let distances = laboratory.file("distances.txt", "node distances:\nnode 0 1\n0: 10\n");
    let refused = laboratory.run(&["latency", "--from", &matrix, "--distances", &distances]);
    refused
        .with_code(2)
        .says(&["table of distances", "distances.txt"]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_named_before_anything_is_measured() {
    let laboratory = Laboratory::new();
    let refused = laboratory.run(&["latency", "--from", "/nonexistent/matrix"]);
    refused
        .with_code(2)
        .says(&["/nonexistent/matrix", "No such file"]);
    let refused = laboratory.run(&["latency", "--from", "/dev/zero"]);
    refused
        .with_code(2)
        .says(&["/dev/zero", "the file is larger than 64 MiB"]);
    for command in ["latency", "bandwidth"] {
        let refused = laboratory.run(&[command, "--csv", "/nonexistent/out.csv"]);
        refused
            .with_code(2)
            .says(&["cannot write /nonexistent/out.csv", "hint"]);
    }
    assert!(!laboratory.store().exists());
}

#[test]
fn nodes_and_options_that_make_no_sense_are_refused() {
    let laboratory = Laboratory::new();
    let says = |arguments: &[&str], expected: &str| {
        let refused = laboratory.run(arguments).with_code(2);
        refused.says(&[expected]);
    };
    says(&["latency", "--nodes", "1023"], "node 1023 does not exist");
    says(
        &["latency", "--curve=0:1023", "--anyway"],
        "node 1023 has no usable memory",
    );
    says(
        &["latency", "--curve=near"],
        "expected local, all, or two nodes",
    );
    says(&["latency", "--distances", "x"], "--from");
    says(
        &["latency", "--from", "x", "--cores"],
        "cannot be used with",
    );
    says(&["latency", "--rounds", "0"], "0 is not in 1..=1000");
    says(&["bandwidth", "--kernel", "sum"], "nt-write");
}

#[test]
fn a_busy_machine_is_not_fit_and_is_measured_anyway_with_a_finding() {
    let laboratory = Laboratory::new();
    let _busy = Busy::everywhere();
    let refused = laboratory.run(&["latency"]).with_code(5);
    refused.says(&["not fit to measure now", "are runnable", "--anyway"]);
    assert_eq!(refused.stdout, "");
    let words = ["latency", "--anyway", "--rounds", "1", "--json"];
    let measured = laboratory.run(&[&words[..], &SMALL].concat());
    let document = measured.with_code(0).document();
    let findings = document["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|it| it["id"] == "not-fit"),
        "{findings:?}"
    );
}

#[test]
fn a_matrix_is_stored_as_a_run_and_shown_again() {
    let laboratory = Laboratory::new();
    let arguments = [
        "latency", "--anyway", "--rounds", "5", "--seed", "7", "--json",
    ];
    let document = laboratory.document(&[&arguments[..], &SMALL].concat());
    assert_eq!(document["format"], "numalab.latency/1");
    assert_eq!(document["method"]["rounds"], 5);
    let row = document["ns"][0].as_array().unwrap();
    assert!(row.iter().all(Value::is_number), "{document}");
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    let run = laboratory.run(&["show", "last", "--json"]).with_code(0);
    let run = run.document();
    assert_eq!(
        (&run["experiment"], &run["metric"]),
        (&json!("latency"), &json!("ns_per_access"))
    );
    assert_eq!(run["run"], document["runs"][0]);
    for case in run["cases"].as_array().unwrap() {
        // A trial that a busy machine disturbed does not count, and says why.
        let trials = case["trials"].as_array().unwrap();
        let (valid, disturbed): (Vec<_>, Vec<_>) =
            trials.iter().partition(|trial| trial["valid"] == true);
        assert!(!valid.is_empty(), "{case:#}");
        assert!(
            disturbed.iter().all(|it| it["reason"].is_string()),
            "{case:#}"
        );
        for trial in valid {
            assert_eq!(trial["logical_reads_per_s"], Value::Null);
            assert_eq!(trial["kernel"]["windows"].as_array().unwrap().len(), 51);
            let memory = &trial["evidence"]["measurements"][0]["memory_after"];
            assert_eq!(memory["bytes_without_node"], 0);
        }
    }
    let shown = laboratory.run(&["show", "last"]).with_code(0).stdout;
    assert!(shown.starts_with("Memory latency in ns"), "{shown}");
    laboratory.nothing_is_left();
}

#[test]
fn a_pool_too_small_for_the_working_set_is_no_obstacle() {
    const NAME: &str = "a_pool_too_small_for_the_working_set_is_no_obstacle";
    /// Room for 48 MiB: less than the working set.
    const FREE: u64 = 24;
    let laboratory = Laboratory::new();
    let used = count("nr_hugepages") - count("free_hugepages");
    let Some(_pool) = Pool::set(NAME, &laboratory, used + FREE) else {
        return;
    };
    let words = ["latency", "--anyway", "--rounds", "1", "--json"];
    let document = laboratory.document(&[&words[..], &SMALL].concat());
    assert!(document["ns"][0][0].is_number(), "{document}");
    assert_ne!(document["method"]["page_kind"], "huge", "{document}");
}

#[test]
fn bandwidth_is_stored_as_a_run_and_shown_again() {
    let mut laboratory = Laboratory::new();
    // One CPU and so one thread: on a busy machine, several may never run together.
    let cpus = linux::affinity::of_this_thread().unwrap();
    let cpu = cpus.as_slice()[0].to_string();
    laboratory.launch_behind(&["taskset", "--cpu-list", &cpu]);
    let arguments = [
        "bandwidth",
        "--kernel",
        "copy",
        "--anyway",
        "--rounds",
        "1",
        "--json",
    ];
    let document = laboratory.run(&arguments).with_code(0).document();
    assert_eq!(document["format"], "numalab.bandwidth/1");
    assert_eq!(document["kernel"], "copy");
    assert!(document["bytes_per_s"][0][0].is_number(), "{document}");
    let shown = laboratory.run(&["show", "last"]).with_code(0).stdout;
    assert!(
        shown.starts_with("Memory bandwidth in GB/s: copy"),
        "{shown}"
    );
    laboratory.nothing_is_left();
}
