//! `numalab latency --from`: text of Intel MLC under each of its headings, with the firmware's
//! distances from `numactl --hardware`.

use serde_json::json;

use crate::laboratory::Laboratory;

/// Two sockets and, behind the first, memory that no CPU is near: a figure less than a row.
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

/// What surrounds the matrix, and the matrix below `heading`.
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
        // 17 is nearer than 21, and measures further.
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
