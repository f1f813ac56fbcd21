//! Reads every form of a matrix, every fault in each, and arbitrary text.

use linux::TextFile;
use model::NodeId;
use proptest::prelude::*;

use super::{MatrixFile, matrix_of_file};

fn file(text: &str) -> TextFile {
    TextFile::new("m.txt", text)
}

fn read(text: &str) -> MatrixFile {
    matrix_of_file(&file(text)).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

/// A matrix in short: `0: 80 140; 1: - 80 (columns 0 1)`.
fn shown(text: &str) -> String {
    let matrix = read(text).matrix;
    let rows = matrix.rows().map(|(node, cells)| {
        let cells = cells.iter().map(|cell| match cell.value {
            Some(ns) => ns.to_string(),
            None => "-".to_owned(),
        });
        format!("{node}: {}", cells.collect::<Vec<_>>().join(" "))
    });
    let rows = rows.collect::<Vec<_>>().join("; ");
    let columns: Vec<String> = matrix
        .memory_nodes()
        .iter()
        .map(NodeId::to_string)
        .collect();
    format!("{rows} (columns {})", columns.join(" "))
}

fn check(text: &str, expected: &str) {
    assert_eq!(shown(text), expected, "{text}");
}

fn check_error(text: &str, expected: &str) {
    let error = matrix_of_file(&file(text)).expect_err(text).to_string();
    assert_eq!(error, format!("m.txt, line {expected}"), "{text}");
}

#[test]
fn tables_are_read_with_and_without_headings() {
    let expected = "0: 80 140; 1: 141.5 - (columns 0 1)";
    check("80 140\n141.5 -\n", expected);
    check("80,140\n141.5,\n", expected);
    check("# measured by hand\n\n 80\t140\n141.5  NA\n", expected);
    check("80, 140\n141.5, null\n", expected);
    check("node 0 1\n0 80 140\n1 141.5 -\n", expected);
    check("node   0   1 \n  0:  80  140\n  1:  141.5  -\n", expected);
    check("0: 80 140\n1: 141.5 -\n", expected);
    check("  0 1\n0 80 140\n1 141.5 -\n", expected);
    check("node0 node1\nnode0 80 140\nnode1 141.5 -\n", expected);
    check("cpu_node,0,1\n0,80,140\n1,141.5,\n", expected);
    check(",0,1\n0,80,140\n1,141.5,-\n", expected);
    check("ns 0 1\nnode 0: 80 140\nnode 1: 141.5 -\n", expected);
}

#[test]
fn tables_need_not_be_square_where_nodes_have_names() {
    check("53 211 217 248\n", "0: 53 211 217 248 (columns 0 1 2 3)");
    check(
        "node 0 8 9\n0 80 250 300\n",
        "0: 80 250 300 (columns 0 8 9)",
    );
    check("node 4\n0 80\n4 140\n", "0: 80; 4: 140 (columns 4)");
    check("80\n", "0: 80 (columns 0)");
}

#[test]
fn faults_of_tables_are_named() {
    check_error(
        "",
        "1: expected a matrix of latencies, found the end of the file",
    );
    check_error(
        "# nothing\n",
        "1: expected a matrix of latencies, found the end of the file",
    );
    check_error(
        "80 140\n141\n",
        "2: expected 2 cells, not 1 cell, found \"141\"",
    );
    check_error(
        "80 140\n141 80 3\n",
        "2: expected 2 cells, not 3 cells, found \"141 80 3\"",
    );
    check_error(
        "80,140\n141,80,\n",
        "2: expected 2 cells, not 3 cells, found \"141,80,\"",
    );
    check_error(
        "80 140\n141 80\nthese are ns\n",
        "3: expected 2 cells, not 3 cells, found \"these are ns\"",
    );
    check_error(
        "80 fast\n",
        "1: expected a latency in ns, or - where there is none, found \"fast\"",
    );
    for word in ["0", "-5", "inf", "1e99", "0x10"] {
        let expected = "1: expected a latency in ns, or - where there is none, found";
        check_error(&format!("80 {word}\n"), &format!("{expected} {word:?}"));
    }
    check_error(
        "80 140\n140 80\n150 90\n",
        "3: expected at most 2 rows, as many as columns, or headings, found 3 rows",
    );
    check_error(
        "node 0 0\n0 80 80\n",
        "1: expected every node once, found node 0 twice",
    );
    check_error(
        "node 0\n1 80\n1 80\n",
        "3: expected every node once, found node 1 twice",
    );
    check_error(
        "node 0 1\n",
        "1: expected a row of latencies, found the end of the file",
    );
    check_error(
        "node 0\nx 80\n",
        "2: expected a row with its node, found \"x\"",
    );
    check_error(
        "Hello, world\n",
        "1: expected a row of latencies, or the nodes of the columns, found \"Hello, world\"",
    );
    check_error(
        "node 0 99999999\n0 80 90\n",
        "1: expected a row of latencies, or the nodes of the columns, found \"node 0 99999999\"",
    );
}

#[test]
fn a_matrix_between_cpus_is_refused_as_it_is_written() {
    let expected = "expected latencies of memory, a node's own too (without these it is a matrix \
                    between CPUs, as core-to-core-latency writes it), found";
    // Below the diagonal only, as core-to-core-latency writes it; whole; with headings; with 0.
    check_error(",,\n45.3,,\n46.1,45.9,\n", &format!("1: {expected} \",,\""));
    let cell = |row: usize, column: usize| if column < row { "45.3" } else { "" };
    let wide = |row: usize| (0..32).map(|column| cell(row, column)).collect::<Vec<_>>();
    let rows = (0..32).map(|row| wide(row).join(",") + "\n");
    check_error(
        &rows.collect::<String>(),
        &format!("1: {expected} {:?}", ",".repeat(31)),
    );
    check_error(
        ",45.3,46\n45.3,,45.9\n46,45.9,\n",
        &format!("1: {expected} \",45.3,46\""),
    );
    check_error(
        "CPU,0,1\n0,,45.3\n1,45.3,\n",
        &format!("2: {expected} \"0,,45.3\""),
    );
    check_error(
        "  0 1\n0 0 45\n1 45 0\n",
        &format!("2: {expected} \"0 0 45\""),
    );
    check_error(
        "\n45.3\n46.1,45.9\n",
        "3: expected 1 cell, not 2 cells, found \"46.1,45.9\"",
    );
    check_error(
        "core 0,core 1\n,45.3\n",
        "1: expected a row of latencies, or the nodes of the columns, found \"core 0,core 1\"",
    );
    // A single node without a local figure does not make it a matrix between CPUs.
    check("80 140\n141 -\n", "0: 80 140; 1: 141 - (columns 0 1)");
    check("-\n", "0: - (columns 0)");
}

#[test]
fn a_figure_that_may_be_cut_off_is_none() {
    let expected = "expected a line break at the end, without which the last figure may be cut \
                    off, found";
    check_error("80 140\n141 8", &format!("2: {expected} \"141 8\""));
    check_error("80,140\n141,80.", &format!("2: {expected} \"141,80.\""));
    check_error("node 0\n0 80", &format!("2: {expected} \"0 80\""));
    check_error("53 211 ", &format!("1: {expected} \"53 211\""));
    let mlc = MLC[0].0.split(".5\t\n\nMeasuring").next().unwrap();
    check_error(mlc, &format!("6: {expected} \"1\\t 131.0\\t  81\""));
    for whole in ["80 140\n141 80\n", "80 140\n141 80\n# end"] {
        assert_eq!(read(whole).matrix.rows().count(), 2, "{whole:?}");
    }
}

#[test]
fn documents_of_our_own_are_read_with_their_intervals() {
    let text = r#"{"format": "numalab.latency/1", "cpu_nodes": [0], "memory_nodes": [0, 8],
        "ns": [[80.5, null]], "ns_low": [[80.0, null]], "ns_high": [[81.0, null]],
        "distances": [[10, 40]], "findings": []}"#;
    check(text, "0: 80.5 - (columns 0 8)");
    let found = read(text);
    let cell = found.matrix.cell(NodeId(0), NodeId(0)).unwrap();
    assert_eq!((cell.low, cell.high), (Some(80.0), Some(81.0)));
    let distances = found.distances.unwrap();
    assert_eq!(distances.distance(NodeId(0), NodeId(8)), Some(40));
}

