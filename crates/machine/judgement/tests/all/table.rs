//! The table of findings against its page and its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use judgement::findings::{FINDINGS, Row};

/// The row of the page.
fn line(row: &Row) -> String {
    format!(
        "| `{}` | {} | {} | {} |",
        row.id,
        row.severity.name(),
        row.commands().join(", "),
        row.about
    )
}

#[test]
fn the_page_has_the_table_and_no_other_rows() {
    let page = include_str!("../../../../../docs/findings.md");
    let on_page: Vec<&str> = page.lines().filter(|it| it.starts_with("| `")).collect();
    let rows: Vec<String> = FINDINGS.iter().map(line).collect();
    let expected = rows.join("\n");
    assert_eq!(on_page, rows, "docs/findings.md should have\n{expected}");
}

#[test]
fn every_finding_has_an_id_of_its_own_and_a_file_of_that_name() {
    let is_kebab = |id: &str| {
        let is_word = |word: &str| {
            let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            !word.is_empty() && word.bytes().all(is_plain)
        };
        id.split('-').all(is_word)
    };
    let ids: BTreeSet<&str> = FINDINGS.iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), FINDINGS.len());
    assert!(ids.iter().all(|id| is_kebab(id)), "{ids:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/findings");
    let files = fs::read_dir(folder).unwrap().map(|file| {
        let path = file.unwrap().path();
        path.file_stem().unwrap().to_string_lossy().into_owned()
    });
    let files: BTreeSet<String> = files
        .filter(|file| !["row", "look"].contains(&file.as_str()))
        .map(|file| file.replace('_', "-"))
        .collect();
    assert_eq!(files, ids.into_iter().map(str::to_owned).collect());
}

#[test]
fn every_finding_is_looked_for_and_says_what_it_costs() {
    for row in FINDINGS {
        assert!(!row.commands().is_empty(), "{}", row.id);
        let words = [row.about, row.cost, row.cost_source];
        assert!(words.iter().all(|it| !it.is_empty()), "{}", row.id);
    }
}
