//! `numalab latency --from`: output of Intel MLC under each of its headings, with the firmware's
//! distances from `numactl --hardware`.
//!
//! Tests of judgement, model.

use serde_json::json;

use crate::laboratory::Laboratory;

/// Two sockets and, behind the first, a memory node without CPUs: the matrix has one row less than
/// columns.
const NUMACTL: &str = "available: 3 nodes (0-2)
node 0 cpus: 0 1
node 0 size: 64215 MB
node 0 free: 60102 MB
node 1 cpus: 2 3
node 1 size: 64507 MB
node 1 free: 61010 MB
node 2 cpus:
node 2 size: 131072 MB
node 2 free: 131000 MB
node distances:
node   0   1   2
  0:  10  21  17
  1:  21  10  28
  2:  17  28  10
";

/// Returns output of MLC with the matrix below `heading`.
fn mlc(heading: &str) -> String {
    format!(
        "Intel(R) Memory Latency Checker - v3.11b\n\
         *** Unable to modify prefetchers (try executing 'modprobe msr')\n{heading}\n\
         \t\tNuma node\nNuma node\t     0\t     1\t     2\t\n       0\t  82.5\t 139.0\t 255.5\t\n\
         \x20      1\t 140.0\t  81.5\t     -\t\n\n\
         Measuring Peak Injection Memory Bandwidths for the system\n\
         ALL Reads        :\t123456.7\n"
    )
}

#[test]
fn every_heading_of_intel_mlc_is_read_and_its_kind_of_access_told() {
    let laboratory = Laboratory::new();
    let distances = laboratory.file("numactl.txt", NUMACTL);
    for (heading, access) in [
        ("Measuring idle latencies (in ns)...", None),
        (
            "Measuring idle latencies for random access (in ns)...",
            Some("random access"),
        ),
        (
            "Measuring idle latencies for sequential access (in ns)...",
            Some("sequential access"),
        ),
    ] {
        let file = laboratory.file("mlc.txt", mlc(heading));
        let arguments = ["latency", "--from", &file, "--distances", &distances];
        let document = laboratory.run(&[&arguments[..], &["--json"]].concat());
        let document = document.with_code(0).document();
        assert_eq!(document["cpu_nodes"], json!([0, 1]));
        assert_eq!(document["memory_nodes"], json!([0, 1, 2]));
        let ns = json!([[82.5, 139.0, 255.5], [140.0, 81.5, null]]);
        assert_eq!(document["ns"], ns, "{heading}");
        assert_eq!(document["distances"], json!([[10, 21, 17], [21, 10, 28]]));
        let note = document["note"].as_str();
        assert_eq!(note.is_some(), access.is_some(), "{heading}: {note:?}");
        let text = laboratory.run(&arguments).with_code(0).stdout;
        if let Some(access) = access {
            assert!(note.unwrap().contains(access), "{heading}: {note:?}");
            assert!(text.contains(access), "{text}");
        }
        // A distance of 17 is less than 21, but its latency is higher.
        let findings = document["findings"].as_array().unwrap();
        let ids: Vec<&str> = findings.iter().filter_map(|it| it["id"].as_str()).collect();
        assert!(ids.contains(&"understated"), "{ids:?}");
        assert!(text.contains("understated"), "{text}");
    }
}

#[test]
fn text_of_intel_mlc_that_is_damaged_is_named_with_its_line() {
    let laboratory = Laboratory::new();
    let check = |text: &str, expected: &[&str]| {
        let path = laboratory.file("mlc.txt", text);
        let refused = laboratory.run(&["latency", "--from", &path]).with_code(2);
        refused.says(&[&["mlc.txt"], expected].concat());
    };
    let whole = mlc("Measuring idle latencies (in ns)...");
    check(
        &whole.replace("\t 255.5", ""),
        &["line 6", "3 cells", "2 cells"],
    );
    check(&whole.replace("139.0", "far"), &["line 6", "far"]);
    check(
        &whole.replace("idle latencies", "bandwidths"),
        &["Measuring idle latencies"],
    );
    // Cut off in the middle of the last row.
    let cut = whole.split("81.5").next().unwrap();
    check(cut, &["line 7", "3 cells"]);
}

#[test]
fn distances_of_another_machine_are_refused() {
    let laboratory = Laboratory::new();
    let check = |matrix: &str, distances: &str, expected: &[&str]| {
        let matrix = laboratory.file("matrix.txt", matrix);
        let distances = laboratory.file("distances.txt", distances);
        let arguments = ["latency", "--from", &matrix, "--distances", &distances];
        let refused = laboratory.run(&arguments).with_code(2);
        refused.says(
            &[
                expected,
                &[
                    "not from the same machine",
                    "hint: use files from the same machine",
                ],
            ]
            .concat(),
        );
        assert_eq!(refused.stdout, "");
    };
    let square = |count: usize, own: u32, other: u32| {
        let cell = |row, column| if row == column { own } else { other }.to_string();
        let row = |row| {
            (0..count)
                .map(|column| cell(row, column))
                .collect::<Vec<_>>()
        };
        let rows = (0..count).map(|number| row(number).join(" ") + "\n");
        rows.collect::<String>()
    };
    check(
        &square(6, 80, 140),
        &square(8, 10, 21),
        &[
            "has distances of 8 nodes (0-7)",
            "has latencies of 6 nodes (0-5)",
        ],
    );
    check(
        &square(8, 80, 140),
        &square(6, 10, 21),
        &["6 nodes (0-5)", "8 nodes (0-7)"],
    );
    check(
        "node 0 8\n0 80 140\n8 140 80\n",
        &square(2, 10, 21),
        &["2 nodes (0-1)", "2 nodes (0,8)"],
    );
}