#[test]
fn faults_of_documents_are_named() {
    let document = |fields: &str| format!("{{\"format\": \"numalab.latency/1\", {fields}}}");
    check_error(
        r#"{"format": "numalab.latency/2"}"#,
        "1: expected a document numalab.latency/1, found \"numalab.latency/2\"",
    );
    check_error(
        "{\n",
        "2: expected a document numalab.latency/1, found EOF while parsing an object at line 2 \
         column 0",
    );
    check_error(
        &document(r#""cpu_nodes": [0], "memory_nodes": [0]"#),
        "1: expected a document numalab.latency/1, found missing field `ns` at line 1 column 70",
    );
    check_error(
        &document(r#""cpu_nodes": [0, 1], "memory_nodes": [0], "ns": [[80]]"#),
        "1: expected 2 rows in ns, one for each of cpu_nodes, found 1",
    );
    check_error(
        &document(r#""cpu_nodes": [0], "memory_nodes": [0, 1], "ns": [[80]]"#),
        "1: expected 2 cells, found 1 cell",
    );
    check_error(
        &document(r#""cpu_nodes": [0], "memory_nodes": [0], "ns": [[-80]]"#),
        "1: expected latencies in ns above 0, found -80 from node 0",
    );
    check_error(
        &document(r#""cpu_nodes": [70000], "memory_nodes": [0], "ns": [[80]]"#),
        "1: expected ids of nodes up to 65535, found 70000",
    );
}

/// Layouts of several versions of MLC, with made-up figures.
const MLC: [(&str, &str); 5] = [
    (
        "Intel(R) Memory Latency Checker - v3.9\nMeasuring idle latencies (in ns)...\n\
         \t\tNuma node\nNuma node\t     0\t     1\t\n       0\t  82.5\t 130.0\t\n       \
         1\t 131.0\t  81.5\t\n\nMeasuring Peak Injection Memory Bandwidths for the system\n",
        "0: 82.5 130; 1: 131 81.5 (columns 0 1)",
    ),
    (
        "Intel(R) Memory Latency Checker - v3.11b\n*** Unable to modify prefetchers (try \
         executing 'modprobe msr')\n*** So, enabling random access for latency measurements\n\
         Measuring idle latencies for random access (in ns)...\n                Numa node\n\
         Numa node            0       1       2\n       0         130.5   231.0       -\n       \
         1         238.0   130.0   368.5\n",
        "0: 130.5 231 -; 1: 238 130 368.5 (columns 0 1 2)",
    ),
    (
        "Measuring idle latencies for sequential access (in ns)...\n\tNuma node\nNuma node\t0\n\
         \t0\t70.5\n",
        "0: 70.5 (columns 0)",
    ),
    (
        "Measuring idle latencies (in ns)...\n        Memory node\nSocket       0       1\n     \
         0   106.5   107.0\n     1   107.0   106.5\n",
        "0: 106.5 107; 1: 107 106.5 (columns 0 1)",
    ),
    (
        "Measuring idle latencies (in ns)...\n\n   Numa node\n\nNuma node  0  8\n\n   0  84.5  \
         564.5\n\nUsing Read-only traffic type\n   Numa node\nNuma node  0  8\n   0  1.0 2.0\n",
        "0: 84.5 564.5 (columns 0 8)",
    ),
];

#[test]
fn every_version_of_mlc_is_read() {
    for (text, expected) in MLC {
        check(text, expected);
    }
    assert!(read(MLC[1].0).note.unwrap().contains("random access"));
    assert!(read(MLC[2].0).note.unwrap().contains("sequential access"));
    assert_eq!(read(MLC[0].0).note, None);
}

#[test]
fn faults_of_mlc_are_named() {
    check_error(
        "Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: --bandwidth_matrix\n",
        "2: expected a line \"Measuring idle latencies (in ns)...\", found the end of the file",
    );
    let heading = "Measuring idle latencies (in ns)...\n";
    check_error(
        &format!("{heading}Numa node\nNuma node 0 1\n0 80\n"),
        "4: expected 2 cells, found 1 cell",
    );
    check_error(
        &format!("{heading}Numa node\nNuma node 0 1\n0 80 fast\n"),
        "4: expected a latency in ns, or - where there is none, found \"fast\"",
    );
    check_error(
        &format!("{heading}0 80\n"),
        "2: expected a line \"Numa node\" above the columns, found \"0 80\"",
    );
    check_error(
        &format!("{heading}Numa node\nNuma node\n0 80\n"),
        "3: expected the headings of the columns, such as \"Numa node 0 1\", found \"Numa node\"",
    );
    check_error(
        &format!("{heading}Numa node\nNuma node 0\n"),
        "3: expected a row of latencies, found the end of the file",
    );
    check_error(
        &format!("{heading}Numa node\nNuma node 0\n0 80\n{heading}"),
        "5: expected one matrix of idle latencies, found \"Measuring idle latencies (in ns)...\"",
    );
    let error = matrix_of_file(&file("Measuring idle latencies (in cycles)...\n")).unwrap_err();
    assert!(error.to_string().contains("for random access"), "{error}");
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = matrix_of_file(&file(&text));
    }

    #[test]
    fn no_table_panics(
        lines in prop::collection::vec(
            "(node|:|#)?([ ,\t]*(-|[0-9]{1,5}(\\.[0-9])?:?|nan)){0,5}",
            0..6,
        ),
    ) {
        let _ = matrix_of_file(&file(&lines.join("\n")));
    }

    #[test]
    fn no_mutilated_mlc_panics(which in 0usize..5, at in 0usize..400, with in "\\PC{0,3}") {
        let text = MLC[which].0;
        let cut: String = text.chars().take(at).chain(with.chars()).collect();
        let rest: String = text.chars().skip(at + 1).collect();
        let _ = matrix_of_file(&file(&cut));
        let _ = matrix_of_file(&file(&(cut + &rest)));
    }

    #[test]
    fn no_document_panics(
        nodes in prop::collection::vec(any::<u32>(), 0..3),
        rows in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..3), 0..3),
    ) {
        let text = format!(
            "{{\"format\":\"numalab.latency/1\",\"cpu_nodes\":{nodes:?},\"memory_nodes\":{nodes:?},\
             \"ns\":{rows:?}}}"
        );
        let _ = matrix_of_file(&file(&text));
    }

    #[test]
    fn what_is_written_as_a_table_is_read_back(
        rows in prop::collection::vec(prop::collection::vec(1.0..1e6f64, 4), 1..5),
        comma: bool,
    ) {
        let separator = if comma { "," } else { " " };
        let line = |row: &Vec<f64>| {
            let words: Vec<String> = row.iter().map(f64::to_string).collect();
            words.join(separator)
        };
        let text: Vec<String> = rows.iter().map(line).collect();
        let matrix = read(&(text.join("\n") + "\n")).matrix;
        for (row, (_, cells)) in rows.iter().zip(matrix.rows()) {
            let values: Vec<f64> = cells.iter().filter_map(|cell| cell.value).collect();
            prop_assert_eq!(row, &values);
        }
    }
}

#[test]
fn a_document_of_an_emulated_machine_says_so() {
    let document = |machine: &str| {
        format!(
            "{{\"format\": \"numalab.latency/1\", \"machine\": {machine}, \
             \"cpu_nodes\": [0], \"memory_nodes\": [0], \"ns\": [[90.5]]}}"
        )
    };
    let emulated = read(&document("{\"emulated\": true, \"host\": \"guest\"}"));
    assert!(emulated.is_emulated && emulated.note.is_some());
    for machine in [
        "null",
        "{}",
        "{\"emulated\": null}",
        "{\"emulated\": false}",
    ] {
        let real = read(&document(machine));
        assert!(!real.is_emulated && real.note.is_none(), "{machine}");
    }
}
