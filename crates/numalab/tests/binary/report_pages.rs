//! `numalab report`: pages of the documents that commands write.
//!
//! Tests of page.

use std::fs;

use testing::reports;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;

#[test]
fn the_documents_of_commands_have_pages() {
    let laboratory = Laboratory::new();
    let matrix = laboratory.file("matrix.txt", "53 211 217 248\n");
    let commands: [&[&str]; 3] = [
        &["topology", "--json"],
        &["doctor", "--json"],
        &["latency", "--from", &matrix, "--json"],
    ];
    for command in commands {
        let document = laboratory.run(command).with_code(0).stdout;
        let document = laboratory.file("document.json", &document);
        let html = laboratory.file("page.html", "");
        laboratory
            .run(&["report", &document, "--html", &html])
            .with_code(0);
        let page = fs::read_to_string(&html).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{command:?}: {page}");
        let format = format!("numalab.{}/1", command[0]);
        assert!(page.contains(&format), "{command:?}: {page}");
    }
}

#[test]
fn what_is_no_document_of_numalab_is_refused_with_its_reason() {
    let laboratory = Laboratory::new();
    let html = laboratory.file("page.html", "as it was");
    let check = |text: &str, expected: &str| {
        let document = laboratory.file("document.json", text);
        let refused = laboratory.run(&["report", &document, "--html", &html]);
        let refused = refused.with_code(2);
        refused.says(&["document.json", expected, "hint:"]);
        assert_eq!(fs::read_to_string(&html).unwrap(), "as it was");
    };
    check("", "expected a JSON document of numalab");
    check("{\"format\":\"numalab.run/9\"}", "format \"numalab.run/9\"");
    let matrix = "{\"format\":\"numalab.latency/1\",\"cpu_nodes\":[0],\"memory_nodes\":[0],";
    check(
        &format!("{matrix}\"ns\":[[-1]]}}"),
        "-1 from node 0 to node 0",
    );
    let missing = laboratory.run(&["report", "/no/such.json", "--html", &html]);
    missing.with_code(2).says(&["/no/such.json"]);
}

/// The cells of the ranking in Markdown, row by row, without the head.
fn ranking(markdown: &str) -> Vec<Vec<String>> {
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    rows.skip(2)
        .map(|row| {
            let cells = row.trim_matches('|').split(" | ");
            cells
                .map(|cell| cell.trim().trim_matches('|').replace('\\', ""))
                .collect()
        })
        .collect()
}

/// Checks that text, page, Markdown and document of a run have the same figures.
fn check_same_figures(laboratory: &Laboratory, run: &str, unit_is: f64) {
    let text = laboratory.run(&["show", run, "--full"]).with_code(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let document = laboratory.document(&["show", run, "--json"]);
    let html = laboratory.run(&["report", run, "--html", "-"]).with_code(0);
    let html = html.stdout;
    let markdown = laboratory.run(&["report", run, "--markdown", "-"]);
    let markdown = markdown.with_code(0).stdout;
    let verdict = document["verdict"].as_str().unwrap();
    let plain = markdown.replace('\\', "");
    assert!(text.contains(verdict) && html.contains(verdict) && plain.contains(verdict));
    let rows = ranking(&markdown);
    let cases = document["cases"].as_array().unwrap();
    assert_eq!(rows.len(), cases.len(), "{markdown}");
    for row in rows {
        let [rank, name, median, interval, valid, ratio, verdict] = row.as_slice() else {
            panic!("{row:?}");
        };
        for cell in [rank, name, median, interval, valid, ratio, verdict] {
            // What a row is about is its head.
            let is_shown = ["</td>", "</th>"].map(|end| html.contains(&[">", cell, end].concat()));
            assert!(
                is_shown.contains(&true),
                "{cell:?} of {name} is not in {html}"
            );
            // On a narrow terminal, the baseline is not compared with itself.
            let in_text = verdict == "baseline" || text.contains(cell.as_str());
            assert!(in_text, "{cell:?} of {name} is not in {text}");
        }
        let case = cases.iter().find(|case| case["name"] == **name).unwrap();
        let of_document = case["shown"].as_f64().unwrap() / unit_is;
        let shown: f64 = median.replace(',', "").parse().unwrap();
        let digits = median.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 * 10_f64.powi(-i32::try_from(digits).unwrap());
        assert!(
            (of_document - shown).abs() <= half * 1.001,
            "{median} of {of_document}"
        );
        let counted = format!("{} of", case["trials_valid"]);
        assert!(valid.starts_with(&counted), "{valid} of {case}");
    }
}

#[test]
fn text_page_markdown_and_document_of_a_run_have_the_same_figures() {
    let laboratory = Laboratory::new();
    let files = (1..).zip(reports::ARTICLE_001);
    let files = files.map(|(test, text)| laboratory.file(&format!("test{test}.txt"), text));
    let files: Vec<String> = files.collect();
    let words = ["import", "awr"].into_iter();
    let words: Vec<&str> = words.chain(files.iter().map(String::as_str)).collect();
    let imported = laboratory.run(&words).with_code(0).stdout;
    check_same_figures(&laboratory, imported.trim_end(), 1.0);
    let svg = laboratory.run(&["report", imported.trim_end(), "--svg", "-"]);
    let svg = svg.with_code(0).stdout;
    assert!(
        svg.starts_with("<svg ") && svg.contains(">logical reads/s</text>"),
        "{svg}"
    );
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "cpus = \"all:1\"\nmechanism = \"affinity\"")
        .case("other", "cpus = \"all\"\nmechanism = \"affinity\"");
    let path = laboratory.file("one.toml", experiment.text());
    let run = ["run", &path, "--trials", "5", "--seconds", "0.2"];
    laboratory.run(&run).with_code(0);
    check_same_figures(&laboratory, "last", 1.0);
}

