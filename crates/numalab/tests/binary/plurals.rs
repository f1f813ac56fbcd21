//! No text says "1 pages" or "nodes 1": what is printed comes from literals, and what they print
//! is in the golden files.
//!
//! Tests of model, report.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that end in s and are no plural.
const SINGULAR: [&str; 12] = [
    "is", "has", "was", "process", "class", "access", "bus", "as", "its", "takes", "s", "uses",
];

/// Plurals whose count a placeholder before them may be 1: `counted` writes them.
const COUNTED: [&str; 40] = [
    "CPUs",
    "areas",
    "blocks",
    "buffers",
    "cases",
    "cells",
    "checks",
    "distances",
    "entries",
    "events",
    "faults",
    "fields",
    "files",
    "findings",
    "gaps",
    "hits",
    "localities",
    "machines",
    "mappings",
    "nodes",
    "ones",
    "pages",
    "pairs",
    "pools",
    "processes",
    "reports",
    "roles",
    "rounds",
    "rows",
    "runs",
    "segments",
    "sessions",
    "snapshots",
    "threads",
    "trials",
    "trips",
    "updates",
    "waits",
    "windows",
    "workers",
];

/// Words between a count and its plural.
const BETWEEN: [&str; 7] = [
    "", "hint ", "more ", "other ", "round ", "smaller ", "valid ",
];

/// Sentences whose figure is never 1, or is the size of pages or a rate.
const NEVER_ONE: [&str; 25] = [
    "sessions take turns, {cpu_count} at a time",
    "of {pages} exceed",
    "{least} to {most} CPUs",
    "ByteSize(*bytes)",
    "SGA of {} in {} pages",
    "of {} pages, {}{prewarm}",
    "the {all} cases have",
    "{has} CPUs",
    "those for CPUs {pinned}",
    "huge pages are always on, and {} runs",
    "between any two of {nodes} nodes",
    "takes one node, not",
    "{name} runs, so none",
    "memory by node of {count} processes",
    "node {} pages per second",
    "{} CPUs used",
    "runs out of",
    "in {kind} pages",
    "needs {asked} pages",
    "sessions share",
    "{least} rounds with laps",
    "of {buffers} buffers of",
    "{} rows were read and verified",
    "at most {width} rows",
    "{count} rows from {first}",
];

fn files(below: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name == "target" => {}
            true => files(&path, ends, found),
            false if ends.iter().any(|end| name.ends_with(end)) => found.push(path),
            false => {}
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Returns what is wrong in a line of text: one thing as several.
fn wrong(line: &str) -> Vec<String> {
    let words: Vec<&str> = line
        .split([' ', ',', ';', ':', '.', '(', ')', '"'])
        .filter(|word| !word.is_empty())
        .collect();
    let is_one = |word: &str| word == "1";
    let is_several = |word: &str| {
        word.len() > 2
            && word.ends_with('s')
            && word.chars().all(char::is_alphabetic)
            && !SINGULAR.contains(&word)
    };
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let at_once = line.contains(&pair.join(" "));
        if at_once && (is_one(pair[0]) && is_several(pair[1])) {
            found.push(pair.join(" "));
        }
    }
    for list in ["nodes ", "CPUs "] {
        for (at, _) in line.match_indices(list) {
            let ids = &line[at + list.len()..];
            let digits = ids.bytes().take_while(u8::is_ascii_digit).count();
            let next = ids[digits..].chars().next().unwrap_or('.');
            let ends = ids[digits..]
                .chars()
                .nth(1)
                .is_none_or(|c| !c.is_ascii_digit());
            if digits > 0 && (next == ' ' || (",.:;".contains(next) && ends)) {
                found.push(ids[..digits].to_owned());
            }
        }
    }
    found
}

#[test]
fn what_the_golden_files_show_says_one_thing_as_one() {
    assert_eq!(wrong("it has 1 segments"), ["1 segments"]);
    assert_eq!(wrong("memory of nodes 1, at most 2 CPUs"), ["1"]);
    assert_eq!(wrong("11 pages of node 1 on CPUs 0-3, 1 process"), [""; 0]);
    let mut golden = Vec::new();
    files(&crates(), &[".txt", ".screen"], &mut golden);
    golden.retain(|path| path.to_string_lossy().contains("golden"));
    assert!(golden.len() > 100, "{}", golden.len());
    for path in golden {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            assert_eq!(wrong(line), [""; 0], "{}: {line}", path.display());
        }
    }
}

/// Returns the placeholders of a line of code before a plural, and lists after `nodes` or `CPUs`.
fn unchecked(line: &str) -> Vec<String> {
    // Most lines have neither.
    if !line.contains("} ") && !line.contains(") \" ") {
        return Vec::new();
    }
    let pairs = COUNTED
        .iter()
        .flat_map(|word| BETWEEN.map(|between| format!("}} {between}{word}")));
    let counts = pairs.flat_map(|after| {
        let at: Vec<usize> = line.match_indices(&after).map(|(at, _)| at).collect();
        at.into_iter().filter_map(move |at| {
            let placeholder = line[..at].rsplit('{').next()?;
            let next = line[at + after.len()..].chars().next();
            // A constant limit is above 1, and a figure with decimals is no count.
            let limit = placeholder.to_lowercase();
            let is_limit = limit.ends_with("_max") || limit.ends_with("_min");
            let is_figure = placeholder.contains(':') || placeholder.contains("size");
            (!is_limit && !is_figure && next.is_none_or(|it| !it.is_alphanumeric() && it != '/'))
                .then(|| format!("{{{placeholder}{after}"))
        })
    });
    counts.chain(in_markup(line)).collect()
}

/// Counts before a plural in the markup of a page: `(count) " pages"`.
fn in_markup(line: &str) -> impl Iterator<Item = String> {
    let words = COUNTED
        .iter()
        .flat_map(|word| BETWEEN.map(|between| format!("{between}{word}")));
    words.filter_map(move |words| {
        let at = line.find(&format!(") \" {words}"))?;
        let next = line[at + 4 + words.len()..].chars().next();
        let is_limit = line[..at].ends_with("_MAX");
        (!is_limit && next.is_none_or(|it| !it.is_alphanumeric())).then_some(words)
    })
}

#[test]
fn a_count_in_a_message_comes_from_the_one_place_that_knows_plurals() {
    assert_eq!(unchecked("\"moved {count} pages\""), ["{count} pages"]);
    assert_eq!(unchecked("\"and {} more gaps\""), ["{} more gaps"]);
    assert_eq!(
        unchecked("\"at most {ROWS_MAX} pages, {a} pages/s\""),
        [""; 0]
    );
    assert_eq!(unchecked("p { (count) \" more rows.\" }"), ["more rows"]);
    let mut code = Vec::new();
    files(&crates(), &[".rs"], &mut code);
    code.retain(|path| path.to_string_lossy().contains("/src/"));
    let mut found = Vec::new();
    for path in code {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        if path.ends_with("counted.rs") || path.to_string_lossy().contains("test") {
            continue;
        }
        for line in text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
        {
            let known = NEVER_ONE.iter().any(|text| line.contains(text));
            for what in unchecked(line).into_iter().filter(|_| !known) {
                found.push(format!("{}: {what}", path.display()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "use model::counted:\n{}",
        found.join("\n")
    );
}