#[test]
fn a_node_without_cpus_has_no_row_to_judge() {
    let laboratory = Laboratory::new();
    let matrix = laboratory.file("matrix.txt", "node 0 1\n0 80 250\n");
    let distances = "node distances:\nnode   0   1\n  0:  10  31\n  1: 255  10\n";
    let distances = laboratory.file("distances.txt", distances);
    let arguments = ["latency", "--from", &matrix, "--distances", &distances];
    let text = laboratory.run(&arguments).with_code(0).stdout;
    assert!(text.contains("Nothing to report"), "{text}");
}

#[test]
fn local_latencies_that_differ_are_one_finding_and_so_are_alike_rows() {
    let laboratory = Laboratory::new();
    let ns = |row: usize, column: usize| match (row == column, row == 3) {
        (true, true) => 139,
        (true, false) => 103,
        (false, _) => 200 + 100 * usize::from(row / 2 != column / 2),
    };
    let row = |row| {
        (0..4)
            .map(|column| ns(row, column).to_string())
            .collect::<Vec<_>>()
    };
    let rows: String = (0..4).map(|number| row(number).join(",") + "\n").collect();
    let matrix = laboratory.file("matrix.csv", rows);
    let distances = "10 21 21 21\n21 10 21 21\n21 21 10 21\n21 21 21 10\n";
    let distances = laboratory.file("distances.txt", distances);
    let arguments = [
        "latency",
        "--from",
        &matrix,
        "--distances",
        &distances,
        "--json",
    ];
    let document = laboratory.run(&arguments).with_code(0).document();
    let findings = document["findings"].as_array().unwrap();
    let messages = |id: &str| -> Vec<&str> {
        let found = findings.iter().filter(|it| it["id"] == id);
        found.map(|it| it["message"].as_str().unwrap()).collect()
    };
    let [outlier] = messages("local-outlier")[..] else {
        panic!("{findings:?}");
    };
    assert!(outlier.contains("node 3 is slower (139 ns)") && outlier.contains("34 %"));
    let [hidden] = messages("hidden-hop")[..] else {
        panic!("{findings:?}");
    };
    assert!(hidden.contains("from nodes 0-1 to nodes 2-3, from nodes 2-3 to nodes 0-1"));
}

#[test]
fn a_matrix_between_cpus_is_refused_with_its_commas() {
    let laboratory = Laboratory::new();
    let matrix = laboratory.file("cores.csv", ",,\n45.3,,\n46.1,45.9,\n");
    let refused = laboratory.run(&["latency", "--from", &matrix]).with_code(2);
    refused.says(&["line 1", "a matrix between CPUs", "\",,\""]);
}

/// Four nodes, two of them without CPUs.
const FAR_NODES: &str = "81.0 140.0 170.0 300.0\n140.0 81.0 300.0 170.0\n- - - -\n- - - -\n";

/// The firmware's distances of them, as `iasl -d` shows a SLIT.
const SLIT: &str = "[000h 0000 004h]   Signature : \"SLIT\"    [System Locality Information Table]
[024h 0036 008h]  Localities : 0000000000000004
[02Ch 0044 004h]  Locality   0 : 0A 15 11 1C
[030h 0048 004h]  Locality   1 : 15 0A 1C 11
[034h 0052 004h]  Locality   2 : 11 1C 0A 1E
[038h 0056 004h]  Locality   3 : 1C 11 1E 0A
";

#[test]
fn between_nodes_without_cpus_the_distance_of_the_firmware_stands() {
    let laboratory = Laboratory::new();
    let file = laboratory.file("far.txt", FAR_NODES);
    let slit = laboratory.file("slit.dsl", SLIT);
    let unknown = laboratory.document(&["firmware", "--from", &file, "--json"]);
    assert_eq!(
        unknown["measured"][2],
        json!([21, 37, 10, 20]),
        "{unknown:#}"
    );
    let notes = unknown["notes"].to_string();
    assert!(
        notes.contains("node 2 to node 3 cannot be measured"),
        "{notes}"
    );
    let words = ["firmware", "--from", &file, "--distances", &slit, "--json"];
    let known = laboratory.document(&words);
    assert_eq!(known["measured"][2], json!([21, 37, 10, 30]), "{known:#}");
    assert!(
        known["notes"]
            .to_string()
            .contains("the firmware's own distance, 30, stands")
    );
    // As bytes in hexadecimal; and instead of a matrix, of which only ratios mean something.
    let judged = laboratory.document(&["latency", "--from", &file, "--distances", &slit, "--json"]);
    assert_eq!(
        judged["distances"][0],
        json!([10, 21, 17, 28]),
        "{judged:#}"
    );
    let alone = laboratory.document(&["latency", "--from", &slit, "--json"]);
    assert_eq!(alone["ns"][2], json!([17.0, 28.0, 10.0, 30.0]), "{alone:#}");
    assert!(
        alone["note"]
            .as_str()
            .unwrap()
            .contains("only their ratios"),
        "{alone:#}"
    );
}

#[test]
fn a_row_of_a_node_below_0_does_not_end_a_matrix() {
    let laboratory = Laboratory::new();
    let text = mlc("Measuring idle latencies (in ns)...");
    let file = laboratory.file("mlc.txt", text.replace("      1\t 140", "     -1\t 140"));
    let refused = laboratory.run(&["latency", "--from", &file]);
    refused
        .with_code(2)
        .says(&["a row with its node", "\"-1\""]);
}