#[test]
fn text_page_and_document_of_a_comparison_have_the_same_figures() {
    let laboratory = Laboratory::new();
    let runs = [[0, 1, 2], [2, 3, 4]].map(|tests| {
        let files = tests.map(|test: usize| {
            laboratory.file(&format!("test{test}.txt"), reports::ARTICLE_001[test])
        });
        let command = [
            &["import", "awr"][..],
            &files.each_ref().map(|it| it.as_str()),
        ]
        .concat();
        let imported = laboratory.run(&command).with_code(0).stdout;
        imported.trim_end().to_owned()
    });
    for [first, second] in [
        [runs[0].clone(), runs[1].clone()],
        [format!("{}:test0", runs[0]), format!("{}:test4", runs[1])],
    ] {
        let compare = |more: &[&str]| {
            let command = [&["compare", &first, &second], more].concat();
            laboratory.run(&command).with_code(0).stdout
        };
        let of = |more: &[&str]| compare(more).replace(',', "");
        let (text, page) = (of(&[]), of(&["--html", "-"]));
        let document: serde_json::Value = serde_json::from_str(&compare(&["--json"])).unwrap();
        let pairs = document["comparisons"].as_array().unwrap();
        assert!(!pairs.is_empty());
        for pair in pairs {
            let figures = [
                format!("{:.0}", pair["baseline_median"].as_f64().unwrap()),
                format!("{:.0}", pair["median"].as_f64().unwrap()),
                format!("{:.3} (no interval)", pair["ratio"].as_f64().unwrap()),
            ];
            for figure in figures {
                assert!(text.contains(&figure), "{figure}: {text}");
                assert!(
                    page.contains(&format!("<td class=\"number\">{figure}</td>")),
                    "{figure}"
                );
            }
        }
        for warning in document["warnings"].as_array().unwrap() {
            let warning = warning.as_str().unwrap().replace(',', "");
            assert!(page.contains(&warning), "{warning}");
        }
    }
}

#[test]
fn a_report_says_where_it_goes_and_what_it_can_be_of() {
    let laboratory = Laboratory::new();
    let none = laboratory.run(&["report", "last"]).with_code(2);
    none.says(&["--html", "--markdown"]);
    let document = laboratory.run(&["topology", "--json"]).with_code(0).stdout;
    let document = laboratory.file("document.json", &document);
    let markdown = laboratory.run(&["report", &document, "--markdown", "-"]);
    markdown.with_code(2).says(&["only runs", "hint:"]);
    let picture = laboratory.run(&["report", &document, "--svg", "-"]);
    picture.with_code(2).says(&["only runs", "hint:"]);
    let nowhere = laboratory.run(&["report", &document, "--html", "/no/such/page.html"]);
    nowhere
        .with_code(2)
        .says(&["cannot write /no/such/page.html"]);
}

#[test]
fn a_scan_is_shown_on_the_latencies_under_load() {
    let laboratory = Laboratory::new();
    let defaults = "[sga]\ncache = \"8MiB\"\n[load]\nwork = \"parallel-scan\"";
    let scan = ExperimentFile::new("one", defaults)
        .case("one", "sessions = 1")
        .case("two", "sessions = 2");
    let definition = laboratory.file("scan.toml", scan.text());
    laboratory
        .run(&["run", &definition, "--trials", "5", "--seconds", "0.1"])
        .with_code(0);
    let loaded = r#"{"format": "numalab.bandwidth/1", "kernel": "read", "cpu_nodes": [0],
        "memory_nodes": [0], "bytes_per_s": [[9e10]], "ladders": [{"cpu_node": 0,
        "memory_node": 0, "load_nodes": "0", "load_threads": 1, "points": [
        {"delay": null, "bytes_per_s": 0.0, "ns": 90.0},
        {"delay": 3, "bytes_per_s": 1e11, "ns": 150.0}]}]}"#;
    let loaded = laboratory.file("loaded.json", loaded);
    let html = laboratory.file("page.html", "");
    laboratory
        .run(&["report", "last", &loaded, "--html", &html])
        .with_code(0);
    let page = fs::read_to_string(&html).unwrap();
    assert!(
        page.contains("Latency under load") && page.contains("<title>one: "),
        "{page}"
    );
    let refused = laboratory.run(&["report", "last", &loaded, &loaded, "--html", &html]);
    refused.with_code(2).says(&["one document is enough"]);
    let other = laboratory.file("other.json", "{\"format\": \"numalab.move/1\"}");
    let refused = laboratory.run(&["report", "last", &other, "--html", &html]);
    refused
        .with_code(2)
        .says(&["beside runs", "bandwidth --loaded"]);
}
